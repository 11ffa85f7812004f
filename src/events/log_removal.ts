// Removes an execution's events from the log: hides them at once, and cuts them out of the files little by little.

import { renameSync } from 'node:fs'
import { type FileHandle, rm } from 'node:fs/promises'
import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import { asDamage, Damage } from '../kit/damage.ts'
import { remove } from '../kit/durable.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import type { LogFiles } from './log_files.ts'
import { crcAt, eventAt, executionOf, type Line, microsecondsOf, newline, nextLine, seqOf } from './log_line.ts'
import { blocks } from './log_scan.ts'
import { emptySegment, mayHold, note, removeFiles, type Segment, writeSidecar } from './log_segment.ts'

const Content = v.strictObject({ executions: v.record(v.string(), v.number()) })
type Content = v.InferOutput<typeof Content>

/** The CRCs of lines that were cut out: the newest one of each file, and the one that `keepCrcOf` named. */
const CutLines = v.strictObject({ lines: v.array(v.strictObject({ seq: v.number(), crc: v.string() })) })
type CutLines = v.InferOutput<typeof CutLines>
const mostCutLines = 256

export class LogRemoval {
  readonly #files: LogFiles
  readonly #file: JsonFile<Content>
  readonly #cutLines: JsonFile<CutLines>
  readonly #report: Report
  #removed: ReadonlyMap<string, number>
  #sweeping: Promise<void> | undefined
  #again = false
  #closed = false
  /** The number of the line whose CRC is kept when the line is cut out. */
  keptSeq = 0

  static async open(files: LogFiles, report: Report): Promise<LogRemoval> {
    const path = `${files.folder}/removed.json`
    const file = await JsonFile.open<Content>({ path, format: 1, schema: Content, empty: { executions: {} }, report })
    const cut = { path: `${files.folder}/cut_lines.json`, format: 1, schema: CutLines, empty: { lines: [] }, report }
    return new LogRemoval(files, file, await JsonFile.open<CutLines>(cut), report)
  }

  private constructor(files: LogFiles, file: JsonFile<Content>, cutLines: JsonFile<CutLines>, report: Report) {
    this.#files = files
    this.#file = file
    this.#cutLines = cutLines
    this.#report = report
    this.#removed = new Map(Object.entries(file.content.executions))
    this.sweep()
  }

  /** Keyed by execution: the sequence number up to which its events are removed. */
  get removed(): ReadonlyMap<string, number> {
    return this.#removed
  }

  /** Returns the CRC of a line that was cut out, if it is known. */
  crcOf(seq: number): string | undefined {
    return this.#cutLines.content.lines.find((line) => line.seq === seq)?.crc
  }

  /** Hides the execution's events up to `seq` for good. Rejects with `storage` if the removal cannot be stored. */
  async remove(execution_id: string, seq: number): Promise<void> {
    await this.#change((executions) => ({ ...executions, [execution_id]: seq }))
    this.sweep()
  }

  /** Cuts hidden events out of the sealed segments. Call it also when a segment has been sealed. */
  sweep(): void {
    if (this.#removed.size === 0 || this.#closed) return
    if (this.#sweeping) this.#again = true
    this.#sweeping ??= this.#sweepAll()
      .catch((error) =>
        this.#report({ kind: 'storage', message: `removed events could not be cut out of the log yet: ${messageOf(error)}` }),
      )
      .finally(() => {
        this.#sweeping = undefined
        if (this.#again) this.sweep()
      })
  }

  /** Resolves when no hidden event is left in the sealed segments. */
  async swept(): Promise<void> {
    while (this.#sweeping) await this.#sweeping
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.swept()
  }

  async #sweepAll(): Promise<void> {
    this.#again = false
    // While only the ends of a segment are known it may hold any execution, so all segments would be rewritten.
    await this.#files.index.complete()
    // Works on the present list: segments that are sealed or removed later are for the next sweep.
    const { segments } = this.#files
    const oldest = oldestInUse(segments)
    const done = [...this.#removed].filter(([, seq]) => seq < oldest)
    let damage: unknown
    for (const segment of segments.slice(0, -1)) {
      if (this.#closed) return
      if (this.#concerns(segment)) await this.#rewrite(segment).catch((error) => (damage ??= damageOf(error)))
    }
    if (damage) throw damage
    if (done.length === 0) return
    await this.#change((executions) => {
      const isDone = ([id, seq]: [string, number]) => done.some(([other, upTo]) => other === id && upTo === seq)
      return Object.fromEntries(Object.entries(executions).filter((entry) => !isDone(entry)))
    })
  }

  async #change(next: (executions: Content['executions']) => Content['executions']): Promise<void> {
    const { executions } = await this.#file.change((content) => ({ executions: next(content.executions) }))
    this.#removed = new Map(Object.entries(executions))
  }

  #concerns(segment: Segment): boolean {
    return [...this.#removed].some(([id, seq]) => seq >= segment.first_seq && mayHold(segment, id))
  }

  async #rewrite(segment: Segment): Promise<void> {
    const files = this.#files
    const remaining = emptySegment(files.folder, segment.number)
    const cut = new Map<'newest' | 'kept', CutLines['lines'][number]>()
    const from = await files.open(segment.path, 'r')
    let to: FileHandle | undefined
    try {
      to = await files.open(`${segment.path}.tmp`, 'w', 0o600)
      for await (const { bytes } of blocks(from, 0, segment.bytes)) {
        await to.writeFile(this.#keep(bytes, remaining, (line) => cut.set(line.seq === this.keptSeq ? 'kept' : 'newest', line)))
        await new Promise(setImmediate)
      }
      await to.sync()
    } catch (error) {
      // A partial copy would take the room of new events on a full disk.
      await remove(`${segment.path}.tmp`)
      throw error
    } finally {
      await Promise.all([from.close(), to?.close()])
    }
    if (cut.size) await this.#cutLines.change(({ lines }) => ({ lines: [...lines, ...cut.values()].slice(-mostCutLines) }))
    // In one turn of the event loop, so that a reader who opens the file gets the segment that describes it.
    if (remaining.count) renameSync(`${segment.path}.tmp`, segment.path)
    files.replace(remaining)
    if (remaining.count) await writeSidecar(remaining, files.open)
    else await Promise.all([removeFiles(remaining), rm(`${remaining.path}.tmp`, { force: true })])
    await files.syncFolder()
  }

  /** Moves the lines that stay together, and notes them. Calls `onCut` for each other line. */
  #keep(bytes: Buffer, remaining: Segment, onCut: (line: CutLines['lines'][number]) => void): Buffer {
    const start = remaining.bytes
    const skip = () => undefined
    for (let line = nextLine(bytes, 0, bytes.length, skip); line; line = nextLine(bytes, line.end + 1, bytes.length, skip)) {
      const noted = this.#noted(bytes, line)
      if (noted.seq <= (this.#removed.get(noted.execution_id) ?? 0)) {
        onCut({ seq: noted.seq, crc: crcAt(bytes, line.start) })
        continue
      }
      const from = remaining.bytes
      const length = line.end + 1 - line.start
      bytes.copyWithin(from - start, line.start, line.end)
      bytes[from - start + length - 1] = newline
      note(remaining, { ...noted, from, to: from + length })
    }
    return bytes.subarray(0, remaining.bytes - start)
  }

  #noted(bytes: Buffer, line: Line) {
    const event = line.start + eventAt
    return { us: microsecondsOf(bytes, event), seq: seqOf(bytes, line), execution_id: executionOf(bytes, event) }
  }
}

/** Returns the error of an unreadable segment, which does not keep the others from being rewritten. Throws any other error. */
function damageOf(error: unknown): unknown {
  if (asDamage(error) instanceof Damage) return error
  throw error
}

/** Returns the first sequence number of the segment that is being written, which may not exist yet. */
function oldestInUse(segments: readonly Segment[]): number {
  const last = segments.at(-1)
  return last?.count ? last.first_seq : (segments.at(-2)?.last_seq ?? -1) + 1
}
