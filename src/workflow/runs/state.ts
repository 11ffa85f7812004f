// What of a run outlasts the service: where everything stands, and how far each thread has come. Each value is the live one too: see `RunState`.

import * as v from 'valibot'
import { actionTransitions, methodTransitions, phaseTransitions, statusIn, submissionTransitions, threadTransitions } from '../statuses.ts'
import { FrameState, Inserted } from '../threads/frame.ts'
import { Labware } from '../threads/labware.ts'
import { runModes } from '../threads/run_environment.ts'
import { cutOff, MoveState } from '../threads/uncertain.ts'
import { SubmissionRequest } from './submission_request.ts'

const Text = v.nullable(v.string())
/** Null where it is not given. */
const Missing = v.optional(Text, null)

/** An action that has begun, and may be done or not. */
const ActionState = v.object({
  action_id: v.string(),
  path: v.pipe(v.string(), v.description('Of its plan')),
  name: v.string(),
  status: statusIn(actionTransitions),
  has_ended: v.optional(v.pipe(v.boolean(), v.description('That it was cut off was published after the restart')), false),
})
export type ActionState = v.InferOutput<typeof ActionState>

/** A window that is open: from the end of one action to the beginning of the next. */
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
  starts_at: v.pipe(v.string(), v.description('The position where its labware comes onto the deck')),
  status: statusIn(threadTransitions),
  since: v.pipe(v.number(), v.description('When it came to its status, Unix time, s')),
  last_error: Missing,
  error_before: v.pipe(Missing, v.description('The error that it had when the service ended, until it goes on')),
  labware: Labware,
  seat: v.optional(v.pipe(Text, v.description('Where the labware stands; null when it is not on the deck')), null),
  is_relieved: v.pipe(
    v.optional(v.boolean(), false),
    v.description('Another thread of the run has taken its labware over, and says where the labware stands'),
  ),
  frames: v.array(FrameState),
  seen: v.pipe(
    v.optional(v.array(v.object({ event: v.string(), count: v.number() })), () => []),
    v.description('For each custom event: how often it had been published when this thread last saw it'),
  ),
  method_id: v.pipe(Missing, v.description('The method that it owns and is in')),
  joining_id: v.pipe(Missing, v.description('The method of another thread in which it takes part')),
  skips: v.pipe(
    v.optional(v.array(v.string()), () => []),
    v.description('The keys (`itemKey`) of steps and actions that an operator wants skipped, until the thread comes to them'),
  ),
  awaited: v.pipe(
    v.optional(v.array(v.object({ insert: v.number(), key: v.string(), path: v.string() })), () => []),
    v.description('Inserts into a lane that is not open yet: the number, what it stands beside, and the path of what is put in'),
  ),
  action: v.pipe(v.optional(v.nullable(ActionState), null), v.description('The action that it owns and is in')),
  interrupted: v.pipe(
    v.optional(v.nullable(ActionState), null),
    v.description('The action that the end of the service interrupted: nobody knows whether it was done'),
  ),
  move: v.pipe(v.optional(v.nullable(MoveState), null), v.description('The attempt at a hop that is under way')),
  placing: v.pipe(
    Missing,
    v.description(
      'The position where the labware was being put down when the service ended: it may stand there already. The position stays reserved until somebody says where the labware is',
    ),
  ),
  picking: v.pipe(
    v.optional(v.boolean(), false),
    v.description(
      'The labware was being picked up when the service ended: it is where it stood or in the gripper, until somebody says where',
    ),
  ),
  retry_on: v.pipe(
    v.optional(v.nullable(v.object({ path: v.string(), device: v.string() })), null),
    v.description('The device at which an operator wants an action done again, until it is done, or somebody decides otherwise'),
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

/** An object as it is: `v.record` leaves out members with names such as `constructor`. */
const Members = v.custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null)

/** A custom event: how often it was published, and the latest. */
export const ChannelState = v.object({ name: v.string(), count: v.number(), value: Text, data: Members })
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

/** An action that was under way is over, whatever came of it. One that an earlier restart interrupted stays until somebody has decided about it. */
function endedWithService(thread: ThreadState): ThreadState {
  const { action, interrupted } = thread
  return { ...cutOff(thread), interrupted: action ?? interrupted, action: null }
}

/** Sorts the saved values by their kinds, as the end of the service has left them. Undefined when they are no whole run. */
export function checkpointOf(keys: ReadonlyMap<string, unknown>): Checkpoint | undefined {
  const many = (kind: keyof Many) =>
    [...keys].flatMap(([key, value]) => (key.startsWith(`${kind} `) ? [v.parse(schemas[kind], value)] : []))
  try {
    const kinds = Object.keys(schemas) as (keyof Many)[]
    const saved = {
      execution: v.parse(ExecutionState, keys.get('execution')),
      document: keys.get('document') ?? null,
      ...(Object.fromEntries(kinds.map((kind) => [`${kind}s`, many(kind)])) as Omit<Checkpoint, 'execution' | 'document'>),
    }
    return { ...saved, threads: saved.threads.map(endedWithService) }
  } catch (error) {
    if (error instanceof v.ValiError) return undefined
    throw error
  }
}

/** The members of a thread that say where its labware is: other versions have other ones beside them. */
const ThreadOnBench = v.object({
  ...v.pick(ThreadState, ['thread_id', 'status', 'labware', 'seat', 'is_relieved', 'placing', 'picking']).entries,
  move: v.fallback(ThreadState.entries.move, null),
})
export type ThreadOnBench = v.InferOutput<typeof ThreadOnBench>

/** Where the labware of a run on the bench is, as far as that can be read of values that are no whole run any more. */
export function threadsOnBench(keys: ReadonlyMap<string, unknown>): ThreadOnBench[] {
  const { output, success } = v.safeParse(v.object({ run_mode: v.picklist(runModes) }), keys.get('execution'))
  if (success && output.run_mode !== 'LIVE') return []
  return [...keys].flatMap(([key, value]) => {
    const thread = v.safeParse(ThreadOnBench, value)
    return key.startsWith('thread ') && thread.success && !thread.output.is_relieved ? cutOff(thread.output) : []
  })
}
