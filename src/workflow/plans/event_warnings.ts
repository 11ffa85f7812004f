// Warnings about custom events whose names may be mistyped. An event may also come from outside, so a name that nothing emits is not an error.

import { nearest } from '../../kit/did_you_mean.ts'
import { actionsOf, allSteps, emissionsOf, type Workflow } from './plan.ts'

/**
 * Returns a sentence for each event that the workflow waits for and does not emit, if it emits one with a similar name. For a workflow with code
 * there are no warnings, because its events are unknown.
 */
export function eventWarnings(workflow: Workflow): string[] {
  if (workflow.hasCode) return []
  const emitted = new Set([...emissionsOf(workflow)].map(({ emission }) => emission.emit))
  const warnings = awaitedBy(workflow).flatMap(({ event, path }) => {
    const near = emitted.has(event) ? undefined : nearest(event, [...emitted])
    return near === undefined
      ? []
      : [`${path}: nothing in the workflow emits ${JSON.stringify(event)}; did you mean ${JSON.stringify(near)}?`]
  })
  return [...new Set(warnings)]
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
