// Backups as a client makes and fetches them, and what becomes of runs that were open when one was made.

import { mkdirSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { openBench } from '../bench/bench.ts'
import { openBackup, planOf, restore } from '../care/restore.ts'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import type { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import { atTheEnd, benchConfig, isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'
import { diskClock } from '../testing/kit.ts'
import { examples } from './openapi_examples.ts'

type Made = { name: string; size: number }

async function fetched({ hono, clock, secrets }: TestedBench, name: string): Promise<Response> {
  const headers = { Host: 'localhost', 'X-API-Key': secrets.admin }
  return clock.run(Promise.resolve(hono.request(`/api/system/backups/${name}`, { headers })))
}

test('a backup is made, listed, fetched and thrown away by an administrator', async (t) => {
  const setup = await openTestBench(t)
  const { ask, data_dir } = setup
  const made = await ask('POST', '/api/system/backups')
  t.match(made, { status: 201, body: { name: /^asked-.*Z\.tar\.gz$/, is_daily: false, with_keys: false, with_events: false } })
  const { name, size } = made.body as Made
  t.equal(made.headers.get('location'), `/api/system/backups/${name}`)
  t.match(await ask('POST', '/api/system/backups', { json: { with_keys: true } }), { status: 201, body: { with_keys: true } })
  const { backups } = (await ask('GET', '/api/system/backups')).body as { backups: Made[] }
  const asked = backups.filter(({ name }) => name.startsWith('asked'))
  t.equal(asked.length, 2)
  t.equal(asked[1]?.name, name)

  const response = await fetched(setup, name)
  t.equal(response.headers.get('content-type'), 'application/gzip')
  t.equal(response.headers.get('content-length'), String(size))
  const bytes = await setup.clock.run(response.arrayBuffer())
  writeFileSync(`${data_dir}/fetched.tar.gz`, Buffer.from(bytes))
  const opened = await openBackup(`${data_dir}/fetched.tar.gz`)
  t.notOk(opened.manifest.files.some(({ name }) => name.includes('keys')))
  await opened.archive.close()

  t.match(await ask('DELETE', `/api/system/backups/${name}`), { status: 200, body: { success: true } })
  isRefusal(t, await ask('GET', `/api/system/backups/${name}`), 404)
  isRefusal(t, await ask('GET', '/api/system/backups/..%2F..%2Fkeys.json'), 404)
  isRefusal(t, await ask('DELETE', '/api/system/backups/..%2Fkeys.json'), 404)
  isRefusal(t, await ask('POST', '/api/system/backups', { json: { with_keys: 1 } }), 400)
  isRefusal(t, await ask('GET', '/api/system/backups', { key: 'operate' }), 403)
})

test('an archive that nobody takes is given up after a minute', async (t) => {
  const setup = await openTestBench(t)
  const { name } = (await setup.ask('POST', '/api/system/backups')).body as Made
  const response = await fetched(setup, name)
  const reader = response.body!.getReader()
  t.ok((await reader.read()).value)
  await setup.clock.advance(60_000)
  await t.rejects(reader.read(), { message: /not taken for 60 s/ })
})

const justShake = examples.putWorkflow!.body as { threads: { plate: object } }
/** Waits until it is told `go`, then shakes. */
const patient = {
  ...justShake,
  name: 'patient',
  threads: { plate: { ...justShake.threads.plate, steps: [{ wait_for: 'go' }, { method: 'shake_it' }] } },
}

/** A run that waits, and a backup of that moment. */
async function withOpenRun(t: Test) {
  const setup = await openTestBench(t)
  const { ask, clock, bench } = setup
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  await ask('PUT', '/api/workflows/patient', { json: patient })
  const submitted = await ask('POST', '/api/submissions', { json: { workflow: 'patient', run_mode: 'LIVE' } })
  const { execution_id } = submitted.body as { execution_id: string }
  await clock.advance(5000)
  await ask('POST', '/api/devices/shaker-1/initialize')
  const { name } = (await ask('POST', '/api/system/backups', { json: { with_events: true } })).body as Made
  return { ...setup, execution_id, path: `${setup.data_dir}/backups/${name}` }
}

/** Puts the backup back into that folder, and opens a lab on it. */
async function openedOn(t: Test, data_dir: string, path: string) {
  mkdirSync(data_dir, { recursive: true })
  const opened = await openBackup(path)
  const plan = await planOf(opened, data_dir, { all: true, keys: true })
  await restore(opened, data_dir, plan, new Date())
  await opened.archive.close()
  const clock = diskClock()
  const bench = await openBench(await benchConfig(), { data_dir, log: silent, clock })
  t.teardown(() => undefined)
  return { bench, clock }
}

async function closedOn(clock: VirtualClock, closing: Promise<void>): Promise<void> {
  let isClosed = false
  const done = closing.then(() => {
    isClosed = true
  })
  while (!isClosed) await clock.advance(100)
  await done
}

test('a run that was open when the backup was made stands paused where it is put back, and nothing moves', async (t) => {
  const ending = atTheEnd(t)
  const { execution_id, path, data_dir } = await withOpenRun(t)
  const { bench, clock } = await openedOn(t, `${data_dir}/elsewhere`, path)
  ending.push(() => closedOn(clock, bench.close()))
  const execution = bench.runs.runtime.runs.get(execution_id)
  t.match(execution?.paused, { reason: 'system' })
  const before = bench.hub.log.shown.seq
  await clock.advance(600_000)
  t.match(bench.runs.runtime.runs.get(execution_id)?.paused, { reason: 'system' })
  t.same(
    [...(execution?.threads.values() ?? [])].map(({ status, last_error }) => [status.current, last_error]),
    [['PAUSED', 'the service restarted']],
  )
  for (const device of bench.registry.all()) t.match(device.info().state, /^(not_initialized|external)$/, device.device_id)
  const events = (await bench.hub.getEventsSince()).slice(before)
  t.same(
    events.map(({ event_name }) => event_name).filter((name) => /MOVING|EXECUTING|PICKING/.test(name)),
    [],
  )
})

test('a run that has ended since the backup does not begin again where what ran is put back', async (t) => {
  const ending = atTheEnd(t)
  const { bench: first, clock: firstClock, ask, execution_id, data_dir } = await withOpenRun(t)
  const { name } = (await ask('POST', '/api/system/backups')).body as Made
  await ask('POST', `/api/executions/${execution_id}/emit`, { json: { name: 'go' } })
  while (!first.runs.runtime.runs.get(execution_id)?.isOver) await firstClock.advance(1000)
  t.match((await ask('GET', `/api/executions/${execution_id}`)).body, { status: 'COMPLETED' })
  await closedOn(firstClock, first.close())

  const told = first.hub.log.shown.seq
  const { bench, clock } = await openedOn(t, data_dir, `${data_dir}/backups/${name}`)
  ending.push(() => closedOn(clock, bench.close()))
  await clock.advance(600_000)
  const statuses = [...(bench.runs.runtime.runs.get(execution_id)?.threads.values() ?? [])].map(({ status }) => status.current)
  t.ok(
    statuses.every((status) => status === 'COMPLETED'),
    statuses.join(),
  )
  const events = (await bench.hub.getEventsSince()).slice(told)
  t.same(
    events.map(({ entity_type }) => entity_type).filter((type) => ['ACTION', 'METHOD', 'THREAD'].includes(type)),
    [],
  )
})
