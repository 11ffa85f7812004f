// A ring of the newest frames of one channel. The queue of a reader is a place in the ring.

/** Frames joined for one write; readers at the same place share it. */
type Joined = { bytes: Buffer; next: number }

/** Writes a frame and returns its end. There is room for the bytes of the text, and 64 more. */
type WriteFrame = (chunk: Buffer, at: number, text: string | Buffer, seq: number) => number

const joinedBytes = 262_144
const mostJoined = 4
const chunkBytes = 65_536
const overhead = 64

/** Writes a text and returns its end. */
export function writeText(chunk: Buffer, at: number, text: string | Buffer): number {
  if (typeof text === 'string') return at + chunk.write(text, at)
  chunk.set(text, at)
  return at + text.length
}

export class Ring {
  readonly #bound: number
  readonly #mask: number
  readonly #write: WriteFrame
  /** The chunk of each frame, with its beginning and end there. The frames of a chunk are in order, without gaps. */
  readonly #chunks: (Buffer | undefined)[]
  readonly #starts: Uint32Array
  readonly #ends: Uint32Array
  readonly #seqs: Float64Array
  readonly #joined = new Map<number, Joined>()
  #head = 0
  #tail = 0
  #floor: number
  /** The chunk that is being filled. Written bytes never change, since readers use them. */
  #chunk = Buffer.alloc(0)
  #filled = 0

  /** Keeps `bound` frames at most. The first frame follows the sequence number `after`. */
  constructor(bound: number, after: number, write: WriteFrame = writeText) {
    const size = 2 ** Math.ceil(Math.log2(bound))
    this.#bound = bound
    this.#mask = size - 1
    this.#write = write
    this.#chunks = new Array<Buffer | undefined>(size).fill(undefined)
    this.#starts = new Uint32Array(size)
    this.#ends = new Uint32Array(size)
    this.#seqs = new Float64Array(size)
    this.#floor = after
  }

  /** The place after the newest frame. */
  get head(): number {
    return this.#head
  }

  /** Adds a frame. Its bytes are kept instead of its text, since each garbage collection would visit a thousand texts. */
  push(text: string | Buffer, seq: number): void {
    if (this.#head - this.#tail === this.#bound) this.#dropOldest()
    if (this.#filled + text.length * 3 + overhead > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(chunkBytes, Buffer.byteLength(text) + overhead))
      this.#filled = 0
    }
    const slot = this.#head++ & this.#mask
    this.#chunks[slot] = this.#chunk
    this.#starts[slot] = this.#filled
    this.#filled = this.#write(this.#chunk, this.#filled, text, seq)
    this.#ends[slot] = this.#filled
    this.#seqs[slot] = seq
    this.#joined.clear()
  }

  /** Returns the place, or the oldest one that still has its frame. A reader further behind has lost the frames between. */
  oldest(place: number): number {
    return Math.max(place, this.#tail)
  }

  /** Finds the first frame after a sequence number; undefined if frames after it are gone. */
  placeAfter(seq: number): number | undefined {
    if (seq < this.#floor) return undefined
    let place = this.#head
    while (place > this.#tail && this.#seqs[(place - 1) & this.#mask]! > seq) place--
    return place
  }

  /** Joins the frames from a place on that fit into one write. */
  join(place: number): Joined {
    const known = this.#joined.get(place)
    if (known) return known
    const pieces: Buffer[] = []
    let next = place
    for (let length = 0; next < this.#head && length < joinedBytes; ) {
      const piece = this.#piece(next, joinedBytes - length)
      pieces.push(piece.bytes)
      length += piece.bytes.length
      next = piece.next
    }
    const joined = { bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), next }
    if (this.#joined.size === mostJoined) this.#joined.clear()
    this.#joined.set(place, joined)
    return joined
  }

  /** Drops the frames before a place. */
  release(place: number): void {
    while (this.#tail < place) this.#dropOldest()
    this.#joined.clear()
  }

  /** Joins the frames from a place on that are in one chunk, up to `most` bytes and the rest of the last frame. */
  #piece(place: number, most: number): Joined {
    const first = place & this.#mask
    const chunk = this.#chunks[first]!
    const start = this.#starts[first]!
    let next = place
    let end = start
    while (next < this.#head && end - start < most && this.#chunks[next & this.#mask] === chunk) end = this.#ends[next++ & this.#mask]!
    return { bytes: chunk.subarray(start, end), next }
  }

  #dropOldest(): void {
    const slot = this.#tail & this.#mask
    this.#floor = this.#seqs[slot]!
    this.#chunks[slot] = undefined
    this.#tail++
  }
}
