// Warnings about custom events whose names may be mistyped. An event may also come from outside, so a name that nothing emits is not an error.

import { nearest } from '../../kit/did_you_mean.ts'
import { actionsOf, allSteps, type Workflow } from './plan.ts'

/**
 * Returns a sentence for each event that the workflow waits for and does not emit, if it emits one with a similar name. For a workflow with code
 * there are no warnings, because its events are unknown.
 */
export function eventWarnings(workflow: Workflow): string[] {
  if (workflow.hasCode) return []
  const emitted = new Set(emittedBy(workflow))
  const warnings = awaitedBy(workflow).flatMap(({ event, path }) => {
    const near = emitted.has(event) ? undefined : nearest(event, [...emitted])
    return near === undefined
      ? []
      : [`${path}: nothing in the workflow emits ${JSON.stringify(event)}; did you mean ${JSON.stringify(near)}?`]
  })
  return [...new Set(warnings)]
}

function* emittedBy(workflow: Workflow): Generator<string> {
  for (const { kind, action } of actionsOf(workflow)) if (kind === 'emit') yield action.emit
  for (const { emits } of workflow.methods.values())
    for (const emissions of Object.values(emits)) if (Array.isArray(emissions)) for (const { emit } of emissions) yield emit
}

function awaitedBy(workflow: Workflow): { event: string; path: string }[] {
  const actions = [...actionsOf(workflow)].flatMap(({ kind, action, path }) =>
    kind === 'wait_for' ? [{ event: action.wait_for, path }] : [],
  )
  const steps = [...workflow.threads.values()].flatMap(({ steps }) => [...allSteps(steps)])
  return [
    ...actions,
    ...steps.flatMap((step) => (step.kind === 'wait_for' || step.kind === 'branch' ? [{ event: step.event, path: step.path }] : [])),
  ]
}
