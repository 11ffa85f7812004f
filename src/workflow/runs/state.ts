// What of a run outlasts the service: where everything stands, and how far each thread has come. Each value is the live one too: see `RunState`.

import * as v from 'valibot'
import { methodTransitions, phaseTransitions, submissionTransitions, type Transitions } from '../statuses.ts'
import { runModes } from '../threads/run_environment.ts'
import { SubmissionRequest } from './submission_request.ts'

const Text = v.nullable(v.string())
const statusIn = <Name extends string>(table: Transitions<Name>) => v.picklist(Object.keys(table) as Name[])

const Labware = v.object({
  labware_id: v.string(),
  name: v.string(),
  template: v.string(),
  type: v.string(),
  kind: v.picklist(['plate', 'tip_rack', 'trough']),
  barcode: Text,
  tips_left: v.nullable(v.number()),
  tips: v.nullable(v.number()),
  state: v.picklist(['AVAILABLE', 'IN_JOURNEY', 'PARKED', 'ENDED']),
  held_by: Text,
  last_run: v.optional(v.string()),
  placing: v.optional(v.string()),
})

/** An action or a move that had begun, and may be done or not. */
const Interrupted = v.object({
  action_id: v.string(),
  /** Of its plan; empty for a move. */
  path: v.string(),
  name: Text,
  status: v.string(),
  has_ended: v.optional(v.pipe(v.boolean(), v.description('That it was cut off was published after the restart')), false),
})
export type Interrupted = v.InferOutput<typeof Interrupted>

/** Where what an operator put in stands in its lane; in the order of the lane. */
const Inserted = v.optional(v.array(v.object({ at: v.number(), path: v.string() })), [])

/** A window that is open: from the end of one action to the beginning of the next. The live state too (`Window.state`). */
const WindowState = v.object({
  after: v.pipe(v.string(), v.description('The name of the action after which it opened')),
  allowed_s: v.number(),
  until: v.pipe(v.number(), v.description('Unix time, s: it runs on while the service does not')),
  is_told: v.optional(v.pipe(v.boolean(), v.description('Whether it was reported that it was missed')), false),
})
export type WindowState = v.InferOutput<typeof WindowState>

export const ThreadState = v.object({
  thread_id: v.string(),
  name: v.string(),
  template: v.string(),
  group_id: Text,
  submission_id: v.string(),
  starts_at: v.string(),
  status: v.string(),
  since: v.pipe(v.number(), v.description('When it came to its status, Unix time, s')),
  last_error: Text,
  labware: Labware,
  seat: v.pipe(Text, v.description('Where the labware stands; null when it is not on the deck')),
  frames: v.array(v.object({ path: v.string(), next: v.number(), is_loop: v.boolean(), inserted: Inserted })),
  seen: v.record(v.string(), v.number()),
  method_id: Text,
  joining_id: Text,
  skips: v.optional(v.array(v.string()), []),
  awaited: v.optional(v.array(v.object({ insert: v.number(), key: v.string(), path: v.string() })), []),
  interrupted: v.nullable(Interrupted),
  move: v.nullable(Interrupted),
  placing: v.optional(v.pipe(Text, v.description('Where it was being put down: it may stand there already')), null),
  picking: v.optional(v.pipe(v.boolean(), v.description('It was being picked up: it may be in the gripper, or where it stood')), false),
  retry_on: v.optional(
    v.pipe(v.nullable(v.object({ path: v.string(), device: v.string() })), v.description('Where an operator wants an action done again')),
    null,
  ),
  window: v.optional(v.nullable(WindowState), null),
})
export type ThreadState = v.InferOutput<typeof ThreadState>

export const MethodState = v.object({
  method_id: v.string(),
  name: v.string(),
  owner_id: v.string(),
  status: statusIn(methodTransitions),
  next: v.pipe(v.number(), v.description('Of its actions, the first that is not done')),
  is_whole: v.pipe(v.boolean(), v.description('None of its actions was left out so far')),
  wanted: v.pipe(v.array(v.string()), v.description('Templates of labware that has been sent for')),
  is_abandoned: v.optional(v.pipe(v.boolean(), v.description('Its other labware will not come: the owner goes on without it')), false),
  inserted: Inserted,
})
export type MethodState = v.InferOutput<typeof MethodState>

export const SlotState = v.object({
  labware: v.string(),
  group_id: Text,
  submission_id: Text,
  queue: v.pipe(v.array(v.string()), v.description('Methods that wait for the receiver; some of them may have ended')),
  pending: v.pipe(v.array(v.string()), v.description('Methods for the receiver after this one; some of them may have ended')),
  receiver_id: Text,
  contributions: v.pipe(
    v.number(),
    v.description('In how many methods the receiver takes part, or is to; when there is none any more, in how many the last one took part'),
  ),
  is_closed: v.pipe(v.boolean(), v.description('Nobody is left who could bring the receiver work')),
  is_orphaned: v.pipe(v.boolean(), v.description('The receiver ended with work in hand: an operator has to look at it')),
})
export type SlotState = v.InferOutput<typeof SlotState>

export const SubmissionState = v.object({
  submission_id: v.string(),
  request: SubmissionRequest,
  submitted_at: v.pipe(v.number(), v.description('Unix time, s')),
  status: statusIn(submissionTransitions),
})
export type SubmissionState = v.InferOutput<typeof SubmissionState>

export const GroupState = v.object({
  submission_id: v.string(),
  group_id: v.string(),
  open: v.pipe(v.number(), v.description('How many of its threads have not ended')),
  is_complete: v.boolean(),
  ended: v.pipe(
    v.record(v.string(), v.number()),
    v.description('How many of its threads ended with each status: an event cannot tell success from failure'),
  ),
})
export type GroupState = v.InferOutput<typeof GroupState>

/** A custom event: how often it was published, and the latest. */
export const ChannelState = v.object({ name: v.string(), count: v.number(), value: Text, data: v.record(v.string(), v.unknown()) })
export type ChannelState = v.InferOutput<typeof ChannelState>

/** What an operator put into the run. */
export const InsertState = v.object({
  number: v.pipe(v.number(), v.description('They are counted in the order in which they came')),
  anchor: v.string(),
  where: v.picklist(['before', 'after']),
  item: v.record(v.string(), v.unknown()),
  is_done: v.boolean(),
  lanes: v.pipe(v.array(v.string()), v.description('The lanes in which it may come to stand: `threads.plate`, `methods.seal_it`')),
})
export type InsertState = v.InferOutput<typeof InsertState>

export const ExecutionState = v.object({
  execution_id: v.string(),
  workflow: v.string(),
  hash: v.pipe(v.string(), v.description('Of the workflow: another one cannot take it up')),
  topology: v.string(),
  run_mode: v.picklist(runModes),
  is_joinable: v.pipe(
    v.boolean(),
    v.description('It began with JOIN_EXISTING: labware that may be batched is then shared by all its submissions'),
  ),
  started_at: v.pipe(v.number(), v.description('Unix time, s')),
  status: statusIn(phaseTransitions),
  names: v.pipe(v.array(v.object({ name: v.string(), count: v.number() })), v.description('How many of each name there were')),
})
export type ExecutionState = v.InferOutput<typeof ExecutionState>

/** Kinds of which a run has many values. */
const schemas = {
  submission: SubmissionState,
  insert: InsertState,
  thread: ThreadState,
  method: MethodState,
  slot: SlotState,
  group: GroupState,
  channel: ChannelState,
}
type Many = { [Kind in keyof typeof schemas]: v.InferOutput<(typeof schemas)[Kind]> }

/** The values of a run by their kinds. `document` is the workflow as it was when the run began, if it holds no code: it may have been changed since. */
export type Kinds = Many & { execution: ExecutionState; document: object | null }

/** All that was saved of one run. */
export type Checkpoint = { execution: ExecutionState; document: unknown } & { [Kind in keyof Many as `${Kind}s`]: Many[Kind][] }

/** The key of a value: `execution`, and `thread <id>` and so on. */
export function keyOf(kind: keyof Kinds, id?: string): string {
  return id === undefined ? kind : `${kind} ${id}`
}

/** Sorts the saved values by their kinds. Undefined when they are no whole run. */
export function checkpointOf(keys: ReadonlyMap<string, unknown>): Checkpoint | undefined {
  const many = (kind: keyof Many) =>
    [...keys].flatMap(([key, value]) => (key.startsWith(`${kind} `) ? [v.parse(schemas[kind], value)] : []))
  try {
    const kinds = Object.keys(schemas) as (keyof Many)[]
    return {
      execution: v.parse(ExecutionState, keys.get('execution')),
      document: keys.get('document') ?? null,
      ...(Object.fromEntries(kinds.map((kind) => [`${kind}s`, many(kind)])) as Omit<Checkpoint, 'execution' | 'document'>),
    }
  } catch (error) {
    if (error instanceof v.ValiError) return undefined
    throw error
  }
}

/** The members of a thread that say where its labware is: other versions have other ones beside them. */
const ThreadOnBench = v.pick(ThreadState, ['thread_id', 'status', 'labware', 'seat', 'placing'])
export type ThreadOnBench = v.InferOutput<typeof ThreadOnBench>

/** Where the labware of a run on the bench is, as far as that can be read of values that are no whole run any more. */
export function threadsOnBench(keys: ReadonlyMap<string, unknown>): ThreadOnBench[] {
  const { output, success } = v.safeParse(v.object({ run_mode: v.picklist(runModes) }), keys.get('execution'))
  if (success && output.run_mode !== 'LIVE') return []
  return [...keys].flatMap(([key, value]) => {
    const thread = v.safeParse(ThreadOnBench, value)
    return key.startsWith('thread ') && thread.success ? thread.output : []
  })
}
