// The state of a run that survives a restart: where everything stands, and the progress of each thread. Each value is also the live one (see `RunState`).

import * as v from 'valibot'
import { OperationNotDone } from '../../events/contexts.ts'
import { FrameState, Inserted } from './frame.ts'
import { Labware, placeOf } from './labware.ts'
import { runModes } from './modes.ts'
import { cutOff, MoveState } from './move.ts'
import { apart, joined } from './parts.ts'
import { ValueState } from './saved_value.ts'
import { actionTransitions, methodTransitions, phaseTransitions, statusIn, submissionTransitions, threadTransitions } from './statuses.ts'
import { SubmissionRequest } from './submission_request.ts'

const Text = v.nullable(v.string())
/** A text, null if missing. */
const Missing = v.optional(Text, null)

/** An action that has begun. */
const ActionState = v.object({
  action_id: v.string(),
  /** The path of its plan. */
  path: v.string(),
  name: v.string(),
  status: statusIn(actionTransitions),
  /** When the attempt was created and when its body began, in seconds since the run began; absent in the state of an older version. */
  created: v.optional(v.number()),
  started: v.optional(v.number()),
  device: v.optional(v.string()),
  /** Whether the event about its end by a restart was published. */
  has_ended: v.optional(v.boolean(), false),
})
export type ActionState = v.InferOutput<typeof ActionState>

/** An open window: the time from the end of one action to the beginning of the next. */
const WindowState = v.object({
  /** The name of the action after which it opened. */
  after: v.string(),
  allowed_s: v.number(),
  /** Unix time, s, because the window also runs while the service is down. */
  until: v.number(),
  /** Whether the missed window was reported. */
  is_told: v.optional(v.boolean(), false),
})
export type WindowState = v.InferOutput<typeof WindowState>

/** The lid of a thread's plate. Of a lid that is on, `seat` is where the plate stood when the lid was moved last. */
const LidState = v.object({
  labware: Labware,
  is_on: v.boolean(),
  seat: Missing,
  move: v.optional(v.nullable(MoveState), null),
  placing: Missing,
  picking: v.optional(v.boolean(), false),
  asked: v.optional(v.nullable(MoveState), null),
})
export type LidState = v.InferOutput<typeof LidState>

export const ThreadState = v.object({
  thread_id: v.string(),
  name: v.string(),
  template: v.string(),
  group_id: Text,
  submission_id: v.string(),
  /** The position where its labware comes onto the deck. */
  starts_at: v.string(),
  status: statusIn(threadTransitions),
  /** When the thread took its status, Unix time, s. */
  since: v.number(),
  last_error: Missing,
  /** The error that held the thread when the service ended, until the thread continues. */
  error_before: Missing,
  labware: Labware,
  /**
   * The position of the labware, while this thread moves it; null if it is not on the deck, or no longer this thread's (see `StandingLabware`). The
   * member keeps its old name, because it is in saved files.
   */
  seat: Missing,
  frames: v.array(FrameState),
  /** For each custom event, how often it had been published when this thread last saw it. */
  seen: v.optional(v.array(v.object({ event: v.string(), count: v.number() })), () => []),
  /** The method that the thread owns and is in. */
  method_id: Missing,
  /** The method of another thread in which this one takes part. */
  joining_id: Missing,
  /** The keys (`itemKey`) of steps and actions that an operator wants skipped, until the thread comes to them. */
  skips: v.optional(v.array(v.string()), () => []),
  /** Inserts into steps that the thread has not entered yet: the insert's number, its anchor's key, and its own path. */
  awaited: v.optional(v.array(v.object({ insert: v.number(), key: v.string(), path: v.string() })), () => []),
  /** The action that the thread owns and is in. */
  action: v.optional(v.nullable(ActionState), null),
  /** The action that the end of the service interrupted. It may or may not be done. */
  interrupted: v.optional(v.nullable(ActionState), null),
  /** The present attempt at a hop. */
  move: v.optional(v.nullable(MoveState), null),
  /** The target of a place that the end of the service cut off. The labware may already stand there, so it stays reserved until somebody says where it is. */
  placing: Missing,
  /** Whether the service ended during a pick, or while labware was put back. The labware is where it stood, or in the gripper, until somebody says where. */
  picking: v.optional(v.boolean(), false),
  /** The move of a person that the end of the service cut off: the person is asked about it until somebody says where the labware is. */
  asked: v.optional(v.nullable(MoveState), null),
  /** The lid of its plate, if that has one. */
  lid: v.optional(v.nullable(LidState), null),
  /** The scan of its labware that is under way. */
  scan: v.optional(v.nullable(ActionState), null),
  /** The position at which its labware was scanned, or the transporter that has picked it up, until it moves on: a person may have vouched for it instead. */
  scanned: Missing,
  /** The device at which an operator wants an action repeated, until it is done or somebody decides otherwise. */
  retry_on: v.optional(v.nullable(v.object({ path: v.string(), device: v.string() })), null),
  window: v.optional(v.nullable(WindowState), null),
  /** For each repeat that the thread is in, how many rounds have begun. */
  rounds: v.optional(v.array(v.object({ path: v.string(), count: v.number() })), () => []),
  /** The delay that the thread is in, and when it ends, Unix time, s. */
  delay: v.optional(v.nullable(v.object({ path: v.string(), until: v.number() })), null),
  /** The wait for a temperature that the thread is in: when it began, and when it is too late, Unix time, s; null for never. */
  warming: v.optional(v.nullable(v.object({ path: v.string(), began: v.number(), until: v.nullable(v.number()) })), null),
})
export type ThreadState = v.InferOutput<typeof ThreadState>

export const MethodState = v.object({
  method_id: v.string(),
  name: v.string(),
  owner_id: v.string(),
  status: statusIn(methodTransitions),
  /** The index of the first action that is not done. */
  next: v.number(),
  /** Whether no action has been left out so far. */
  is_whole: v.boolean(),
  /** Templates of labware that has been sent for. */
  wanted: v.array(v.string()),
  /** Whether the other labware will not come, so that the owner continues without it. */
  is_abandoned: v.optional(v.boolean(), false),
  inserted: Inserted,
})
export type MethodState = v.InferOutput<typeof MethodState>

export const BacklogState = v.object({
  labware: v.string(),
  group_id: Text,
  submission_id: Text,
  /** Methods that wait for the receiver; some of them may have ended. */
  queue: v.array(v.string()),
  /** Methods for the next receiver; some of them may have ended. */
  pending: v.array(v.string()),
  receiver_id: Text,
  /** The number of methods that the receiver has taken part in or will; without a receiver, the number of the last one. */
  contributions: v.number(),
  /** Whether no thread is left that could give the receiver work. */
  is_closed: v.boolean(),
  /** Whether the receiver ended with work left, about which an operator must decide. */
  is_orphaned: v.boolean(),
})
export type BacklogState = v.InferOutput<typeof BacklogState>

export const SubmissionState = v.object({
  submission_id: v.string(),
  request: SubmissionRequest,
  /** Unix time, s. */
  submitted_at: v.number(),
  /** The priority that was given after the submission, in place of that of the request. */
  priority: v.optional(v.number()),
  status: statusIn(submissionTransitions),
})
export type SubmissionState = v.InferOutput<typeof SubmissionState>

export const GroupState = v.object({
  submission_id: v.string(),
  group_id: v.string(),
  /** The number of threads that have not ended. */
  open: v.number(),
  is_complete: v.boolean(),
  /** The number of threads that ended with each status. */
  ended: v.record(v.string(), v.number()),
})
export type GroupState = v.InferOutput<typeof GroupState>

/** Any object. Not `v.record`, which drops members with names such as `constructor`. */
const Members = v.custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null)

/** The latest publication of a custom event to one group, or to all groups: `count` is its number among all of this name. */
export const ChannelState = v.object({
  name: v.string(),
  count: v.number(),
  value: Text,
  data: Members,
  submission_id: Missing,
  group_id: Missing,
  /** Unix time, s; 0 in the state of an earlier version. */
  at: v.optional(v.number(), 0),
})
export type ChannelState = v.InferOutput<typeof ChannelState>

/** An insert of an operator into the run. */
export const InsertState = v.object({
  /** The number of the insert, in the order of arrival. */
  number: v.number(),
  anchor: v.string(),
  where: v.picklist(['before', 'after']),
  item: v.record(v.string(), v.unknown()),
  is_done: v.boolean(),
  /** The lanes where it may be placed: `threads.plate`, `methods.seal_it`. */
  lanes: v.array(v.string()),
})
export type InsertState = v.InferOutput<typeof InsertState>

/** The versions of the workflow and the topology that a run began with; null where none was kept. */
const versionMembers = {
  workflow_version: v.optional(v.nullable(v.number()), null),
  topology_version: v.optional(v.nullable(v.number()), null),
}
export type RunVersions = { workflow_version: number | null; topology_version: number | null }

/** Returns the versions without those of which none was kept. */
export function knownVersions({ workflow_version, topology_version }: RunVersions): KnownVersions {
  return { ...(workflow_version !== null && { workflow_version }), ...(topology_version !== null && { topology_version }) }
}
export type KnownVersions = { workflow_version?: number; topology_version?: number }

export const ExecutionState = v.object({
  execution_id: v.string(),
  workflow: v.string(),
  /** The hash of the workflow; a workflow with code is restored only with the same hash. */
  hash: v.string(),
  topology: v.string(),
  ...versionMembers,
  run_mode: v.picklist(runModes),
  /** Whether the run began with JOIN_EXISTING. All its submissions then share the labware that may be batched. */
  is_joinable: v.boolean(),
  /** Unix time, s. */
  started_at: v.number(),
  status: statusIn(phaseTransitions),
  /** Whether a custom event of a thread reaches its group alone. Runs that an earlier version began keep its rule: each event reaches all. */
  events_of_groups: v.optional(v.boolean(), false),
  /** The operations of the run itself that were not done. */
  not_done: v.optional(v.array(OperationNotDone), () => []),
  /** How many threads have had each name. */
  names: v.array(v.object({ name: v.string(), count: v.number() })),
})
export type ExecutionState = v.InferOutput<typeof ExecutionState>

/** The length of the file of the run's record, and the number of rows by which a start continues. */
export const RecordState = v.object({
  bytes: v.number(),
  actions: v.number(),
  moves: v.number(),
  values: v.number(),
  long_bytes: v.number(),
  forecasts: v.optional(v.number()),
})
export type RecordState = v.InferOutput<typeof RecordState>

/** The kinds of which a run has many values. */
const schemas = {
  submission: SubmissionState,
  insert: InsertState,
  thread: ThreadState,
  method: MethodState,
  slot: BacklogState,
  group: GroupState,
  channel: ChannelState,
  value: ValueState,
}
type Many = { [Kind in keyof typeof schemas]: v.InferOutput<(typeof schemas)[Kind]> }

/** The values of a run, by kind. `document` is the workflow when the run began, because it may have changed since; null if it has code. */
export type Kinds = Many & { execution: ExecutionState; document: object | null }

/** All that was saved of one run. */
export type Checkpoint = { execution: ExecutionState; document: unknown; record?: RecordState | undefined } & {
  [Kind in keyof Many as `${Kind}s`]: Many[Kind][]
}

/** Ends the thread's action, which the restart interrupted. An action that an earlier restart interrupted stays until somebody has decided about it. */
function endedWithService(thread: ThreadState): ThreadState {
  const { action, interrupted, lid } = thread
  return { ...cutOff(thread), lid: lid && cutOff(lid), interrupted: action ?? interrupted, action: null, scanned: null }
}

/** Returns the saved values by kind, in the state after the end of the service. Undefined if the run is incomplete. */
export function checkpointOf(keys: ReadonlyMap<string, unknown>): Checkpoint | undefined {
  const many = (kind: keyof Many) => valuesOf(kind, keys).map((value) => v.parse(schemas[kind], value))
  try {
    const kinds = Object.keys(schemas) as (keyof Many)[]
    const saved = {
      execution: v.parse(ExecutionState, keys.get('execution')),
      document: keys.get('document') ?? null,
      // A run of an older version has none.
      record: v.parse(v.optional(RecordState), keys.get('record')),
      ...(Object.fromEntries(kinds.map((kind) => [`${kind}s`, many(kind)])) as Omit<Checkpoint, 'execution' | 'document' | 'record'>),
    }
    return { ...saved, threads: saved.threads.map(endedWithService) }
  } catch (error) {
    if (error instanceof v.ValiError) return undefined
    throw error
  }
}

/** Returns the saved values of one kind, with both parts joined. Earlier versions wrote all values in one part. */
function valuesOf(kind: keyof Many, keys: ReadonlyMap<string, unknown>): unknown[] {
  const its = apart[kind]
  const wholeOf = (value: unknown, id: string) => (its ? joined(value, keys.get(`${its.kind} ${id}`), its.often) : value)
  return [...keys].flatMap(([key, value]) => (key.startsWith(`${kind} `) ? [wholeOf(value, key.slice(kind.length + 1))] : []))
}

/** The members of a thread that say where its labware is. Other members may differ between versions. */
const ThreadOnBench = v.object({
  ...v.pick(ThreadState, ['thread_id', 'status', 'labware', 'seat', 'placing', 'picking']).entries,
  lid: v.fallback(ThreadState.entries.lid, null),
  move: v.fallback(ThreadState.entries.move, null),
})
export type ThreadOnBench = v.InferOutput<typeof ThreadOnBench>

/** Reads where the labware of an incomplete LIVE run is, as far as the remaining values say it. */
export function threadsOnBench(keys: ReadonlyMap<string, unknown>): ThreadOnBench[] {
  if (!isOnBench(keys)) return []
  return valuesOf('thread', keys).flatMap((value) => {
    const thread = v.safeParse(ThreadOnBench, value)
    return thread.success ? [cutOff(thread.output), ...lidOnBench(thread.output)] : []
  })
}

/** Returns the lid of a thread's plate as labware of the same thread; none while it lies in the plate's state alone, on a plate that is not there. */
function lidOnBench(thread: ThreadOnBench): ThreadOnBench[] {
  const { lid, seat } = thread
  if (!lid || seat === null) return []
  return [{ ...thread, ...cutOff({ ...lid, seat: lid.is_on ? seat : lid.seat }), lid: null }]
}

const Half = v.object({ labware: v.object({ name: v.string() }) })
const OtherHalf = v.object({ seat: v.nullable(v.string()), labware: v.pick(Labware, ['held_by', 'placing', 'taken_by']) })

/** Describes labware on the bench whose thread has lost one of its two parts to damage. */
export function halvesOnBench(keys: ReadonlyMap<string, unknown>): string[] {
  if (!isOnBench(keys)) return []
  return [...keys].flatMap(([key, value]) => {
    const [kind, id] = key.split(' ')
    if (kind === 'thread' && !keys.has(`progress ${id}`) && !v.is(ThreadOnBench, value)) {
      const half = v.safeParse(Half, value)
      const name = half.success ? half.output.labware.name : 'labware'
      return `${name} may stand on the bench, and nobody knows where: a part of the state is missing`
    }
    if (kind !== 'progress' || keys.has(`thread ${id}`)) return []
    const { output, success } = v.safeParse(OtherHalf, value)
    if (success && output.seat === null) return []
    const place = success ? placeOf(output.labware, output.seat) : 'on the bench'
    return `labware may stand ${place}, and nobody knows which: a part of the state is missing`
  })
}

function isOnBench(keys: ReadonlyMap<string, unknown>): boolean {
  const { output, success } = v.safeParse(v.object({ run_mode: v.picklist(runModes) }), keys.get('execution'))
  return !success || output.run_mode === 'LIVE'
}
