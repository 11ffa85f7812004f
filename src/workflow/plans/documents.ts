// The schemas of topologies and workflows, for JSON files, the API and TypeScript modules.

import * as v from 'valibot'
import { described, Whole } from '../../kit/described.ts'
import { byName, Id, Name } from '../../kit/name.ts'
import { Objective } from '../state/objective.ts'
import { Scalar } from '../state/saved_value.ts'
import { Condition } from './conditions.ts'
import { Given } from './given.ts'

const Seconds = v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1e7), v.metadata({ unit: 's' }))
const Count = Whole(1, 100_000)

/** A place that holds one labware. A device with several sites has one for each: `bravo_96/site-1`. */
const Position = v.strictObject({
  device: described(v.optional(Id), 'The device whose nest this is'),
  parking: described(v.optional(v.boolean(), false), 'Blocked labware may be put here for a while'),
  storage: described(
    v.optional(v.boolean(), false),
    'A stacker or a waste: labware comes out of it and goes into it without taking up the place',
  ),
  slots: described(
    v.optional(Whole(1, 1000)),
    'How many numbered slots a storage has here, for one labware each: `incubator/slot-1`, …. Only the storage itself reaches them: it is a transporter between its transfer station and its slots',
  ),
  handover: described(
    v.optional(v.boolean(), false),
    'Carriers bring labware here from other benches of the lab, and take it from here to them',
  ),
  scanner: described(v.optional(Id), 'The device that reads the barcode of each labware that comes here or begins here'),
})

const Transporter = v.strictObject({
  positions: described(v.pipe(v.array(Name), v.minLength(1)), 'What it reaches; each pair of them is a move'),
  scanner: described(v.optional(Id), 'The device that reads the barcode of each labware that this transporter has picked up'),
  seconds: v.optional(v.strictObject({ pick: v.optional(Seconds, 5), move: v.optional(Seconds, 2), place: v.optional(Seconds, 5) }), {}),
})

const DeclaredDevice = v.strictObject({
  sites: described(v.optional(Count, 1), 'How many labware it holds'),
  operations: described(
    v.optional(v.record(Id, v.strictObject({ seconds: v.optional(Seconds) })), {}),
    'What it can do, for a device that the configuration does not have',
  ),
})

export const TopologyDocument = v.strictObject({
  $schema: v.optional(v.string()),
  format: v.literal(1),
  name: Id,
  transporters: v.optional(v.record(Id, Transporter), {}),
  positions: byName(Position),
  translators: described(
    v.optional(v.record(Id, v.tuple([Name, Name])), {}),
    'Shuttles: two stations that are one pad, so that only one of them is ever taken',
  ),
  pools: v.optional(v.record(Id, v.pipe(v.array(Id), v.minLength(1))), {}),
  devices: v.optional(v.record(Id, DeclaredDevice), {}),
})
/** The document with its defaults. */
export type TopologyDocument = v.InferOutput<typeof TopologyDocument>
export type TopologyInput = v.InferInput<typeof TopologyDocument>

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

const Emission = v.strictObject({
  emit: described(Name, 'A custom event: threads of the same group that wait for this name go on'),
  value: described(v.optional(v.nullable(v.string()), null), 'The value by which a branch chooses'),
  data: v.optional(v.record(v.string(), v.unknown()), {}),
  across_groups: described(v.optional(v.boolean()), 'Emits it to all groups of the run'),
})
export type Emission = v.InferOutput<typeof Emission>

const Emit = v.strictObject({ ...Emission.entries, ...AnyAction })

const Wait = {
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
function whicheverHas<Option extends v.GenericSchema>(what: string, shapes: () => Record<string, Option>) {
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

export const JsonAction = whicheverHas('an action', () => ({ do: Do, emit: Emit, wait_for: WaitAction, instruct: Instruct }))
const AnyKindOfAction = whicheverHas('an action', () => ({ do: Do, emit: Emit, wait_for: WaitAction, instruct: Instruct, body: Code }))

export type Do = v.InferOutput<typeof Do>
export type Code = v.InferOutput<typeof Code>
export type Emit = v.InferOutput<typeof Emit>
export type WaitAction = v.InferOutput<typeof WaitAction>
export type Instruct = v.InferOutput<typeof Instruct>
export type Action = Do | Emit | WaitAction | Instruct | Code

/** The steps of a thread, one after the other. */
export type Step = { name?: string | undefined } & (
  | { method: string }
  | { action: Action }
  /** Takes part in one of these methods of other threads. */
  | { join: string[] }
  /** Rests at the first free one of these while there is nothing to take part in. */
  | { park: string[] }
  | WaitForEvent
  /** Waits for a custom event, and continues with the steps for its value. */
  | { branch: string; cases: Record<string, Step[]>; else?: Step[] | undefined; timeout: number; across_groups?: boolean | undefined }
  | { while_more_work: Step[] }
  /** Continues with the steps for a condition on saved values. */
  | { if: Condition; then: Step[]; else: Step[] }
  | { repeat: { times: number } | { until: Condition; at_most: number }; steps: Step[] }
  /** Waits so many seconds. */
  | { delay: number }
  | { until_temperature: { device: string; within: number }; timeout: number }
)

/** Returns the lists of steps in a step. */
export function listsInStep(step: Step): readonly Step[][] {
  if ('branch' in step) return [...Object.values(step.cases), step.else ?? []]
  if ('while_more_work' in step) return [step.while_more_work]
  if ('repeat' in step) return [step.steps]
  return 'if' in step ? [step.then, step.else] : []
}

/** The most rounds of a repeat. */
const Rounds = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000))
const Repeat = v.union(
  [v.strictObject({ times: Rounds }), v.strictObject({ until: Condition, at_most: Rounds })],
  'must be {"times": …}, or {"until": …, "at_most": …}, with 1 to 1000 rounds',
)

function stepWith(action: v.GenericSchema<unknown, Action>) {
  const name = described(v.optional(Id), 'The name by which an operator calls it; default: its first word')
  const step: v.LazySchema<v.GenericSchema<unknown, Step>> = whicheverHas<v.GenericSchema<unknown, Step>>('a step', () => ({
    method: v.strictObject({ name, method: described(Id, 'Does this method, and owns it') }),
    action: v.strictObject({ name, action }),
    join: v.strictObject({
      name,
      join: described(v.pipe(v.array(Id), v.minLength(1)), 'Takes part in one of these methods of other threads'),
    }),
    park: v.strictObject({
      name,
      park: described(
        v.pipe(v.array(Name), v.minLength(1)),
        'Rests at the first that is free, as long as there is nothing to take part in',
      ),
    }),
    wait_for: v.strictObject({ name, ...Wait }),
    branch: v.strictObject({
      name,
      branch: described(Name, 'Waits for this custom event, and goes on by its value'),
      cases: v.record(v.string(), list),
      else: described(v.optional(list), 'The steps for every other value; without it such a value is refused, or holds the thread'),
      timeout: Wait.timeout,
      across_groups: Wait.across_groups,
    }),
    while_more_work: v.strictObject({
      name,
      while_more_work: described(list, 'Over and over, as long as there can be something to take part in'),
    }),
    if: v.strictObject({
      name,
      if: described(Condition, 'A comparison of a saved value: {"value": "od", "above": 0.5}; several with {"all": […]} or {"any": […]}'),
      then: list,
      else: v.optional(list, []),
    }),
    repeat: v.strictObject({
      name,
      repeat: described(Repeat, 'A number of rounds (`times`); or rounds until a condition holds after one, at most `at_most`'),
      steps: v.pipe(list, v.minLength(1)),
    }),
    delay: v.strictObject({ name, delay: described(v.pipe(Seconds, v.minValue(0.001)), 'Waits so long') }),
    until_temperature: v.strictObject({
      name,
      until_temperature: v.strictObject({
        device: described(Id, 'A device whose target temperature an earlier step has set'),
        within: described(
          v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(100)), 0.5),
          'How near the target is near enough',
          '°C',
        ),
      }),
      timeout: described(v.optional(Seconds, 0), '0 waits for ever'),
    }),
  }))
  const list = v.array(step)
  return step
}

/** A step in a request of the API. */
export const JsonStep = stepWith(JsonAction)
const AnyKindOfStep = stepWith(AnyKindOfAction)

const Grip = v.strictObject({
  width: described(v.pipe(v.number(), v.minValue(1), v.maxValue(500)), 'How wide it is between the fingers', 'mm'),
  force: v.optional(described(v.pipe(v.number(), v.minValue(1), v.maxValue(200)), 'How hard the fingers press', 'N')),
})

const Labware = v.strictObject({
  type: described(v.pipe(v.string(), v.minLength(1)), 'Of a catalogue: 96-well'),
  kind: v.optional(v.picklist(['plate', 'tip_rack', 'trough']), 'plate'),
  tips: described(v.optional(Count), 'How many a fresh rack holds'),
  grip: described(v.optional(Grip), 'How a transporter grips it, if that can set its fingers; default: the settings of the transporter'),
  group_sharing: v.optional(v.picklist(['PER_GROUP', 'SHARED_ACROSS_GROUPS']), 'PER_GROUP'),
  submission_batching: v.optional(v.picklist(['NOT_BATCHABLE', 'BATCHABLE']), 'NOT_BATCHABLE'),
})

const Capacity = v.strictObject({
  max: described(Count, 'How many methods one labware takes part in: the limit is of each labware, not of the run'),
  when_full: described(
    v.optional(v.picklist(['NEW', 'REJECT', 'RECOVERABLE_REJECT']), 'NEW'),
    'For the next method: take a fresh labware, let the thread that wants it fail, or hold that until an operator decides',
  ),
})

const startModes = ['DISPENSE', 'MANUAL_PLACE', 'REUSE_EXISTING'] as const
const endModes = ['MANUAL_REMOVE', 'LEAVE_IN_PLACE'] as const

const thread = (step: v.GenericSchema<unknown, Step>) =>
  v.strictObject({
    labware: Id,
    start: v.strictObject({
      at: Name,
      mode: described(v.optional(v.picklist(startModes), 'MANUAL_PLACE'), 'Out of a storage; put there by an operator; or there already'),
    }),
    end: v.strictObject({
      at: described(v.pipe(v.array(Name), v.minLength(1)), 'The first that is granted'),
      mode: described(v.optional(v.picklist(endModes), 'MANUAL_REMOVE'), 'Taken away by an operator, or left'),
    }),
    steps: v.array(step),
    capacity: v.optional(Capacity),
    contributes_to: described(v.optional(v.array(Id), []), 'Labware that this thread feeds, if its methods do not tell'),
    immovable: described(v.optional(v.boolean(), false), 'Its labware is never parked out of the way'),
  })

/** A function that is called with the registered name and the context; or an object with `handle`, which gets the system first. */
export type Handler = ((eventName: string, context: Readonly<Record<string, unknown>>) => void | Promise<void>) | SystemBoundHandler
interface SystemBoundHandler {
  /** Set when the execution starts. */
  system?: unknown
  handle(eventName: string, context: Readonly<Record<string, unknown>>): void | Promise<void>
}

const isHandler = (value: unknown): boolean =>
  typeof value === 'function' || (typeof value === 'object' && value !== null && typeof (value as SystemBoundHandler).handle === 'function')

/** A value that actions save. */
const Value = v.strictObject({
  example: described(Scalar, 'Stands for the value in dry runs, and in simulations that do not measure it'),
  description: v.optional(v.string()),
})

const Variable = v.strictObject({
  default: v.optional(v.unknown()),
  description: v.optional(v.string()),
  nullable: described(
    v.optional(v.boolean()),
    'Whether it may be null where null has a meaning: as a temperature, null switches the heater off',
  ),
})

const shared = {
  $schema: v.optional(v.string()),
  format: v.literal(1),
  name: Id,
  topology: described(Id, 'The topology it runs on'),
  labware: v.record(Id, Labware),
  variables: v.optional(byName(Variable), {}),
  values: described(v.optional(byName(Value)), 'The values that actions save and conditions compare'),
  objective: described(
    v.optional(Objective),
    'The time that the plan makes short: of the whole run (makespan, the default), of each labware (flow_time), or of its waits (open_time)',
  ),
  overtaking: described(
    v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
    'Labware of one thread leaves in the order in which it came, unless another order makes the run shorter by more than this share; without it always',
  ),
  start: described(v.pipe(v.array(Id), v.minLength(1)), 'The threads that a run begins with; others come when they are needed'),
}

/** The code that emits the events of a method, which gets a `MethodDoing`; see `author.ts`. */
// biome-ignore lint/suspicious/noExplicitAny: the context is the runtime's, and this file knows nothing of it.
export type Emitting = (ctx: any) => Promise<void>
const Emissions = v.array(Emission)
const AnyKindOfEmissions = v.union(
  [Emissions, v.custom<Emitting>((value) => typeof value === 'function')],
  'must be a list of events, {"emit": …}, or a function',
)

/** A method: its actions, or its actions with its own events. */
type MethodTemplate = Action[] | MethodObject
type MethodObject = { actions: Action[]; on_start?: Emission[] | Emitting | undefined; on_end?: Emission[] | Emitting | undefined }

function methodOf(action: v.GenericSchema<unknown, Action>, emits: v.GenericSchema<unknown, Emission[] | Emitting>) {
  const actions: v.GenericSchema<unknown, MethodTemplate> = v.array(action)
  const object: v.GenericSchema<unknown, MethodTemplate> = v.strictObject({
    actions: v.array(action),
    on_start: described(v.optional(emits), 'Emitted when its first action starts'),
    on_end: described(v.optional(emits), 'Emitted when all its actions are done, before it is COMPLETED'),
  })
  const any: v.GenericSchema<unknown, MethodTemplate> = v.union([actions, object], 'must be a list of actions, or an object with actions')
  return v.lazy((input) => (Array.isArray(input) ? actions : typeof input === 'object' && input !== null ? object : any))
}

/** A method in a request of the API. */
export const JsonMethod = methodOf(JsonAction, Emissions)
const AnyKindOfMethod = methodOf(AnyKindOfAction, AnyKindOfEmissions)

export function actionsIn(method: MethodTemplate): Action[] {
  return Array.isArray(method) ? method : method.actions
}

/** The document in a request of the API, without code. */
export const JsonWorkflow = v.strictObject({
  ...shared,
  methods: v.optional(v.record(Id, JsonMethod), {}),
  threads: v.record(Id, thread(JsonStep)),
})

/** The document with the members that only a module may have: code and handlers. */
export const WorkflowDocument = v.strictObject({
  ...shared,
  methods: v.optional(v.record(Id, AnyKindOfMethod), {}),
  threads: v.record(Id, thread(AnyKindOfStep)),
  on: v.optional(v.record(v.string(), v.array(v.custom<Handler>(isHandler, 'must be a function, or an object with handle()'))), {}),
})
export type WorkflowDocument = v.InferOutput<typeof WorkflowDocument>
export type ThreadTemplate = WorkflowDocument['threads'][string]
