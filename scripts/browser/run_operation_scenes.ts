// The operations of a run itself on the page: their lanes beside those of the labware, and what was not done.

import assert from 'node:assert/strict'
import { standing, workflowOf } from '../../src/testing/documents.ts'
import { desk, endRuns, phone, small, widthOf } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

const warm = (temperature: number | null) => ({ do: 'set_temperature', on: 'shaker-1', with: { temperature } })
const framed = workflowOf(
  'framed',
  { plate: { ...standing('pad_1'), steps: [{ wait_for: 'go' }] } },
  {
    topology: 'demo',
    before: [warm(60)],
    after: [warm(null), { do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 } }],
  },
)

export const runOperationChecks: Record<string, Check> = {
  async 'a run has lanes for its operations before and after, and lists what was not done'(bench) {
    await endRuns(bench)
    // An earlier scene may have stopped them, and a stopped device is left out after a run.
    for (const device of ['shaker-1', 'centrifuge-1']) await bench.ask('POST', `/api/devices/${device}/initialize`, {})
    await bench.ask('PUT', '/api/workflows/framed', framed)
    const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'framed', run_mode: 'LIVE' })
    const page = await bench.open(`/#/runs/${execution_id}`, small)
    const lanes = page.getByRole('figure', { name: 'Timeline' })
    await lanes.getByText('before', { exact: true }).waitFor()
    await page.getByRole('list', { name: 'Threads' }).getByText('plate', { exact: true }).waitFor()
    await bench.ask('POST', '/api/devices/shaker-1/stop', {})
    for (const confirm of [false, true]) await bench.ask('POST', `/api/executions/${execution_id}/stop`, { confirm })
    const missing = /Not done after the run: set_temperature of shaker-1/
    await page.getByText(missing).first().waitFor()
    await lanes.getByText('after', { exact: true }).waitFor()
    await page.close()
    for (const size of [small, phone, desk]) {
      const shown = await bench.open(`/#/runs/${execution_id}`, size)
      await shown.getByText(missing).first().waitFor()
      await shown.getByText('was aborted').first().waitFor()
      assert.ok((await widthOf(shown)) <= size.width, 'nothing is wider than the window')
      assert.deepEqual(await findingsOf(shown), [])
      assert.deepEqual(await smallTargets(shown), [])
      await shown.close()
    }
    await bench.ask('POST', '/api/devices/shaker-1/initialize', {})
    await bench.ask('DELETE', '/api/workflows/framed')
  },
}
