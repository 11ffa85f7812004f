// Reads answers from the log: raw bytes of events, cut out of their lines and never parsed.

import type { FileHandle } from 'node:fs/promises'
import { asDamage, Damage } from '../kit/damage.ts'
import { jsonOf } from './event_texts.ts'
import type { Entry } from './log_batches.ts'
import type { LogFiles } from './log_files.ts'
import {
  eventAt,
  executionNeedle,
  executionOf,
  hasNeedle,
  type Line,
  microsecondsOf,
  newline,
  nextLine,
  seqOf,
  writeDecimal,
} from './log_line.ts'
import { blocks } from './log_scan.ts'
import { mayHold, type Segment, seek } from './log_segment.ts'
import { writeText } from './ring.ts'

export type Query = {
  /** Events of this time and later, in microseconds. */
  since_us?: number
  /** Events after this sequence number. */
  after_seq?: number
  execution_id?: string | undefined
  limit?: number | undefined
}

/**
 * The form of the output: elements of a JSON array with commas between them, frames of a stream, or whole lines
 * of the log. Events that are only in memory, because the log cannot be written, have no lines.
 */
export type Form = 'array' | 'frames' | 'lines'

/** Some of the events of an answer. */
export type Chunk = {
  /** Valid until the next piece is requested; may be empty. */
  bytes: Buffer
  /** The number of events so far. */
  count: number
  /** The time of the last event so far, in microseconds. */
  last_us: number
  /** The sequence number up to which all events have been examined. */
  through: number
}

/** The end of the log at the moment of the request. */
type Snapshot = { through: number; tail: readonly Entry[]; removed: ReadonlyMap<string, number> }

export async function* readLog(files: LogFiles, query: Query, form: Form, { through, tail, removed }: Snapshot): AsyncGenerator<Chunk> {
  const cutter = new Cutter(query, form, removed, through)
  let number = 0
  while (!cutter.isDone) {
    const opened = await openNext(files, number, cutter)
    if (!opened) break
    const { file, segment } = opened
    number = segment.number + 1
    const { last_seq } = segment
    try {
      yield* cutter.segment(segment, file, (damage) => files.tellDamage(segment, damage))
    } catch (error) {
      passOver(files, segment, error)
    } finally {
      await file.close()
    }
    cutter.through = Math.max(cutter.through, Math.min(last_seq, through))
  }
  yield cutter.entries(tail)
}

/** Estimates the bytes to read: the segments from the beginning of the answer, or with a limit, twice that number of average lines. */
export function bytesToRead(segments: readonly Segment[], { since_us = 0, after_seq = 0, execution_id, limit }: Query): number {
  const wanted = segments.filter((one) => concerns(one, { since_us, after_seq, execution_id }))
  const bytes = wanted.reduce((sum, one) => sum + one.bytes - seek(one, { us: since_us, seq: after_seq }), 0)
  // The lines of other executions are read too, and do not count for the limit.
  if (limit === undefined || execution_id !== undefined || wanted.length === 0) return bytes
  const lines = wanted.reduce((sum, { count }) => sum + count, 0)
  const size = wanted.reduce((sum, one) => sum + one.bytes, 0)
  return Math.min(bytes, (2 * limit * size) / lines)
}

type LogQuery = { since_us: number; after_seq: number; execution_id: string | undefined }

function concerns(segment: Segment, { since_us, after_seq, execution_id }: LogQuery): boolean {
  if (segment.count === 0 || segment.last_us < since_us || segment.last_seq <= after_seq) return false
  return execution_id === undefined || mayHold(segment, execution_id)
}

/** Opens the next segment that may hold events of the answer; once more if it was rewritten meanwhile. */
async function openNext(files: LogFiles, from: number, cutter: Cutter): Promise<{ file: FileHandle; segment: Segment } | undefined> {
  for (let number = from; ; ) {
    const segment = files.segments.find((one) => one.number >= number && cutter.concerns(one))
    if (!segment) return undefined
    const file = await files.open(segment.path, 'r').catch((error) => {
      if (!files.segments.includes(segment)) return
      passOver(files, segment, error)
      number = segment.number + 1
    })
    if (file && files.segments.includes(segment)) return { file, segment }
    await file?.close()
  }
}

/** Reports an unreadable segment, which is skipped. Throws an error that may be temporary. */
function passOver(files: LogFiles, segment: Segment, error: unknown): void {
  const damage = asDamage(error)
  if (!(damage instanceof Damage)) throw error
  files.tellUnreadable(segment, damage.message)
}

class Cutter {
  readonly #since_us: number
  readonly #execution_id: string | undefined
  readonly #needle: Buffer | undefined
  readonly #limit: number
  readonly #form: Form
  readonly #removed: ReadonlyMap<string, number>
  readonly #upTo: number
  /** Whether each line has to be examined, because it may be too early, too late, or removed. */
  #looksAtTime = false
  #looksAtSeq = false
  #looksAtExecution = false
  #count = 0
  #last_us = 0
  through: number

  constructor(
    { since_us = 0, after_seq = 0, execution_id, limit = Number.POSITIVE_INFINITY }: Query,
    form: Form,
    removed: ReadonlyMap<string, number>,
    upTo: number,
  ) {
    this.#since_us = since_us
    this.through = after_seq
    this.#execution_id = execution_id
    this.#needle = execution_id === undefined ? undefined : executionNeedle(execution_id)
    this.#limit = limit
    this.#form = form
    this.#removed = removed
    this.#upTo = upTo
  }

  get isDone(): boolean {
    return this.#count >= this.#limit
  }

  concerns(segment: Segment): boolean {
    const wanted = { since_us: this.#since_us, after_seq: this.through, execution_id: this.#execution_id }
    return segment.first_seq <= this.#upTo && concerns(segment, wanted)
  }

  async *segment(segment: Segment, file: FileHandle, onDamage: (damage: { from: number; to: number }) => void): AsyncGenerator<Chunk> {
    this.#looksAtTime = segment.first_us < this.#since_us
    this.#looksAtSeq = segment.first_seq <= this.through || segment.last_seq > this.#upTo
    this.#looksAtExecution = [...this.#removed].some(([id, seq]) => seq >= segment.first_seq && mayHold(segment, id))
    const from = seek(segment, { us: this.#since_us, seq: this.through })
    for await (const { bytes, at } of blocks(file, from, segment.bytes)) {
      const piece = this.#piece(this.#cut(bytes, (start, end) => onDamage({ from: at + start, to: at + end })))
      if (piece.bytes.length) yield piece
      if (this.isDone) return
    }
  }

  /** Makes a piece of events that are not in the file yet. */
  entries(entries: readonly Entry[]): Chunk {
    if (this.#form === 'lines') return this.#piece(Buffer.alloc(0))
    const isFrames = this.#form === 'frames'
    const chosen = entries.filter((entry) => this.#chooses(entry)).slice(0, Math.max(0, this.#limit - this.#count))
    const texts = chosen.map((entry) => (isFrames ? frame(jsonOf(entry), entry.seq) : jsonOf(entry)))
    const comma = isFrames || this.#count === 0 || chosen.length === 0 ? '' : ','
    this.#count += chosen.length
    this.#last_us = chosen.at(-1)?.us ?? this.#last_us
    this.through = Math.max(this.through, this.#upTo)
    return this.#piece(Buffer.from(comma + texts.join(isFrames ? '' : ',')))
  }

  #chooses({ us, seq, event: { execution_id } }: Entry): boolean {
    if (us < this.#since_us || seq <= this.through || seq <= (this.#removed.get(execution_id) ?? 0)) return false
    return this.#execution_id === undefined || this.#execution_id === execution_id
  }

  #piece(bytes: Buffer): Chunk {
    return { bytes, count: this.#count, last_us: this.#last_us, through: this.through }
  }

  /** Moves the events of a block together in place: an envelope is longer than the separator of two events. */
  #cut(block: Buffer, onDamage: (from: number, to: number) => void): Buffer {
    let end = 0
    let newest = -1
    const move = this.#moves[this.#form]
    for (let line = this.#next(block, 0, onDamage); line; line = this.#next(block, line.end + 1, onDamage)) {
      if (!this.#wants(block, line)) continue
      newest = end + (this.#form !== 'array' || this.#count ? 1 : 0)
      end = move(block, line, end)
      this.#count++
      if (this.isDone) break
    }
    if (newest !== -1) this.#last_us = microsecondsOf(block, newest)
    return block.subarray(0, end)
  }

  #next(block: Buffer, from: number, onDamage: (from: number, to: number) => void): Line | undefined {
    return this.#needle ? nextWith(this.#needle, block, from, onDamage) : nextLine(block, from, block.length, onDamage)
  }

  #wants(block: Buffer, line: Line): boolean {
    const event = line.start + eventAt
    if (this.#looksAtTime) {
      if (microsecondsOf(block, event) < this.#since_us) return false
      this.#looksAtTime = false
    }
    if (!this.#looksAtSeq && !this.#looksAtExecution) return true
    const seq = seqOf(block, line)
    if (seq <= this.through || seq > this.#upTo) return false
    return !this.#looksAtExecution || seq > (this.#removed.get(executionOf(block, event)) ?? 0)
  }

  readonly #moves = {
    array: (block: Buffer, line: Line, to: number) => this.#moveEvent(block, line, to),
    frames: (block: Buffer, line: Line, to: number) => this.#moveFrame(block, line, to),
    lines: moveLine,
  } satisfies Record<Form, unknown>

  #moveEvent(block: Buffer, { start, end }: Line, to: number): number {
    const at = this.#count ? to + 1 : to
    block.copyWithin(at, start + eventAt, end - 1)
    if (at > to) block[to] = comma
    return at + end - 1 - start - eventAt
  }

  #moveFrame(block: Buffer, line: Line, to: number): number {
    this.through = seqOf(block, line)
    block.copyWithin(to + frameHead.length, line.start + eventAt, line.end - 1)
    block.write(frameHead, to, 'latin1')
    const end = to + frameHead.length + line.end - 1 - line.start - eventAt
    return end + block.write(frameTail(this.through), end, 'latin1')
  }
}

/** Moves a line with its newline. Returns its new end. */
function moveLine(block: Buffer, { start, end }: Line, to: number): number {
  block.copyWithin(to, start, end)
  const newEnd = to + end - start
  // The last line of a block may lack its newline, where the block ends.
  if (newEnd < block.length) block[newEnd] = newline
  return newEnd + 1
}

const comma = 0x2c
const frameHead = 'event: runtime_event\ndata: '

function frameTail(seq: number): string {
  return `\nid: ${seq}\n\n`
}

/** Makes the frame of an event in a stream. JSON text has no line ends. */
export function frame(json: string, seq: number): string {
  return frameHead + json + frameTail(seq)
}

const headBytes = Buffer.from(frameHead)
const idBytes = Buffer.from('\nid: ')

/** Writes such a frame and returns its end. There must be room for the bytes of `json`, and 64 more. */
export function writeFrame(buffer: Buffer, at: number, json: string | Buffer, seq: number): number {
  buffer.set(headBytes, at)
  const end = writeText(buffer, at + headBytes.length, json)
  buffer.set(idBytes, end)
  let digits = 1
  for (let power = 10; power <= seq; power *= 10) digits++
  const to = end + idBytes.length + digits
  writeDecimal(buffer, to, seq)
  buffer[to] = newline
  buffer[to + 1] = newline
  return to + 2
}

/** Finds the next line of one execution, without examining the lines between. */
function nextWith(needle: Buffer, block: Buffer, from: number, onDamage: (from: number, to: number) => void): Line | undefined {
  let hit = block.indexOf(needle, from)
  while (hit !== -1) {
    const found = block.indexOf(newline, hit)
    const end = found === -1 ? block.length : found
    // There may be several lines between two newlines if damage hit a newline.
    let line = nextLine(block, Math.max(from, block.lastIndexOf(newline, hit) + 1), end, onDamage)
    while (line && !hasNeedle(block, line.start + eventAt, needle)) line = nextLine(block, line.end + 1, end, onDamage)
    if (line) return line
    hit = block.indexOf(needle, end)
  }
  return undefined
}
