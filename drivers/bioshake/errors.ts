// The error table of the BioShake: number, meaning, remedy.

import type { ErrorTable, Meaning } from '../reported.ts'

const freeMotion = 'Remove the plate and whatever blocks the table, then switch the shaker off and on'
const freeLock = 'Remove the plate and whatever blocks the plate lock'
const restart = 'Switch the shaker off and on; call its service if the error comes back'
const cool = 'Let the shaker cool down and clear its airways'
const power = 'Check the power supply of the shaker, then switch it off and on'
const service = 'Switch the shaker off and call its service'
const settings = 'Check the model and the settings of the device in the configuration, then switch the shaker off and on'

export const errorTable: ErrorTable = {
  codes: {
    101: ['motor controller failed', restart],
    102: ['wrong speed: something blocks the motion', freeMotion],
    103: ['not initialized, or started with wrong parameters', settings],
    104: ['initialization failed', freeMotion],
    105: ['home was not reached after the stop', freeMotion],
    106: ['faster than allowed', restart],
    201: ['temperature sensor answers wrongly, or its settings are wrong', restart],
    202: ['temperature bus failed', restart],
    203: ['temperature sensor has no id', service],
    204: ['temperature was measured wrongly', restart],
    206: ['checksum of the internal settings is wrong', service],
    207: ['checksum of the main settings is wrong', service],
    208: ['checksum of the general settings is wrong', service],
    209: ['unknown way of measuring the temperature', service],
    210: ['too hot', cool],
    300: ['plate lock (ELM) failed', freeLock],
    301: ['driver of the plate lock (ELM) failed', restart],
    303: ['the plate lock (ELM) is not where it should be', freeLock],
    304: ['the plate lock (ELM) did not lock in time', freeLock],
    305: ['the plate lock (ELM) did not unlock in time', freeLock],
    306: ['too much current while the plate lock (ELM) locked', freeLock],
    307: ['too much current while the plate lock (ELM) unlocked', freeLock],
    10002: ['parameter not valid', settings],
    10003: ['parameter not valid', settings],
    33010: ['too hot inside', cool],
    33020: ['thermal fuse has tripped', service],
    33030: ['emergency temperature sensor has tripped', service],
    35010: ['supply of the thermoelectric element failed', power],
    35020: ['thermoelectric element is shorted', service],
    35030: ['thermoelectric element is open', service],
    37030: ['motor stalled: something blocks the motion', freeMotion],
    37040: ['the solenoid of the home position does not unlock', freeMotion],
    37060: ['it cannot lock the home position', freeMotion],
    37070: ['home was not found in time', freeMotion],
    38030: ['the plate lock (ELM) did not move in time', freeLock],
    38090: ['self-test of the plate lock (ELM) failed', freeLock],
    39030: ['the solenoid did not move in time', restart],
  },
  // For codes of a Q1, Q2 or ColdPlate without a known meaning, the group still names the part.
  groups: [
    group(/^34\d10$/, ['supply of a fan failed', power]),
    group(/^34\d20$/, ['a fan is stalled', 'Free the fan, and switch the shaker off and on']),
    group(/^34\d30$/, ['an airway is clogged', 'Clean the airways of the shaker']),
    group(/^10\d{3}$/, ['firmware', restart]),
    group(/^2\d{4}$/, ['microcontroller', restart]),
    group(/^31\d{3}$/, ['memory of the settings', service]),
    group(/^32\d{3}$/, ['link to a sensor', restart]),
    group(/^36\d{3}$/, ['temperature controller', restart]),
    group(/^37\d{3}$/, ['shaking', freeMotion]),
    group(/^38\d{3}$/, ['plate lock (ELM)', freeLock]),
    group(/^39\d{3}$/, ['solenoid', restart]),
  ],
  manual: 'the manual of the BioShake',
}

function group(codes: RegExp, meaning: Meaning) {
  return { holds: (code: number) => codes.test(`${code}`), meaning }
}
