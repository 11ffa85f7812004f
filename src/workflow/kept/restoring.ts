// Taking an execution up again after the service has ended: everything where it was, every thread standing, nothing moving.

import { LabError } from '../../errors.ts'
import type { Execution } from '../runs/execution.ts'
import type { Submission } from '../runs/submission.ts'
import { actionTransitions, isTerminal, type Phase, type Transitions, threadTransitions } from '../statuses.ts'
import { MethodRun } from '../threads/method.ts'
import { scopeKey } from '../threads/slots.ts'
import { LabwareThread } from '../threads/thread.ts'
import type { Interrupted, Saved, SavedMethod, SavedSlot, SavedThread } from './saved.ts'

export const restarted = 'the service restarted'

export type Restoring = {
  submissions: readonly Submission[]
  /** Unix time, s. */
  now: number
  /** The last status that was told of a thread or an action: the log may know more than was saved. */
  lastTold(id: string): string | undefined
}

/** Throws `conflict` when the workflow is not what it was. */
export function restore(execution: Execution, saved: Saved, { submissions, now, lastTold }: Restoring): void {
  if (saved.execution.hash !== execution.workflow.hash) {
    throw new LabError('conflict', `workflow ${execution.workflow.name} was changed while the service was away`)
  }
  execution.paused = { at: now, reason: 'system' }
  execution.submissions.push(...submissions)
  for (const [name, count] of Object.entries(saved.execution.names)) execution.names.set(name, count)
  for (const channel of saved.channels) execution.channels.restore(channel)
  for (const group of saved.groups) execution.groups.restore(group)
  execution.inserts.restore(saved.execution.inserts)
  for (const thread of saved.threads) addThread(execution, thread, lastTold)
  const methods = new Map(saved.methods.map((method) => [method.method_id, methodOf(execution, method)]))
  for (const slot of saved.slots) execution.slots.restore(slotOf(execution, slot, methods))
  for (const { thread_id, method_id, joining_id, awaited } of saved.threads) {
    const thread = execution.threads.get(thread_id)!
    thread.method = (method_id !== null && methods.get(method_id)) || null
    thread.joining = (joining_id !== null && methods.get(joining_id)) || null
    thread.joining?.enter(thread)
    execution.inserts.restoreAwaited(thread, awaited)
  }
  for (const thread of saved.threads) closeInterrupted(execution, thread, lastTold)
  for (const thread of execution.threads.values()) if (!thread.isOver) setOff(execution, thread)
  execution.takenUp(saved.execution.phase as Phase)
}

function addThread(execution: Execution, saved: SavedThread, lastTold: Restoring['lastTold']): void {
  const plan = execution.workflow.threads.get(saved.template)
  if (!plan) throw new LabError('conflict', `there is no thread ${saved.template} any more`)
  const { name, labware, group_id, submission_id, starts_at: startsAt, seat } = saved
  const told = lastTold(saved.thread_id)
  const status = told && isEnd(threadTransitions, told) ? told : saved.status
  const origin = { group_id, submission_id }
  const thread = new LabwareThread(execution, plan, { name, labware: { ...labware }, origin, startsAt, saved: { ...saved, status } })
  execution.threads.set(thread.thread_id, thread)
  thread.last_error = thread.isOver ? saved.last_error : restarted
  // It was taken off the floor after the last that was saved.
  if (seat === null || (thread.status.current === 'COMPLETED' && saved.status !== status)) return
  execution.world.labware.set(labware.labware_id, thread.labware)
  execution.world.floor.put(labware.labware_id, seat, thread.isOver ? null : thread.thread_id)
  // Nobody else uses the transporter before it has set down what it has in its gripper.
  if (labware.held_by !== null && !thread.isOver) execution.world.floor.take(labware.held_by, thread.thread_id, () => {})
}

function setOff(execution: Execution, thread: LabwareThread): void {
  const wasStopping = thread.status.current === 'STOPPING'
  execution.setOff(thread)
  if (wasStopping) thread.stop()
}

function methodOf(execution: Execution, saved: SavedMethod): MethodRun {
  const owner = execution.threads.get(saved.owner_id)
  const frame = owner?.frames.at(-1)
  const step = frame?.steps[frame.next]
  // What an operator put in goes by a plan of its own.
  const plan = step?.kind === 'method' && step.method.name === saved.name ? step.method : execution.workflow.methods.get(saved.name)
  if (!plan || !owner) throw new LabError('conflict', `there is no method ${saved.name} any more`)
  return new MethodRun(owner, plan, saved)
}

function slotOf(execution: Execution, saved: SavedSlot, methods: ReadonlyMap<string, MethodRun>) {
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
function closeInterrupted(execution: Execution, saved: SavedThread, lastTold: Restoring['lastTold']): void {
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
    if (interrupted && isOpen(interrupted, lastTold)) {
      const { action_id, name: action_name } = interrupted
      execution.emit('ACTION', action_id, 'ABORTED', { ...context, action_id, action_status: 'ABORTED', action_name })
    }
  }
}

function isOpen({ action_id, status }: Interrupted, lastTold: Restoring['lastTold']): boolean {
  return !isEnd(actionTransitions, lastTold(action_id) ?? status)
}

function isEnd(table: Transitions<never>, status: string): boolean {
  return isTerminal(table as Transitions<string>, status)
}
