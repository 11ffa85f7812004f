// One process that runs the bead assay once on virtual time, with the runtime alone.

import { smcAssay, smcTopology } from '../../../src/examples/smc_assay.ts'
import { run, testRuntime } from '../../../src/testing/workflow.ts'
import { findBeside } from '../../../src/workflow/search_worker.ts'
import { answerParent } from '../child.ts'
import { usage } from '../process.ts'

/** `dry_seconds`: a dry run of the same, afterwards. `grants`: places and ways that were decided about. Times are as they are here, and `makespan_s` as it would be there. */
export type Done = {
  phase: string
  hops: number
  grants: number
  events: number
  incidents: number
  makespan_s: number
  seconds: number
  dry_seconds: number
  cpu_us: number
  rss_mib: number
}

answerParent({}, async ({ groups }: { groups: number }): Promise<Done> => {
  const { runtime, told, incidents } = testRuntime([smcTopology, smcAssay], { search: findBeside })
  const before = { ...usage(), at: performance.now() }
  const list = Array.from({ length: groups }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))
  const { phase, timeline, environment, workflow } = await run(runtime, { workflow: smcAssay.name, groups: list })
  const seconds = (performance.now() - before.at) / 1000
  const { cpu_us } = usage()
  const began = performance.now()
  const asked = { run_mode: 'PURE_SIM', groups: list, batch_mode: 'STANDALONE', variables: {}, operator_id: null } as const
  const { verdict } = await runtime.dryRuns.simulate({ ...asked, workflow: workflow.name })
  if (verdict !== 'completes') throw new Error(`tried out, ${workflow.name} ${verdict}`)
  const dry_seconds = (performance.now() - began) / 1000
  return {
    ...{ phase: phase.current, hops: timeline.moves, grants: timeline.actions + timeline.moves },
    ...{ events: told.length, incidents: incidents.length, makespan_s: environment.clock.now() / 1000 },
    ...{ seconds, dry_seconds, cpu_us: cpu_us - before.cpu_us, rss_mib: process.resourceUsage().maxRSS / 1024 },
  }
})
