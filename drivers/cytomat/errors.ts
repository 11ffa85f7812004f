// The errors of a Cytomat: those of its error register, and the refusals of its commands, which have numbers of their own.

import type { ErrorTable, Meaning } from '../reported.ts'

/** Added to the number of a refusal, so that one table holds both lists. */
export const refusal = 0x100

/** The refusals that change nothing and may be spurious: busy, and unknown. */
export const spurious: ReadonlySet<number> = new Set([0x01, 0x02])
export const notShaking = 0x61

const openIt = 'Open the door of the instrument, see where the plate and the shovel are, free them and close the door'

const errors: Record<number, Meaning> = {
  0: ['it names no cause', 'Read the display of the instrument and remove the cause'],
  1: ['its control unit does not reach its motors', 'Switch the instrument off and on'],
  2: ['no plate came onto the shovel', 'See whether the slot, or the transfer station, holds the plate, and whether it lies straight'],
  3: ['the plate did not leave the shovel', 'See whether the place to which it went was taken, and take the plate from the shovel'],
  4: ['the shovel did not come out, or the handler is not where it should be', openIt],
  5: ['a motion took too long', openIt],
  6: ['the gate did not open', 'See what blocks the gate, and free it'],
  7: ['the gate did not close', 'See what blocks the gate, and free it'],
  8: ['the shovel did not go back', openIt],
  10: ['a motor control is too hot', 'Let the instrument cool down'],
  11: ['a motor control has failed', 'Switch the instrument off and on; call the service of the manufacturer if it comes back'],
  12: ['the transfer station did not turn', 'See what blocks the transfer station, and free it'],
  13: ['its heater or its gas supply does not answer', 'See the climate on the display, and call the service of the manufacturer'],
  14: ['its shakers do not answer', 'Switch the instrument off and on'],
  15: ['its shakers are not set up as they should be', 'Call the service of the manufacturer'],
  16: ['a shaker did not start', 'See what blocks the shaker, and free it'],
  19: ['the clamp of a shaker did not open', 'See what blocks the clamp, and free it'],
  20: ['the clamp of a shaker did not close', 'See what blocks the clamp, and free it'],
  255: ['it failed again while it dealt with an error', 'Switch the instrument off and on'],
}

const refusals: Record<number, Meaning> = {
  1: ['it is busy', 'Wait until it is at rest'],
  2: ['it does not know the command', 'Check that the model in the settings is right'],
  3: ['the form of the command is not the one that it expects', 'Check that the model in the settings is right'],
  4: ['a parameter of the command is wrong', 'Check that the model and the racks in the settings are right'],
  5: ['there is no such slot', 'Compare the racks in the settings with those that the instrument was set up for'],
  17: ['its handler is not where it should be', 'Initialize the device'],
  18: ['its shovel is out', 'Initialize the device'],
  33: ['there is a plate on its handler', 'Open its door and take the plate from the handler'],
  34: ['there is no plate on its handler', 'Look where the plate is'],
  49: ['there is no plate at its transfer station', 'Put the plate there'],
  50: ['there is a plate at its transfer station', 'Remove the plate from there'],
  51: ['its transfer station is not turned to the gate', 'Initialize the device'],
  65: ['it is set up without a gate', 'Check that the model in the settings is right'],
  66: ['its gate is not open', 'See what blocks the gate'],
  81: ['it cannot reach its memory', 'Switch the instrument off and on'],
  82: ['it wants a password for that', 'Call the service of the manufacturer'],
  97: ['its shakers are not switched on', 'Initialize the device'],
}

export const errorTable: ErrorTable = {
  codes: { ...errors, ...Object.fromEntries(Object.entries(refusals).map(([code, meaning]) => [Number(code) + refusal, meaning])) },
  manual: 'the manual of the Cytomat',
  write: (code) => {
    if (code >= 2 * refusal) return `error ${code}`
    const hex = (code % refusal).toString(16).toUpperCase().padStart(2, '0')
    return code < refusal ? `error ${hex}` : `refusal ${hex}`
  },
}
