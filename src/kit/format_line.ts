// The first line of a file of JSON lines may be `{"format": 2}`; a file without it is of format 1. As with other files, a newer format than
// is known is refused and never rewritten.

import { basename } from 'node:path'
import { LabError } from '../errors.ts'

const pattern = /^\s*\{"format":\s*(\d+)\}/

const wholeLine = /^\s*\{"format":\s*\d+\}\s*$/

/** The format of a file with that text. */
export function formatOf(text: string): number {
  return Number(pattern.exec(text)?.[1] ?? 1)
}

/** Throws `config` when the text of the file is of a newer format than `known`. */
export function mustKnowFormat(text: string, path: string, known = 1): void {
  const format = formatOf(text)
  if (format <= known) return
  throw new LabError(
    'config',
    `${basename(path)} has format ${format}; this version knows up to ${known}: install a newer version, the file was left alone`,
  )
}

/** Whether a line only tells the format. */
export function isFormatLine(line: string): boolean {
  return wholeLine.test(line)
}
