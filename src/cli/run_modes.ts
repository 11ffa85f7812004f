// The modes of runs at a shell: tables have their words, and --mode takes the values of the API.

import { modeWords, type RunMode, runModes } from '../workflow/state/modes.ts'

/** Makes the option --mode for some modes. `more` ends its help. */
export function modeOption<Mode extends RunMode>(more = '', modes = runModes as readonly RunMode[] as readonly Mode[]) {
  const help = `Mode: ${modes.map((mode) => `${mode} (${modeWords[mode].toLowerCase()})`).join(', ')}${more}`
  return { type: 'string', value: 'MODE', one_of: modes, help } as const
}
