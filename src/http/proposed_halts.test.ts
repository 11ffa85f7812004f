// A program that guesses which methods halt its instrument: it works by hand, and no LIVE run uses it before the configuration names them.

import { mkdirSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { scriptedBridge, until } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openService } from '../testing/http.ts'

const topology = oneArm({ name: 'read', arm: 'arm-9', pads: ['pad'], nests: { nest: 'reader-1' } })
const workflow = workflowOf(
  'read-it',
  { plate: { ...standing('pad'), steps: [{ method: 'read_it' }] } },
  { topology: 'read', methods: { read_it: [{ do: 'read', on: 'reader-1' }] } },
)
const read = { seconds: 1 }
const guessed = { operations: { read }, proposed_halt: ['abort', 'deactivate'] }
const sentence =
  'reader-1: its program proposes to halt it by abort and deactivate, which nobody has accepted; if they end all motion and heat, ' +
  'add "--halt", "abort,deactivate" to its command ("none" if nothing does), then reload the configuration'

async function setup(t: Test, first: object) {
  const reader = scriptedBridge(t, first)
  const arm = scriptedBridge(t, { points: 'own' }, { device_id: 'arm-9', type: 'transporter' })
  mkdirSync(`${reader.folder}/topologies`)
  writeFileSync(`${reader.folder}/topologies/read.json`, JSON.stringify(topology))
  const service = await openService(t, { devices: [reader.device, arm.device] }, { topologies: `${reader.folder}/topologies` })
  const { ask, bench } = service
  await until(() => bench.registry.find('reader-1').abilities.knows('read') && bench.registry.find('arm-9').abilities.knowsPositions)
  await ask('POST', '/api/topology/load', { json: { name: 'read' } })
  await ask('PUT', '/api/workflows/read-it', { json: workflow })
  const submit = (run_mode: string) => ask('POST', '/api/submissions', { json: { workflow: 'read-it', run_mode } })
  const call = (verb: string, json: object = {}) => ask('POST', `/api/devices/reader-1/${verb}`, { json })
  const unfit = async () => ((await ask('GET', '/api/devices/reader-1')).body as { unfit: string | null }).unfit
  return { ...service, reader, submit, call, unfit }
}

test('a device with a proposed halt works by hand and in dry runs, and the configuration accepts it', async (t) => {
  const { reader, submit, call, unfit } = await setup(t, guessed)
  t.equal((await call('initialize')).status, 200)
  t.equal((await call('perform', { operation: 'read' })).status, 200)
  t.match((await call('stop')).body, { success: true, message: 'reader-1 stopped' })
  const refused = await submit('LIVE')
  isRefusal(t, refused, 400, 'invalid')
  t.match(refused.body, { detail: `workflow read-it cannot run in LIVE, only in DEVICE_SIM and PURE_SIM: ${sentence}` })
  t.equal(`reader-1: ${await unfit()}`, sentence)
  for (const mode of ['DEVICE_SIM', 'PURE_SIM']) t.equal((await submit(mode)).status, 202, mode)

  const kept: [description: object, isFit: boolean][] = [
    [{ ...guessed, proposed_halt: ['abort'] }, false],
    [{ operations: { read } }, true],
    [guessed, false],
    [{ operations: { read }, halt: 'none' }, true],
  ]
  for (const [description, isFit] of kept) {
    reader.describe(description)
    t.equal((await call('initialize')).status, 200, 'nobody accepts anything')
    t.equal((await unfit()) === null, isFit)
  }
  t.equal((await submit('LIVE')).status, 202)
  reader.describe({ ...guessed, model: 'Other' })
  t.match((await call('initialize')).body, { detail: /describes itself otherwise than it did \(model, halt\)/ })
})

test('a halt that is proposed with parameters is named with them', async (t) => {
  const { unfit } = await setup(t, { ...guessed, proposed_halt: ['abort', 'set_heater={"on": false}', 'stop_all'] })
  t.match(await unfit(), String.raw`add "--halt", "abort,set_heater={\"on\": false},stop_all" to its command`)
})

test('a run whose device has lost its accepted halt meanwhile does not begin on it', async (t) => {
  const { reader, submit, call, ask, bench } = await setup(t, { operations: { read } })
  await call('initialize')
  const { execution_id } = (await submit('LIVE')).body as { execution_id: string }
  const [thread_id] = bench.runs.runtime.runs.get(execution_id)!.threads.keys()
  reader.describe(guessed)
  t.equal((await call('initialize')).status, 200)
  await until(async () => (await ask('POST', `/api/threads/${thread_id}/placed`, { json: {} })).status === 200)
  const incident = await until(async () => {
    const { incidents } = (await ask('GET', `/api/incidents?execution_id=${execution_id}`)).body as { incidents: { message: string }[] }
    return incidents.find(({ message }) => message.includes('which nobody has accepted'))
  })
  t.match(incident.message, sentence.slice(0, 100))
})

test('a halt that is proposed and "none" at once is a mistake of the program', async (t) => {
  const { device, describe } = scriptedBridge(t)
  const { bench } = await openService(t, { devices: [device] })
  describe({ ...guessed, halt: 'none' })
  const { error } = await until(() => bench.registry.find('reader-1').info().fault)
  t.match(error, /its description: proposed_halt names abort, deactivate, and halt is "none"; leave one of them out/)
})
