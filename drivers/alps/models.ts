// The models of the ALPS family: their abilities, and the meanings of their status bits and error numbers.

import * as v from 'valibot'
import type { Limits, Profile } from '../../src/devices/device.ts'
import { described } from '../../src/kit/described.ts'
import type { Meaning } from '../reported.ts'
import { errors3000, errors5000 } from './errors.ts'

/** The meanings of the bits of the status byte. */
export type Flag = 'error' | 'busy' | 'cold' | 'no_foil' | 'plate_absent' | 'low_air' | 'foil_load' | 'door_open' | 'not_ready' | 'parked'

export type Model = {
  /** The range of the set point, in °C. */
  temperature: { min: number; max: number }
  /** The bits of each flag, any of which raises it. */
  bits: Partial<Record<Flag, number>>
  /** The known meanings of its error numbers. */
  errors: Readonly<Record<number, Meaning>>
  shuttle?: { out: string; in: string }
  /** The command that makes it ready and clears its error. */
  reset?: string
  /** Whether a reset is assumed to end a motion. */
  stops?: true
  /** Whether it has a version query. */
  tells?: true
  /** Settings that known hosts make and this driver does not, for the simulator: the range of the number, and whether the setting is answered. */
  words?: Readonly<Record<string, { min: number; max: number; isSilent?: true }>>
}

const common = { error: 0x02, busy: 0x04, cold: 0x08 }
const alps5000: Model = {
  temperature: { min: 5, max: 199 },
  bits: { ...common, no_foil: 0x01, plate_absent: 0x10, not_ready: 0x20 },
  errors: errors5000,
  shuttle: { out: 'SO', in: 'SI' },
  reset: 'I',
  tells: true,
  words: { PS: { min: 5, max: 50 }, FS: { min: 0, max: 1 }, L: { min: 119, max: 128 }, DO: { min: 10, max: 50 } },
}
const wordsOfEpro: Model['words'] = {
  ...alps5000.words,
  PS: { min: 10, max: 50, isSilent: true },
  L: { min: 117, max: 128 },
  // Without a number: `ECO_ON` and `ECO_OFF`.
  ECO: { min: 0, max: 1 },
}

export const alpsModels = {
  '300': { temperature: { min: 5, max: 199 }, bits: { ...common, busy: 0x05, door_open: 0x40 }, errors: {} },
  '3000': {
    temperature: { min: 5, max: 199 },
    bits: { ...common, no_foil: 0x01, plate_absent: 0x10, low_air: 0x20, foil_load: 0x40, parked: 0x80 },
    errors: errors3000,
  },
  '5000': alps5000,
} as const satisfies Record<string, Model>

export const ultrasealModels = {
  PRO: { temperature: { min: 25, max: 200 }, bits: { ...common, parked: 0x80 }, errors: {} },
  ePRO: { ...alps5000, temperature: { min: 25, max: 199 }, words: wordsOfEpro },
  XT: { temperature: { min: 25, max: 199 }, bits: common, errors: {} },
  'XT Pro': {
    temperature: { min: 25, max: 199 },
    bits: { ...common, low_air: 0x20, parked: 0x40 },
    errors: {},
    shuttle: { out: 'U', in: 'P' },
    reset: 'R',
    stops: true,
  },
} as const satisfies Record<string, Model>

export type Settings = { model: string }

export function settingsOf(models: Readonly<Record<string, Model>>, usual: string): v.GenericSchema<unknown, Settings> {
  return v.strictObject({ model: v.optional(described(v.picklist(Object.keys(models)), 'Model of the instrument'), usual) })
}

export function profileOf(make: string, model: Model, { model: name }: Settings): Profile {
  const limits: Limits = {
    temperature: { ...model.temperature, unit: '°C', step: 1 },
    duration: { min: 0.5, max: 9.9, unit: 's', step: 0.1 },
  }
  return {
    model: `${make} ${name}`,
    limits,
    lowest_set_point: model.temperature.min,
    features: { heating: true, door: model.shuttle !== undefined, uninterruptible: !model.stops },
  }
}
