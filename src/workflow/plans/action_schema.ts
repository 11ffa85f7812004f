// The schemas of the actions of a workflow.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { byName, Id, Name } from '../../kit/name.ts'
import { Given } from './given.ts'
import { Count, Seconds } from './schema_parts.ts'

const AnyAction = {
  name: described(v.optional(Id), 'The name in events, and for an operator; default: the operation'),
  on_failure: described(
    v.optional(v.picklist(['PAUSE', 'ABORT']), 'PAUSE'),
    'Of the body of the action alone, not of the way to its device: wait for a decision, or let the run fail',
  ),
}

const OnDevice = {
  ...AnyAction,
  on: described(Id, 'A device, or a pool of which one is taken'),
  labware: described(
    v.optional(v.array(Id)),
    'The labware that must be there before the action begins; default: the labware of the thread',
  ),
  sites: described(v.optional(v.record(Id, Count), {}), 'On which site of the device a labware is put'),
  tips: described(v.optional(v.record(Id, Count), {}), 'How many tips it uses of a rack'),
  max_wait_after: described(
    v.optional(Seconds),
    "The next action of its owner's labware must begin within this time after it; what that needs is kept free",
  ),
  labware_timeout: described(
    v.optional(Seconds),
    'How long, once the device is held and the labware of its owner is there, the others may take to come; for ever, if not said',
  ),
  seconds: described(v.optional(Seconds), 'The time that the action takes where it is simulated without a driver'),
  lid: described(
    v.optional(v.picklist(['on', 'off'])),
    'How the lids of its labware must be; default: as the topology declares for the operation, and off to seal or to peel',
  ),
}

/** The call of one operation of a device. */
const Do = v.strictObject({
  do: described(Id, 'An operation of the device: shake, seal, centrifuge, …'),
  ...OnDevice,
  with: described(
    v.optional(v.record(v.string(), Given), {}),
    'Its parameters; {"variable": "…"} stands for a value of the run, also within an array or an object',
  ),
  save: described(
    v.optional(byName(Name)),
    'Members of its result to keep for later steps, by the names of declared values: {"od": "absorbance"}, {"od": "wells.A1"}',
  ),
})
export type Save = Readonly<Record<string, string>>

/** An operation that a run does once, before its threads begin or after they have ended. */
export const RunOperation = v.strictObject({
  do: Do.entries.do,
  ...AnyAction,
  on: OnDevice.on,
  with: Do.entries.with,
  seconds: OnDevice.seconds,
})
export type RunOperation = v.InferOutput<typeof RunOperation>

export const Emission = v.strictObject({
  emit: described(Name, 'A custom event: threads of the same group that wait for this name go on'),
  value: described(v.optional(v.nullable(v.string()), null), 'The value by which a branch chooses'),
  data: v.optional(v.record(v.string(), v.unknown()), {}),
  across_groups: described(v.optional(v.boolean()), 'Emits it to all groups of the run'),
})
export type Emission = v.InferOutput<typeof Emission>

const Emit = v.strictObject({ ...Emission.entries, ...AnyAction })

export const Wait = {
  wait_for: described(Name, 'A custom event, under the name it is emitted with'),
  timeout: described(v.optional(Seconds, 0), '0 waits for ever'),
  across_groups: described(v.optional(v.boolean()), 'Hears the event from all groups of the run'),
}

/** A wait for a custom event. */
export type WaitForEvent = { wait_for: string; timeout: number; across_groups?: boolean | undefined }

const Instruct = v.strictObject({
  instruct: described(v.pipe(v.string(), v.minLength(1), v.maxLength(2000)), 'The instruction for the operator'),
  timeout: described(v.optional(Seconds, 0), '0 waits for ever'),
  ...AnyAction,
})

const RemoveLid = v.strictObject({
  remove_lid: described(Id, 'Takes this lid off the plate of the thread'),
  to: described(
    v.union([Name, v.pipe(v.array(Name), v.minLength(1))], 'must be a position, or a list of positions'),
    'Where the lid is put: a position, or the first of these that is free. It is kept for the lid until the lid is on its plate again',
  ),
  ...AnyAction,
})

const PutLid = v.strictObject({
  put_lid: described(Id, 'Puts this lid on the plate of the thread'),
  ...AnyAction,
})

/** The code of an action, which gets a `Doing`; see `author.ts`. */
// biome-ignore lint/suspicious/noExplicitAny: the context is the runtime's, and this file knows nothing of it.
export type Body = (ctx: any) => Promise<void>

const Code = v.strictObject({
  ...OnDevice,
  name: Id,
  on: described(v.optional(Id), 'A device, or a pool of which one is taken; none if not said'),
  body: v.custom<Body>((value) => typeof value === 'function', 'must be a function'),
})

const WaitAction = v.strictObject({ ...Wait, ...AnyAction })

/** Makes a union whose shapes are recognized by their first member, so that mistakes are reported for the intended shape. */
export function whicheverHas<Option extends v.GenericSchema>(what: string, shapes: () => Record<string, Option>) {
  let any: v.UnionSchema<Option[], string> | undefined
  let options: Record<string, Option> | undefined
  return v.lazy((input) => {
    options ??= shapes()
    const words = Object.keys(options)
    any ??= v.union(Object.values(options), `must be ${what}, with one of ${words.join(', ')}`)
    const word = words.find((word) => typeof input === 'object' && input !== null && word in input)
    return word ? options[word]! : any
  })
}

const lidActions = { remove_lid: RemoveLid, put_lid: PutLid }

export const JsonAction = whicheverHas('an action', () => ({
  do: Do,
  emit: Emit,
  wait_for: WaitAction,
  instruct: Instruct,
  ...lidActions,
}))
export const AnyKindOfAction = whicheverHas('an action', () => ({
  do: Do,
  emit: Emit,
  wait_for: WaitAction,
  instruct: Instruct,
  ...lidActions,
  body: Code,
}))

export type Do = v.InferOutput<typeof Do>
export type Code = v.InferOutput<typeof Code>
export type Emit = v.InferOutput<typeof Emit>
export type WaitAction = v.InferOutput<typeof WaitAction>
export type Instruct = v.InferOutput<typeof Instruct>
export type RemoveLid = v.InferOutput<typeof RemoveLid>
export type PutLid = v.InferOutput<typeof PutLid>
export type Action = Do | Emit | WaitAction | Instruct | RemoveLid | PutLid | Code
