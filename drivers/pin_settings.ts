// Settings that all devices on pins share.

import * as v from 'valibot'
import { described } from '../src/kit/described.ts'
import { type BoardPlan, PinWiring } from './transports/wiring.ts'

type Planned = BoardPlan['pins'][string]
type Wiring = Omit<Planned, 'mode'>

/** Makes the schema of a number between two limits, with its unit. */
export function Quantity(least: number, most: number, unit: string, description: string) {
  return described(v.pipe(v.number(), v.minValue(least), v.maxValue(most)), description, unit)
}

/** Makes the schema of a pin's wiring, with its purpose. */
export function Wired(description: string) {
  return described(PinWiring, description)
}

/** The contact of an emergency stop, which every device on pins may have. */
export const EmergencyStop = v.optional(Wired('Input: active while the emergency stop is not pressed'))

/** Plans the wired pins, all in one mode. */
export function planned(mode: Planned['mode'], pins: Record<string, Wiring | undefined>): BoardPlan['pins'] {
  return Object.fromEntries(Object.entries(pins).flatMap(([name, wiring]) => (wiring ? [[name, { ...wiring, mode } as Planned]] : [])))
}
