// A process that runs a workflow of one method for many groups on virtual time, with a journal or without.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Kept, run, testRuntime } from '../../../src/testing/workflow.ts'
import { answerParent } from '../child.ts'
import { usage } from '../events/usage.ts'
import { laneTopology, laneWorkflow } from './lanes.ts'

export type Asked = { threads: number; isKept: boolean }
/** `entries`: of the write with the most, but the first. */
export type Done = { cpu_us: number; writes: number; entries: number; longest_ms: number }

/** So many instruments are at work at once. */
const lanes = 4

answerParent({}, async ({ threads, isKept }: Asked): Promise<Done> => {
  // V8 compiles what both do.
  await runOnce(20, isKept)
  return runOnce(threads, isKept)
})

async function runOnce(threads: number, isKept: boolean): Promise<Done> {
  const counts = { writes: 0, entries: 0 }
  class Counted extends Kept {
    protected override written(changes: number): void {
      if (counts.writes++ > 0) counts.entries = Math.max(counts.entries, changes)
    }
  }
  const { runtime } = testRuntime([laneTopology(lanes), laneWorkflow(lanes, 1)], isKept ? { keep: () => new Counted() } : {})
  const groups = Array.from({ length: threads / lanes }, (_, i) => ({ group_id: `g${i}`, members: {} }))
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const before = usage().cpu_us
  delay.enable()
  const { phase, threads: all } = await run(runtime, { workflow: 'to_and_fro', groups })
  delay.disable()
  if (phase.current !== 'completed' || all.size !== threads) throw new Error(`the run of ${all.size} threads is ${phase.current}`)
  return { cpu_us: usage().cpu_us - before, longest_ms: delay.max / 1e6, ...counts }
}
