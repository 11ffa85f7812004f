// The facts about a segment of the log that are known without reading it, the sidecar that stores them, and the files of a segment.

import { fstatSync, readFileSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, rename, rm, writeFile } from 'node:fs/promises'
import * as v from 'valibot'

export type OpenFile = (path: string, flags: string, mode?: number) => Promise<FileHandle>

export type Segment = {
  readonly number: number
  readonly path: string
  /** The bytes of the file with trusted lines; one more than the file has if a power cut took its last newline. */
  bytes: number
  count: number
  first_seq: number
  last_seq: number
  first_us: number
  last_us: number
  /** The executions whose events the segment holds; null when they are too many to list. */
  executions: Set<string> | null
  /** Time (µs), offset and sequence number of one line in 64 KiB. */
  marks: number[]
}

export type Noted = { us: number; seq: number; execution_id: string; from: number; to: number }

const markEvery = 65_536
const mostExecutions = 256
/** Bytes behind the last trusted line that are kept aside. */
const mostKeptAside = 1_048_576

export function emptySegment(folder: string, number: number): Segment {
  const path = `${folder}/events-${String(number).padStart(6, '0')}.jsonl`
  return { number, path, bytes: 0, count: 0, first_seq: 0, last_seq: 0, first_us: 0, last_us: 0, executions: new Set(), marks: [] }
}

/** Notes a line that was added at the end. Its offsets count from `start`. */
export function note(segment: Segment, { us, seq, execution_id, from, to }: Noted, start = 0): void {
  if (segment.count === 0) {
    segment.first_seq = seq
    segment.first_us = us
  }
  const marked = segment.marks.at(-2)
  if (marked === undefined || start + from - marked >= markEvery) segment.marks.push(us, start + from, seq)
  segment.count++
  segment.last_seq = seq
  segment.last_us = us
  segment.bytes = start + to
  segment.executions?.add(execution_id)
  if (segment.executions && segment.executions.size > mostExecutions) segment.executions = null
}

export function mayHold(segment: Segment, execution_id: string): boolean {
  return segment.executions?.has(execution_id) ?? true
}

/** Returns an offset at or before the first line that is not earlier than `us`, or that follows `seq`. */
export function seek({ marks }: Segment, { us, seq }: { us: number; seq: number }): number {
  let low = 0
  let high = marks.length / 3
  while (low < high) {
    const middle = (low + high) >> 1
    if (marks[middle * 3]! <= us || marks[middle * 3 + 2]! <= seq) low = middle + 1
    else high = middle
  }
  return low === 0 ? 0 : marks[low * 3 - 2]!
}

const Sidecar = v.strictObject({
  format: v.literal(1),
  bytes: v.number(),
  count: v.number(),
  first_seq: v.number(),
  last_seq: v.number(),
  first_us: v.number(),
  last_us: v.number(),
  executions: v.nullable(v.array(v.string())),
  marks: v.array(v.number()),
})

/** Bytes of a sidecar. A larger one is damaged, and would not fit into memory. */
const longestSidecar = 16 * 1024 * 1024

/** Reads the segment from its sidecar; undefined without a sidecar that fits the file. */
export function readSidecar(empty: Segment, fileBytes: number): Segment | undefined {
  try {
    const stats = statSync(sidecarOf(empty.path))
    if (!stats.isFile() || stats.size > longestSidecar) return undefined
    const { format, executions, ...known } = v.parse(Sidecar, JSON.parse(readFileSync(sidecarOf(empty.path), 'utf8')))
    if (known.bytes > fileBytes) return undefined
    return { ...empty, ...known, executions: executions && new Set(executions) }
  } catch {
    return undefined
  }
}

/** Not synced: a sidecar that is lost or torn is made anew from its segment. */
export async function writeSidecar(segment: Segment, open: OpenFile): Promise<void> {
  const { number, path, executions, ...known } = segment
  const text = JSON.stringify({ format: 1, ...known, executions: executions && [...executions] })
  const file = await open(`${sidecarOf(path)}.tmp`, 'w', 0o600)
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
  await rename(`${sidecarOf(path)}.tmp`, sidecarOf(path))
}

export function sidecarOf(path: string): string {
  return path.replace(/jsonl$/, 'idx.json')
}

/** Takes a segment and its sidecar away. */
export async function removeFiles(segment: Segment): Promise<void> {
  await rm(sidecarOf(segment.path), { force: true })
  await rm(segment.path, { force: true })
}

/** Whether the file has no name any more. The system knows that without the card. */
export function isDeleted({ fd }: FileHandle): boolean {
  return fstatSync(fd).nlink === 0
}

/** Throws unless the path is a plain file: a reader of a pipe would wait for ever. */
export function plainFile(path: string): Stats {
  const stats = statSync(path)
  if (!stats.isFile()) throw new Error('it is no plain file')
  return stats
}

/** Puts what follows the last trusted line into a file beside the segment's. */
export async function keepAside(file: FileHandle, segment: Segment): Promise<void> {
  const { size } = await file.stat()
  const tail = Buffer.alloc(Math.min(Math.max(0, size - segment.bytes), mostKeptAside))
  await file.read(tail, 0, tail.length, segment.bytes)
  if (!tail.some((byte) => byte !== 0)) return
  await rm(`${segment.path}.torn`, { force: true })
  await writeFile(`${segment.path}.torn`, tail, { mode: 0o600, flag: 'wx' })
}
