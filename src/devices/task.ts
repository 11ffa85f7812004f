// The facts about an operation before it begins: its usual duration, its deadline, and what it leaves on.

import { askedSeconds } from './asked_time.ts'
import type { OwnOperation } from './description.ts'
import type { Margins, Typical } from './device.ts'
import type { Held } from './hold.ts'
import { type Leaves, rowOf, type TaskName, tasks } from './operations.ts'
import { marginSeconds, usualSeconds } from './usual_time.ts'

export type Task = {
  /** The seconds that its parameters ask for. */
  asked_s: number
  /** The seconds that it usually takes on top of that. */
  usual_s: number
  /** The seconds besides `asked_s` after which the service gives up. */
  margin_s: number
  /** The effect that would continue if this process ended. */
  leaves_on: Leaves
  /** The set point in °C that it leaves on; null if unknown, or if nothing heats. */
  heats_to: number | null
  /** How it is held; undefined for an operation that ends by itself. */
  held: Held | undefined
  /** The teachpoint to which it goes; undefined if it goes to none. */
  goes_to: string | undefined
  done(params: Record<string, unknown>, data: unknown): string
}

type Known = {
  params: Record<string, unknown>
  own: OwnOperation | undefined
  typical: Typical | undefined
  margins?: Margins | undefined
  /** Whether the temperature of the device is the climate of a chamber, which is never left on by mistake. */
  climate: boolean
}

/** `own` is the device's own description of the operation, if it has one. */
export function taskOf(name: string, { params, own, typical, margins, climate }: Known): Task {
  const { temperature } = params
  const target = typeof temperature === 'number' ? temperature : null
  if (own) {
    const { margin_s, leaves_on } = own
    const endsHeat = name === 'set_temperature' && temperature === null
    const leaves = endsHeat ? 'no heat' : (leaves_on ?? undefined)
    const time = { asked_s: own.seconds(params), usual_s: 0, margin_s }
    return { ...time, leaves_on: leaves, heats_to: target, held: undefined, goes_to: undefined, done: () => `${name} is done` }
  }
  const { done } = tasks[name as TaskName]
  const row = rowOf(name)
  return {
    asked_s: askedSeconds(name, params),
    usual_s: usualSeconds(name as TaskName, typical),
    margin_s: marginSeconds(name as TaskName, margins),
    leaves_on: climate && name === 'set_temperature' ? undefined : row?.leaves_on?.(params as never),
    heats_to: row?.heats_to ? row.heats_to(params as never) : target,
    held: row?.held,
    goes_to: row?.goes_to?.(params as never),
    done: done as Task['done'],
  }
}
