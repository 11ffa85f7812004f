// The settings of an STX: its model, its climate, its racks and what it is fitted with.

import * as v from 'valibot'
import type { Profile } from '../../src/devices/device.ts'
import { described, Whole } from '../../src/kit/described.ts'
import { Levels, racksOf, SimulatedPlates, storageProfile } from '../racks.ts'

const models = ['STX40', 'STX44', 'STX100', 'STX110', 'STX200', 'STX220', 'STX280', 'STX500', 'STX1000'] as const
const climates = ['IC', 'HC', 'DC2', 'HR', 'DR2', 'AR', 'DF', 'NC', 'DH'] as const

const Cassette = v.strictObject({
  slots: v.optional(Levels, 22),
  pitch: v.optional(
    described(v.nullable(Whole(1, 99_999)), 'Distance of two levels in the motor steps of the instrument; null leaves what is set in it'),
    null,
  ),
})
const Degrees = v.pipe(v.number(), v.minValue(0), v.maxValue(100))
const Rpm = Whole(1, 3000)
const isFitted = (sentence: string, usual: boolean) => v.optional(described(v.boolean(), sentence), usual)

export const settings = v.pipe(
  v.strictObject({
    model: v.optional(described(v.picklist(models), 'Model of the instrument'), 'STX44'),
    climate: v.optional(described(v.picklist(climates), 'The letters behind the model; NC has no climate'), 'IC'),
    racks: v.optional(racksOf(Cassette), [
      { slots: 22, pitch: null },
      { slots: 22, pitch: null },
    ]),
    co2: isFitted('Whether it measures CO2', false),
    shaker: isFitted('Whether it has a shaker', false),
    station_sensor: isFitted('Whether a sensor sees a plate at the transfer station', true),
    shovel_sensor: isFitted('Whether a sensor sees a plate on the shovel of the handler', true),
    speed_unit: v.optional(
      described(v.picklist(['10 rpm', '0.1 Hz']), 'The unit in which the controller takes the speed of the shaker'),
      '10 rpm',
    ),
    min_speed: v.optional(described(Rpm, 'Slowest speed of the shaker', 'rpm'), 60),
    max_speed: v.optional(described(Rpm, 'Fastest speed of the shaker', 'rpm'), 1200),
    min_temperature: v.optional(described(Degrees, 'Lowest climate that may be set', '°C'), 4),
    max_temperature: v.optional(described(Degrees, 'Highest climate that may be set', '°C'), 50),
    simulated_plates: SimulatedPlates,
  }),
  v.check((its) => its.min_temperature < its.max_temperature, 'min_temperature has to be less than max_temperature'),
  v.check((its) => its.min_speed < its.max_speed, 'min_speed has to be less than max_speed'),
)
export type Settings = v.InferOutput<typeof settings>

/** Whether the chamber has a climate that is measured. */
export function hasClimate({ climate }: Settings): boolean {
  return climate !== 'NC'
}

/** Whether the set point of the climate can be written: the form of one below 0 °C is not known. */
export function takesClimate(settings: Settings): boolean {
  return hasClimate(settings) && settings.climate !== 'DF'
}

/** Returns the unit of the speed in rpm, as the controller takes it. */
export function speedUnit({ speed_unit }: Settings): number {
  return speed_unit === '10 rpm' ? 10 : 6
}

export function profile(chosen: Settings): Profile {
  const model = `${chosen.model} ${chosen.climate}`
  return storageProfile(chosen, { model, climate: takesClimate(chosen), shakes: chosen.shaker, speedStep: speedUnit(chosen) })
}
