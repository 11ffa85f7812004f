// The finding of a check: a level, one line about it, and what to do where something is not well.

import { messageOf } from '../../errors.ts'

export const levels = ['OK', 'WARN', 'FAIL', 'SKIP'] as const
/** `SKIP`: it could not be looked at, or nothing here needs it. */
export type Level = (typeof levels)[number]

export type Finding = { check: string; level: Level; finding: string; fix?: string }

/** Makes the findings of one check. */
export function finder(check: string) {
  return {
    ok: (finding: string): Finding => ({ check, level: 'OK', finding }),
    skip: (finding: string, fix?: string): Finding => ({ check, level: 'SKIP', finding, ...(fix && { fix }) }),
    warn: (finding: string, fix: string): Finding => ({ check, level: 'WARN', finding, fix }),
    fail: (finding: string, fix: string): Finding => ({ check, level: 'FAIL', finding, fix }),
  }
}

/** Runs a check. A check that breaks is a finding, and keeps none of the others from being made. */
export async function tried(check: string, look: () => Promise<Finding | Finding[]>): Promise<Finding[]> {
  try {
    return [await look()].flat()
  } catch (error) {
    const { warn } = finder(check)
    return [warn(`this could not be looked at: ${messageOf(error)}`, 'look at it by hand, and tell us of it')]
  }
}
