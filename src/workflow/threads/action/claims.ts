// The requests of an action's owner to the scheduler: devices for the action, and for the actions that must follow in time.

import { type ActionPlan, type StepPlan, takes } from '../../plans/plan.ts'
import type { Candidate, Keep, Use } from '../../scheduler/request.ts'
import type { ThreadRequest } from '../move/route.ts'
import { stopsAhead } from '../next_stops.ts'
import type { LabwareThread } from '../thread.ts'
import { urgencyOf } from '../urgency.ts'
import type { ActionRun } from './action.ts'
import { secondsAt } from './seconds.ts'

type Claim = Pick<ThreadRequest, 'candidates' | 'inputs' | 'after' | 'lidStops' | 'use' | 'urgency_s' | 'keeps'>

/** Returns the claim to any device of the action, or to the one that an operator has chosen. */
export function deviceFor(thread: LabwareThread, action: ActionRun): Claim & { what: string } {
  const { retry_on } = thread.state
  const { devices, path } = action.plan
  if (retry_on?.path !== path) return { what: devices.join(' or '), ...claim(thread, action, action.plan.candidates) }
  return { what: retry_on.device, ...claim(thread, action, [{ device: retry_on.device }]) }
}

/** Returns the claim to the devices that the labware needs within a time limit after this action; undefined if there are none, or this action has no device yet. */
export function devicesAfter(thread: LabwareThread, action: ActionRun): (Claim & { what: string }) | undefined {
  const { device, plan } = action
  if (device === null) return undefined
  const after = claim(thread, action, [{ device }])
  if (!after.keeps) return undefined
  return { what: `${after.keeps[0]!.candidates.map(({ device }) => device).join(' or ')} to be free in time after ${plan.name}`, ...after }
}

function claim(thread: LabwareThread, action: ActionRun, candidates: readonly Candidate[]): Claim {
  const { plan } = action
  const isOfRun = thread.plan.part !== undefined
  const inputs = () => (isOfRun ? standingAt(thread, plan) : present(thread, action))
  const keeps = keepsOf(thread, plan)
  return {
    candidates,
    inputs,
    use: useOf(thread, plan),
    urgency_s: urgencyOf(thread, plan),
    ...(keeps && { keeps }),
    ...(isOfRun ? { after: [] } : stopsAhead(thread)),
  }
}

/** Returns the labware that may already stand at the device: the needed labware, and the participants' other labware if the device has sites for all. */
function present({ method, execution }: LabwareThread, { plan, inputs, owner }: ActionRun): string[] {
  const all = method?.participants ?? []
  const { devices } = execution.workflow.topology
  const sites = Math.min(...plan.devices.map((device) => devices.get(device)!.sites))
  const needed = all.filter(({ labware }) => inputs.includes(labware.template))
  const hasRoom = all.length - needed.length + inputs.length <= sites
  const others = inputs.filter((template) => template !== owner.labware.template)
  const called = method ? execution.backlogs.likely(method, others) : []
  return [...new Set([...(hasRoom ? all : needed), ...called])].map(({ labware }) => labware.labware_id)
}

/** Returns the labware at the devices of an operation that no other run moves: it may stay where it stands. */
function standingAt({ environment, execution }: LabwareThread, { devices }: ActionPlan): string[] {
  const { scheduler } = environment
  const positions = devices.flatMap((device) => scheduler.graph.positionsOf(device))
  return positions.flatMap(({ name }) => {
    const { labware_id } = scheduler.position(name)
    if (labware_id === null) return []
    const mover = scheduler.whose(labware_id)
    return mover === null || execution.find(mover)?.execution === execution ? [labware_id] : []
  })
}

/** Returns the devices that the labware needs one after the other, each within its time limit; undefined if this action has no window. */
function keepsOf(thread: LabwareThread, plan: ActionPlan): Keep[] | undefined {
  const { template } = thread.labware
  let within_s = windowAfter(plan, template)
  if (within_s === undefined) return undefined
  const keeps: Keep[] = []
  const next = following(thread)
  for (let i = 0; within_s !== undefined && i < next.length; i++) {
    const action = next[i]!
    if (action === 'unknown') break
    if (action.devices.length === 0) continue
    keeps.push({ candidates: action.candidates, within_s, use: useOf(thread, action, next.slice(i + 1)) })
    within_s = windowAfter(action, template)
  }
  return keeps.length > 0 ? keeps : undefined
}

/** Returns the time limit, in s, for the owner's labware to begin its next action; undefined if there is none. */
export function windowAfter(plan: ActionPlan, labware: string): number | undefined {
  const allowed_s = 'max_wait_after' in plan.action ? plan.action.max_wait_after : undefined
  return allowed_s !== undefined && takes(plan, labware, labware) ? allowed_s : undefined
}

/** Returns how long the labware uses a device from this action on. The following actions are looked up only when the scheduler asks. */
function useOf(thread: LabwareThread, plan: ActionPlan, next?: readonly Next[]): Use {
  let known = next
  return {
    stays(device) {
      known ??= following(thread)
      return stay(thread, [plan, ...known], device)
    },
    seconds: (device) => secondsAt(thread, plan, device),
    later() {
      known ??= following(thread)
      const end = known.indexOf('unknown')
      return known.slice(0, end < 0 ? known.length : end).flatMap((action) => {
        if (action === 'unknown' || action.devices.length === 0) return []
        return { devices: action.devices, seconds: (device: string) => secondsAt(thread, action, device) }
      })
    },
  }
}

/** Returns how long the labware stays at a device before it goes elsewhere, in s; undefined if unknown. */
function stay(thread: LabwareThread, actions: readonly Next[], device: string): number | undefined {
  let sum = 0
  for (const [i, action] of actions.entries()) {
    if (action === 'unknown') return undefined
    if (i > 0 && action.devices.length > 0 && !action.devices.includes(device)) break
    // The labware may have to wait at the device until this action can begin.
    if (i > 0 && windowAfter(action, thread.labware.template) !== undefined) return undefined
    const seconds = action.kind === 'emit' ? 0 : secondsAt(thread, action, device)
    if (seconds === undefined) return undefined
    sum += seconds
  }
  return sum
}

/** An upcoming action; `unknown` for one that may not come, or whose duration is unknown. */
type Next = ActionPlan | 'unknown'

/** The most upcoming actions that are looked at: further ones cost time and change the plan little. */
const farthest = 12

/** Lists the upcoming actions of the thread's labware, after the current one. */
function following({ method, frames, labware }: LabwareThread): readonly Next[] {
  const next: Next[] = []
  const add = (action: ActionPlan) => next.push(isCertain(action, labware.template) ? action : 'unknown')
  for (const action of method?.actions.slice(method.next + 1) ?? []) add(action)
  for (let depth = frames.length - 1; depth >= 0 && next.length < farthest; depth--) {
    const { steps, next: at, isLoop } = frames[depth]!
    for (const step of steps.slice(at + 1)) {
      if (step.kind === 'wait_for' || step.kind === 'delay' || step.kind === 'until_temperature') return [...next, 'unknown']
      const actions = actionsIn(step)
      if (!actions) return next
      for (const action of actions) add(action)
    }
    // It is unknown whether the loop repeats.
    if (isLoop) return next
  }
  return next
}

function actionsIn(step: StepPlan): readonly ActionPlan[] | undefined {
  if (step.kind === 'method') return step.method.actions
  return step.kind === 'action' ? [step.action] : undefined
}

/** Whether the duration of the action can be known: not if it waits for people, events or other labware. */
function isCertain(action: ActionPlan, labware: string): boolean {
  if (action.kind === 'emit') return true
  return (action.kind === 'do' || action.kind === 'code') && action.devices.length > 0 && takes(action, labware, labware)
}
