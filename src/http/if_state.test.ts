// A button is pressed for what its screen shows: with If-State nothing is done when that is not so any more.

import { test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'
import { mustBeAsShown } from './if_state.ts'

test('a request for a state that is gone is refused with the present one and who changed it, and a stop never is', async (t) => {
  const { ask } = await openTestBench(t)
  const shown = (state: string) => ({ headers: { 'If-State': state } })
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize', shown('not_initialized'))).status, 200)
  const late = await ask('POST', '/api/devices/shaker-1/initialize', shown('not_initialized'))
  isRefusal(t, late, 409, 'conflict')
  t.match(late.body, {
    detail: /^shaker-1 is ready by now, and was shown as not initialized; key to admin asked it to initialize at [\d:]+ UTC; look/,
  })
  t.equal((await ask('POST', '/api/devices/shaker-1/stop', { key: 'read', ...shown('busy') })).status, 200)
  t.equal((await ask('POST', '/api/stop', { key: 'read', ...shown('busy') })).status, 200)
  const shake = { json: { speed: 500, duration: 1 }, ...shown('ready') }
  t.match((await ask('POST', '/api/devices/shaker-1/shake', shake)).body, { detail: /is stopped by now.* key to read asked it to stop/ })
  t.match((await ask('POST', '/api/devices/nobody/initialize', shown('ready'))).status, 404)
  t.match((await ask('POST', '/api/executions/nobody/pause', shown('IN_PROGRESS'))).status, 404)
  t.match((await ask('POST', '/api/threads/nobody/pause', shown('PAUSED'))).status, 404)
})

test('a device that was stopped again since it was shown is not initialized, and an event tells of that stop', async (t) => {
  const { ask } = await openTestBench(t)
  type Shown = { stopped: { at: number; again: { by: string; at: number } | null } }
  const shown = async () => ((await ask('GET', '/api/devices/shaker-1')).body as Shown).stopped
  const initialize = (state: string) => ask('POST', '/api/devices/shaker-1/initialize', { headers: { 'If-State': state } })
  await ask('POST', '/api/devices/shaker-1/stop')
  const { at, again } = await shown()
  t.equal(again, null)
  await ask('POST', '/api/devices/shaker-1/stop', { key: 'read' })
  await ask('POST', '/api/devices/shaker-1/stop', { key: 'read' })
  await ask('PUT', '/api/devices/shaker-1/lock', { json: { owner: 'ann', ttl_s: 60 } })
  await ask('DELETE', '/api/devices/shaker-1/lock')
  const late = await initialize(`stopped ${at}`)
  isRefusal(t, late, 409, 'conflict')
  t.match(late.body, { detail: /^shaker-1 was stopped again; key to read asked it to stop at [\d:]+ UTC; look again, then decide$/ })
  const last = await shown()
  t.match(last, { at, again: { by: 'key to read', at: Number } })
  const { events } = (await ask('GET', '/events?since=0')).body as { events: { event_name: string; context: object }[] }
  const stops = events.filter(({ event_name }) => event_name === 'DEVICE.shaker-1.STOPPED')
  t.match(stops, [{ context: { device_name: 'shaker-1', by: 'key to read', execution_id: null } }], 'one for repeats within a second')
  t.equal((await initialize(`stopped ${last.again!.at}`)).status, 200)
  isRefusal(t, await initialize(`stopped ${last.again!.at}`), 409, 'conflict')
  await ask('POST', '/api/devices/shaker-1/stop')
  t.equal((await initialize('stopped')).status, 200, 'without the time any stop is meant')
})

test('callers who stop a device in turns have one event each for repeats within a second', async (t) => {
  const { ask } = await openTestBench(t)
  const now = Date.now
  const frozen = now()
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => frozen
  for (let i = 0; i < 10; i++) for (const key of ['read', 'operate'] as const) await ask('POST', '/api/devices/shaker-1/stop', { key })
  const { events } = (await ask('GET', '/events?since=0')).body as { events: { event_name: string; context: { by: string } }[] }
  const stops = events.filter(({ event_name }) => event_name === 'DEVICE.shaker-1.STOPPED')
  t.same(
    stops.map(({ context }) => context.by),
    ['key to operate'],
  )
})

test('a device that nothing reaches is not initialized when it was stopped since it was shown', async (t) => {
  const serial = { kind: 'serial', path: `${t.testdir({})}/ttyNONE` }
  const { ask } = await openTestBench(t, { devices: [{ device_id: 'shaker-1', driver: 'bioshake', transport: serial }] })
  const initialize = (state: string) => ask('POST', '/api/devices/shaker-1/initialize', { headers: { 'If-State': state } })
  isRefusal(t, await initialize('disconnected'), 500, 'disconnected')
  await ask('POST', '/api/devices/shaker-1/stop', { key: 'read' })
  const late = await initialize('disconnected')
  isRefusal(t, late, 409, 'conflict')
  t.match(late.body, { detail: /^shaker-1 was stopped; key to read asked it to stop at [\d:]+ UTC; look again, then decide$/ })
  const { stopped } = (await ask('GET', '/api/devices/shaker-1')).body as { stopped: { at: number } }
  isRefusal(t, await initialize(`disconnected ${stopped.at}`), 500, 'disconnected')
})

test('the stop input is named where it stopped a device again', async (t) => {
  const entry = (what: string, name: string) => ({ what, name, at: 5 })
  const entries = [
    entry('POST /api/devices/shaker-1/stop', 'ann'),
    entry('stop input', 'service'),
    entry('PUT /api/devices/shaker-1/lock', 'bob'),
  ]
  const audit = { newest: async () => ({ entries }) } as unknown as Parameters<typeof mustBeAsShown>[0]['audit']
  const path = '/api/devices/shaker-1/initialize'
  await t.rejects(mustBeAsShown({ audit }, { shown: 'stopped 1', present: 'stopped 5', path }), {
    code: 'conflict',
    message: 'shaker-1 was stopped again; the stop input stopped it at 00:00:05 UTC; look again, then decide',
  })
})

test('the verbs of a run are held against its status, or PAUSED', async (t) => {
  const { ask, bench } = await openTestBench(t)
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  const { execution_id } = (await ask('POST', '/api/submissions', { json: { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' } }))
    .body as Record<string, string>
  const tell = (verb: string, state: string, json: object = {}) =>
    ask('POST', `/api/executions/${execution_id}/${verb}`, { json, headers: { 'If-State': state } })
  isRefusal(t, await tell('resume', 'PAUSED'), 409, 'conflict')
  t.equal((await tell('pause', 'IN_PROGRESS')).status, 200)
  t.match((await tell('pause', 'IN_PROGRESS')).body, { detail: /^execution [0-9a-f]{8} is paused by now, .* asked it to pause/ })
  t.equal((await tell('resume', 'PAUSED')).status, 200)
  for (const confirm of [false, true]) await tell('stop', confirm ? 'PAUSED' : 'IN_PROGRESS', { confirm })
  t.equal((await tell('close', 'IN_PROGRESS')).status, 409)
})
