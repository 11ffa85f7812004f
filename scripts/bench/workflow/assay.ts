// One process that runs the bead assay once on virtual time, with the runtime alone.

import { smcAssay, smcTopology } from '../../../src/examples/smc_assay.ts'
import { legacyAssay, legacyTopology } from '../../../src/testing/legacy_assay.ts'
import { run, testRuntime } from '../../../src/testing/workflow.ts'
import { answerParent } from '../child.ts'
import { usage } from '../events/usage.ts'

/** No groups: one labware of each kind that belongs to none. */
export type Asked = { legacy: boolean; groups: number }
/** `parks` are moves out of the way, `grants` places and ways that were decided about. Times as they are here, and `makespan_s` as it would be there. */
export type Done = {
  phase: string
  hops: number
  parks: number
  grants: number
  events: number
  incidents: number
  makespan_s: number
  seconds: number
  /** Of a dry run of the same, afterwards. */
  dry_seconds: number
  cpu_us: number
  rss_mib: number
}

answerParent({}, assay)

async function assay({ legacy, groups }: Asked): Promise<Done> {
  const documents = legacy ? [legacyTopology, legacyAssay] : [smcTopology, smcAssay]
  const { runtime, told, incidents } = testRuntime(documents)
  const before = { ...usage(), at: performance.now() }
  const list = Array.from({ length: groups }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))
  const { phase, timeline, environment, workflow } = await run(runtime, { workflow: documents[1]!.name, groups: list })
  const seconds = (performance.now() - before.at) / 1000
  const { cpu_us } = usage()
  const began = performance.now()
  const asked = { run_mode: 'PURE_SIM', groups: list, batch_mode: 'STANDALONE', variables: {}, operator_id: null } as const
  const { verdict } = await runtime.simulate({ ...asked, workflow: workflow.name })
  if (verdict !== 'completes') throw new Error(`tried out, ${workflow.name} ${verdict}`)
  const dry_seconds = (performance.now() - began) / 1000
  const { positions } = workflow.topology.graph
  return {
    phase: phase.current,
    hops: timeline.moves,
    parks: timeline.rows().filter(({ to }) => to !== null && positions.get(to)?.parking).length,
    grants: timeline.actions + timeline.moves,
    events: told.length,
    incidents: incidents.length,
    makespan_s: environment.clock.now() / 1000,
    seconds,
    dry_seconds,
    cpu_us: cpu_us - before.cpu_us,
    rss_mib: process.resourceUsage().maxRSS / 1024,
  }
}
