// Parses typed numbers.

import { CliError } from './exit.ts'

/** Parses a decimal number; NaN for other text, also for `0x10`, which `Number` accepts. */
export function decimal(text: string): number {
  return /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN
}

/** Parses a number. Throws a usage error for an invalid one, such as `--port 70000 is not a port`. `what` names the option. */
export function numberOf(what: string, text: string, is = 'a number', isRight = (_: number) => true): number {
  const value = decimal(text)
  if (Number.isFinite(value) && isRight(value)) return value
  throw new CliError('usage', `${what} ${text} is not ${is}`)
}

/** Parses the value of `--port`; 0 is any free port. */
export function portOf(text: string, least = 0, most = 65_535): number {
  const isPort = (port: number) => Number.isInteger(port) && port >= least && port <= most
  return numberOf('--port', text, `a port; take ${least} to ${most}`, isPort)
}

export function secondsOf(what: string, text: string, isRight = (seconds: number) => seconds > 0): number {
  return numberOf(what, text, 'a number of seconds', isRight)
}
