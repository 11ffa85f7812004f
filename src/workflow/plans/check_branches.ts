// Checks that a branch has steps for each value that the workflow itself emits.

import { wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { allSteps, emissionsOf } from './plan.ts'

/** Throws `invalid`, naming the place. The values that code and people emit are unknown; at run time, such a value without a case holds the thread. */
export function checkBranches(draft: Draft): void {
  const emissions = [...emissionsOf(draft)]
  for (const { steps } of draft.threads.values()) {
    for (const step of allSteps(steps)) {
      if (step.kind !== 'branch' || step.otherwise) continue
      const stray = emissions.find(({ emission: { emit, value } }) => emit === step.event && (value === null || !step.cases.has(value)))
      if (!stray) continue
      const { value } = stray.emission
      const what = value === null ? 'without a value' : `with the value ${JSON.stringify(value)}`
      const remedy = `add ${value === null ? '' : 'that case, or '}an else ([] goes on with the next step)`
      throw wrong(`${draft.where}: ${step.path}`, `${stray.path} emits ${step.event} ${what}, for which there is no case; ${remedy}`)
    }
  }
}
