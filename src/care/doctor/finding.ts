// The finding of a check: a level, a sentence, and the remedy of a problem.

import { messageOf } from '../../errors.ts'

export const levels = ['OK', 'WARN', 'FAIL', 'SKIP'] as const
/** `SKIP`: the check was not possible, or is not needed here. */
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

/** Runs a check. A check that throws becomes a finding, so that the others still run. */
export async function tried(check: string, look: () => Promise<Finding | Finding[]>): Promise<Finding[]> {
  try {
    return [await look()].flat()
  } catch (error) {
    const { warn } = finder(check)
    return [warn(`this could not be looked at: ${messageOf(error)}`, 'look at it by hand, and tell us of it')]
  }
}
