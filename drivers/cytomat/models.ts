// The models of the Cytomat with the forms of their words, and the settings that choose one.

import * as v from 'valibot'
import type { Profile } from '../../src/devices/device.ts'
import { described, Whole } from '../../src/kit/described.ts'
import { Levels, levelOf, racksOf, SimulatedPlates, storageProfile } from '../racks.ts'

type Model = { ending: '\r' | '\r\n'; addresses: 'slot' | 'rack and level'; shakes: boolean }

/** README.md says where each form was seen. */
const models = {
  'Cytomat 2': { ending: '\r', addresses: 'slot', shakes: false },
  'Cytomat 2 C425': { ending: '\r', addresses: 'rack and level', shakes: false },
  'Cytomat 2 C450 Shake': { ending: '\r\n', addresses: 'slot', shakes: true },
  'Cytomat 5 C': { ending: '\r\n', addresses: 'slot', shakes: false },
  'Cytomat 6000': { ending: '\r\n', addresses: 'slot', shakes: false },
  'Cytomat 6002': { ending: '\r\n', addresses: 'slot', shakes: false },
} as const satisfies Record<string, Model>

type ModelName = keyof typeof models
const measured = ['temperature', 'humidity', 'co2'] as const
export type Measured = (typeof measured)[number]

const Slots = v.strictObject({ slots: v.optional(Levels, 21) })
const Degrees = v.pipe(v.number(), v.minValue(0), v.maxValue(99.9))
const Rpm = Whole(1, 9999)

export const settings = v.pipe(
  v.strictObject({
    model: v.optional(described(v.picklist(Object.keys(models) as ModelName[]), 'Model of the instrument'), 'Cytomat 6000'),
    racks: v.optional(racksOf(Slots), [{ slots: 21 }, { slots: 21 }]),
    measures: v.optional(described(v.array(v.picklist(measured)), 'Measurements in the chamber; empty for a model without a climate'), [
      'temperature',
      'humidity',
      'co2',
    ]),
    min_temperature: v.optional(described(Degrees, 'Lowest climate that may be set', '°C'), 10),
    max_temperature: v.optional(described(Degrees, 'Highest climate that may be set', '°C'), 50),
    min_speed: v.optional(described(Rpm, 'Slowest speed of the shakers', 'rpm'), 100),
    max_speed: v.optional(described(Rpm, 'Fastest speed of the shakers', 'rpm'), 1200),
    simulated_plates: SimulatedPlates,
  }),
  v.check((its) => its.min_temperature < its.max_temperature, 'min_temperature has to be less than max_temperature'),
  v.check((its) => its.min_speed < its.max_speed, 'min_speed has to be less than max_speed'),
)
export type Settings = v.InferOutput<typeof settings>

export function modelOf({ model }: Settings): Model {
  return models[model]
}

export function profile(chosen: Settings): Profile {
  const climate = chosen.measures.includes('temperature')
  return storageProfile(chosen, { model: chosen.model, climate, shakes: modelOf(chosen).shakes, speedStep: 1 })
}

/** Returns the words for a slot on the wire; undefined for a slot that there is not. */
export function addressOf({ racks, ...chosen }: Settings, slot: number): string | undefined {
  const place = levelOf(racks, slot)
  if (!place) return undefined
  const digits = (number: number, count: number) => String(number).padStart(count, '0')
  if (modelOf({ racks, ...chosen }).addresses === 'slot') return digits(slot, 3)
  return `${digits(place.number - 1, 2)} ${digits(place.level - 1, 2)}`
}
