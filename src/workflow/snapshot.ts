// Shows an execution, its threads and the loaded topology as they are at this moment. Of an execution that is no
// longer known to its depth, what its record says.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import type { Workflow } from './plans/plan.ts'
import type { Topology } from './plans/topology.ts'
import { type ExecutionRow, GroupOutcome, type Records, ExecutionRow as Row, SubmissionRecord, ThreadRecord } from './records/records.ts'
import type { Execution } from './runs/execution.ts'
import { ForecastBasis } from './runs/forecast_basis.ts'
import { heldWords } from './runs/forecast_words.ts'
import { restlessArm, retriesBy, retriesOn, takersOver } from './runs/held_action.ts'
import { isLabware } from './state/labware.ts'
import { type ActionStatus, actionTransitions } from './state/statuses.ts'
import { scopeKey } from './threads/backlogs.ts'
import { decisions, pauseSiteNames } from './threads/recovery.ts'
import type { RunEnvironment } from './threads/run_environment.ts'
import type { LabwareThread } from './threads/thread.ts'
import type { TimelineRow } from './threads/timeline.ts'

const MaybeText = v.nullable(v.string())
const ActionStatusWord = v.picklist(Object.keys(actionTransitions) as ActionStatus[])
const UnixSeconds = described(v.number(), 'Unix time', 's')

export const ShownLabware = v.strictObject({
  labware_id: v.string(),
  name: v.string(),
  template: v.string(),
  type: v.string(),
  kind: v.picklist(['plate', 'tip_rack', 'trough', 'lid']),
  barcode: MaybeText,
  tips_left: v.nullable(v.number()),
})
export type ShownLabware = v.InferOutput<typeof ShownLabware>

export const ShownMove = v.strictObject({
  action_id: v.string(),
  thread_id: v.string(),
  transporter: v.string(),
  from: v.string(),
  to: v.string(),
  status: ActionStatusWord,
})
export type ShownMove = v.InferOutput<typeof ShownMove>

/** The forecast of an open run or thread; absent once it has ended. */
const foretold = {
  eta: described(v.optional(v.nullable(v.number())), 'When it is expected to end, Unix time; null where that cannot be foretold', 's'),
  eta_reason: described(v.optional(MaybeText), 'Why its end cannot be foretold'),
  progress: described(v.optional(v.nullable(v.number())), 'The share of the expected time that has passed, from 0 to 1'),
}

export const ShownThread = v.strictObject({
  ...ThreadRecord.entries,
  decisions: described(v.array(v.picklist(decisions)), 'The possible decisions about the error that holds the thread'),
  held_at: described(v.nullable(v.picklist(pauseSiteNames)), 'Where an error holds the thread; null if none does'),
  retry_on: described(v.array(v.string()), 'The other devices at which RETRY can do the action that an error holds (`on`)'),
  retry_by: described(
    v.array(v.string()),
    'The people who can make the move of an arm that is stopped or has a fault (`by`), once it is known to stand',
  ),
  retry_by_if_off: described(
    v.array(v.string()),
    'The people who can make the move of an arm that may still move, once somebody has seen that its power is off (`arm_is_off`)',
  ),
  labware: described(v.nullable(ShownLabware), 'null once only its record is kept, and for the operations of the run itself'),
  position: described(MaybeText, 'Where its labware stands'),
  held_by: described(MaybeText, 'The transporter that has its labware in the gripper'),
  method: described(MaybeText, 'The method it is in, its own or that of another thread'),
  device: described(MaybeText, 'The device it holds'),
  waiting: v.nullable(
    v.strictObject({
      kind: described(v.picklist(['reservation', 'peer', 'event', 'operator', 'device']), 'The person or thing that has to do something'),
      what: described(v.string(), 'In words'),
      since: UnixSeconds,
    }),
  ),
  ...foretold,
  next: described(
    v.optional(
      v.array(
        v.strictObject({
          name: described(v.string(), 'The action, or the step'),
          at: described(MaybeText, 'The device or position; null for a wait'),
          from: described(v.nullable(v.number()), 'Unix time; null where the thread does not go on by itself', 's'),
          to: described(v.nullable(v.number()), 'Unix time', 's'),
        }),
      ),
    ),
    'The steps that are expected to come next, in `getExecution` of an open execution: at most 8 steps of each of the first 200 open threads',
  ),
})
export type ShownThread = v.InferOutput<typeof ShownThread>

export const ShownBacklog = v.strictObject({
  key: described(v.string(), '`<labware>:<group or *>:<submission or *>`'),
  labware: v.string(),
  receiver: described(MaybeText, 'The thread that brings this labware now'),
  queue: described(v.array(v.string()), 'Methods that wait for it'),
  pending: described(v.array(v.string()), 'Methods for the one after it'),
  contributions: v.number(),
  is_closed: v.boolean(),
  is_orphaned: v.boolean(),
})

const Summary = {
  ...Row.entries,
  phase: described(v.picklist(['accepting', 'draining', 'stopping', 'ended']), 'Whether it takes more submissions'),
  paused: v.nullable(v.strictObject({ at: UnixSeconds, reason: v.picklist(['manual', 'system']) })),
  thread_count: described(v.number(), 'Its threads; the operations of the run itself do not count'),
  open_count: described(v.number(), 'Its threads that have not ended'),
  needs_person_count: described(
    v.number(),
    'Of the open threads, those that wait for a person: to decide about an error or a pause, to confirm a step, to put labware down or take it away',
  ),
  ...foretold,
}

export const ExecutionSummary = v.strictObject(Summary)
export type ExecutionSummary = v.InferOutput<typeof ExecutionSummary>

export const ExecutionSnapshot = v.strictObject({
  ...Summary,
  is_abort_armed: described(v.boolean(), 'A stop was asked for once, and waits to be confirmed'),
  is_live: described(v.boolean(), 'false: this is its record'),
  submissions: v.array(SubmissionRecord),
  groups: v.array(GroupOutcome),
  threads: described(v.array(ShownThread), 'The open threads, and the newest of the others: at most a thousand'),
  moves: described(v.array(ShownMove), 'Under way'),
  devices: described(v.array(v.strictObject({ device_id: v.string(), thread_id: v.string() })), 'Held by its threads'),
  slots: v.array(ShownBacklog),
  forecast: described(
    v.optional(
      v.nullable(
        v.strictObject({
          made_at: UnixSeconds,
          left_s: described(v.number(), 'The time that is left, also where no end can be foretold: as if all went on now', 's'),
          basis: ForecastBasis,
        }),
      ),
    ),
    'The assumptions of `eta` and `progress`; null before the first forecast, and for an execution in simulated time',
  ),
})
export type ExecutionSnapshot = v.InferOutput<typeof ExecutionSnapshot>

const Seconds = described(v.nullable(v.number()), 'Since the execution began, on its own clock', 's')

export const ShownTimelineRow = v.strictObject({
  action_id: v.string(),
  thread_id: v.string(),
  thread_name: v.string(),
  kind: described(v.picklist(['action', 'move']), 'A move is one hop'),
  name: MaybeText,
  method_id: MaybeText,
  method_name: MaybeText,
  device: MaybeText,
  from: MaybeText,
  to: MaybeText,
  transporter: MaybeText,
  status: ActionStatusWord,
  created: described(v.number(), 'Since the execution began, on its own clock', 's'),
  started: Seconds,
  ended: Seconds,
  group_id: described(v.optional(MaybeText), 'The group of the labware'),
  barcode: described(v.optional(MaybeText), 'The barcode of the labware, as far as it was read'),
}) satisfies v.GenericSchema<TimelineRow>

export const ShownTopology = v.strictObject({
  name: v.string(),
  transporters: v.array(v.strictObject({ device_id: v.string(), positions: v.array(v.string()) })),
  translators: v.array(v.strictObject({ name: v.string(), stations: v.array(v.string()) })),
  pools: v.record(v.string(), v.array(v.string())),
  devices: v.array(v.strictObject({ device_id: v.string(), configured: v.boolean(), sites: v.number() })),
  positions: v.array(
    v.strictObject({
      name: described(v.string(), 'Of a device with several sites there is one for each: `bravo_96/site-1`'),
      device: MaybeText,
      parking: v.boolean(),
      storage: v.boolean(),
      handover: described(v.boolean(), 'Carriers bring labware here from other benches, and take it from here to them'),
      slot: described(v.nullable(v.number()), 'The number of a slot of a storage; null elsewhere'),
      labware: v.nullable(ShownLabware),
      reserved_for: described(MaybeText, 'The thread whose labware is to come'),
    }),
  ),
})
export type ShownTopology = v.InferOutput<typeof ShownTopology>

/** The state of the runtime now, and what was written down. */
export type Known = { row: ExecutionRow; execution: Execution | undefined; records: Records }

const mostThreads = 1000
/** The most threads that are shown with what comes next. */
const mostWithNext = 200

export function summaryOf({ row, execution, records }: Known): ExecutionSummary {
  const { paused = null, threads } = execution ?? {}
  const isOpen = row.ended_at === null
  return {
    ...row,
    phase: phaseOf(row, execution),
    paused: isOpen && paused ? { at: paused.at, reason: paused.reason } : null,
    thread_count: threads ? countOf([...threads.values()].map(({ plan }) => plan)) : countOf(records.threads(row.execution_id)),
    ...(isOpen && execution && execution.operations.notDone.length > 0 && { not_done: [...execution.operations.notDone] }),
    open_count: isOpen ? (execution?.liveCount ?? 0) : 0,
    needs_person_count: isOpen ? (execution?.live() ?? []).filter(({ control: { waiting } }) => waiting?.kind === 'operator').length : 0,
    ...(isOpen && execution ? foretoldOf(execution) : {}),
  }
}

type ShownForecast = Required<Pick<ExecutionSummary, 'eta' | 'eta_reason' | 'progress'>>

/** Returns the forecast of an open run as it holds now: a run that does not go on by itself has no end. */
export function foretoldOf(execution: Execution): ShownForecast {
  const { environment, execution_id, paused } = execution
  const { forecaster } = environment
  if (!forecaster) return { eta: null, eta_reason: 'the run is in simulated time, which has no end on the clock', progress: null }
  const made = forecaster.run(execution_id)
  if (paused) return { eta: null, eta_reason: 'the run is paused', progress: made?.progress ?? null }
  for (const thread of execution.live()) {
    const held = heldWords(thread, execution)
    if (held !== null) return shownForecast(made, `${thread.name} ${held}`)
  }
  return shownForecast(made)
}

/** `held`: why it does not go on by itself now, which a forecast that was made before does not know. */
function shownForecast(
  made: { eta: number | null; reason: string | null; progress: number } | undefined,
  held: string | null = null,
): ShownForecast {
  if (held !== null) return { eta: null, eta_reason: held, progress: made?.progress ?? null }
  if (!made) return { eta: null, eta_reason: 'no forecast has been made yet', progress: null }
  return { eta: made.eta, eta_reason: made.reason, progress: made.progress }
}

function basisOf({ environment, execution_id }: Execution): ExecutionSnapshot['forecast'] {
  const made = environment.forecaster?.run(execution_id)
  return made && { made_at: made.made_at, left_s: made.left_s, basis: made.basis }
}

function withNext(thread: ShownThread, { environment }: Execution): ShownThread {
  const next = environment.forecaster?.thread(thread.thread_id)?.next
  return next && thread.eta !== undefined ? { ...thread, next } : thread
}

/** Counts the threads with labware. */
function countOf(threads: readonly { readonly part?: string | undefined }[]): number {
  return threads.filter(({ part }) => part === undefined).length
}

function phaseOf({ ended_at }: ExecutionRow, execution: Execution | undefined): ExecutionSummary['phase'] {
  const phase = execution?.phase.current
  return ended_at === null && (phase === 'accepting' || phase === 'draining' || phase === 'stopping') ? phase : 'ended'
}

/** `now` is Unix time, s. */
export function snapshotOf(known: Known, now: number): ExecutionSnapshot {
  const { row, execution, records } = known
  return {
    ...summaryOf(known),
    is_abort_armed: row.ended_at === null && execution?.paused?.isAbortArmed === true,
    is_live: execution !== undefined,
    submissions: records.submissionsOf(row.execution_id),
    groups: records.groups(row.execution_id),
    threads: threadsOf(known, now)
      .slice(0, mostThreads)
      .map((thread, i) => (execution && i < mostWithNext ? withNext(thread, execution) : thread)),
    moves: execution ? movesOf(execution) : [],
    devices: execution ? devicesOf(execution) : [],
    slots: execution ? backlogsOf(execution) : [],
    forecast: execution && row.ended_at === null ? (basisOf(execution) ?? null) : null,
  }
}

/** Returns the open ones in the order in which they came; then the others, the newest first. */
export function threadsOf({ row, execution, records }: Known, now: number): ShownThread[] {
  const all = records.threads(row.execution_id).map((record) => shownThread(record, execution?.threads.get(record.thread_id), now))
  const isOpen = ({ thread_id }: ShownThread) => execution?.threads.get(thread_id)?.isOver === false
  return [...all.filter(isOpen), ...all.filter((thread) => !isOpen(thread)).reverse()]
}

/** `now` is Unix time, s. Without the thread itself, what its record says. */
export function shownThread(record: ThreadRecord, thread: LabwareThread | undefined, now: number): ShownThread {
  if (!thread) return { ...record, ...unknown }
  const { labware, environment, method, joining, device } = thread
  const { waiting, decisions } = thread.control
  return {
    ...record,
    decisions: [...decisions],
    held_at: (thread.following ?? thread).control.undecidedAt,
    retry_on: [...retriesOn(thread)],
    retry_by: [...retriesBy(thread)],
    retry_by_if_off: restlessArm(thread) === undefined ? [] : [...takersOver(thread)],
    labware: isLabware(labware) ? labwareOf(labware) : null,
    position: environment.scheduler.whereIs(labware.labware_id) ?? null,
    held_by: labware.held_by,
    method: (method ?? joining)?.plan.name ?? null,
    device: device.name,
    ...(environment.forecaster && !thread.isOver
      ? shownForecast(environment.forecaster.thread(thread.thread_id), heldWords(thread, thread.execution))
      : {}),
    waiting: waiting && { kind: waiting.kind, what: waiting.what, since: now - (environment.clock.now() - waiting.since_ms) / 1000 },
  }
}

const unknown = {
  decisions: [],
  held_at: null,
  retry_on: [],
  retry_by: [],
  retry_by_if_off: [],
  labware: null,
  position: null,
  held_by: null,
  method: null,
  device: null,
  waiting: null,
}

function labwareOf({ labware_id, name, template, type, kind, barcode, tips_left }: LabwareThread['labware']): ShownLabware {
  return { labware_id, name, template, type, kind, barcode, tips_left }
}

function movesOf({ timeline }: Execution): ShownMove[] {
  return timeline.rows().flatMap(({ kind, ended, action_id, thread_id, transporter, from, to, status }) => {
    if (kind !== 'move' || ended !== null || transporter === null || from === null || to === null) return []
    return { action_id, thread_id, transporter, from, to, status }
  })
}

function devicesOf(execution: Execution): ExecutionSnapshot['devices'] {
  return execution.live().flatMap(({ device, thread_id }) => (device.name === null ? [] : { device_id: device.name, thread_id }))
}

function backlogsOf({ backlogs }: Execution): ExecutionSnapshot['slots'] {
  const namesOf = (method_ids: readonly string[]) => backlogs.open(method_ids).map(({ plan }) => plan.name)
  return backlogs.list().map((state) => {
    const { labware, receiver_id: receiver, queue, pending, contributions, is_closed, is_orphaned } = state
    return {
      key: scopeKey(state),
      labware,
      receiver,
      queue: namesOf(queue),
      pending: namesOf(pending),
      contributions,
      is_closed,
      is_orphaned,
    }
  })
}

/** Adds the group and the barcode of the labware to a row of a timeline. */
export function withSample(
  its: TimelineRow,
  execution_id: string,
  { execution, records }: Pick<Known, 'execution' | 'records'>,
): v.InferOutput<typeof ShownTimelineRow> {
  const record = records.threadRow(execution_id, its.thread_id)
  const barcode = execution?.threads.get(its.thread_id)?.labware.barcode ?? record?.barcode ?? null
  return { ...its, group_id: record?.group_id ?? null, barcode }
}

/** With what stands where in LIVE runs; `environment` is null where there are no devices for those. */
export function topologyOf({ name, document, devices, graph }: Topology, environment: RunEnvironment | null): ShownTopology {
  const states = new Map(environment?.scheduler.positions().map((state) => [state.position, state]))
  return {
    name,
    transporters: Object.entries(document.transporters).map(([device_id, { positions }]) => ({ device_id, positions })),
    translators: Object.entries(document.translators).map(([name, stations]) => ({ name, stations })),
    pools: document.pools,
    devices: [...devices.values()].map(({ device_id, configured, sites }) => ({ device_id, configured, sites })),
    positions: [...graph.positions.values()].map(({ name, device, parking, storage, handover, slot }) => {
      const { labware_id = null, reserved_for = null } = states.get(name) ?? {}
      const labware = labware_id === null ? undefined : environment?.labware.get(labware_id)
      return { name, device, parking, storage, handover, slot, labware: labware ? labwareOf(labware) : null, reserved_for }
    }),
  }
}

/** The document of a workflow with its defaults, as `PUT` takes it; where there is code, it says `(code)`, and `PUT` does not take it. */
export function shownDocument({ document: { on, ...document } }: Pick<Workflow, 'document'>): object {
  const shown = Object.keys(on).length > 0 ? { ...document, on } : document
  return JSON.parse(JSON.stringify(shown, (_, value) => (typeof value === 'function' ? '(code)' : value))) as object
}
