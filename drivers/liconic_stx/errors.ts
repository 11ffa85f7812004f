// The errors of an STX: those of its handler, by number in a data memory, and the refusals of its controller.

import type { ErrorTable, Meaning } from '../reported.ts'

/** Added to the number of a refusal, so that one table holds both lists. */
export const refusal = 100_000
/** The refusal of every word while the communication is not open, as after a restart. */
export const notOpen = 1

const free = 'Open the door of the instrument, see where the plate and the shovel are, free them and close the door'
const gate = 'See what blocks the gate, and free it'
const racks = 'Compare the racks in the settings with those in the instrument'

/** The errors that each action of the handler can have; the hundreds of the number tell the action. */
const ofAnyAction: Record<number, Meaning> = {
  1: ['the action took too long', free],
  7: ['the gate did not open', gate],
  8: ['the gate did not close', gate],
  9: ['the lift did not reach its level', free],
  10: ['somebody opened the door or turned the carousel', 'Close the door and let the carousel stand'],
  11: ['the slot cannot be reached', racks],
  12: ['there is no such level', racks],
  13: ['a plate was in the way at the transfer station', 'Remove the plate from the transfer station'],
  14: ['the lift did not find its reference position', free],
  15: ['there was a plate on the shovel already', 'Open the door and take the plate from the shovel'],
  16: ['no plate came onto the shovel', 'See whether the slot, or the transfer station, holds the plate, and whether it lies straight'],
  17: ['it could not help itself', free],
}

const actions: Record<number, string> = {
  0: '',
  300: ' (taking a plate from a slot)',
  400: ' (reading a barcode)',
  500: ' (placing a plate into a slot)',
  600: ' (setting a plate down)',
  700: ' (getting a plate)',
}

/** The steps at which a transfer got stuck; to the number of a store belongs 100, to that of a retrieve 200. */
const storing = [
  'the carousel or the lift on the way to the transfer station',
  'the handler as it turned to the transfer station',
  'the shovel as it went under the plate at the transfer station',
  'the lift as it lifted the plate',
  'the shovel as it drew the plate in',
  'the handler as it turned back with the plate',
  'the lift on the way to the slot',
  'the shovel in front of the slot',
  'the lift as it put the plate into the slot',
  'the shovel as it left the slot',
  'the lift on the way back',
  'the lift at its reference position',
]
const retrieving = [
  'the carousel or the lift on the way to the slot',
  'the shovel as it went into the slot',
  'the lift as it lifted the plate',
  'the shovel as it drew the plate out of the slot',
  'the lift on the way to the transfer station',
  'the handler as it turned to the transfer station',
  'the shovel as it brought the plate to the transfer station',
  'the lift as it put the plate down',
  'the shovel as it left the plate',
  'the handler as it turned back',
  'the lift on the way back',
  'the lift at its reference position',
]

function stuck(first: number, steps: readonly string[]): [number, Meaning][] {
  return steps.map((step, index) => [first + index, [`${step} got stuck`, free]])
}

function ofActions(): [number, Meaning][] {
  return Object.entries(actions).flatMap(([first, during]) =>
    Object.entries(ofAnyAction).map(([code, [words, action]]): [number, Meaning] => [
      Number(first) + Number(code),
      [`${words}${during}`, action],
    ]),
  )
}

const refusals: Meaning[] = [
  ['its controller has no such flag or memory', 'Check that the model in the settings is right'],
  ['its controller does not know the word', 'See that the line is sound and that it has not restarted'],
  ['its controller has lost its program', 'Call the service of the manufacturer'],
  ['its controller is broken', 'Switch the instrument off and on; call the service of the manufacturer if it comes back'],
  ['its controller does not allow that', 'Call the service of the manufacturer'],
  ['its controller does not allow that to a host', 'Call the service of the manufacturer'],
]

export const errorTable: ErrorTable = {
  codes: {
    0: ['it names no cause', 'Read the display of the instrument and remove the cause'],
    6163: ['a plate could not be loaded', 'See whether the slot is taken already'],
    ...Object.fromEntries([...ofActions(), ...stuck(100, storing), ...stuck(200, retrieving)]),
    ...Object.fromEntries(refusals.map((meaning, number) => [refusal + number, meaning])),
  },
  manual: 'the manual of the StoreX',
  write: (code) => (code >= refusal ? `E${code - refusal}` : `error ${String(code).padStart(5, '0')}`),
}
