// The tools of libgpiod as the tests themselves use them: Debian 12 has 1.6, Debian 13 has 2.2, and their options differ.

import { execFileSync } from 'node:child_process'

type Tools = {
  /** Prints each line of a chip, and who uses it. */
  info(chip: string): string[]
  /** Who uses the line, in what `info` printed. */
  user(line: number): RegExp
  /** Drives a line until it is ended. */
  hold(chip: string, line: number, level: 0 | 1): string[]
}

const generations: Record<string, Tools> = {
  1: {
    info: (chip) => ['gpioinfo', chip],
    user: (line) => new RegExp(`line +${line}: +\\S+ +"(\\w+)"`),
    hold: (chip, line, level) => ['gpioset', '--mode=signal', chip, `${line}=${level}`],
  },
  2: {
    info: (chip) => ['gpioinfo', `--chip=${chip}`],
    user: (line) => new RegExp(`line +${line}:.* consumer="?(\\w+)`),
    hold: (chip, line, level) => ['gpioset', `--chip=${chip}`, `${line}=${level}`],
  },
}

const version = execFileSync('gpioset', ['--version'], { encoding: 'utf8' })
const known = generations[/v(\d)\./.exec(version)?.[1] ?? '']
if (!known) throw new Error(`gpioset says ${JSON.stringify(version)}; versions 1 and 2 are known`)

export const tools: Tools = known
