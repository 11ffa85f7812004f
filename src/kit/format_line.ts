// The first line of a file of JSON lines may be `{"format": 2}`; without it the file has format 1. A newer format than the
// known one is refused and never rewritten.

import { basename } from 'node:path'
import { LabError } from '../errors.ts'

const pattern = /^\s*\{"format":\s*(\d+)\}/

const wholeLine = /^\s*\{"format":\s*\d+\}\s*$/

/** Returns the format of a file with that text. */
export function formatOf(text: string): number {
  return Number(pattern.exec(text)?.[1] ?? 1)
}

/** Throws `config` if the format is newer than `known`. */
export function mustKnowFormat(text: string, path: string, known = 1): void {
  const format = formatOf(text)
  if (format <= known) return
  throw new LabError(
    'config',
    `${basename(path)} has format ${format}; this version knows up to ${known}: install a newer version, the file was left alone`,
  )
}

/** Whether a line is the format line. */
export function isFormatLine(line: string): boolean {
  return wholeLine.test(line)
}
