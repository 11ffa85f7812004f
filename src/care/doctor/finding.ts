// What a check finds: a word for how it is, one line about it, and what to do where it is not well.

import { messageOf } from '../../errors.ts'

export const levels = ['OK', 'WARN', 'FAIL', 'SKIP'] as const
/** `SKIP`: it could not be looked at, or nothing here needs it. */
export type Level = (typeof levels)[number]

export type Finding = { check: string; level: Level; finding: string; fix?: string }

/** One check's ways to say it. */
export function finder(check: string) {
  return {
    ok: (finding: string): Finding => ({ check, level: 'OK', finding }),
    skip: (finding: string, fix?: string): Finding => ({ check, level: 'SKIP', finding, ...(fix && { fix }) }),
    warn: (finding: string, fix: string): Finding => ({ check, level: 'WARN', finding, fix }),
    fail: (finding: string, fix: string): Finding => ({ check, level: 'FAIL', finding, fix }),
  }
}

/** A check that breaks is told as such, and keeps none of the others from being made. */
export async function tried(check: string, look: () => Promise<Finding | Finding[]>): Promise<Finding[]> {
  try {
    return [await look()].flat()
  } catch (error) {
    const { warn } = finder(check)
    return [warn(`this could not be looked at: ${messageOf(error)}`, 'look at it by hand, and tell us of it')]
  }
}
