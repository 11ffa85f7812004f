// The sequence numbers of events, which are the ids in a stream. No number is ever given to two events: a
// range of numbers is reserved on the disk before any of them is shown, and a start after a crash begins after that range.

import { randomInt } from 'node:crypto'
import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'

/** The log has no event with a number between these two. */
const Gap = v.strictObject({
  after: v.number(),
  before: v.number(),
  /** Whether such events existed for certain; else they may have been shown before a crash or a power cut. */
  is_certain: v.boolean(),
})
type Gap = v.InferOutput<typeof Gap>

const Content = v.strictObject({
  /** The highest number that may have been given. */
  reserved: v.number(),
  /** The record of the last orderly end: the last number given, and the last that is in the log. null while the service runs. */
  ended: v.nullable(v.strictObject({ given: v.number(), stored: v.number() })),
  gaps: v.array(Gap),
})
type Content = v.InferOutput<typeof Content>

const range = 2 ** 20
/** The ranges from which one is chosen at random when numbers cannot be reserved. */
const randomRanges = 2 ** 16
const mostGaps = 1000

type SequenceNumbersOptions = {
  path: string
  /** The last number in the log, 0 for an empty one. */
  stored: number
  /** The last number that was removed from the log, 0 without a removal. */
  removed: number
  report: Report
}

export class SequenceNumbers {
  readonly #file: JsonFile<Content>
  readonly #report: Report
  /** False after a crash or a power cut, and if the file does not tell. */
  readonly isAfterOrderlyEnd: boolean
  /** The last number in the log at the last orderly end; 0 after a crash, and if the file does not tell. */
  readonly ended: number
  #last = 0
  /** The last number that may be given. */
  #reserved = 0
  /** The number after which the next range is reserved. */
  #reserveAt = 0
  #gaps: readonly Gap[]
  #isWritten = false
  #isReported = false

  /** Reserves the first range. If the disk cannot be written, the numbers begin far away, at random. */
  static async open({ path, stored, removed, report }: SequenceNumbersOptions): Promise<SequenceNumbers> {
    let isSound = true
    const empty = { reserved: 0, ended: null, gaps: [] }
    const file = await JsonFile.open<Content>({
      ...{ path, format: 1, schema: Content, empty },
      report(trouble) {
        // The previous generation of the file may describe an older end.
        isSound = false
        report(trouble)
      },
    })
    const numbers = new SequenceNumbers(file, { stored, removed, isSound, report })
    if (!(await numbers.#write(null))) numbers.#leap()
    return numbers
  }

  private constructor(
    file: JsonFile<Content>,
    { stored, removed, isSound, report }: Omit<SequenceNumbersOptions, 'path'> & { isSound: boolean },
  ) {
    const { reserved, ended, gaps } = file.content
    this.#file = file
    this.#report = report
    this.#gaps = gaps
    const given = Math.max(stored, removed)
    const isFirstStart = reserved === 0 && given === 0
    this.isAfterOrderlyEnd = isSound && (isFirstStart || ended?.stored === stored)
    this.ended = isSound && ended ? ended.stored : 0
    this.#last = ended?.given ?? 0
    if (!this.isAfterOrderlyEnd) this.#skip(stored, nextRange(Math.max(reserved, given + range)))
  }

  /** The last number that was given. */
  get last(): number {
    return this.#last
  }

  next(): number {
    if (this.#last >= this.#reserveAt) this.#reserve()
    return ++this.#last
  }

  /** Notes that the events with the numbers between these two were dropped, and will never be in the log. */
  dropped(after: number, before: number): void {
    this.#note({ after, before, is_certain: true })
  }

  /** Notes that the log was cut after this number, so that events that may have been shown are lost. Resolves when the disk has stored or refused that. */
  async cut(after: number): Promise<void> {
    this.#note({ after, before: this.#last + 1, is_certain: false })
    await this.written()
  }

  /** Whether a reader who continues after this number misses events that are lost. */
  isGapBehind(seq: number): boolean {
    return this.#gaps.some(({ after, before, is_certain }) => (is_certain ? seq < before - 1 : after < seq && seq < before))
  }

  /** Whether the event of this number, if there ever was one, was lost after it may have been shown. */
  isLost(seq: number): boolean {
    return this.#gaps.some(({ after, before }) => after < seq && seq < before)
  }

  /** Counts the numbers between these two that were given for certain, without those that a crash leaves unknown. */
  givenBetween(after: number, before: number): number {
    const unknown = this.#gaps
      .filter(({ is_certain }) => !is_certain)
      .reduce((sum, gap) => sum + Math.max(0, Math.min(before, gap.before) - Math.max(after, gap.after) - 1), 0)
    return Math.max(0, before - after - 1 - unknown)
  }

  /** Resolves when the disk has stored or refused every gap. */
  async written(): Promise<void> {
    if (!this.#isWritten) await this.#write(null)
    await this.#file.settled()
  }

  /** Notes the orderly end: all events are in the log, and `stored` is the last number. */
  async end(stored: number): Promise<void> {
    await this.#write({ given: this.#last, stored })
  }

  #note(gap: Gap): void {
    const newest = this.#gaps.at(-1)
    const isJoined = newest?.is_certain === gap.is_certain && gap.after < newest.before
    this.#gaps = isJoined ? [...this.#gaps.slice(0, -1), joined(newest, gap)] : [...this.#gaps, gap]
    // Merging gaps reports a gap to some readers without need, and hides none.
    const [first, second, ...others] = this.#gaps
    if (this.#gaps.length > mostGaps) this.#gaps = [joined(first!, second!), ...others]
    this.#isWritten = false
  }

  #skip(after: number, next: number): void {
    this.#note({ after, before: next, is_certain: false })
    this.#last = next - 1
  }

  #reserve(): void {
    if (this.#last >= this.#reserved) this.#leap()
    // If the disk refuses, it is tried again after a sixteenth of a range.
    this.#reserveAt = Math.min(this.#reserved, this.#last + range / 16)
    void this.#write(null)
  }

  /** Jumps to a random range. A later start does not know numbers that the disk refused, and so must not meet them. */
  #leap(): void {
    this.#skip(this.#last, nextRange(this.#last) + randomInt(1, randomRanges) * range)
    this.#reserved = this.#last + range
    this.#reserveAt = this.#last + range / 2
  }

  /** Returns whether the disk has stored the content. */
  async #write(ended: Content['ended']): Promise<boolean> {
    const wanted = nextRange(this.#last + range) - 1
    try {
      const { reserved } = await this.#file.change((before) => {
        this.#isWritten = true
        return { reserved: Math.max(before.reserved, wanted), ended, gaps: [...this.#gaps] }
      })
      this.#reserved = Math.max(this.#reserved, reserved)
      this.#reserveAt = this.#reserved - range / 2
      return true
    } catch (error) {
      this.#isWritten = false
      if (!this.#isReported) this.#report({ kind: 'storage', message: `the numbers of events cannot be reserved: ${messageOf(error)}` })
      this.#isReported = true
      return false
    }
  }
}

/** The first number of the next range. */
function nextRange(seq: number): number {
  return (Math.floor(seq / range) + 1) * range
}

function joined(a: Gap, b: Gap): Gap {
  return { after: Math.min(a.after, b.after), before: Math.max(a.before, b.before), is_certain: a.is_certain || b.is_certain }
}
