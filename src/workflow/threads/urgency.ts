// How urgent a request for a device is, besides the priority of its run. The labware that has the most work left after a step, less the work of the step itself, goes first: then the
// devices that come later are not left without work.

import { type ActionPlan, allSteps, type ThreadPlan } from '../plans/plan.ts'
import { secondsAt } from './action/seconds.ts'
import type { LabwareThread } from './thread.ts'

/** For each run, the urgency of each set of devices by journey. */
const known = new WeakMap<object, Map<string, ReadonlyMap<string, number>>>()

/**
 * Returns the urgency of an action in seconds. All labware of one kind has the same urgency at the same devices, also
 * where its journey comes to them several times, so that it is served in the order in which it came.
 */
export function urgencyOf(thread: LabwareThread, action: ActionPlan): number {
  const { plan, execution } = thread
  const journeys = known.get(execution) ?? new Map<string, ReadonlyMap<string, number>>()
  known.set(execution, journeys)
  const urgencies = journeys.get(plan.name) ?? urgenciesOf(thread)
  journeys.set(plan.name, urgencies)
  return urgencies.get(action.devices.join()) ?? 0
}

function urgenciesOf(thread: LabwareThread): ReadonlyMap<string, number> {
  const urgencies = new Map<string, number>()
  let left = 0
  for (const action of [...actionsOf(thread.plan)].reverse()) {
    const seconds = Math.min(...action.devices.map((device) => secondsAt(thread, action, device) ?? 0))
    const devices = action.devices.join()
    urgencies.set(devices, Math.max(left - seconds, urgencies.get(devices) ?? Number.NEGATIVE_INFINITY))
    left += seconds
  }
  return urgencies
}

function* actionsOf({ steps }: ThreadPlan): Generator<ActionPlan> {
  for (const step of allSteps(steps)) {
    const actions = step.kind === 'method' ? step.method.actions : step.kind === 'action' ? [step.action] : []
    for (const action of actions) if (action.devices.length > 0) yield action
  }
}
