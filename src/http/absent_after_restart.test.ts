// A run that cannot be taken up leaves nothing on a simulated bench; a topology that is missing at one start is loaded at the next.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { beginRun, plateAndLid, plateRun, stateFilesIn } from '../testing/http_runs.ts'

test('a run in DEVICE_SIM that cannot be taken up leaves nothing on the simulated bench', { skip: noTypeScript }, async (t) => {
  const document = plateAndLid({ steps: [{ wait_for: 'end' }] })
  const module = (step: string) => `export default { ...${JSON.stringify(document)}, on: { 'WORKFLOW.COMPLETED': [() => '${step}'] } }`
  const before = await beginRun(t, { workflow: module('one'), run_mode: 'DEVICE_SIM' })
  await before.emits('go')
  await before.thread('lid', 'COMPLETED')
  await before.until('that on the card', async () => before.isOnTheCard('"DEVICE_SIM '), 100)
  before.rewrites('work.ts', module('another'))
  const run = await before.afterPowerCut()
  t.match(await run.snapshot(), { status: 'ABORTED' })
  t.same(await run.labware(), [])
})

test('a topology that is not there at one start is loaded again at the next', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([]) })
  t.equal(await before.over(), 'COMPLETED')
  await before.until('rest', async () => stateFilesIn(before.bench.data_dir).length === 0)
  const island = JSON.parse(before.reads('island.json'))
  before.rewrites('island.json', 'not whole')
  const broken = await before.afterPowerCut()
  t.match(await broken.labware(), [{ name: 'plate', position: 'pad_1' }])
  broken.rewrites('island.json', island)
  const mended = await broken.afterPowerCut()
  t.match(await mended.get('/api/topology'), { name: 'island' })
  t.match(await mended.labware(), [{ name: 'plate', position: 'pad_1' }])
})

test('labware in a labware.json that a person wrote, with a name that has a space for an id, is kept while a run is open', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([]) })
  t.equal(await before.over(), 'COMPLETED')
  await before.until('rest', async () => stateFilesIn(before.bench.data_dir).length === 0)
  const run = await before.afterPowerCut(({ folder }) => {
    const its = { template: 'lid', type: 'lid', kind: 'plate', barcode: null, tips: null, tips_left: null }
    const labware = [{ seat: 'pad_2', labware_id: 'my lid', name: 'lid', ...its }]
    writeFileSync(join(folder, 'labware.json'), JSON.stringify({ format: 1, topology: 'island', labware }))
    return ''
  })
  run.rewrites('work.json', plateRun([{ wait_for: 'go' }]))
  await run.post('/api/system/reload')
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'LIVE' })
  const open = run.of(execution_id)
  await open.thread('plate', 'AWAITING_EVENT')
  const after = await open.afterPowerCut()
  t.match(await after.labware(), [
    { name: 'plate', position: 'pad_1' },
    { name: 'lid', position: 'pad_2' },
  ])
})
