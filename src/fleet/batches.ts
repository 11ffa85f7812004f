// Cuts the log into batches for the broker: lines `{"seq":42,"event":{…}}`, copied and never parsed.

import type { EventLog } from '../events/log.ts'
import { crcAt, eventAt, newline, seqOf } from '../events/log_line.ts'

export type Batch = {
  /** Sequence numbers of the first and the last event. */
  from: number
  to: number
  /** The CRC of the last line in the log. */
  to_crc: string
  count: number
  payload: Buffer
}

const mostEvents = 200
const mostBytes = 65_536

export class Batches {
  readonly #log: EventLog
  readonly #largest: number
  #buffer = Buffer.allocUnsafeSlow(mostBytes)
  #length = 0
  #from = 0
  #to = 0
  #to_crc = ''
  #count = 0

  /** `largest` is how much fits into a message, in bytes. */
  constructor(log: EventLog, largest: number) {
    this.#log = log
    this.#largest = largest
  }

  /** Reads the events after a number that are in the file now. A batch is valid until the next one is requested. */
  async *after(seq: number): AsyncGenerator<Batch> {
    this.#clear()
    for await (const { bytes } of this.#log.read({ after_seq: seq }, 'lines')) {
      for (let start = 0; start < bytes.length; ) {
        const found = bytes.indexOf(newline, start)
        const end = found === -1 ? bytes.length : found
        if (!this.#fits(end - start)) yield* this.#take()
        this.#add(bytes, start, end)
        start = end + 1
      }
    }
    if (this.#count > 0) yield* this.#take()
  }

  /** Whether a log line of that length fits into the batch. An event that is too large for a batch becomes a batch of its own. */
  #fits(length: number): boolean {
    return this.#count === 0 || (this.#count < mostEvents && this.#length + length - eventAt + overhead <= mostBytes)
  }

  #add(bytes: Buffer, start: number, end: number): void {
    const seq = seqOf(bytes, { start, end })
    // The event, and the brace that ends its line.
    const size = end - start - eventAt
    if (this.#count === 0) this.#from = seq
    if (size + overhead > this.#largest) this.#write(`${head}${seq},"too_large":${size - 1}}\n`)
    else {
      this.#write(`${head}${seq}${middle}`, size + 1)
      this.#length += bytes.copy(this.#buffer, this.#length, start + eventAt, end)
      this.#buffer[this.#length++] = newline
    }
    this.#to = seq
    this.#to_crc = crcAt(bytes, start)
    this.#count++
  }

  *#take(): Generator<Batch> {
    const payload = this.#buffer.subarray(0, this.#length)
    yield { from: this.#from, to: this.#to, to_crc: this.#to_crc, count: this.#count, payload }
    this.#clear()
  }

  #clear(): void {
    // Frees the buffer of a large event.
    if (this.#buffer.length > mostBytes) this.#buffer = Buffer.allocUnsafeSlow(mostBytes)
    this.#length = 0
    this.#count = 0
  }

  /** Writes text, and makes room for `behind` bytes after it. Only an event that is alone in its batch needs a larger buffer. */
  #write(text: string, behind = 0): void {
    const needed = this.#length + text.length + behind
    if (needed > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(needed)
    this.#length += this.#buffer.write(text, this.#length, 'latin1')
  }
}

const head = '{"seq":'
const middle = ',"event":'
/** The bytes of a line for the broker besides its event: a sequence number has 16 digits at most. */
const overhead = head.length + 16 + middle.length + 1
