// A run of the bead assay that stands at its beginning, for forecasts without a pause.

import { smcAssay, smcTopology } from '../../../src/examples/smc_assay.ts'
import { begin, testRuntime } from '../../../src/testing/workflow.ts'
import { Hops } from '../../../src/workflow/plans/timing.ts'
import { forecastProblem } from '../../../src/workflow/runs/forecast_problem.ts'
import { foretellBeside } from '../../../src/workflow/search_worker.ts'

/** Returns a function that makes one forecast of a run with so many groups, as the service does: posed in slices, and foretold in the thread. */
export async function heldRun(groups: number): Promise<() => Promise<void>> {
  const { runtime } = testRuntime([smcTopology, smcAssay])
  const list = Array.from({ length: groups }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))
  const execution = await begin(runtime, { workflow: smcAssay.name, groups: list })
  const { scheduler, equipment, clock, steps } = execution.environment
  // Simulated time does not go on.
  steps.hold()
  const hops = new Hops(execution.workflow.topology.document)
  return async () => {
    const now = clock.now()
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    const { problem } = await forecastProblem([execution], { scheduler, hops, equipment, now: () => now }, turn)
    await foretellBeside(problem)
  }
}
