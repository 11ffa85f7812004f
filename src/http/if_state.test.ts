// A button is pressed for what its screen shows: with If-State nothing is done when that is not so any more.

import { test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { isRefusal, openBench } from '../testing/http.ts'

test('a request for a state that is gone is refused with the present one and who changed it, and a stop never is', async (t) => {
  const { ask } = await openBench(t)
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

test('the verbs of a run are held against its status, or PAUSED', async (t) => {
  const { ask, lab } = await openBench(t)
  await lab.teachpoints.importAll(demoTeachpoints, { overwrite: false })
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
