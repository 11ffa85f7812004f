// Runs that were open when the power was cut: what is taken up from the card, and what is left of those that cannot be.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateAndLid, plateRun, seal, shake, stateFilesIn } from '../testing/http_runs.ts'

test('a run goes on by the workflow as it was when it began, whatever has become of that since', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }, { method: 'seal_it' }]) })
  await before.does('shaker-1', 'shake')
  before.rewrites('work.json', plateRun([{ action: { wait_for: 'nobody' } }]))
  const run = await before.afterPowerCut()
  t.match(await run.thread('plate', 'PAUSED'), {
    waiting: { what: /the service restarted in the midst of shake: resume it, which does that again/ },
  })
  const paused = new RegExp(`run of work is paused, because the service restarted.*benchd runs why ${run.execution_id.slice(0, 8)}`)
  t.match(run.bench.warned.join('\n'), paused, 'the log says that the run waits for a person')
  await run.post('/api/devices/shaker-1/initialize')
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
  const done = (await run.events()).map(({ event_name }) => event_name).filter((name) => /^METHOD.*COMPLETED/.test(name))
  t.equal(done.length, 2)
})

test('where a run cannot be taken up its labware stands where it stood, and the reason is told', { skip: noTypeScript }, async (t) => {
  const module = (step: string) => `
    export default { ...${JSON.stringify(plateRun([{ method: 'shake_it' }]))}, on: { 'WORKFLOW.COMPLETED': [() => '${step}'] } }`
  const before = await beginRun(t, { workflow: module('one') })
  await before.does('shaker-1', 'shake')
  before.rewrites('work.ts', module('another'))
  const run = await before.afterPowerCut()
  t.match(await run.snapshot(), { status: 'ABORTED', reason: /was changed while the service was away/ })
  t.match(await run.labware(), [{ name: 'plate', position: 'shaker_in', thread_id: null }])
  t.match(await run.incidents(), [{ category: 'OTHER', message: /cannot be restored/ }])
  const anew = await run.afterPowerCut()
  t.match(await anew.labware(), [{ name: 'plate', position: 'shaker_in', thread_id: null }], 'it is kept for the next start')
})

test('labware in a gripper of a run that cannot be taken up is to be looked for', { skip: noTypeScript }, async (t) => {
  const module = (step: string) => `
    export default { ...${JSON.stringify(plateRun([{ method: 'shake_it' }]))}, on: { 'WORKFLOW.COMPLETED': [() => '${step}'] } }`
  const before = await beginRun(t, { workflow: module('one') })
  await before.until('placing', async () => (await before.snapshot()).moves.some(({ status }) => status === 'PLACING'), 100)
  await before.until('the gripper on the card', async () => before.isOnTheCard('"held_by":"arm-1"'), 100)
  before.rewrites('work.ts', module('another'))
  const run = await before.afterPowerCut()
  t.match(await run.incidents(), [
    { category: 'OTHER' },
    { category: 'LEDGER_CONTRADICTED', message: /plate was held by arm-1.*; look for it/ },
  ])
})

test('what a thread took off the bench since does not stand there again', async (t) => {
  const stays = plateRun([{ method: 'shake_it' }], { name: 'besides' })
  const leaves = plateAndLid({ end: { at: ['waste'], mode: 'LEAVE_IN_PLACE' }, steps: [] })
  const first = await beginRun(t, { workflow: leaves, besides: stays })
  await first.emits('go')
  t.equal(await first.over(), 'COMPLETED')
  const left = first.of(
    (await first.post<{ execution_id: string }>('/api/submissions', { workflow: 'besides', run_mode: 'LIVE' })).execution_id,
  )
  t.equal(await left.over(), 'COMPLETED')
  t.match(await left.labware(), [
    { name: 'lid', position: 'pad_2' },
    { name: 'plate', position: 'pad_1', thread_id: null },
  ])
  const before = first.of(
    (await first.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'LIVE' })).execution_id,
  )
  await before.thread('plate', 'COMPLETED')
  const run = await before.afterPowerCut()
  t.same(
    (await run.labware()).map(({ name }) => name),
    ['lid'],
  )
})

test('labware that a person has taken off the bench does not come back with the run that left it there', async (t) => {
  const leaves = plateAndLid({ end: { at: ['waste'] }, steps: [{ wait_for: 'end' }] })
  const before = await beginRun(t, { workflow: leaves })
  await before.emits('go')
  await before.thread('lid', 'COMPLETED')
  await before.until('that on the card', async () => before.isOnTheCard('"status":"COMPLETED"'), 100)
  const left = (await before.labware()).find(({ name }) => name === 'lid')!
  await before.ask('PUT', `/api/labware/${left.labware_id}/location`, { position: null })
  const run = await before.afterPowerCut()
  t.same(
    (await run.labware()).map(({ name }) => name),
    ['plate'],
  )
})

test('a window runs on while the service is away', async (t) => {
  const timed = plateRun([{ method: 'both' }], { methods: { both: [{ ...shake, max_wait_after: 40 }, seal] } })
  const before = await beginRun(t, { workflow: timed })
  await before.until('the window', async () => (await before.snapshot()).moves.some(({ to }) => to === 'sealer_in'), 100)
  await before.until('it on the card', async () => before.isOnTheCard('"after":"shake"'), 100)
  const run = await before.afterPowerCut()
  t.match(await run.thread('plate', 'PAUSED'), { waiting: { what: /the service restarted before seal: resume it, which does that;/ } })
  await run.until('it is missed', async () => (await run.incidents()).length > 0)
  t.match(await run.incidents(), [
    { category: 'WINDOW_MISSED', message: /what comes after shake has not begun within 40 s: plate waits for/ },
  ])
})

test('a second restart knows of the interrupted action too, and a missed window is told once', async (t) => {
  const timed = plateRun([{ method: 'both' }], { methods: { both: [{ ...shake, max_wait_after: 40 }, seal] } })
  const before = await beginRun(t, { workflow: timed })
  await before.does('sealer-1', 'seal')
  const second = await before.afterPowerCut()
  await second.thread('plate', 'PAUSED')
  const run = await second.afterPowerCut()
  const thread = await run.thread('plate', 'PAUSED')
  t.same(thread.decisions, ['RETRY', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'])
  t.equal((await run.recover(thread.thread_id, 'CONTINUE')).status, 200)
  t.equal(await run.over(), 'COMPLETED')

  const open = await beginRun(t, { workflow: timed })
  await open.until('the window', async () => (await open.snapshot()).moves.some(({ to }) => to === 'sealer_in'), 100)
  await open.until('it on the card', async () => open.isOnTheCard('"after":"shake"'), 100)
  const missed = await open.afterPowerCut()
  await missed.until('it is missed', async () => (await missed.incidents()).length > 0)
  await missed.until('that on the card', async () => missed.isOnTheCard('"is_told":true'), 100)
  const again = await missed.afterPowerCut()
  await again.bench.clock.advance(60_000)
  t.equal((await again.incidents()).length, 1)
})

test('labware of runs that a forced unloading aborts stands where it stood, or is to be looked for', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await run.does('shaker-1', 'shake')
  await run.post('/api/topology/load', { name: 'island', force: true })
  t.equal(await run.over(), 'ABORTED')
  t.match(await run.labware(), [{ name: 'plate', position: 'shaker_in', thread_id: null }])

  const other = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await other.until('placing', async () => (await other.snapshot()).moves.some(({ status }) => status === 'PLACING'), 100)
  await other.post('/api/topology/load', { name: 'island', force: true })
  t.equal(await other.over(), 'ABORTED')
  const [lost] = await other.labware()
  t.match(lost, { name: 'plate', position: 'pad_1', held_by: 'arm-1', thread_id: null })
  const { incidents } = await other.get<{ incidents: object[] }>('/api/incidents')
  t.match(incidents, [{ category: 'LEDGER_CONTRADICTED', message: /plate was cut off: it is at pad_1 or held by arm-1 or at shaker_in/ }])
  t.equal((await other.ask('PUT', `/api/labware/${lost!.labware_id}/location`, { position: 'pad_2' })).status, 200)
  t.match(await other.labware(), [{ name: 'plate', position: 'pad_2' }])
})

test('what stood on a topology is seen while none is loaded, over a restart too; it can be taken off, and put elsewhere only on one', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([]) })
  t.equal(await before.over(), 'COMPLETED')
  const standing = await before.labware()
  t.match(standing, [{ name: 'plate', position: 'pad_1', thread_id: null, run_mode: 'LIVE' }])
  await before.post('/api/topology/unload')
  t.same(await before.labware(), standing)
  const run = await before.afterPowerCut()
  t.same(await run.labware(), standing)
  const path = `/api/labware/${standing[0]!.labware_id}/location`
  isRefusal(t, await run.ask('PUT', path, { position: 'pad_2' }), 409, 'conflict')
  isRefusal(t, await run.ask('PUT', '/api/labware/nothing/location', { position: null }), 404, 'not_found')
  t.same(await run.labware(), standing)
  t.match(await run.ask('PUT', path, { position: null }), { status: 200, body: { message: 'plate is off the bench' } })
  t.same(await run.labware(), [])
  await run.post('/api/topology/load', { name: 'island' })
  t.same(await run.labware(), [])
  await before.post('/api/topology/load', { name: 'island' })
  t.same(await before.labware(), standing, 'where nobody took it off it stands there again')
})

test('labware of a run whose topology is gone is kept until there is one with its place', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.does('shaker-1', 'shake')
  before.rewrites('island.json', '{}')
  const run = await before.afterPowerCut()
  t.match(await run.snapshot(), { status: 'ABORTED', reason: /no topology "island"/ })
  t.match(await run.labware(), [{ name: 'plate', position: 'shaker_in', thread_id: null }])
  t.match(await run.incidents(), [{ category: 'OTHER' }], 'nothing has to be looked for')
  await run.post('/api/topology/load', { name: 'demo' })
  t.match(await run.labware(), [{ name: 'plate', position: 'shaker_in', thread_id: null }])
})

test('labware whose place another topology has not is to be looked for', async (t) => {
  const isle = { start: { at: 'isle_1', mode: 'REUSE_EXISTING' }, end: { at: ['isle_1'], mode: 'LEAVE_IN_PLACE' } }
  const run = await beginRun(t, { workflow: plateRun([], { methods: {}, threads: { plate: { labware: 'plate', ...isle, steps: [] } } }) })
  t.equal(await run.over(), 'COMPLETED')
  await run.post('/api/topology/load', { name: 'demo', force: true })
  t.match(await run.labware(), [{ name: 'plate', position: null }])
  const { incidents } = await run.get<{ incidents: object[] }>('/api/incidents')
  t.match(incidents, [{ category: 'DECK_RECONCILE_CONFLICT', message: /plate stood at isle_1, and cannot be there now.*say where it is/ }])
})

test('a run is taken up on its topology also where nothing else knows which that was', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.does('shaker-1', 'shake')
  const run = await before.afterPowerCut(() => 'labware.json')
  await run.thread('plate', 'PAUSED')
  t.match(await run.labware(), [{ name: 'plate', position: 'shaker_in' }])
})

test('where labware stands is in labware.json alone at rest: what is edited there counts, and what a person says at once', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([]) })
  t.equal(await before.over(), 'COMPLETED')
  const [plate] = await before.labware()
  t.match(plate, { name: 'plate', position: 'pad_1' })
  await before.ask('PUT', `/api/labware/${plate!.labware_id}/location`, { position: 'pad_2' })
  const run = await before.afterPowerCut()
  t.match(await run.labware(), [{ name: 'plate', position: 'pad_2' }])

  await before.until('rest', async () => stateFilesIn(before.bench.data_dir).length === 0)
  const edited = await before.afterPowerCut((copy) => edit(copy.folder, 'pad_2', 'shaker_in'))
  t.match(await edited.labware(), [{ name: 'plate', position: 'shaker_in' }])
})

test('while a run is open the state says where labware stands, in DEVICE_SIM too, and labware.json says nothing', async (t) => {
  for (const run_mode of ['LIVE', 'DEVICE_SIM'] as const) {
    const leaves = plateAndLid({ steps: [{ wait_for: 'end' }] })
    const before = await beginRun(t, { workflow: leaves, run_mode })
    await before.emits('go')
    await before.thread('lid', 'COMPLETED')
    await before.until('that on the card', async () => before.isOnTheCard(`"${run_mode} `), 100)
    const run = await before.afterPowerCut(({ folder }) => {
      const labware = [{ ...piece, seat: 'pad_2', labware_id: 'stale', name: 'stale' }]
      writeFileSync(join(folder, 'labware.json'), JSON.stringify({ format: 1, topology: 'island', labware }))
      return ''
    })
    t.match(await run.labware(), [
      { name: 'plate', position: 'pad_1', run_mode },
      { name: 'lid', position: 'pad_2', run_mode, thread_id: null },
    ])
  }
})

const piece = { template: 'lid', type: 'lid', kind: 'plate', barcode: null, tips: null, tips_left: null }

/** As a person edits it. */
function edit(folder: string, from: string, to: string): string {
  const path = join(folder, 'labware.json')
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => !line.includes('sha256'))
  writeFileSync(path, lines.join('\n').replaceAll(from, to))
  return ''
}

test('after a restart labware is placed and removed by hand also while the run is paused, and its position stays kept', async (t) => {
  const byHand = plateRun([], { threads: { plate: { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] }, steps: [] } } })
  const before = await beginRun(t, {
    workflow: byHand,
    submission: { groups: [{ group_id: 'g1', members: { plate: { barcode: 'P-1' } } }] },
  })
  await before.thread('plate', 'AWAITING_MANUAL_PLACE')
  await before.until('it on the card', async () => before.isOnTheCard('"status":"AWAITING_MANUAL_PLACE"'), 100)
  const placing = await (await before.afterPowerCut()).afterPowerCut()
  const { thread_id, last_error } = await placing.thread('plate', 'AWAITING_MANUAL_PLACE')
  t.equal(last_error, null)
  t.match(await placing.snapshot(), { paused: { reason: 'system' } })
  isRefusal(t, await placing.ask('POST', `/api/threads/${thread_id}/placed`, { barcode: 'P-2' }), 409, 'conflict')
  await placing.post(`/api/threads/${thread_id}/placed`, { barcode: 'P-1' })
  t.match(await placing.thread('plate', 'PAUSED'), { position: 'pad_1', labware: { barcode: 'P-1' } })
  await placing.post(`/api/executions/${placing.execution_id}/resume`)
  await placing.thread('plate', 'AWAITING_MANUAL_REMOVE')
  await placing.until('it on the card', async () => placing.isOnTheCard('"status":"AWAITING_MANUAL_REMOVE"'), 100)
  const removing = await placing.afterPowerCut()
  t.match(await removing.thread('plate', 'AWAITING_MANUAL_REMOVE'), { position: 'pad_1' })
  t.match(await removing.snapshot(), { paused: { reason: 'system' } })
  await removing.post(`/api/threads/${thread_id}/removed`)
  t.equal(await removing.over(), 'COMPLETED')
  t.same(await removing.labware(), [])
})
