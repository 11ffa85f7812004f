// The settings of a shaker built from a motor, a relay and a converter: its wiring and its abilities.

import * as v from 'valibot'
import type { Limits, Profile } from '../../src/devices/device.ts'
import { described, Whole } from '../../src/kit/described.ts'
import { thermometerNames } from '../parts/thermometer.ts'
import { throttleNames } from '../parts/throttle.ts'
import { EmergencyStop, planned, Quantity, Wired } from '../pin_settings.ts'
import { rest_ms } from '../tachometer.ts'
import { type BoardPlan, GpioWiring, PartWiring } from '../transports/wiring.ts'

const Pins = v.strictObject({
  enable: Wired('Output: the relay in series with the motor'),
  direction: v.optional(Wired('Output: active is counter-clockwise')),
  solenoid: v.optional(Wired('Output: releases the plate lock, which a spring closes')),
  lid: v.optional(Wired('Input: active while the lid is closed')),
  estop: EmergencyStop,
  tach: v.optional(described(GpioWiring, 'Input: pulses of the motor; no expander is fast enough')),
})

const Speed = v.strictObject({
  ...PartWiring(throttleNames, { part: 'mcp4725', address: 0x60 }).entries,
  channel: v.optional(described(Whole(0, 15), 'Output of a PCA9685'), 0),
})

const I2c = v.strictObject({
  speed: Speed,
  sensor: v.optional(PartWiring(thermometerNames, { part: 'tmp117', address: 0x48 })),
})

/** The lowest speed at which one pulse a turn is not taken for rest. */
const slowest = Math.ceil(60_000 / rest_ms) + 10

const Members = v.strictObject({
  pins: v.optional(Pins, {
    enable: { bcm: 17, active_low: true },
    direction: { bcm: 23 },
    solenoid: { bcm: 22, active_low: true },
    lid: { bcm: 27, active_low: true },
    tach: { bcm: 24 },
  }),
  i2c: v.optional(I2c, { speed: {} }),
  rpm: v.optional(
    v.strictObject({
      min: v.optional(Quantity(slowest, 5000, 'rpm', 'Slowest'), 100),
      max: v.optional(Quantity(slowest, 5000, 'rpm', 'Fastest'), 1500),
    }),
    {},
  ),
  full_scale_rpm: v.optional(Quantity(slowest, 20_000, 'rpm', 'Speed when the converter gives all it has'), 1500),
  pulses_per_turn: v.optional(described(Whole(1, 64), 'Pulses of the tachometer in one turn'), 1),
  counter_clockwise: v.optional(described(v.boolean(), 'It turns counter-clockwise; needs the pin `direction`'), false),
  longest_s: v.optional(Quantity(1, 86_400, 's', 'Longest run'), 3600),
  ramp_s: v.optional(Quantity(0.5, 60, 's', 'By then it turns as fast as asked'), 5),
  coast_s: v.optional(Quantity(0.5, 120, 's', 'By then it is at rest'), 10),
  solenoid_s: v.optional(Quantity(0.5, 60, 's', 'The longest that the solenoid may be on; then the plate is locked again'), 20),
})

export const settings = v.pipe(
  Members,
  v.forward(
    v.check(({ rpm }) => rpm.min <= rpm.max, 'must be at most rpm.max'),
    ['rpm', 'min'],
  ),
  v.forward(
    v.check(({ rpm, full_scale_rpm }) => rpm.min <= full_scale_rpm, 'must be at most full_scale_rpm'),
    ['rpm', 'min'],
  ),
)
export type Settings = v.InferOutput<typeof settings>

export function plan({ pins, i2c }: Settings): BoardPlan {
  const { enable, direction, solenoid, lid, estop, tach } = pins
  return {
    pins: {
      ...planned('out', { enable, direction, solenoid }),
      ...planned('in', { lid, estop }),
      ...(tach && { tach: { ...tach, mode: 'in', counted: true } }),
    },
    i2c: { speed: i2c.speed, ...(i2c.sensor && { sensor: i2c.sensor }) },
  }
}

export function profile({ pins, rpm, full_scale_rpm, longest_s }: Settings): Profile {
  const limits: Limits = {
    speed: { min: rpm.min, max: Math.min(rpm.max, full_scale_rpm), unit: 'rpm', step: 1 },
    duration: { min: 1, max: longest_s, unit: 's', step: 0.1 },
  }
  return {
    model: 'shaker on GPIO pins',
    limits,
    features: { locking: pins.solenoid !== undefined, autonomous_timer: false },
    ends_early: ['shake'],
  }
}

/** Another wiring, with all parts that the default has not. The tests try it too. */
export const fullyWired = {
  pins: {
    enable: { expander: { part: 'mcp23017', address: 32, pin: 'A0' }, active_low: true },
    solenoid: { expander: { part: 'mcp23017', address: 32, pin: 'B3' } },
    lid: { expander: { part: 'mcp23017', address: 32, pin: 'A1' }, active_low: true, pull: 'up' },
    estop: { bcm: 26, active_low: true },
    tach: { chip: 'gpiochip1', line: 3 },
  },
  i2c: { speed: { part: 'pca9685', address: 64, channel: 3 }, sensor: { part: 'tmp117' } },
}
