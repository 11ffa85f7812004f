// Numbers that somebody types at a shell.

import { CliError } from './exit.ts'

/** Returns the value of a decimal number, NaN for other text: `0x10` would be 16. */
export function decimal(text: string): number {
  return /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN
}

/** Returns the number. Throws a usage error for text that is none, or not right: `--port 70000 is not a port`. `what` names it, as `--port`. */
export function numberOf(what: string, text: string, is = 'a number', isRight = (_: number) => true): number {
  const value = decimal(text)
  if (Number.isFinite(value) && isRight(value)) return value
  throw new CliError('usage', `${what} ${text} is not ${is}`)
}

/** Returns the value of `--port`; 0 stands for any port that is free. */
export function portOf(text: string, least = 0, most = 65_535): number {
  const isPort = (port: number) => Number.isInteger(port) && port >= least && port <= most
  return numberOf('--port', text, `a port; take ${least} to ${most}`, isPort)
}

export function secondsOf(what: string, text: string, isRight = (seconds: number) => seconds > 0): number {
  return numberOf(what, text, 'a number of seconds', isRight)
}
