// Which way a thread will go where steps depend on values, as far as that can be foretold: by the value that is there, else the way that was taken most
// often before, else the declared one. No code of the workflow is executed.

import { holds, valuesIn } from '../plans/conditions.ts'
import { stepKey } from '../plans/durations.ts'
import { emissionsOf, type StepList, type StepPlan, type Workflow } from '../plans/plan.ts'
import { scopeOf } from './channels.ts'
import type { LabwareThread } from './thread.ts'

type Step<Kind extends StepPlan['kind']> = Extract<StepPlan, { kind: Kind }>
type Chooser = Pick<LabwareThread, 'execution' | 'environment' | 'origin' | 'plan'>

/** The reason why a way is assumed. `value`: it is known. */
export type Why = 'value' | 'most_often' | 'declared'

function usualWay({ execution, environment, plan }: Chooser, step: { name: string }): string | undefined {
  return environment.durations?.usualWay(stepKey(execution.workflow.name, plan.name, step))
}

/** Returns the side that an `if` will take. */
export function sideAhead(thread: Chooser, step: Step<'if'>): { list: StepList; way: 'then' | 'else'; why: Why } {
  const { condition, then, otherwise } = step
  const { execution, origin } = thread
  const examples = execution.workflow.document.values ?? {}
  const exampleOf = (name: string) => examples[name]!.example
  const savedOf = (name: string) => execution.values.find(name, scopeOf(origin))
  const chosen = (isSo: boolean, why: Why) => ({ list: isSo ? then : otherwise, way: isSo ? ('then' as const) : ('else' as const), why })
  // In a forecast the saved values are the examples.
  const isKnown = thread.environment.trial !== 'forecast' && valuesIn(condition).every((name) => savedOf(name) !== undefined)
  const usual = isKnown ? undefined : usualWay(thread, step)
  if (usual !== undefined) return chosen(usual === 'then', 'most_often')
  try {
    return chosen(
      holds(condition, (name) => savedOf(name) ?? exampleOf(name)),
      isKnown ? 'value' : 'declared',
    )
  } catch {
    // A saved value cannot be compared: the run will hold the thread there.
    return chosen(holds(condition, exampleOf), 'declared')
  }
}

/** Returns the case that a branch will take. Declared is a value for which the workflow has an emission, else the case for other values, else the first. */
export function caseAhead(thread: Chooser, step: Step<'branch'>): { list: StepList | undefined; way: string; why: Why } {
  const { execution, origin } = thread
  const { cases, otherwise, event, across_groups } = step
  const listOf = (value: string | null) => (value === null ? undefined : cases.get(value)) ?? otherwise ?? undefined
  const latest = execution.channels.latest(event, scopeOf(origin, across_groups))
  if (latest) return { list: listOf(latest.value), way: latest.value ?? 'else', why: 'value' }
  const usual = usualWay(thread, step)
  if (usual !== undefined) return { list: listOf(usual), way: usual, why: 'most_often' }
  for (const { emission } of emissionsOf(execution.workflow)) {
    const { emit, value = null } = emission
    if (emit === event && value !== null && cases.has(value)) return { list: cases.get(value), way: value, why: 'declared' }
  }
  const [first] = cases
  return otherwise ? { list: otherwise, way: 'else', why: 'declared' } : { list: first?.[1], way: first?.[0] ?? 'else', why: 'declared' }
}

/** Whether a forecast takes an event as emitted, because only the code of the workflow, which it does not execute, may emit it. */
export function countsAsEmitted({ execution, environment }: Chooser, event: string): boolean {
  return environment.trial === 'forecast' && mayBeOfCode(execution.workflow, event)
}

/** Whether the code of a workflow may emit an event, and nothing else in it does. */
export function mayBeOfCode(workflow: Workflow, event: string): boolean {
  if (!workflow.hasCode) return false
  for (const { emission } of emissionsOf(workflow)) if (emission.emit === event) return false
  return true
}

/** Returns how many rounds a repeat will have. */
export function roundsAhead(thread: Chooser, step: Step<'repeat'>): { rounds: number; why: Why } {
  const usual = step.until ? Number(usualWay(thread, step)) : Number.NaN
  return Number.isInteger(usual) ? { rounds: Math.min(usual, step.rounds), why: 'most_often' } : { rounds: step.rounds, why: 'declared' }
}
