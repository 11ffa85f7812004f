// The lines of events, made in batches: one can be made ready while the one before is being written.

import type { RuntimeEvent } from './event.ts'
import { jsonOf, makeTexts } from './event_texts.ts'
import { envelope, eventAt, lineEnd, lineOverhead, writeLine } from './log_line.ts'
import type { Noted } from './log_segment.ts'

/** An event on its way. */
export type Entry = {
  readonly event: RuntimeEvent
  /** The time of the event, in microseconds. */
  readonly us: number
  readonly seq: number
  readonly mono_us: number
  /** Made once, when it is first needed: see `jsonOf`. */
  json: string | undefined
  /** The buffer that has the text, between `from` and `to`: from the moment that the line is made, until the buffer is used again. */
  bytes: Buffer | undefined
  from: number
  to: number
  shown: boolean
}

export type Batch = { bytes: Buffer; entries: Entry[]; notes: Noted[] }

type BatchOptions = {
  /** At most so many events are in one batch. */
  burst: number
  /** Names this start of the service in the lines. */
  boot: string
  /** Whether the wall clock is in step. */
  inStep(): boolean
}

type Filled = { buffer: Buffer; entries: readonly Entry[] }

const batchBytes = 262_144

/** Two buffers that are used in turns, each with the entries whose lines are in it. */
export class LogBatches {
  readonly #options: BatchOptions
  #present: Filled = { buffer: Buffer.allocUnsafeSlow(batchBytes), entries: [] }
  #other: Filled = { buffer: Buffer.allocUnsafeSlow(batchBytes), entries: [] }

  constructor(options: BatchOptions) {
    this.#options = options
  }

  /** Takes events up to the number `through` from the queue as far as the buffer, and the burst, go. */
  next(queue: Entry[], through: number): Batch {
    for (const entry of this.#other.entries) entry.bytes = undefined
    let { buffer } = this.#other
    this.#other = this.#present
    const notes: Noted[] = []
    const { burst, boot, inStep } = this.#options
    const head = envelope(boot, inStep())
    let at = 0
    for (const [i, entry] of queue.entries()) {
      if (entry.json === undefined) makeTexts(queue, i)
      const json = jsonOf(entry)
      const room = json.length * 3 + lineOverhead
      if (entry.seq > through || notes.length === burst || (at > 0 && at + room > buffer.length)) break
      if (room > buffer.length) buffer = Buffer.allocUnsafeSlow(room)
      const to = writeLine(buffer, at, head, entry, json)
      // A text that waited for its line to be written would outlive two collections of garbage, and be moved by each.
      entry.json = undefined
      entry.bytes = buffer
      entry.from = at + eventAt
      entry.to = to - lineEnd
      notes.push({ us: entry.us, seq: entry.seq, execution_id: entry.event.execution_id, from: at, to })
      at = to
    }
    const entries = queue.splice(0, notes.length)
    this.#present = { buffer, entries }
    return { bytes: buffer.subarray(0, at), entries, notes }
  }
}
