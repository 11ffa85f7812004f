// Taking an execution up again after the service has ended: everything where it was, every thread standing, nothing moving.

import { LabError } from '../../errors.ts'
import { actionsOf } from '../plans/plan.ts'
import type { Execution } from '../runs/execution.ts'
import type { Submission } from '../runs/submission.ts'
import {
  actionTransitions,
  isTerminal,
  methodTransitions,
  type Phase,
  type ThreadStatus,
  type Transitions,
  threadTransitions,
  type WorkflowStatus,
} from '../statuses.ts'
import { tipsUsed } from '../threads/ahead.ts'
import { MethodRun } from '../threads/method.ts'
import { reportUncertain } from '../threads/moving.ts'
import { scopeKey } from '../threads/slots.ts'
import { LabwareThread } from '../threads/thread.ts'
import { reopenWindow } from '../threads/windows.ts'
import type { Checkpoint, Interrupted, MethodState, SlotState, ThreadState } from './checkpoint.ts'
import { endOf, type LogReplay } from './log_replay.ts'

export const restarted = 'the service restarted'

type Restoring = {
  submissions: readonly Submission[]
  /** Unix time, s. */
  now: number
  /** The log may know more than was saved. */
  replay: LogReplay
}

/** Throws `conflict` when the workflow is not what it was. */
export function restore(execution: Execution, saved: Checkpoint, { submissions, now, replay }: Restoring): void {
  if (saved.execution.hash !== execution.workflow.hash) {
    throw new LabError('conflict', `workflow ${execution.workflow.name} was changed while the service was away`)
  }
  execution.paused = { at: now, reason: 'system' }
  execution.submissions.push(...submissions)
  for (const submission of submissions) if (submission.status.current === 'PENDING') submission.status.become('ACCEPTED')
  for (const [name, count] of Object.entries(saved.execution.names)) execution.threadFactory.names.set(name, count)
  for (const channel of replay.channels(saved.channels)) execution.channels.restore(channel)
  execution.inserts.restore(saved.execution.inserts)
  execution.reopen(workflowStatus(execution, replay))
  for (const thread of saved.threads) addThread(execution, withoutDone(thread, replay), replay)
  execution.goesOn()
  const methods = new Map(saved.methods.map((method) => [method.method_id, methodOf(execution, method, replay)]))
  for (const slot of saved.slots) execution.slots.restore(slotOf(execution, slot, methods))
  for (const { thread_id, method_id, joining_id, awaited } of saved.threads) {
    const thread = execution.threads.get(thread_id)!
    thread.method = (method_id !== null && methods.get(method_id)) || null
    thread.joining = (joining_id !== null && methods.get(joining_id)) || null
    if (!thread.isOver) thread.joining?.enter(thread)
    execution.inserts.restoreAwaited(thread, awaited)
  }
  for (const { thread_id, window } of saved.threads) {
    const thread = execution.threads.get(thread_id)!
    if (window && !thread.isOver) reopenWindow(thread, { ...window }, window.until - now)
  }
  for (const thread of saved.threads) countTips(execution, thread, replay)
  for (const thread of saved.threads) closeInterrupted(execution, thread, replay)
  closeUnsaved(execution, saved, replay)
  for (const { thread_id, status } of saved.threads) endAsSaved(execution.threads.get(thread_id)!, status as ThreadStatus)
  const completed = new Set(
    saved.groups.filter(({ is_complete }) => is_complete).map(({ submission_id, group_id }) => `${submission_id} ${group_id}`),
  )
  execution.groups.restore(execution.threads.values(), (group) =>
    replay.isEmpty ? completed.has(`${group.submission_id} ${group.group_id}`) : replay.isComplete(group),
  )
  const open = [...execution.threads.values()].filter(({ isOver }) => !isOver)
  const stopping = new Set(saved.threads.flatMap(({ thread_id, status }) => (status === 'STOPPING' ? [thread_id] : [])))
  // What is in a gripper is set down first.
  for (const thread of open.sort((a, b) => Number(b.labware.held_by !== null) - Number(a.labware.held_by !== null)))
    setOff(execution, thread, stopping.has(thread.thread_id))
  const interrupted = new Map(saved.threads.map(({ thread_id, move }) => [thread_id, move?.status]))
  for (const thread of open) reportUncertain(thread, interrupted.get(thread.thread_id))
  for (const { thread_id, status } of saved.threads) endedSince(execution.threads.get(thread_id)!, status)
  execution.groups.settle()
  execution.takenUp(saved.execution.phase as Phase)
}

function addThread(execution: Execution, saved: ThreadState, replay: LogReplay): void {
  const plan = execution.workflow.threads.get(saved.template)
  if (!plan) throw new LabError('conflict', `there is no thread ${saved.template} any more`)
  const { name, labware, group_id, submission_id, starts_at: startsAt, seat: position } = saved
  const published = replay.statusOf(saved.thread_id)
  const isPublished = published !== undefined || replay.isEmpty
  // The next status follows the last published one; an end that was saved alone is published here.
  const status = isPublished ? (published ?? saved.status) : 'CREATED'
  const origin = { group_id, submission_id }
  const its = { name, labware: { ...labware }, origin, startsAt, saved: { ...saved, status }, isPublished }
  const thread = new LabwareThread(execution, plan, its)
  execution.threads.set(thread.thread_id, thread)
  thread.last_error = isEnd(threadTransitions, status) || isEnd(threadTransitions, saved.status) ? saved.last_error : restarted
  // Where the log has not come so far, it ends below.
  const isOver = thread.isOver || isEnd(threadTransitions, saved.status)
  if (thread.status.current === 'COMPLETED' && !isEnd(threadTransitions, saved.status)) completedSince(thread, position)
  else if (position !== null && isOver) leaveStanding(thread, position)
  else if (position !== null) putBack(thread, position)
  else if (isOver) takeOff(thread)
}

/** The log has not come so far. */
function endAsSaved(thread: LabwareThread, end: ThreadStatus): void {
  if (thread.isOver || !isEnd(threadTransitions, end)) return
  if (end === 'STOPPED') thread.become('STOPPING')
  thread.become(end)
}

/** After the last that was saved, where it may have been on its way to its end. */
function completedSince(thread: LabwareThread, position: string | null): void {
  takeOff(thread)
  Object.assign(thread.labware, { state: 'ENDED', held_by: null })
  const { end, template } = thread.plan
  const last = end.positions.find((one) => one === position) ?? (end.positions.length === 1 ? end.positions[0]! : undefined)
  const isInterrupted =
    template.end.mode === 'LEAVE_IN_PLACE' && last !== undefined && !thread.environment.scheduler.graph.positions.get(last)?.storage
  if (isInterrupted) leaveStanding(thread, last)
}

/** What was last known to stand around is not there any more. */
function takeOff({ environment, labware: { labware_id } }: LabwareThread): void {
  if (environment.scheduler.whereIs(labware_id) === undefined || environment.scheduler.whose(labware_id) !== null) return
  environment.scheduler.remove(labware_id)
  environment.labware.delete(labware_id)
}

/** Where nobody knows better: another run, or whoever carried it, may have put it elsewhere since. */
function leaveStanding({ environment, labware }: LabwareThread, position: string): void {
  const { scheduler } = environment
  const isKnown = scheduler.whereIs(labware.labware_id) !== undefined
  if (isKnown || !isFree(environment, position)) return
  environment.labware.set(labware.labware_id, labware)
  scheduler.put(labware.labware_id, position, null)
}

/** What was last known to stand around there is not there any more. */
function putBack(thread: LabwareThread, position: string): void {
  const { environment, labware, thread_id, placing } = thread
  const { scheduler } = environment
  for (const { name } of scheduler.graph.sameZone(position)) {
    const { labware_id } = scheduler.position(name)
    if (labware_id === null || labware_id === labware.labware_id || scheduler.whose(labware_id) !== null) continue
    scheduler.remove(labware_id)
    environment.labware.delete(labware_id)
  }
  environment.labware.set(labware.labware_id, labware)
  scheduler.put(labware.labware_id, position, thread_id)
  // Nobody else uses the transporter before it has set down what it has in its gripper.
  const { held_by } = labware
  if (held_by !== null) scheduler.take(held_by, thread_id, () => {})
  const isKept = held_by !== null && placing !== null && scheduler.graph.positions.has(placing) && scheduler.keep(thread_id, placing)
  if (!isKept) thread.placing = null
}

function isFree({ scheduler }: LabwareThread['environment'], position: string): boolean {
  return scheduler.graph.sameZone(position).every(({ name }) => scheduler.position(name).labware_id === null)
}

/** If it ended after the last that was saved, or in the midst of that: what it had in hand goes to others. */
function endedSince(thread: LabwareThread, saved: string): void {
  const { slots } = thread.execution
  if (thread.isOver && (!isEnd(threadTransitions, saved) || slots.of(thread).receiver === thread)) slots.ended(thread)
}

/** The log may not have come as far as a stop that was saved. */
function setOff(execution: Execution, thread: LabwareThread, isStopping: boolean): void {
  const wasStopping = isStopping || thread.status.current === 'STOPPING'
  // It stands for another reason now, and that is published.
  if (thread.status.current === 'PAUSED') thread.become('RESOLVING_ACTION_LOCATION')
  execution.setOff(thread)
  if (wasStopping) thread.stop()
}

function methodOf(execution: Execution, saved: MethodState, replay: LogReplay): MethodRun {
  const owner = execution.threads.get(saved.owner_id)
  const frame = owner?.frames.at(-1)
  const step = frame?.steps[frame.next]
  // What an operator put in goes by a plan of its own.
  const plan = step?.kind === 'method' && step.method.name === saved.name ? step.method : execution.workflow.methods.get(saved.name)
  if (!plan || !owner) throw new LabError('conflict', `there is no method ${saved.name} any more`)
  const last = replay.statusOf(saved.method_id)
  const isPublished = last !== undefined || replay.isEmpty
  const method = new MethodRun(owner, plan, { saved: { ...saved, status: isPublished ? (last ?? saved.status) : 'CREATED' }, isPublished })
  while (method.next < method.actions.length && replay.isDone(method.method_id, method.actions[method.next]!.name)) method.passed(true)
  return method
}

/** What was completed, and not yet left behind when it was saved: an action of its own, or all of its method. One action of a method is seen there. */
function withoutDone(saved: ThreadState, replay: LogReplay): ThreadState {
  const { interrupted, method_id, frames } = saved
  const frame = frames.at(-1)
  if (method_id !== null && isEnd(methodTransitions, replay.statusOf(method_id) ?? 'CREATED')) return { ...saved, interrupted: null }
  if (!interrupted || !frame || replay.statusOf(interrupted.action_id) !== 'COMPLETED') return saved
  if (method_id !== null) return replay.isDone(method_id, interrupted.name ?? '') ? { ...saved, interrupted: null } : saved
  return { ...saved, interrupted: null, frames: [...frames.slice(0, -1), advanced(frame)] }
}

/** As a thread goes on: what was put into a loop is done once. */
function advanced(frame: ThreadState['frames'][number]): ThreadState['frames'][number] {
  const { next, is_loop, inserted } = frame
  if (!is_loop || !inserted.some(({ at }) => at === next)) return { ...frame, next: next + 1 }
  return { ...frame, inserted: inserted.filter(({ at }) => at !== next).map(({ at, path }) => ({ at: at > next ? at - 1 : at, path })) }
}

/** What a completed action used, that was not yet counted when it was saved. */
function countTips(execution: Execution, { thread_id, interrupted, method_id }: ThreadState, replay: LogReplay): void {
  if (!interrupted || replay.statusOf(interrupted.action_id) !== 'COMPLETED') return
  const plan = [...actionsOf(execution.workflow)].find(({ path }) => path === interrupted.path)
  const takesPart = (thread: LabwareThread) =>
    thread.thread_id === thread_id || (method_id !== null && thread.joining?.method_id === method_id)
  for (const { labware } of plan ? [...execution.threads.values()].filter(takesPart) : []) {
    if (labware.tips_left !== null) labware.tips_left = Math.max(0, labware.tips_left - tipsUsed(plan!, labware.template))
  }
}

function slotOf(execution: Execution, saved: SlotState, methods: ReadonlyMap<string, MethodRun>) {
  const known = (ids: readonly string[]) => ids.flatMap((id) => methods.get(id) ?? [])
  const { labware, group_id, submission_id, contributions } = saved
  return {
    key: scopeKey(saved),
    labware,
    group_id,
    submission_id,
    queue: known(saved.queue),
    pending: known(saved.pending),
    receiver: (saved.receiver_id !== null && execution.threads.get(saved.receiver_id)) || null,
    contributions,
    isClosed: saved.is_closed,
    isOrphaned: saved.is_orphaned,
  }
}

/** What was under way when the service ended is over, whatever came of it. */
function closeInterrupted(execution: Execution, saved: ThreadState, replay: LogReplay): void {
  const thread = execution.threads.get(saved.thread_id)!
  const around = thread.method?.context() ?? {
    ...execution.context(),
    method_id: null,
    method_name: null,
    thread_id: thread.thread_id,
    thread_name: thread.name,
    participating_thread_ids: [thread.thread_id],
  }
  for (const [interrupted, context] of [
    [saved.interrupted, around],
    [saved.move, thread.context()],
  ] as const) {
    if (interrupted && isOpen(interrupted, replay)) {
      const { action_id, name: action_name } = interrupted
      execution.emit('ACTION', action_id, 'ABORTED', { ...context, action_id, action_status: 'ABORTED', action_name })
    }
  }
}

/** As far as the event log knows of it at all. */
function isOpen({ action_id, status }: Interrupted, replay: LogReplay): boolean {
  const last = replay.isEmpty ? status : replay.statusOf(action_id)
  return last !== undefined && !isEnd(actionTransitions, last)
}

function workflowStatus({ execution_id }: Execution, replay: LogReplay): WorkflowStatus | undefined {
  return replay.isEmpty ? 'IN_PROGRESS' : (replay.statusOf(execution_id) as WorkflowStatus | undefined)
}

/** What began after the last that was saved is not gone on with: it ends in the log too. */
function closeUnsaved(execution: Execution, saved: Checkpoint, replay: LogReplay): void {
  const actions = saved.threads.flatMap(({ interrupted, move }) => [interrupted?.action_id, move?.action_id])
  const known = new Set<string | undefined>([
    ...actions,
    ...saved.methods.map(({ method_id }) => method_id),
    ...saved.threads.map(({ thread_id }) => thread_id),
    ...saved.submissions.map(({ submission_id }) => submission_id),
  ])
  for (const event of replay.open()) {
    const { entity_type, entity_id } = event
    if (entity_type === 'WORKFLOW' || known.has(entity_id)) continue
    const { status, context } = endOf(event, restarted)
    execution.emit(entity_type, entity_id, status, context)
  }
}

function isEnd(table: Transitions<never>, status: string): boolean {
  return isTerminal(table as Transitions<string>, status)
}
