// The one error of the Opentrons Temperature Module, which it reports as a sentence and not by number.

import type { ErrorTable } from '../reported.ts'

/** The sentences of the firmware, by the numbers that they have here. */
export const sentences: Readonly<Record<number, string>> = { 1: 'Temperature module overheated! Deactivating.' }

export const errorTable: ErrorTable = {
  codes: {
    1: [
      'the plate was above 99 °C, and the module stays off until its power is cycled',
      'Let the module cool down, then switch it off and on; call its service if the error comes back',
    ],
  },
  manual: 'the manual of the Temperature Module',
  write: (code) => (sentences[code] ? `"${sentences[code]}"` : `error ${code}`),
}
