// The modes of runs at a shell: tables have their words, and --mode takes the values of the API.

import { modeWords } from '../clients/ts/api.ts'

type Mode = keyof typeof modeWords

/** Words a mode; that of a later version stays as it is. */
export function modeText(mode: string): string {
  return Object.hasOwn(modeWords, mode) ? modeWords[mode as Mode] : mode
}

/** Makes the option --mode for some modes. `more` ends its help. */
export function modeOption(more = '', modes: readonly Mode[] = Object.keys(modeWords) as Mode[]) {
  const help = `Mode: ${modes.map((mode) => `${mode} (${modeWords[mode].toLowerCase()})`).join(', ')}${more}`
  return { type: 'string', value: 'MODE', one_of: modes, help } as const
}
