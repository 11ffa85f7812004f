// Actions after which the labware's next must begin within a time: the reservations for that, and the incident when it was too late.

import { filledIn } from '../plans/params.ts'
import { type ActionPlan, type StepPlan, takes } from '../plans/plan.ts'
import { knownSeconds, secondsOf } from '../plans/timing.ts'
import type { Keep, Use } from '../scheduler/request.ts'
import type { ActionRun } from './action.ts'
import type { Carrier, Window } from './carrier.ts'
import type { LabwareThread } from './thread.ts'

/** The window that an action opens for its owner's labware; undefined if it has none, or that labware is not there. */
function windowAfter(plan: ActionPlan, { labware }: LabwareThread): number | undefined {
  const allowed_s = 'max_wait_after' in plan.action ? plan.action.max_wait_after : undefined
  return allowed_s !== undefined && takes(plan, labware.template, labware.template) ? allowed_s : undefined
}

/** The action is completed. */
export function openWindow(thread: LabwareThread, plan: ActionPlan): void {
  const allowed_s = windowAfter(plan, thread)
  if (allowed_s !== undefined) reopenWindow(thread, { after: plan.name, allowed_s, left_s: allowed_s })
}

type Reopened = Pick<Window, 'after' | 'allowed_s'> & { left_s: number; is_told?: boolean }

/** With what is left of it; less than nothing, if it ended while the service was away. */
export function reopenWindow(thread: LabwareThread, { after, allowed_s, left_s, is_told: isReported = false }: Reopened): void {
  const { clock } = thread.environment
  const since_ms = clock.now() - (allowed_s - left_s) * 1000
  // Reported at once: somebody may still save the labware.
  const forget = isReported ? () => {} : clock.after(Math.max(0, left_s * 1000 + 1), () => missed(thread, { after, allowed_s }))
  thread.touch()
  thread.window = { after, allowed_s, since_ms, until: thread.execution.now() + left_s, isReported, forget }
  thread.environment.scheduler.hurry(thread.thread_id, since_ms + allowed_s * 1000)
}

/** The action begins, with all the labware that it wants. */
export function beginIn(action: ActionRun): void {
  const { owner, device, arrived } = action
  if (device !== null) owner.environment.scheduler.began(owner.thread_id, device)
  for (const thread of arrived.values()) closeWindow(thread)
}

/** What was to begin in time has begun, or never will. */
export function closeWindow(thread: Carrier): void {
  if (!thread.window) return
  thread.window.forget()
  thread.window = null
  thread.touch()
  thread.environment.scheduler.hurry(thread.thread_id, null)
}

function missed(thread: LabwareThread, { after, allowed_s }: Pick<Window, 'after' | 'allowed_s'>): void {
  const { execution, name, waiting, status, window } = thread
  if (window) window.isReported = true
  thread.touch()
  execution.journal?.changed()
  const doing = waiting ? `waits for ${waiting.what}` : `is ${status.current}`
  execution.incident('WINDOW_MISSED', `what comes after ${after} has not begun within ${allowed_s} s: ${name} ${doing}`, thread, {
    severity: 'WARNING',
    detail: { thread: name, after, allowed_s },
  })
}

/** The devices that its labware must have one after the other, each in time; undefined if this action has no window. */
export function keepsOf(thread: LabwareThread, plan: ActionPlan): Keep[] | undefined {
  let within_s = windowAfter(plan, thread)
  if (within_s === undefined) return undefined
  const keeps: Keep[] = []
  const next = following(thread)
  for (let i = 0; within_s !== undefined && i < next.length; i++) {
    const action = next[i]!
    if (action === 'unknown') break
    if (action.devices.length === 0) continue
    keeps.push({ candidates: action.devices.map((device) => ({ device })), within_s, use: use(thread, action, next.slice(i + 1)) })
    within_s = windowAfter(action, thread)
  }
  return keeps.length > 0 ? keeps : undefined
}

/** What the thread's labware does at a device, from this action on. Looked at only when somebody plans with it. */
export function useOf(thread: LabwareThread, plan: ActionPlan): Use {
  let next: readonly Next[] | undefined
  return {
    seconds: (device) => secondsAt(thread, plan, device),
    stays(device) {
      next ??= following(thread)
      return stay(thread, [plan, ...next], device)
    },
  }
}

function use(thread: LabwareThread, plan: ActionPlan, next: readonly Next[]): Use {
  return { seconds: (device) => secondsAt(thread, plan, device), stays: (device) => stay(thread, [plan, ...next], device) }
}

/** Until it goes elsewhere. */
function stay(thread: LabwareThread, actions: readonly Next[], device: string): number | undefined {
  let sum = 0
  for (const [i, action] of actions.entries()) {
    if (action === 'unknown') return undefined
    if (i > 0 && action.devices.length > 0 && !action.devices.includes(device)) break
    // It may have to wait there until it can begin.
    if (i > 0 && windowAfter(action, thread) !== undefined) return undefined
    const seconds = action.kind === 'emit' ? 0 : secondsAt(thread, action, device)
    if (seconds === undefined) return undefined
    sum += seconds
  }
  return sum
}

/** What comes, as far as that is certain; `unknown` takes a time that nobody knows. */
type Next = ActionPlan | 'unknown'

/** Looking further costs more than it tells. */
const farthest = 12

/** What the thread's labware does after the action that it is in. */
function following({ method, frames, labware }: LabwareThread): readonly Next[] {
  const next: Next[] = []
  const add = (action: ActionPlan) => next.push(isCertain(action, labware.template) ? action : 'unknown')
  for (const action of method?.actions.slice(method.next + 1) ?? []) add(action)
  for (let depth = frames.length - 1; depth >= 0 && next.length < farthest; depth--) {
    const { steps, next: at, isLoop } = frames[depth]!
    for (const step of steps.slice(at + 1)) {
      if (step.kind === 'wait_for') return [...next, 'unknown']
      const actions = actionsIn(step)
      if (!actions) return next
      for (const action of actions) add(action)
    }
    // Whether it goes round again, nobody knows.
    if (isLoop) return next
  }
  return next
}

function actionsIn(step: StepPlan): readonly ActionPlan[] | undefined {
  if (step.kind === 'method') return step.method.actions
  return step.kind === 'action' ? [step.action] : undefined
}

/** What waits for people, for events or for other labware takes a time that nobody knows. */
function isCertain(action: ActionPlan, labware: string): boolean {
  if (action.kind === 'emit') return true
  return (action.kind === 'do' || action.kind === 'code') && action.devices.length > 0 && takes(action, labware, labware)
}

/** Where nothing real is driven everything is known; elsewhere what is declared or was learned. */
function secondsAt({ execution, environment, origin }: LabwareThread, plan: ActionPlan, device: string): number | undefined {
  if (plan.kind !== 'do') return plan.seconds
  const known = execution.workflow.topology.devices.get(device)
  if (!known) return undefined
  const params = filledIn(plan.action.with, (name) => execution.variable(name, origin.submission_id))
  const what = { params, said: plan.seconds, learned: environment.durations }
  return environment.mode === 'PURE_SIM' ? secondsOf(plan.action.do, known, what) : knownSeconds(plan.action.do, known, what)
}
