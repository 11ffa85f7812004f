// The units of an Inheco stack with their abilities, and the settings that choose one.

import * as v from 'valibot'
import type { Limits, Profile } from '../../src/devices/device.ts'
import { described, Whole } from '../../src/kit/described.ts'

type Model = { shakes: boolean; type: string }

/** `type` is the answer to RTS. */
const models = {
  MP: { shakes: false, type: '0' },
  'MP shaker': { shakes: true, type: '1' },
  DWP: { shakes: false, type: '2' },
  'DWP shaker': { shakes: true, type: '3' },
} as const satisfies Record<string, Model>

type ModelName = keyof typeof models

const whole = (most: number, description: string) => described(Whole(0, most), description)

const given = {
  model: v.optional(described(v.picklist(Object.keys(models) as ModelName[]), 'Model of the instrument'), 'MP shaker'),
  dip: v.optional(whole(15, "The number on the stack's DIP switch"), 2),
  unit: v.optional(whole(5, 'Its place in the stack, 0 at the bottom'), 0),
  amplitude: v.optional(described(Whole(1, 30), 'How far the plate swings each way', '0.1 mm'), 20),
}

export const settings = v.strictObject(given)
export type Settings = v.InferOutput<typeof settings>

export function modelOf({ model }: Settings): Model {
  return models[model]
}

/** Returns the profile. Speeds have steps of 6 rpm, a tenth of a hertz. */
export function profile(chosen: Settings): Profile {
  const { shakes } = modelOf(chosen)
  const limits: Limits = { temperature: { min: 4, max: 85, unit: '°C', step: 0.1 } }
  if (shakes) {
    limits.speed = { min: 396, max: 1800, unit: 'rpm', step: 6 }
    limits.duration = { min: 1, max: 86_400, unit: 's', step: 0.1 }
  }
  return {
    model: `Inheco incubator ${chosen.model}`,
    limits,
    features: { heating: true, door: true, autonomous_timer: false },
    ends_early: shakes ? ['shake'] : [],
  }
}
