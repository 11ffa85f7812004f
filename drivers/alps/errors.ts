// The error tables of the sealers of the ALPS family: number, meaning, remedy.

import type { ErrorTable, Meaning } from '../reported.ts'

const freeShuttle = 'Remove the plate and whatever blocks the shuttle'
const freePress = 'Check the compressed air, remove the plate and whatever blocks the press'
const loadFoil = 'Load foil'
const cool = 'Switch the sealer off, let it cool down, and call its service'
const thermocouple: Meaning = ['thermocouple failed', 'Switch the sealer off and call its service']
const service = 'Switch the sealer off and on; call its service if the error comes back'

/** The meaning of number 0, which the sealer may report although its status has the error bit. The numbers begin at 1. */
const noNumber: Meaning = ['it names no cause', 'Read the display of the sealer and remove the cause']

const press: Readonly<Record<number, Meaning>> = {
  1: ['press did not go down', freePress],
  2: ['press did not go up', freePress],
}

/** The errors of the ALPS 3000. */
export const errors3000: Readonly<Record<number, Meaning>> = {
  ...press,
  3: ['shuttle did not go in', freeShuttle],
  4: ['shuttle did not go out', freeShuttle],
  7: thermocouple,
  9: ['too hot', cool],
  10: ['no foil', loadFoil],
  13: ['no air from the mains', 'Check the compressed air'],
}

/** The errors of the ALPS 5000 and the Ultraseal ePRO. */
export const errors5000: Readonly<Record<number, Meaning>> = {
  ...press,
  3: ['shuttle jammed', freeShuttle],
  4: ['cutter failed', 'Remove cut foil from the cutter'],
  5: thermocouple,
  6: ['too hot', cool],
  7: ['foil out or stuck', loadFoil],
  8: ['plate missing or wrong', 'Put the plate right'],
  9: ['force out of range', 'Check the compressed air and the height of the plate'],
  10: ['engager failed', service],
  11: ['gripper failed', service],
  12: ['clamp failed', service],
  13: ['dropped foil', 'Remove the dropped foil'],
}

export function errorTableOf({ errors }: { errors: Readonly<Record<number, Meaning>> }): ErrorTable {
  return { codes: { 0: noNumber, ...errors }, manual: 'the manual of the sealer' }
}
