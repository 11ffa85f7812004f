// Explains why nothing moves: what each thread waits for, who holds it, and since when. Lists what needs attention, worst first.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { someOf } from '../../kit/listed.ts'
import { clock, inSeconds } from '../../kit/seconds.ts'
import type { LatchedFault } from '../equipment/equipment.ts'
import type { Obstacle } from '../scheduler/request.ts'
import { isLabware } from '../state/labware.ts'
import { isUncertain, uncertainty } from '../state/move.ts'
import { lidCarrierOf } from '../threads/lid_carrier.ts'
import type { PauseSite } from '../threads/recovery.ts'
import type { LabwareThread, RunPorts } from '../threads/thread.ts'
import { usedBy } from './devices_of_run.ts'
import type { Execution } from './execution.ts'
import { mayStillMove, restlessArm, retriesOn } from './held_action.ts'

const Since = described(v.number(), 'The time for which this has lasted, by the clock of the run', 's')

export const Reason = v.strictObject({
  thread_id: v.string(),
  thread_name: v.string(),
  status: v.string(),
  waits_for: described(v.nullable(v.string()), 'null while the thread is at work'),
  since_s: Since,
  because: described(
    v.array(v.string()),
    'A sentence for each thing in its way, and one for the last decision of the scheduler about its deadlock',
  ),
})
export type Reason = v.InferOutput<typeof Reason>

/** From the worst to the least. */
const blockerKinds = [
  'safe_mode',
  'device_fault',
  'simulator_fault',
  'error',
  'stall',
  'orphaned',
  'operator_step',
  'manual_place',
  'manual_remove',
  'paused',
  'event',
  'waiting',
] as const

export const Blocker = v.strictObject({
  kind: v.picklist(blockerKinds),
  thread_id: v.nullable(v.string()),
  thread_name: v.nullable(v.string()),
  device_id: v.nullable(v.string()),
  message: described(v.string(), 'The obstacle, in a sentence'),
  remedy: described(v.string(), 'The remedy, in a sentence'),
  since_s: Since,
})
export type Blocker = v.InferOutput<typeof Blocker>

/** Explains each thread that has not ended, in the order of their creation. */
export function why(execution: Execution): Reason[] {
  const now = execution.environment.clock.now()
  return execution.live().map((thread) => {
    const { thread_id, name, status } = thread
    const { waiting } = thread.control
    const decision = execution.environment.decisions.of(thread_id)
    const because = [
      ...(waiting ? unique([...inWords(waiting.obstacles(), execution), ...(waiting.notes?.() ?? [])]) : []),
      ...(decision ? [`${decision.sentence} (${inSeconds(seconds(now - decision.at_ms))} ago)`] : []),
    ]
    const since_s = waiting ? seconds(now - waiting.since_ms) : 0
    return { thread_id, thread_name: name, status: status.current, waits_for: waiting?.what ?? null, since_s, because }
  })
}

/** The incident of safe mode. */
type SafeMode = { incident_id: string; message: string; timestamp: number }

/** Lists what keeps the run from going on, worst first; empty if the run has ended. `safeMode` is set while the service is in safe mode. */
export function blockers(execution: Execution, safeMode?: SafeMode): Blocker[] {
  if (execution.isOver) return []
  const found = [...faultsOf(execution), ...orphansOf(execution), ...execution.live().flatMap((thread) => blockerOf(thread))]
  if (safeMode) found.push(blockerOfSafeMode(execution, safeMode))
  const { paused, stall } = execution
  if (paused) {
    const kind = stall.picture === null ? 'paused' : 'stall'
    const message = stall.picture === null ? `the execution is paused (${paused.reason})` : `nothing could move any more: ${stall.picture}`
    const remedy = stall.remedy === undefined ? remedies[kind] : `${stall.remedy}; then resume the execution`
    found.push({ ...nobody, kind, message, remedy, since_s: passed(execution.now() - paused.at) })
  }
  // Threads with lost labware come first, because the run cannot be resumed before somebody says where it is.
  const lost = new Set(execution.live().flatMap(({ control, thread_id }) => (control.isLost ? thread_id : [])))
  const isLater = ({ thread_id }: Blocker) => Number(thread_id === null || !lost.has(thread_id))
  const byKind = (a: Blocker, b: Blocker) => blockerKinds.indexOf(a.kind) - blockerKinds.indexOf(b.kind)
  return found.sort((a, b) => byKind(a, b) || isLater(a) - isLater(b) || b.since_s - a.since_s)
}

const nobody = { thread_id: null, thread_name: null, device_id: null }

function blockerOfSafeMode(execution: Execution, { incident_id, timestamp }: SafeMode): Blocker {
  return {
    ...nobody,
    kind: 'safe_mode',
    message:
      'the service is in safe mode, because it broke off several times: until somebody acknowledges that, nothing moves and no run is resumed',
    remedy: `look at the bench and at the log; when all is well: POST /api/incidents/${incident_id}/acknowledge`,
    since_s: passed(execution.now() - timestamp),
  }
}

/** Lists the faults of the devices that this run uses; in DEVICE_SIM, of the run's own simulators. */
function faultsOf(execution: Execution): Blocker[] {
  const { equipment, mode } = execution.environment
  const faults = equipment.faults?.() ?? []
  if (faults.length === 0) return []
  const used = usedBy(execution)
  return faults
    .filter(({ device_id }) => used.has(device_id))
    .map((fault) => blockerOfFault[mode === 'DEVICE_SIM' ? 'simulator' : 'device'](fault, execution))
}

const blockerOfFault = {
  device: ({ device_id, error, isStop, since }: LatchedFault, execution: Execution): Blocker => ({
    ...nobody,
    kind: 'device_fault',
    device_id,
    message: isStop ? error : `${device_id} has a fault: ${error}`,
    remedy: `${isStop ? 'see that it is safe' : 'remove the cause'}, then initialize ${device_id}`,
    since_s: passed(execution.now() - since),
  }),
  simulator: ({ device_id, error, since }: LatchedFault, execution: Execution): Blocker => ({
    ...nobody,
    kind: 'simulator_fault',
    device_id,
    message: `the simulator of ${device_id} in this rehearsal has a fault: ${error}`,
    remedy: 'recover the thread that it holds with RETRY, which initializes the simulator',
    since_s: passed(execution.now() - since),
  }),
}

/** Lists the labware that methods wait for and no thread brings any more. */
function orphansOf(execution: Execution): Blocker[] {
  const orphaned = execution.backlogs.orphaned()
  const since_s = execution.paused ? passed(execution.now() - execution.paused.at) : 0
  return orphaned.map(({ labware, pending }) => ({
    ...nobody,
    kind: 'orphaned',
    message: `nobody brings ${labware} any more, and it is wanted by ${unique(execution.backlogs.open(pending).map(({ plan }) => plan.name)).join(', ')}`,
    remedy: remedies.orphaned,
    since_s,
  }))
}

function blockerOf(thread: LabwareThread): Blocker[] {
  const { status, execution } = thread
  const { waiting, pausedAt, undecidedAt } = thread.control
  if (!waiting) return []
  const since_s = seconds(execution.environment.clock.now() - waiting.since_ms)
  const about = { thread_id: thread.thread_id, thread_name: thread.name, device_id: thread.device.name, since_s }
  const kind = pausedAt
    ? 'error'
    : (kinds[status.current] ?? (waiting.kind === 'operator' ? 'operator_step' : waiting.kind === 'event' ? 'event' : undefined))
  const waits = [`waits for ${waiting.what}`, ...(waiting.notes?.() ?? [])].join('; ')
  const message = kind && awaited.has(kind) ? waits : waiting.what
  if (kind && thread.control.isLost) return [{ ...about, kind, message: uncertainty(thread.state), remedy: sayingWhere(thread) }]
  const remedy = (undecidedAt && remediesAt[undecidedAt]?.(thread)) ?? (kind && remedies[kind])
  const others = retriesOn(thread)
  const orThere = others.length > 0 ? `; or have it done at ${others.join(' or ')}: RETRY with "on"` : ''
  const restless = restlessArm(thread)
  const byPerson = restless === undefined ? '' : `; for a person to make the move: ${mayStillMove(restless)}`
  if (kind && remedy) return [{ ...about, kind, message, remedy: `${remedy}${orThere}${byPerson}` }]
  const inTheWay = waiting.obstacles()
  const obstacles = inWords(inTheWay, execution)
  const isStuck = obstacles.length > 0 || waiting.kind === 'peer'
  return isStuck
    ? [
        {
          ...about,
          kind: 'waiting',
          message: [`waits for ${waiting.what}`, ...obstacles].join('; '),
          remedy: remedyFor(inTheWay, execution),
        },
      ]
    : []
}

const kinds: Partial<Record<string, keyof typeof remedies>> = {
  PAUSED: 'paused',
  AWAITING_MANUAL_PLACE: 'manual_place',
  AWAITING_MANUAL_REMOVE: 'manual_remove',
}

/** The kinds of blockers whose text `waits for …` is in front of `what`. For the others, `what` is a whole sentence. */
const awaited: ReadonlySet<string> = new Set<Blocker['kind']>(['operator_step', 'manual_place', 'manual_remove', 'event'])

const remedies: Record<Exclude<Blocker['kind'], 'safe_mode' | 'device_fault' | 'simulator_fault'>, string> = {
  error: 'recover the thread with one of the decisions',
  stall: 'take what is in the way away and edit its position, then resume the execution; or stop it',
  orphaned: 'resume the execution to go on without it, or stop the execution',
  operator_step: 'do it, then confirm the step',
  manual_place: 'put the labware there, then say that it is placed',
  manual_remove: 'take the labware away, then say that it is removed',
  paused: 'resume the thread or the execution, or stop it',
  event: 'emit the event, or wait until something emits it',
  waiting: 'nothing: the thread goes on when the resource that it waits for is free',
}

/** The more specific remedies, by the site that needs a decision. */
const remediesAt: Partial<Record<PauseSite, (thread: LabwareThread) => string>> = {
  MOVE: (thread) => {
    const { name, labware_id } = thread.labware
    return `see where ${name} is; if it is not ${whereIs(thread)}, put it somewhere and say where (${saying(labware_id)}); then recover the thread`
  },
  MOVE_RESOLUTION: elsewhere,
  IDENTITY: (thread) => {
    const { name, labware_id } = thread.labware
    return `look at the labware ${whereIs(thread)}. Put ${name} there, and decide RETRY, which scans again. If it is ${name}, decide CONTINUE, with "barcode" if it has another barcode. Labware that you carry elsewhere: say where (${saying(labware_id)})`
  },
  ACTION_RESOLUTION: () => 'remove the cause (for example, initialize a device that cannot be used); then recover the thread with RETRY',
  DEADLOCK: () => 'make room: carry labware out of the way and say where it is, or end a thread; then recover this one with RETRY',
  WAIT_EVENT_TIMEOUT: () => 'recover the thread with RETRY, which waits as long again; then emit the event',
  SPAWN_CAPACITY: () => 'wait until the thread that brings it has ended, or end it; then recover this one with RETRY',
  DEVICE_TIMEOUT: ({ device, thread_id, execution }) => {
    const path = `/api/incidents/${execution.lateCalls.incidentOf(thread_id)}`
    return `see what ${device.name} does; then POST ${path}/extend {"seconds": …}, ${path}/abort or ${path}/complete. Cut off, ${device.name} is stopped until it is initialized`
  },
  RESTART: (thread) => {
    const { labware } = thread
    const { interrupted } = thread.state
    const state =
      interrupted?.status === 'EXECUTING_ACTION' ? `see how far ${interrupted.name} has come` : `${interrupted?.name} had not begun: see`
    const isBegun = interrupted?.status === 'EXECUTING_ACTION'
    if (!isLabware(labware)) return `${isBegun ? `${state}; then` : `${interrupted?.name} had not begun:`} resume the thread or recover it`
    const and = interrupted?.status === 'EXECUTING_ACTION' ? ' and' : ''
    return `${state}${and} that ${labware.name} is ${whereIs(thread)}; then resume the thread or recover it`
  },
}

function sayingWhere(thread: LabwareThread): string {
  const { pausedAt } = thread.control
  const lid = lidCarrierOf(thread)
  const { name, labware_id } = lid && isUncertain(lid.state) ? lid.labware : thread.labware
  return `say where ${name} is (${saying(labware_id)}); then ${pausedAt ? 'recover the thread' : 'resume the run'}`
}

function whereIs({ state: { labware, seat: position } }: LabwareThread): string {
  const { held_by } = labware
  return held_by ? `held by ${held_by}` : `at ${position ?? 'no place'}`
}

function elsewhere({ labware: { name, labware_id } }: LabwareThread): string {
  return `carry ${name} to where there is a way, and say where (${saying(labware_id)}); then recover the thread`
}

function saying(labware_id: string): string {
  return `PUT /api/labware/${labware_id}/location`
}

/** Returns the remedy for a wait. A PAUSED thread, which a person must attend to, may hold the resource directly or at the end of a chain of waits. */
function remedyFor(inTheWay: readonly Obstacle[], execution: RunPorts): string {
  const holdersOf = (obstacles: readonly Obstacle[]) =>
    obstacles.flatMap(({ thread_id }) => (thread_id !== null && execution.find(thread_id)) || [])
  const direct = new Set(holdersOf(inTheWay))
  const behind = new Set(direct)
  for (const thread of behind) {
    if (thread.status.current !== 'PAUSED') for (const next of holdersOf(thread.control.waiting?.obstacles() ?? [])) behind.add(next)
    else if (direct.has(thread)) return `see to ${calledBy(thread, execution)}, which is PAUSED and holds what this thread waits for`
    else return `see to ${calledBy(thread, execution)}, which is PAUSED: the threads that this thread waits for wait for it`
  }
  return remedies.waiting
}

/** Describes an obstacle in a sentence. */
export function worded({ wanted, reason, thread_id, labware_id }: Obstacle, execution: RunPorts): string {
  const holder = nameOf(thread_id, execution)
  const thread = thread_id === null ? undefined : execution.find(thread_id)
  const labware = (labware_id !== null && execution.environment.labware.get(labware_id)?.name) || labware_id
  const goer = (thread && calledBy(thread, execution)) ?? holder
  const saved = execution.planning.saves_s ? `: saves ${clock(execution.planning.saves_s)}` : ''
  const mover = thread_id === null ? ', and no thread moves it' : ` (${holder})`
  const sentences: Record<Obstacle['reason'], string> = {
    held: `${wanted} is held by ${holder}`,
    occupied: `${labware} stands at ${wanted}${mover}`,
    reserved: `${wanted} is reserved for ${holder}`,
    corridor:
      labware === null
        ? `the way to ${wanted} leads through a place that ${holder} is using`
        : `the way leads through ${wanted}, where ${labware} stands${mover}`,
    unsafe: `${wanted} is free, but ${holder} could then never go on`,
    unreachable: `there is no way to ${wanted}`,
    planned: `it waits because the plan ${thread_id === null ? `sends it elsewhere than to ${wanted}` : `lets ${goer} go to ${wanted} first`}${saved}`,
    early: `it waits because the plan lets it go to ${wanted} later, so that the step after that begins in time`,
    booked: `${wanted} is booked for ${holder}`,
    at_work: `the way to ${wanted} begins or ends in a device that is at work for ${holder}: no arm reaches in before that has ended`,
    reached_into: `an arm reaches into ${wanted} for ${holder}, or is about to`,
    may_move: `${wanted} may still move: it has not confirmed its stop; see that it stands, then initialize it`,
    window: `${wanted}, to which it must go in time afterwards, is not sure to be free then${thread_id === null ? '' : ` (${holder})`}`,
  }
  return sentences[reason]
}

function nameOf(thread_id: string | null, execution: RunPorts): string {
  const thread = thread_id === null ? undefined : execution.find(thread_id)
  if (thread) return `${calledBy(thread, execution)}, which is ${thread.status.current}`
  // Not a thread but labware: its move was cut off, and it may stand there.
  const left = thread_id === null ? undefined : execution.environment.labware.get(thread_id)
  return left ? `${left.name}, which may stand there: look, and say where it is (PUT /api/labware/${left.labware_id}/location)` : 'somebody'
}

function calledBy({ name, execution }: LabwareThread, { execution_id }: RunPorts): string {
  return execution.execution_id === execution_id ? name : `${name} of ${execution.workflow.name} (run ${execution.execution_id})`
}

/** A storage may have a thousand slots that are taken. */
function inWords(obstacles: readonly Obstacle[], execution: RunPorts): string[] {
  return someOf(unique(obstacles.map((obstacle) => worded(obstacle, execution))))
}

function unique(sentences: readonly string[]): string[] {
  return [...new Set(sentences)]
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000
}

/** Rounds a duration by the system clock; 0 if the clock was set back. */
function passed(s: number): number {
  return Math.max(0, seconds(s * 1000))
}
