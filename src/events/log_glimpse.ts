// The facts about a segment from its first and last line alone, which serve readers until the whole segment has been read.

import { closeSync, openSync, readSync } from 'node:fs'
import { isWhole, newline } from './log_line.ts'
import { notesOf } from './log_scan.ts'
import { type Noted, note, type Segment } from './log_segment.ts'

/** The bytes at each end of the file that are searched for the first and the last line. */
const edgeBytes = 65_536

/**
 * Returns the segment with unknown executions and an estimated number of lines. Returns undefined if a line at an end
 * is not whole. Throws errors of the file system.
 */
export function glimpse(empty: Segment, fileBytes: number): Segment | undefined {
  const file = openSync(empty.path, 'r')
  try {
    const head = Buffer.alloc(Math.min(edgeBytes, fileBytes))
    const tail = Buffer.alloc(head.length)
    const tailAt = fileBytes - tail.length
    readSync(file, head, 0, head.length, 0)
    readSync(file, tail, 0, tail.length, tailAt)
    const first = lineOf(head, 0, head.indexOf(newline), 0)
    const last = lineOf(tail, tail.lastIndexOf(newline, -2) + 1, tail.length - 1, tailAt)
    if (!first || !last || last.to !== fileBytes || last.seq < first.seq || last.us < first.us) return undefined
    const segment = { ...empty, executions: null }
    note(segment, first)
    note(segment, last)
    const usualBytes = (first.to - first.from + last.to - last.from) / 2
    segment.count = Math.max(1, Math.min(last.seq - first.seq + 1, Math.round(fileBytes / usualBytes)))
    return segment
  } finally {
    closeSync(file)
  }
}

/** The facts about the line between two offsets of a block that begins at the byte `at` of its file; undefined unless it is whole. */
function lineOf(bytes: Buffer, start: number, end: number, at: number): Noted | undefined {
  if (end < 0 || bytes[end] !== newline || !isWhole(bytes, start, end)) return undefined
  const [noted] = notesOf(bytes.subarray(start, end + 1), at + start)
  return noted
}
