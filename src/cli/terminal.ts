// Output at a shell: quiet mode, colors, and confirmations.

import { styleText } from 'node:util'
import { asTyped } from '../kit/as_typed.ts'
import { atShell } from './at_shell.ts'
import type { OptionValues } from './command.ts'
import { CliError } from './exit.ts'
import { forTerminal, ownColors, print, tell } from './table.ts'

let isQuiet = false

/** Applies the common options from now on. */
export function behave({ quiet = false, 'no-color': plain = false }: { quiet?: boolean; 'no-color'?: boolean }): void {
  isQuiet = quiet
  if (!plain) return
  delete process.env.FORCE_COLOR
  process.env.NO_COLOR = '1'
}

/** Prints a note on stderr, unless --quiet. */
export function note(text: string): void {
  if (!isQuiet) tell(text)
}

/** Says on stderr that a list is empty, so that a program that reads the list is not disturbed. */
export function noteNone(list: readonly unknown[], sentence: string): void {
  if (list.length === 0) note(sentence)
}

/** Colors text if stdout is a terminal without NO_COLOR, or with FORCE_COLOR. */
export function colored(color: Parameters<typeof styleText>[0], text: string): string {
  // Styles a placeholder, because Node would process codes in the text.
  const [begin = '', end = ''] = ownColors(styleText(color, '|')).split('|')
  return begin + text + end
}

/** Whether to show progress that rewrites its line: on a terminal, without --quiet. */
export function isWatched(): boolean {
  return process.stderr.isTTY === true && process.env.TERM !== 'dumb' && !isQuiet
}

/** `data` are the values of an operation, if it gave any. */
export type OperationAnswer = { success: boolean; message: string; data?: unknown }

/** Prints the outcome. Returns the exit code. */
export function say(answer: OperationAnswer, asJson = false): number {
  if (asJson) print(JSON.stringify(answer))
  else if (!isQuiet || !answer.success) print(atShell(answer.message))
  if (!asJson && answer.data !== undefined) print(JSON.stringify(answer.data))
  return answer.success ? 0 : 1
}

export const yesOption = { yes: { type: 'boolean', help: 'Do not ask for confirmation' } } as const

/** Asks before an action that cannot be undone, which `deed` names. Without a terminal it needs --yes. */
export async function mustBeSure({ yes }: OptionValues<typeof yesOption>, deed: string): Promise<void> {
  if (yes) return
  if (!canAsk()) throw new CliError('usage', `this would ${deed}; to have it done without being asked: --yes`)
  const answer = await answerTo(`benchd: ${deed}? [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('failed', 'it was left as it is')
}

/** Whether a person can be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

export async function answerTo(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await asking.question(forTerminal(asTyped(question)))
  } finally {
    asking.close()
  }
}
