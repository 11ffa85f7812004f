// Same input, same order of events.

import { test } from 'tap'
import { run, testRuntime, trace } from '../testing/workflow.ts'
import { smcAssay, smcTopology } from './smc_assay.ts'

test('the same submission tells the same events in the same order', async (t) => {
  const assay = async () => {
    const { runtime, told } = testRuntime([smcTopology, smcAssay])
    const groups = ['g1', 'g2', 'g3', 'g4'].map((group_id) => ({ group_id, members: {} }))
    await run(runtime, { workflow: 'smc_assay', groups })
    return told.map((event) => `${event.event_name} ${trace([event])}`)
  }
  const [once, again] = [await assay(), await assay()]
  t.ok(once.length > 1000)
  t.same(again, once)
})
