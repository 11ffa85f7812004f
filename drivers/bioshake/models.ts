// The BioShake models: what each can do, and the settings by which one is chosen.

import * as v from 'valibot'
import type { Limits, Profile } from '../../src/devices/device.ts'

export type Model = {
  /** Slowest and fastest, in rpm; absent where nothing shakes. */
  rpm?: { min: number; max: number }
  /** Has the edge locking mechanism (ELM) that holds the plate. */
  locking?: true
  heating?: true
  cooling?: true
  /** How long it takes to start. */
  boot_s: number
}

const upTo = (max: number) => ({ min: 200, max })

export const models = {
  '3000': { rpm: upTo(3000), boot_s: 30 },
  '3000 elm': { rpm: upTo(3000), locking: true, boot_s: 30 },
  '3000 elm DWP': { rpm: upTo(3000), locking: true, boot_s: 30 },
  '3000-T': { rpm: upTo(3000), heating: true, boot_s: 30 },
  '3000-T elm': { rpm: upTo(3000), locking: true, heating: true, boot_s: 30 },
  '5000 elm': { rpm: upTo(5000), locking: true, boot_s: 30 },
  'D30 elm': { rpm: upTo(2000), locking: true, boot_s: 30 },
  'D30-T elm': { rpm: upTo(2000), locking: true, heating: true, boot_s: 30 },
  Q1: { rpm: upTo(3000), locking: true, heating: true, cooling: true, boot_s: 5 },
  Q2: { rpm: upTo(3000), locking: true, heating: true, cooling: true, boot_s: 5 },
  Heatplate: { heating: true, boot_s: 30 },
  ColdPlate: { heating: true, cooling: true, boot_s: 5 },
} as const satisfies Record<string, Model>

export type ModelName = keyof typeof models

export type Settings = { model: ModelName; acceleration: number | null }

export const settings: v.GenericSchema<unknown, Settings> = v.strictObject({
  model: v.optional(v.picklist(Object.keys(models) as ModelName[]), '3000-T elm'),
  acceleration: v.optional(
    v.nullable(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(99),
        v.description('Time in which it reaches its speed and comes to rest again; null leaves what the instrument has'),
        v.metadata({ unit: 's' }),
      ),
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
  }
}
