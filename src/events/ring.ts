// The newest frames of one channel, and for each reader only a place in them: that is its whole queue.

/** Frames joined for one write; readers who stand at the same place share it. */
type Joined = { bytes: Buffer; next: number }

const joinedBytes = 262_144
const mostJoined = 4

export class Ring {
  readonly #bound: number
  readonly #mask: number
  readonly #frames: string[]
  readonly #seqs: Float64Array
  readonly #joined = new Map<number, Joined>()
  #head = 0
  #tail = 0
  #floor: number

  /** At most `bound` frames are kept for whoever is behind. What comes is behind the sequence number `after`. */
  constructor(bound: number, after: number) {
    const size = 2 ** Math.ceil(Math.log2(bound))
    this.#bound = bound
    this.#mask = size - 1
    this.#frames = new Array<string>(size).fill('')
    this.#seqs = new Float64Array(size)
    this.#floor = after
  }

  /** The place behind the newest frame. */
  get head(): number {
    return this.#head
  }

  push(frame: string, seq: number): void {
    if (this.#head - this.#tail === this.#bound) this.#dropOldest()
    this.#frames[this.#head & this.#mask] = frame
    this.#seqs[this.#head & this.#mask] = seq
    this.#head++
    this.#joined.clear()
  }

  /** The first place that still has its frame. A reader that is further behind has lost what lies between. */
  oldest(place: number): number {
    return Math.max(place, this.#tail)
  }

  /** The place of the first frame behind a sequence number; undefined when frames behind it are gone already. */
  placeAfter(seq: number): number | undefined {
    if (seq < this.#floor) return undefined
    let place = this.#head
    while (place > this.#tail && this.#seqs[(place - 1) & this.#mask]! > seq) place--
    return place
  }

  /** The frames from a place on, as many as go into one write. */
  join(place: number): Joined {
    const known = this.#joined.get(place)
    if (known) return known
    let length = 0
    let next = place
    while (next < this.#head && length < joinedBytes) length += this.#frames[next++ & this.#mask]!.length
    const joined = { bytes: this.#bytes(place, next, length), next }
    if (this.#joined.size === mostJoined) this.#joined.clear()
    this.#joined.set(place, joined)
    return joined
  }

  /** Lets go of the frames before a place: nobody will ask for them. */
  release(place: number): void {
    while (this.#tail < place) this.#dropOldest()
    this.#joined.clear()
  }

  /** Frames of ASCII alone, as most are, go one by one: a text made of them all first would cost twice as much. */
  #bytes(from: number, to: number, length: number): Buffer {
    // With room for one more character, a frame of others cannot end where one of ASCII would.
    const bytes = Buffer.allocUnsafe(length + 4)
    let at = 0
    for (let place = from; place < to; place++) {
      const frame = this.#frames[place & this.#mask]!
      if (bytes.write(frame, at) !== frame.length) return Buffer.from(this.#text(from, to))
      at += frame.length
    }
    return bytes.subarray(0, at)
  }

  #text(from: number, to: number): string {
    let text = ''
    for (let place = from; place < to; place++) text += this.#frames[place & this.#mask]
    return text
  }

  #dropOldest(): void {
    const slot = this.#tail & this.#mask
    this.#floor = this.#seqs[slot]!
    this.#frames[slot] = ''
    this.#tail++
  }
}
