// Reads a segment from its file alone, in blocks of whole lines, and collects the facts about it.

import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { eventAt, executionOf, microsecondsOf, newline, nextLine, seqOf } from './log_line.ts'
import { emptySegment, type Noted, note, type OpenFile, type Segment, seek } from './log_segment.ts'

type Block = { bytes: Buffer; at: number }

const blockBytes = 262_144
const longestLine = 8_388_608

/**
 * Yields the bytes between two offsets, in blocks of whole lines; only the last may end inside a line. One
 * buffer serves all blocks: a block is valid until the next is requested, and the caller may overwrite it.
 */
export async function* blocks(file: FileHandle, from: number, to: number): AsyncGenerator<Block> {
  let buffer: Buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(blockBytes, to - from)))
  let at = from
  let held = 0
  while (true) {
    const { bytesRead } = await file.read(buffer, held, Math.min(buffer.length - held, to - at - held), at + held)
    held += bytesRead
    const ended = bytesRead === 0 || at + held >= to || held >= longestLine
    const length = ended ? held : held && buffer.lastIndexOf(newline, held - 1) + 1
    if (length > 0) yield { bytes: buffer.subarray(0, length), at }
    at += length
    held -= length
    if (bytesRead === 0 || at >= to) return
    if (length === 0) buffer = grown(buffer, held)
    else buffer.copyWithin(0, length, length + held)
  }
}

/** Calls `work` with the open file, or folder, and closes it. */
export async function opened<Result>(open: OpenFile, path: string, work: (file: FileHandle) => Promise<Result>): Promise<Result> {
  const file = await open(path, 'r')
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

/** Yields the facts about the lines of a segment that follow the number `after`, and about a few before them. */
export async function* linesOf(open: OpenFile, segment: Segment, after: number): AsyncGenerator<Noted> {
  const file = await open(segment.path, 'r')
  try {
    for await (const { bytes, at } of blocks(file, seek(segment, { us: -1, seq: after }), segment.bytes)) yield* notesOf(bytes, at)
  } finally {
    await file.close()
  }
}

export type Damage = { from: number; to: number }
export type Scanned = { segment: Segment; damages: Damage[]; torn: Damage | undefined }

/**
 * Reads the file's lines up to `to` and notes them in the empty segment. Bytes after the last whole line are the
 * torn tail; a broken line before it is damage. If only the last newline is missing, the segment reaches past `to`.
 */
export async function scan(file: FileHandle, segment: Segment, to: number): Promise<Scanned> {
  const damages: Damage[] = []
  for await (const { bytes, at } of blocks(file, 0, to)) {
    const onDamage = (from: number, end: number) => damages.push({ from: at + from, to: at + end })
    for (const noted of notesOf(bytes, at, onDamage)) note(segment, noted)
  }
  const torn = segment.bytes < to ? { from: segment.bytes, to } : undefined
  return { segment, damages: damages.filter(({ from }) => from < segment.bytes), torn }
}

/** Scans the file of a segment anew. */
export function scanned(open: OpenFile, { path, number }: Segment, to: number): Promise<Scanned> {
  return opened(open, path, (file) => scan(file, emptySegment(dirname(path), number), to))
}

/** Yields the facts about each whole line of a block, which begins at the byte `at` of its file. */
export function* notesOf(bytes: Buffer, at: number, onDamage: (from: number, to: number) => void = () => {}): Generator<Noted> {
  let line = nextLine(bytes, 0, bytes.length, onDamage)
  while (line) {
    const event = line.start + eventAt
    const where = { from: at + line.start, to: at + line.end + 1 }
    yield { us: microsecondsOf(bytes, event), seq: seqOf(bytes, line), execution_id: executionOf(bytes, event), ...where }
    line = nextLine(bytes, line.end + 1, bytes.length, onDamage)
  }
}

function grown(buffer: Buffer, held: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(buffer.length * 2, longestLine))
  buffer.copy(larger, 0, 0, held)
  return larger
}
