// How long actions take at devices, as far as that is known before they begin.

import { filledIn } from '../../plans/params.ts'
import type { ActionPlan } from '../../plans/plan.ts'
import { knownSeconds, secondsOf } from '../../plans/timing.ts'
import type { LabwareThread } from '../thread.ts'

/** Returns how long an action will take at a device, in s: as far as it is known, else as usual. */
export function expectedSeconds(thread: LabwareThread, plan: ActionPlan, device: string): number {
  const known = secondsAt(thread, plan, device) ?? plan.seconds
  const placed = thread.execution.workflow.topology.devices.get(device)
  if (known !== undefined || plan.kind !== 'do' || !placed) return known ?? 0
  const params = filledIn(plan.action.with, (name) => thread.execution.variable(name, thread.origin))
  return secondsOf(plan.action.do, placed, { params })
}

/** Returns how long an action takes at a device, in s. PURE_SIM always knows it; other modes only if it is declared or was learned. */
export function secondsAt({ execution, environment, origin }: LabwareThread, plan: ActionPlan, device: string): number | undefined {
  if (plan.kind !== 'do') return plan.seconds
  const known = execution.workflow.topology.devices.get(device)
  if (!known) return undefined
  const params = filledIn(plan.action.with, (name) => execution.variable(name, origin))
  const what = { params, said: plan.seconds, learned: environment.durations }
  return environment.mode === 'PURE_SIM' ? secondsOf(plan.action.do, known, what) : knownSeconds(plan.action.do, known, what)
}
