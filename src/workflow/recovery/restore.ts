// Restores an execution after the service has ended: all threads are held where they were, and nothing moves.

import { LabError } from '../../errors.ts'
import type { Context } from '../../events/event.ts'
import type { Execution } from '../runs/execution.ts'
import type { Fixed } from '../state/entry.ts'
import { isLabware } from '../state/labware.ts'
import type { MoveState } from '../state/move.ts'
import type { ActionState, Checkpoint, MethodState, ThreadState } from '../state/run.ts'
import { type ActionStatus, actionTransitions, isTerminal } from '../state/statuses.ts'
import { reopenWindow } from '../threads/action/windows.ts'
import { knowLid, lidCarrierOf, type Mover } from '../threads/lid_carrier.ts'
import { MethodRun } from '../threads/method.ts'
import { reportUncertain } from '../threads/move/hop.ts'
import { addActionRow, addMoveRow } from '../threads/record_rows.ts'
import { LabwareThread } from '../threads/thread.ts'
import type { TimelineRow } from '../threads/timeline.ts'

export const restarted = 'the service restarted'

/**
 * Restores a run from its saved values, which agree with the log; its submissions exist already.
 * Throws `conflict` if the workflow has changed.
 */
export function restore(execution: Execution, saved: Checkpoint): void {
  const now = execution.now()
  if (saved.execution.hash !== execution.workflow.hash) {
    throw new LabError('conflict', `workflow ${execution.workflow.name} was changed while the service was away`)
  }
  execution.paused = { at: now, reason: 'system' }
  for (const channel of saved.channels) execution.channels.restore(channel)
  for (const value of saved.values) execution.values.restore(value)
  execution.inserts.restore(saved.inserts)
  execution.reopen()
  for (const thread of saved.threads) addThread(execution, thread)
  for (const method of saved.methods) addMethod(execution, method)
  for (const backlog of saved.slots) execution.backlogs.restore(backlog)
  for (const method of execution.methods.values()) if (hasLostDevice(method)) execution.backlogs.callOff(method)
  for (const { thread_id, method_id, joining_id, window } of saved.threads) {
    const thread = execution.threads.get(thread_id)!
    thread.method = (method_id !== null && execution.methods.get(method_id)) || null
    const joining = (joining_id !== null && execution.methods.get(joining_id)) || null
    // The owner no longer wants this labware.
    thread.joining = joining?.state.wanted.includes(thread.labware.template) ? joining : null
    if (thread.isOver) continue
    thread.joining?.enter(thread)
    // The wall clock may have been set back meanwhile.
    if (window) reopenWindow(thread, window, Math.min(window.until - now, window.allowed_s))
  }
  const cut = new Map(saved.threads.map(({ thread_id, move, lid }) => [thread_id, { move, lid: lid?.move ?? null }]))
  for (const thread of execution.threads.values()) closeInterrupted(thread)
  for (const group of saved.groups) execution.groups.restore(group)
  const open = [...execution.threads.values()].filter(({ isOver }) => !isOver)
  // Labware in a gripper is placed first.
  for (const thread of open.sort((a, b) => Number(isHeld(b)) - Number(isHeld(a)))) setOff(execution, thread)
  for (const thread of open) {
    const { move = null, lid: lidMove = null } = cut.get(thread.thread_id) ?? {}
    reportUncertain(thread, move)
    const lid = lidCarrierOf(thread)
    if (lid) reportUncertain(lid, lidMove)
  }
}

/** Whether a gripper has the labware of the thread, or the lid of that. */
function isHeld({ labware, state }: LabwareThread): boolean {
  return labware.held_by !== null || (state.lid?.labware.held_by ?? null) !== null
}

function addThread(execution: Execution, saved: ThreadState): void {
  const { threads, operations } = execution.workflow
  const plan = (isLabware(saved.labware) ? threads : operations).get(saved.template)
  if (!plan) throw new LabError('conflict', `there is no thread ${saved.template} any more`)
  const thread = new LabwareThread(execution, plan, saved, { isTakenUp: true })
  execution.know(thread)
  if (thread.isOver) return
  // A thread that waits for a person was not interrupted, and keeps waiting.
  const isByHand = saved.status === 'AWAITING_MANUAL_PLACE' || saved.status === 'AWAITING_MANUAL_REMOVE'
  if (!isByHand && thread.last_error !== restarted) thread.set({ last_error: restarted, error_before: thread.last_error })
  if (saved.seat !== null) putBack(thread, saved.seat)
}

/** Registers the labware of a thread at its position, and the lid of that. */
function putBack(thread: LabwareThread, position: string): void {
  putAt(thread, position)
  const lid = lidCarrierOf(thread)
  if (!lid) return
  const isOn = lid.isOn
  const { seat } = lid.state
  knowLid(thread)
  putAt(lid, isOn || seat === null ? position : seat)
}

function putAt(thread: Mover, position: string): void {
  const { environment, labware, thread_id } = thread
  const { placing } = thread.state
  const { scheduler } = environment
  scheduler.put(labware.labware_id, position, thread_id)
  environment.labware.set(labware.labware_id, labware)
  // No other thread may use the transporter before it has placed the labware in its gripper.
  const { held_by } = labware
  if (held_by !== null) scheduler.take(held_by, thread_id, () => {})
  // A lid comes back to its plate, whose position needs no reservation.
  const isPlate =
    placing !== null &&
    scheduler.graph.positions.has(placing) &&
    scheduler.lids.mayStandOn(labware.labware_id, scheduler.position(placing).labware_id)
  const isKept =
    held_by !== null && placing !== null && scheduler.graph.positions.has(placing) && (isPlate || scheduler.holds.keep(thread_id, placing))
  if (!isKept) thread.set({ placing: null })
}

function setOff(execution: Execution, thread: LabwareThread): void {
  const isStopping = thread.status.current === 'STOPPING'
  // The thread is held for another reason now, which is published.
  if (thread.status.current === 'PAUSED') thread.become('RESOLVING_ACTION_LOCATION')
  execution.setOff(thread)
  if (isStopping) thread.control.stop()
}

function addMethod(execution: Execution, saved: MethodState): void {
  const owner = execution.threads.get(saved.owner_id)
  const frame = owner?.frames.at(-1)
  const step = frame?.steps[frame.next]
  // A step that an operator inserted has its own plan.
  const plan = step?.kind === 'method' && step.method.name === saved.name ? step.method : execution.workflow.methods.get(saved.name)
  if (!plan || !owner) throw new LabError('conflict', `there is no method ${saved.name} any more`)
  new MethodRun(owner, plan, saved)
}

/** Whether the owner had a device and had not begun with the requested labware. Devices are reserved anew after a restart. */
function hasLostDevice({ owner, state: { wanted }, actions, next }: MethodRun): boolean {
  const { interrupted } = owner.state
  if (interrupted === null || interrupted.status === 'EXECUTING_ACTION') return false
  return !actions.slice(0, next).some(({ labware }) => labware.some((template) => wanted.includes(template)))
}

/** Closes the action and the move that were under way when the service ended; their outcome is unknown. */
function closeInterrupted(thread: LabwareThread): void {
  const { execution, thread_id, name, method, state } = thread
  const { interrupted, scan } = state
  const alone = {
    ...execution.events.context(),
    method_id: null,
    method_name: null,
    thread_id,
    thread_name: name,
    participating_thread_ids: [thread_id],
  }
  const around = method?.context() ?? alone
  if (interrupted && !interrupted.has_ended) {
    if (close(thread, interrupted, around)) noteAction(thread, interrupted, method)
    thread.set({ interrupted: { ...interrupted, has_ended: true } })
  }
  // Nothing has moved, so the labware is scanned again.
  if (scan && close(thread, scan, alone)) noteAction(thread, scan, null)
  thread.set({ scan: null })
  for (const mover of [thread, lidCarrierOf(thread)]) {
    const { move } = mover?.state ?? {}
    if (move && close(thread, { ...move, name: null }, thread.context())) noteMove(mover!, move)
    if (mover) mover.move = null
  }
}

/** Publishes the end of what was interrupted. Returns false if it had ended. */
function close({ execution }: LabwareThread, { action_id, name, status }: Closed, context: Context): boolean {
  if (isTerminal(actionTransitions, status)) return false
  execution.events.emit('ACTION', action_id, 'ABORTED', { ...context, action_id, action_status: 'ABORTED', action_name: name })
  return true
}

function noteAction(thread: LabwareThread, { action_id, name, device, ...times }: Fixed<ActionState>, method: MethodRun | null): void {
  const { execution } = thread
  const where = { method_id: method?.method_id ?? null, method_name: method?.plan.name ?? null, device: device ?? null }
  const row = endedRow(thread, { ...{ kind: 'action', action_id, name }, ...where, ...nowhere }, times)
  addActionRow(execution, row, { owner: thread, others: [], operations: [], error: restarted })
}

function noteMove(thread: Mover, { action_id, from, to, transporter, ...times }: Fixed<MoveState>): void {
  const nothing = { name: null, method_id: null, method_name: null, device: null }
  const row = endedRow(thread, { kind: 'move', action_id, ...nothing, from, to, transporter }, times)
  addMoveRow(thread.execution, row, thread, [])
}

const nowhere = { from: null, to: null, transporter: null }

type Interrupted = Omit<TimelineRow, 'thread_id' | 'thread_name' | 'status' | 'created' | 'started' | 'ended'>

/** Adds the row of what was interrupted to the timeline. */
function endedRow({ execution, thread_id, name }: Mover, row: Interrupted, { created, started = null }: Times): TimelineRow {
  const times = { created: created ?? started ?? execution.timeline.now(), started }
  return execution.timeline.interrupted({ ...row, thread_id, thread_name: name, status: 'ABORTED', ...times })
}

type Times = { created?: number | undefined; started?: number | undefined | null }

type Closed = { readonly action_id: string; readonly name: string | null; readonly status: ActionStatus }
