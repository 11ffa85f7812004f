// The settings of a plate sealer built from a clamp, a heater and a thermometer: its wiring and its abilities.

import * as v from 'valibot'
import type { Limits, Profile } from '../../src/devices/device.ts'
import { thermometerNames, thermometerParts } from '../parts/thermometer.ts'
import { EmergencyStop, planned, Quantity, Wired } from '../pin_settings.ts'
import { type BoardPlan, PartWiring } from '../transports/wiring.ts'

/** The highest temperature, which no sealing film exceeds. */
const ceiling_c = 200
/** The distance of the highest set point from the end of the sensor's range, so that an overshoot can still be measured. */
const headroom_c = 10

const Pins = v.strictObject({
  heater: Wired('Output: the solid-state relay of the heater'),
  clamp: Wired('Output: presses the hot plate down'),
  clamped: v.optional(Wired('Input: active while the clamp is down')),
  guard: v.optional(Wired('Input: active while the guard is closed')),
  estop: EmergencyStop,
})

const I2c = v.strictObject({ sensor: PartWiring(thermometerNames, { part: 'tmp117', address: 0x48 }) })

const Members = v.strictObject({
  pins: v.optional(Pins, {
    heater: { bcm: 5 },
    clamp: { bcm: 6, active_low: true },
    clamped: { bcm: 13, active_low: true },
    guard: { bcm: 19, active_low: true },
  }),
  i2c: v.optional(I2c, { sensor: {} }),
  temperature: v.optional(
    v.strictObject({
      min: v.optional(Quantity(30, ceiling_c, '°C', 'Coolest set point'), 50),
      max: v.optional(Quantity(30, ceiling_c, '°C', 'Hottest set point'), ceiling_c),
    }),
    {},
  ),
  within_c: v.optional(Quantity(0.5, 10, '°C', 'So near to the set point it is warm enough to seal'), 2),
  warm_up: v.optional(
    v.strictObject({
      gain_c: v.optional(Quantity(0.5, 20, '°C', 'The number of degrees by which it must get warmer'), 2),
      within_s: v.optional(Quantity(10, 120, 's', 'in so long, while it is too cold'), 30),
      overshoot_c: v.optional(Quantity(2, 15, '°C', 'The number of degrees by which it may exceed the set point'), 10),
    }),
    {},
  ),
  clamp_s: v.optional(Quantity(0.1, 10, 's', 'Time of the clamp in either direction'), 1),
})

export const settings = v.pipe(
  Members,
  v.forward(
    v.check(({ temperature }) => temperature.min <= temperature.max, 'must be at most temperature.max'),
    ['temperature', 'min'],
  ),
  v.forward(
    v.check(
      (chosen) => chosen.temperature.min <= hottest(chosen) - headroom_c,
      `must be ${headroom_c} °C or more below the hottest that the sensor can measure`,
    ),
    ['temperature', 'min'],
  ),
)
export type Settings = v.InferOutput<typeof Members>

export function plan({ pins, i2c }: Settings): BoardPlan {
  const { heater, clamp, clamped, guard, estop } = pins
  return {
    pins: { ...planned('out', { heater, clamp }), ...planned('in', { clamped, guard, estop }) },
    i2c,
  }
}

/** Returns the hottest reading that is not a fault, in °C. */
export function hottest({ i2c }: Settings): number {
  return Math.min(ceiling_c, thermometerParts[i2c.sensor.part].range.max)
}

export function profile(chosen: Settings): Profile {
  const { min, max } = chosen.temperature
  const limits: Limits = {
    temperature: { min, max: Math.min(max, hottest(chosen) - headroom_c), unit: '°C', step: 0.1 },
    duration: { min: 0.1, max: 30, unit: 's', step: 0.1 },
  }
  return { model: 'sealer on GPIO pins', limits, features: { heating: true, autonomous_timer: false }, ends_early: ['seal'] }
}

/** Another wiring, with all parts that the default has not. The tests try it too. */
export const fullyWired = {
  pins: {
    heater: { bcm: 5 },
    clamp: { expander: { part: 'pcf8574', address: 32, pin: 'P7' }, active_low: true },
    clamped: { expander: { part: 'pcf8574', address: 32, pin: 'P0' }, active_low: true },
    estop: { bcm: 26, active_low: true },
  },
  i2c: { sensor: { part: 'mcp9808', address: 24 } },
}
