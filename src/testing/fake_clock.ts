// For tests: runs a process with a wrong system clock, with the program `faketime`.

import { execFileSync, spawnSync } from 'node:child_process'

/** Says why the clock of a process cannot be set here, or false. */
export const noFakeClock = spawnSync('faketime', ['--version']).status !== 0 && 'there is no faketime'

/** Returns the environment of a process whose system clock is off by `offset` (`+1h`). Its monotonic clock is right. */
export function clockOff(offset: string): Record<string, string> {
  const shown = execFileSync('faketime', ['-m', '-f', offset, 'env'], { encoding: 'utf8' })
  const preload = /^LD_PRELOAD=(.*)$/m.exec(shown)?.[1]
  if (!preload) throw new Error(`faketime names no library: ${shown}`)
  return { LD_PRELOAD: preload, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
}
