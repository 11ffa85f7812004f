// The values that an operation of a bridge gives in a run, with the units that its program describes: in the record, the table, the event and the report.

import { mkdirSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { scriptedBridge, until } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { openService } from '../testing/http.ts'

const topology = oneArm({ name: 'weigh', arm: 'arm-9', pads: ['pad'], nests: { nest: 'reader-1' } })
const workflow = workflowOf(
  'weigh-it',
  { plate: { ...standing('pad'), steps: [{ method: 'weigh_it' }] } },
  { topology: 'weigh', methods: { weigh_it: [{ do: 'weigh', on: 'reader-1' }] } },
)
const returns = { weight: 'g', absorbance: 'OD', height: 'm' }
const absorbance = Array.from({ length: 8 }, (_, row) => Array.from({ length: 12 }, (_, column) => row + column / 100))
const data = { weight: 12.5, absorbance, height: { value: 14, unit: 'mm' }, note: 'clean' }

test('each value of an operation is kept with its unit, a plate of numbers as one', async (t) => {
  const reader = scriptedBridge(t, { operations: { weigh: { seconds: 1, returns } } })
  const arm = scriptedBridge(t, { points: 'own' }, { device_id: 'arm-9', type: 'transporter' })
  mkdirSync(`${reader.folder}/topologies`)
  writeFileSync(`${reader.folder}/topologies/weigh.json`, JSON.stringify(topology))
  reader.answer(data)
  const { ask, bench } = await openService(t, { devices: [reader.device, arm.device] }, { topologies: `${reader.folder}/topologies` })
  await until(() => bench.registry.find('reader-1').abilities.knows('weigh') && bench.registry.find('arm-9').abilities.knowsPositions)
  t.match((await ask('GET', '/api/devices/reader-1/capabilities')).body, { operations: [{}, {}, { name: 'weigh', returns }] })
  await ask('POST', '/api/topology/load', { json: { name: 'weigh' } })
  await ask('PUT', '/api/workflows/weigh-it', { json: workflow })
  const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'weigh-it', run_mode: 'LIVE' } })
  const { execution_id } = body as { execution_id: string }
  const execution = bench.runs.runtime.runs.get(execution_id)!
  const [thread_id] = execution.threads.keys()
  await until(async () => (await ask('POST', `/api/threads/${thread_id}/placed`, { json: {} })).status === 200)
  await bench.runs.runtime.over(execution)

  const of = `/api/executions/${execution_id}`
  const { values } = (await ask('GET', `${of}/values`)).body as { values: Record<string, unknown>[] }
  t.same(
    values.map(({ name, value, unit, shape }) => ({ name, value, unit, shape })),
    [
      { name: 'weight', value: 12.5, unit: 'g', shape: null },
      { name: 'absorbance', value: absorbance, unit: 'OD', shape: [8, 12] },
      { name: 'height', value: 14, unit: 'mm', shape: null },
      { name: 'note', value: 'clean', unit: null, shape: null },
    ],
  )
  const csv = await ask('GET', `${of}/values`, { headers: { Accept: 'text/csv' } })
  t.match(csv.text.split('\r\n')[1], /^[\d.]+,weight,12\.5,g,,plate,/)
  const ended = (await bench.hub.getEventsForExecution(execution_id)).find(({ context }) => 'values' in context)
  t.match(ended?.context, {
    values: [
      { name: 'weight', unit: 'g', value: 12.5 },
      { name: 'absorbance', unit: 'OD' },
    ],
  })
  t.match((await ask('GET', `${of}/report`)).text, /weight[\s\S]{0,200}12\.5[\s\S]{0,60}g/)
})
