// The IKA shakers with their abilities, and the setting that chooses one.

import * as v from 'valibot'
import type { Limits, Profile } from '../../src/devices/device.ts'
import { described } from '../../src/kit/described.ts'

type Model = {
  /** The range of the speed, in rpm. */
  rpm: { min: number; max: number }
  /** The range of the set point, in °C; absent without a heater. */
  temperature?: { min: number; max: number }
  /** The question for its version. */
  version: 'IN_VERSION' | 'IN_SOFTWARE'
}

/** The README names the sources of these values and their reliability. */
const models = {
  'MATRIX ORBITAL': { rpm: { min: 300, max: 3000 }, temperature: { min: 1, max: 100 }, version: 'IN_VERSION' },
  'KS 3000 i control': { rpm: { min: 10, max: 500 }, temperature: { min: 25, max: 80 }, version: 'IN_SOFTWARE' },
  'KS 4000 i control': { rpm: { min: 10, max: 500 }, temperature: { min: 25, max: 80 }, version: 'IN_SOFTWARE' },
  'KS 260 control': { rpm: { min: 10, max: 500 }, version: 'IN_SOFTWARE' },
} as const satisfies Record<string, Model>

type ModelName = keyof typeof models

export type Settings = { model: ModelName }

export const settings: v.GenericSchema<unknown, Settings> = v.strictObject({
  model: v.optional(described(v.picklist(Object.keys(models) as ModelName[]), 'Model of the instrument'), 'MATRIX ORBITAL'),
})

export function modelOf({ model }: Settings): Model {
  return models[model]
}

export function profile(chosen: Settings): Profile {
  const { rpm, temperature } = modelOf(chosen)
  const limits: Limits = {
    speed: { ...rpm, unit: 'rpm', step: 1 },
    duration: { min: 1, max: 86_400, unit: 's', step: 0.1 },
  }
  if (temperature) limits.temperature = { ...temperature, unit: '°C', step: 0.1 }
  const features = { heating: temperature !== undefined, host_watchdog: true, autonomous_timer: false }
  return { model: `IKA ${chosen.model}`, limits, features, ends_early: ['shake'] }
}
