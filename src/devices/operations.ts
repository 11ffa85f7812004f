// The tables of operations and readings, from which routes, driver types, capabilities, commands and the OpenAPI text are made.

import * as v from 'valibot'
import { described, Whole } from '../kit/described.ts'
import { Name } from '../kit/name.ts'
import { inSeconds } from '../kit/seconds.ts'
import { type Axis, axisNames, jogged } from './axes.ts'
import type { Held } from './hold.ts'
import { ProfileSteps, profileSeconds, type TemperatureProfile } from './temperature_profile.ts'

/** Makes the schema of a number with a unit. The limits of a device narrow it. */
function quantity(unit: string, description: string) {
  return described(v.pipe(v.number(), v.finite()), description, unit)
}

/** Makes the schema of a number with a unit, or null, which switches off. */
function quantityOrOff(unit: string, description: string) {
  return described(v.nullable(v.pipe(v.number(), v.finite())), description, unit)
}

/** Makes the schema of an optional whole number that selects something. */
function choice(least: number, most: number, usual: number, description: string, unit?: string) {
  return v.optional(described(Whole(least, most), description, unit), usual)
}

const Nothing = v.strictObject({})

/** The number of a slot in a storage, from 1. */
const Slot = described(Whole(1, 10_000), 'Slot of the storage, from 1')

/**
 * The operations: POST with a body, answered when they are done.
 *
 * `typical_seconds` and `margin_seconds` are added to the requested time, which is `duration`, or what `asked_seconds` computes: the first is the time that the operation
 * usually takes besides; after the second the service gives up, halts the device and latches a fault.
 * `done` is the message of a good end, which has the values of `returns` in words. `leaves_on` returns what would continue if this process ended: the motion for
 * its duration, unless the instrument times it; or the heat of the device or of its lid until it is switched off or the device is halted. `heats_to` returns
 * the set point of that heat, by default `temperature`. An `extension` goes
 * beyond the published API. An operation that is `held` lasts only while its caller renews it, and ends gently then. `goes_to` returns the
 * teachpoint to which it goes; the driver gets the way there. `returns` is the schema of the values that it gives, with their units. `sets` is the state of the door or the plate lock after a good end; null where
 * the instrument moves the door as it likes.
 */
export const operations = {
  initialize: {
    summary: 'Initialize the device; it may move',
    params: Nothing,
    typical_seconds: 30,
    margin_seconds: 120,
    done: () => 'initialized',
  },
  shake: {
    summary: 'Shake',
    params: v.strictObject({ speed: quantity('rpm', 'Speed of the shaker'), duration: quantity('s', 'Time of shaking') }),
    typical_seconds: 5,
    margin_seconds: 30,
    leaves_on: () => 'motion',
    done: ({ speed, duration }: { speed: number; duration: number }) => `shook at ${speed} rpm for ${inSeconds(duration)}`,
  },
  centrifuge: {
    summary: 'Run centrifuge',
    params: v.strictObject({
      g: quantity('×g', 'Relative centrifugal force'),
      duration: quantity('s', 'Time at full speed'),
    }),
    typical_seconds: 60,
    margin_seconds: 300,
    leaves_on: () => 'motion',
    done: ({ g, duration }: { g: number; duration: number }) => `spun at ${g} ×g for ${inSeconds(duration)}`,
    sets: { door: null },
  },
  seal: {
    summary: 'Seal plate',
    params: v.strictObject({
      temperature: quantity('°C', 'Temperature of the sealing plate'),
      duration: quantity('s', 'Time under the sealing plate'),
    }),
    // The time of a hot sealer; heating is counted separately.
    typical_seconds: 12,
    margin_seconds: 420,
    leaves_on: () => 'heat',
    done: ({ temperature, duration }: { temperature: number; duration: number }) =>
      `sealed at ${temperature} °C for ${inSeconds(duration)}`,
    sets: { door: null },
  },
  peel: {
    summary: 'Peel the seal off a plate',
    extension: true,
    params: v.strictObject({
      parameter_set: choice(1, 9, 4, 'Parameter set of the instrument: start position and speed of the peel'),
      adhere: choice(1, 4, 1, 'Adhesion time: 1 to 4 for 2.5, 5, 7.5 or 10 s'),
    }),
    typical_seconds: 30,
    margin_seconds: 90,
    done: ({ parameter_set, adhere }: { parameter_set: number; adhere: number }) =>
      `peeled with parameter set ${parameter_set}, adhere ${adhere}`,
    sets: { door: null },
  },
  stop: {
    summary: 'Emergency stop; latched until initialize. Not a safety function: it does not replace an emergency stop button',
    params: Nothing,
    typical_seconds: 1,
    margin_seconds: 10,
    done: () => 'stopped',
  },
  open: {
    summary: 'Open door or lid',
    params: Nothing,
    typical_seconds: 5,
    margin_seconds: 30,
    done: () => 'open',
    sets: { door: 'open' },
  },
  close: {
    summary: 'Close door or lid',
    params: Nothing,
    typical_seconds: 5,
    margin_seconds: 30,
    done: () => 'closed',
    sets: { door: 'closed' },
  },
  lock_plate: {
    summary: 'Lock plate',
    params: Nothing,
    typical_seconds: 3,
    margin_seconds: 30,
    done: () => 'plate locked',
    sets: { plate_lock: 'locked' },
  },
  unlock_plate: {
    summary: 'Unlock plate',
    params: Nothing,
    typical_seconds: 3,
    margin_seconds: 30,
    done: () => 'plate unlocked',
    sets: { plate_lock: 'unlocked' },
  },
  set_temperature: {
    summary: 'Set the target temperature, or switch the heater off; answers before the temperature is reached',
    params: v.strictObject({ temperature: quantityOrOff('°C', 'Target temperature, or null for no heat') }),
    typical_seconds: 1,
    margin_seconds: 10,
    leaves_on: ({ temperature }: { temperature: number | null }) => (temperature === null ? 'no heat' : 'heat'),
    done: ({ temperature }: { temperature: number | null }) =>
      temperature === null ? 'heater switched off' : `temperature set to ${temperature} °C`,
  },
  set_lid_temperature: {
    summary: 'Set the target temperature of a heated lid, or switch it off; answers before the temperature is reached',
    extension: true,
    params: v.strictObject({ lid_temperature: quantityOrOff('°C', 'Target temperature of the lid, or null for no heat') }),
    typical_seconds: 1,
    margin_seconds: 10,
    leaves_on: ({ lid_temperature }: { lid_temperature: number | null }) => (lid_temperature === null ? 'no lid heat' : 'lid heat'),
    heats_to: ({ lid_temperature }: { lid_temperature: number | null }) => lid_temperature,
    done: ({ lid_temperature }: { lid_temperature: number | null }) =>
      lid_temperature === null ? 'lid heater switched off' : `lid temperature set to ${lid_temperature} °C`,
  },
  run_profile: {
    summary: 'Run a temperature profile: the steps in order, repeated; the last temperature is held afterwards',
    extension: true,
    params: v.strictObject({
      steps: ProfileSteps,
      repetitions: choice(1, 999, 1, 'Number of times that the steps are done'),
    }),
    typical_seconds: 60,
    margin_seconds: 3600,
    asked_seconds: profileSeconds,
    leaves_on: () => 'heat',
    heats_to: ({ steps }: TemperatureProfile) => steps.at(-1)?.temperature ?? null,
    done: ({ steps, repetitions }: { steps: readonly unknown[]; repetitions: number }) =>
      `profile of ${steps.length} ${steps.length === 1 ? 'step' : 'steps'} done ${repetitions === 1 ? 'once' : `${repetitions} times`}`,
  },
  store: {
    summary: 'Take the labware at the transfer station into a slot of the storage',
    extension: true,
    params: v.strictObject({ slot: v.optional(described(Whole(1, 10_000), 'Slot, from 1; without it the first free one')) }),
    typical_seconds: 20,
    margin_seconds: 120,
    leaves_on: () => 'motion',
    done: ({ slot }: { slot?: number | undefined }) => `stored in slot ${slot}`,
  },
  retrieve: {
    summary: 'Bring the labware in a slot of the storage to the transfer station',
    extension: true,
    params: v.strictObject({ slot: Slot }),
    typical_seconds: 20,
    margin_seconds: 120,
    leaves_on: () => 'motion',
    done: ({ slot }: { slot: number }) => `retrieved from slot ${slot}`,
  },
  scan: {
    summary: 'Read a barcode; of a storage: look which slots are taken',
    extension: true,
    params: Nothing,
    returns: v.strictObject({
      barcode: v.optional(described(v.nullable(v.string()), 'The code that a scanner read; null if there was none')),
      slots: v.optional(
        described(
          v.array(v.strictObject({ slot: Slot, taken: v.boolean(), barcode: v.nullable(v.string()) })),
          'The slots of a storage, with the barcode where it can read one',
        ),
      ),
    }),
    typical_seconds: 2,
    margin_seconds: 600,
    done: (_: object, { barcode, slots }: Scanned = {}) => {
      if (slots) return `scanned its slots: ${slots.filter(({ taken }) => taken).length} of ${slots.length} taken`
      return barcode === undefined ? 'scanned' : barcode === null ? 'read no barcode' : `read barcode ${barcode}`
    },
  },
  weigh: {
    summary: 'Weigh, and wait until the value is stable',
    extension: true,
    params: Nothing,
    returns: v.strictObject({ weight: described(v.number(), 'The stable net weight', 'g') }),
    typical_seconds: 3,
    margin_seconds: 60,
    done: (_: object, value?: { weight: number }) => (value ? `weighed ${value.weight} g` : 'weighed'),
  },
  tare: {
    summary: 'Tare the balance, so that the present load becomes zero',
    extension: true,
    params: Nothing,
    typical_seconds: 3,
    margin_seconds: 60,
    done: () => 'tared',
  },
  zero: {
    summary: 'Set the zero point of an empty balance',
    extension: true,
    params: Nothing,
    typical_seconds: 3,
    margin_seconds: 60,
    done: () => 'set to zero',
  },
  jog: {
    summary: 'Move an arm along one axis while the operation is renewed',
    extension: true,
    held: { renewed_within_ms: 150, longest_s: 60 },
    params: v.strictObject({
      axis: described(v.picklist(axisNames), 'Axis of the frame of the arm, or joint'),
      direction: described(v.picklist(['+', '-']), 'Direction along the axis'),
      speed: choice(1, 20, 10, 'Speed, as a part of the full speed of the arm', '%'),
    }),
    typical_seconds: 1,
    margin_seconds: 90,
    done: ({ axis }: { axis: Axis }) => jogged(axis, null),
  },
  free_drive: {
    summary: 'Let a person lead an arm by hand while the operation is renewed',
    extension: true,
    held: { renewed_within_ms: 3000, longest_s: 120 },
    params: Nothing,
    typical_seconds: 1,
    margin_seconds: 150,
    // The joints may stay free if this process ends meanwhile.
    leaves_on: () => 'motion',
    done: () => 'led by hand, and holds its position again',
  },
  go_to: {
    summary: 'Move an arm slowly to a teachpoint, or above it, through its gateways and its access pattern',
    extension: true,
    goes_to: ({ teachpoint }: { teachpoint: string }) => teachpoint,
    params: v.strictObject({
      teachpoint: described(Name, 'Name of the teachpoint'),
      offset_z: v.optional(
        described(v.pipe(v.number(), v.minValue(0), v.maxValue(1000)), 'How far above the teachpoint it stops', 'mm'),
        0,
      ),
    }),
    typical_seconds: 20,
    margin_seconds: 660,
    done: ({ teachpoint, offset_z }: { teachpoint: string; offset_z: number }) =>
      offset_z > 0 ? `stands ${offset_z} mm above ${teachpoint}` : `stands at ${teachpoint}`,
  },
} as const satisfies Record<string, OperationShape>

/**
 * The moves of a transporter in a run, which have no route and no capability. `at` is the name of the place. The driver knows how
 * long one move of its arm may take, and gives up before `margin_seconds`.
 */
const moves = {
  pick: { typical_seconds: 10, margin_seconds: 660, done: ({ at }: { at: string }) => `picked up at ${at}` },
  place: { typical_seconds: 10, margin_seconds: 660, done: ({ at }: { at: string }) => `set down at ${at}` },
} as const satisfies Record<string, TaskShape>

/** Operations and moves: the tasks that take time on a device. */
export const tasks = { ...operations, ...moves }

/** `done` gets the values that the operation gave, too. */
type TaskShape = { typical_seconds: number; margin_seconds: number; done(params: never, data?: never): string }

type Scanned = { barcode?: string | null | undefined; slots?: readonly { taken: boolean }[] | undefined }

type OperationShape = TaskShape & {
  summary: string
  extension?: true
  params: v.GenericSchema
  returns?: v.GenericSchema
  asked_seconds?(params: never): number
  leaves_on?(params: never): Leaves
  heats_to?(params: never): number | null
  held?: Held
  goes_to?(params: never): string
  sets?: { plate_lock?: Parts['plate_lock']; door?: Parts['door'] | null }
}

/** The state of the door and the plate lock; a member is absent while nobody knows it. */
export type Parts = { plate_lock?: 'locked' | 'unlocked'; door?: 'open' | 'closed' }

/**
 * The effect that continues when this process ends; `no heat` if the operation has ended the heat, and `no lid heat` if it has ended the heat of a lid
 * that has a heater of its own.
 */
export type Leaves = 'motion' | 'heat' | 'no heat' | 'lid heat' | 'no lid heat' | undefined

export type OperationName = keyof typeof operations
/** The operations that can be performed; a stop is handled separately. */
export type Performable = Exclude<OperationName, 'stop'>
export type MoveName = keyof typeof moves
export type TaskName = keyof typeof tasks
/** The parameters of an operation: the members of its body. */
export type Params<Name extends OperationName> = v.InferOutput<(typeof operations)[Name]['params']>

/** Returns how an operation is held; undefined for one that ends by itself. */
export function heldOf(name: string): Held | undefined {
  return rowOf(name)?.held
}

/** Returns the row of the table for an operation; undefined for other names. */
export function rowOf(name: string): OperationShape | undefined {
  return Object.hasOwn(operations, name) ? operations[name as OperationName] : undefined
}

/** Whether a member of a body may be null. */
export function isNullable(schema: v.GenericSchema): boolean {
  return schema.type === 'nullable'
}

/** Whether a member of a body may be left out. */
export function isOptional(schema: v.GenericSchema): schema is v.OptionalSchema<v.GenericSchema, unknown> {
  return schema.type === 'optional'
}

/** Returns the words of which a member of a body takes one; undefined for a member of another kind. */
export function optionsOf(schema: v.GenericSchema): readonly string[] | undefined {
  return schema.type === 'picklist' ? (schema as v.PicklistSchema<readonly string[], undefined>).options : undefined
}

/** Whether a member of a body is a list of records. */
export function isList(schema: v.GenericSchema): boolean {
  return schema.type === 'array'
}

/** Whether a member of a body is text, and not a number. */
export function isText(schema: v.GenericSchema): boolean {
  return schema.type === 'picklist' || schema.type === 'string'
}
