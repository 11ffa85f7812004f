// The BioShake models with their abilities, and the settings that choose one.

import * as v from 'valibot'
import type { Limits, Profile } from '../../src/devices/device.ts'
import { described, Whole } from '../../src/kit/described.ts'

type Start = Pick<Model, 'boot_s' | 'bootEnd'>

export type Model = {
  /** The range of the speed, in rpm; absent for a model that does not shake. */
  rpm?: { min: number; max: number }
  /** Whether it has the edge locking mechanism (ELM) that holds the plate. */
  locking?: true
  heating?: true
  cooling?: true
  /** The seconds of a start: known hosts wait up to 30 s, those of the Q family about 5 s. */
  boot_s: number
  /** The last line that the instrument sends when it starts. */
  bootEnd: 'Initialization complete' | 'Initialization successfully completed.'
}

const bs: Start = { boot_s: 12, bootEnd: 'Initialization complete' }
const q: Start = { boot_s: 5, bootEnd: 'Initialization successfully completed.' }
const upTo = (max: number) => ({ min: 200, max })

export const models = {
  '3000': { rpm: upTo(3000), ...bs },
  '3000 elm': { rpm: upTo(3000), locking: true, ...bs },
  '3000 elm DWP': { rpm: upTo(3000), locking: true, ...bs },
  '3000-T': { rpm: upTo(3000), heating: true, ...bs },
  '3000-T elm': { rpm: upTo(3000), locking: true, heating: true, ...bs },
  '5000 elm': { rpm: upTo(5000), locking: true, ...bs },
  'D30 elm': { rpm: upTo(2000), locking: true, ...bs },
  'D30-T elm': { rpm: upTo(2000), locking: true, heating: true, ...bs },
  Q1: { rpm: upTo(3000), locking: true, heating: true, cooling: true, ...q },
  Q2: { rpm: upTo(3000), locking: true, heating: true, cooling: true, ...q },
  Heatplate: { heating: true, ...bs },
  ColdPlate: { heating: true, cooling: true, ...q },
} as const satisfies Record<string, Model>

type ModelName = keyof typeof models

export type Settings = { model: ModelName; acceleration: number | null }

export const settings: v.GenericSchema<unknown, Settings> = v.strictObject({
  model: v.optional(described(v.picklist(Object.keys(models) as ModelName[]), 'Model of the instrument'), '3000-T elm'),
  acceleration: v.optional(
    v.nullable(
      described(Whole(0, 99), 'Time in which it reaches its speed and comes to rest again; null leaves what the instrument has', 's'),
    ),
    null,
  ),
})

export function modelOf({ model }: Settings): Model {
  return models[model]
}

export function profile(chosen: Settings): Profile {
  const { rpm, locking = false, heating = false, cooling = false } = modelOf(chosen)
  const limits: Limits = {}
  if (rpm) {
    limits.speed = { ...rpm, unit: 'rpm', step: 1 }
    limits.duration = { min: 1, max: 99_999, unit: 's', step: 1 }
  }
  if (heating) limits.temperature = { min: 0, max: 99, unit: '°C', step: 0.1 }
  return {
    model: `BioShake ${chosen.model}`,
    limits,
    features: { locking, heating, cooling, autonomous_timer: rpm !== undefined },
    ends_early: rpm ? ['shake'] : [],
  }
}
