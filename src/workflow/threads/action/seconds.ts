// How long actions take at devices, as far as that is known before they begin.

import { bodyKey } from '../../plans/durations.ts'
import { filledIn } from '../../plans/params.ts'
import type { ActionPlan } from '../../plans/plan.ts'
import { knownSeconds, secondsOf, temperatureFor } from '../../plans/timing.ts'
import type { LabwareThread } from '../thread.ts'

/** The part of a thread on which durations depend. */
export type Timed = Pick<LabwareThread, 'execution' | 'environment' | 'origin'>

/** Whence the seconds of a forecast are. `unknown`: nobody knows, and they count as 0. */
export type Expected = { seconds: number; from: 'declared' | 'learned' | 'usual' | 'unknown' }

/** Returns how long an action will take at a device, in s: as far as it is known, else as usual. */
export function expectedSeconds(thread: Timed, plan: ActionPlan, device: string | null): number {
  return expected(thread, plan, device).seconds
}

/** Returns the expected seconds with their source. No code is executed. */
export function expected(thread: Timed, plan: ActionPlan, device: string | null): Expected {
  const { execution, environment } = thread
  const learned = environment.durations
  const placed = device === null ? undefined : execution.workflow.topology.devices.get(device)
  if (plan.kind === 'do' && placed) {
    const params = paramsOf(thread, plan)
    const known = knownSeconds(plan.action.do, placed, { params, said: plan.seconds, learned })
    const isDeclared = plan.seconds !== undefined || placed.operations.get(plan.action.do)?.seconds !== undefined
    if (known !== undefined) return { seconds: known, from: isDeclared ? 'declared' : 'learned' }
    return { seconds: secondsOf(plan.action.do, placed, { params }), from: 'usual' }
  }
  const body = plan.kind === 'code' || plan.kind === 'instruct' ? learned?.body(bodyKey(execution.workflow.name, plan)) : undefined
  if (body !== undefined) return { seconds: body, from: 'learned' }
  return plan.seconds === undefined ? { seconds: 0, from: 'unknown' } : { seconds: plan.seconds, from: 'declared' }
}

/** Returns how long an action takes at a device, in s. PURE_SIM always knows it; other modes only if it is declared or was learned. */
export function secondsAt(thread: Timed, plan: ActionPlan, device: string): number | undefined {
  const { execution, environment } = thread
  if (plan.kind !== 'do') return plan.seconds
  const known = execution.workflow.topology.devices.get(device)
  if (!known) return undefined
  const what = { params: paramsOf(thread, plan), said: plan.seconds, learned: environment.durations }
  return environment.mode === 'PURE_SIM' ? secondsOf(plan.action.do, known, what) : knownSeconds(plan.action.do, known, what)
}

/** Returns the temperature in °C that the device needs for an action; null for none. */
export function temperatureOf(thread: Timed, plan: ActionPlan): number | null {
  return plan.kind === 'do' ? (temperatureFor(plan.action.do, paramsOf(thread, plan)) ?? null) : null
}

/** Learns how long code or a person has taken since `began_ms`. */
export function learnBody({ execution, environment }: Timed, plan: ActionPlan, began_ms: number): void {
  if (environment.mode === 'PURE_SIM' || (plan.kind !== 'code' && plan.kind !== 'instruct')) return
  environment.durations?.performedBody(bodyKey(execution.workflow.name, plan), (environment.clock.now() - began_ms) / 1000)
}

function paramsOf({ execution, origin }: Timed, { action }: ActionPlan & { kind: 'do' }): Readonly<Record<string, unknown>> {
  return filledIn(action.with, (name) => execution.variable(name, origin))
}
