// The schemas of workflows, for JSON files, the API and TypeScript modules.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { byName, Id, Name } from '../../kit/name.ts'
import { Objective } from '../state/objective.ts'
import { type Action, AnyKindOfAction, Emission, JsonAction, RunOperation, Wait, type WaitForEvent, whicheverHas } from './action_schema.ts'
import { Condition } from './conditions.ts'
import { Labware } from './labware_schema.ts'
import { Count, Seconds } from './schema_parts.ts'
import { Value, Variable } from './variable_schema.ts'

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
  /** The runtime, set when the execution starts. It has `registerSink`, `getEventsSince` and their like, also as `register_sink`. */
  system?: unknown
  handle(eventName: string, context: Readonly<Record<string, unknown>>): void | Promise<void>
}

const isHandler = (value: unknown): boolean =>
  typeof value === 'function' || (typeof value === 'object' && value !== null && typeof (value as SystemBoundHandler).handle === 'function')

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
  before: described(v.optional(v.array(RunOperation)), 'Operations without labware that a run does once, before its first thread begins'),
  after: described(
    v.optional(v.array(RunOperation)),
    'Operations without labware that a run does once, when all its threads have ended, also if it failed or was stopped: then only on devices that are neither stopped nor faulted',
  ),
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
