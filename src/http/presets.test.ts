// Presets, the usage of operations, and the capabilities of all devices: what the forms of the page begin with.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { mostPresets } from '../devices/presets.ts'
import { openTestBench } from '../testing/http.ts'

const presets = '/api/devices/shaker-1/presets'
const gentle = { device_id: 'shaker-1', operation: 'shake', name: 'gentle', params: { speed: 300, duration: 60 } }

function folderOf(t: { teardown(done: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-presets-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a preset is saved, replaced, listed for its device alone, deleted, and outlasts a restart', async (t) => {
  const folder = folderOf(t)
  const first = await openTestBench(t, {}, { folder })
  t.same((await first.ask('GET', presets)).body, { presets: [] })
  t.match(await first.ask('PUT', `${presets}/shake/gentle`, { json: { params: { speed: 250 } } }), { status: 200 })
  t.match(await first.ask('PUT', `${presets}/shake/gentle`, { json: { params: gentle.params } }), { status: 200, body: gentle })
  t.match(await first.ask('PUT', `${presets}/shake/a%2Fb`, { json: { params: {} } }), { status: 200, body: { name: 'a/b' } })
  t.same((await first.ask('GET', '/api/devices/sealer-1/presets')).body, { presets: [] })
  await first.bench.close()
  const second = await openTestBench(t, {}, { folder })
  t.same((await second.ask('GET', presets)).body, { presets: [gentle, { ...gentle, name: 'a/b', params: {} }] })
  t.match(await second.ask('DELETE', `${presets}/shake/a%2Fb`), { status: 200 })
  t.match(await second.ask('DELETE', `${presets}/shake/a%2Fb`), { status: 404 })
  t.same((await second.ask('GET', presets)).body, { presets: [gentle] })
})

test('a preset is refused for an unknown device or operation, with long parameters, and where there are too many', async (t) => {
  const { ask } = await openTestBench(t)
  const put = async (path: string, params: object = {}) => (await ask('PUT', path, { json: { params } })).status
  t.equal(await put('/api/devices/nobody/presets/shake/a'), 404)
  t.equal(await put(`${presets}/fly/a`), 400)
  t.equal(await put(`${presets}/shake/${'x'.repeat(129)}`), 400)
  t.equal(await put(`${presets}/shake/a`, { note: 'x'.repeat(4096) }), 400)
  for (let n = 0; n < mostPresets; n++) t.equal(await put(`${presets}/shake/n${n}`), 200)
  t.equal(await put(`${presets}/shake/one-more`), 409)
  const told = async (method: string, name: string) => (await ask(method, `${presets}/shake/${name}`, { json: { params: {} } })).text
  t.match(await told('PUT', 'one-more'), `DELETE ${presets}/shake/{preset}`)
  t.match(await told('PUT', 'x'.repeat(129)), 'the path: preset must be 1 to 128 characters')
  const gone = await ask('DELETE', `${presets}/shake/nobody`)
  t.match(gone.text, `GET ${presets}`)
  t.equal(await put(`${presets}/shake/n0`, { speed: 1 }), 200, 'one that is there is replaced')
  t.equal(await put(`${presets}/lock_plate/n0`), 200, 'another operation has room')
})

test('a damaged file of presets is set aside, and the generation before it is in use', async (t) => {
  const folder = folderOf(t)
  const first = await openTestBench(t, {}, { folder })
  for (const name of ['a', 'b']) await first.ask('PUT', `${presets}/shake/${name}`, { json: { params: {} } })
  await first.bench.close()
  const path = `${folder}/presets.json`
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, -20))
  const second = await openTestBench(t, {}, { folder })
  t.match((await second.ask('GET', presets)).body, { presets: [{ name: 'a' }] })
})

test('the usage counts the operations of each device, and has the parameters of the last', async (t) => {
  const { ask } = await openTestBench(t)
  t.same((await ask('GET', '/api/usage')).body, { usage: [] })
  for (const operation of ['initialize', 'lock_plate']) await ask('POST', `/api/devices/shaker-1/${operation}`)
  for (const speed of [300, 500]) await ask('POST', '/api/devices/shaker-1/shake', { json: { speed, duration: 1 } })
  t.match((await ask('GET', '/api/usage')).body, {
    usage: [
      { device_id: 'shaker-1', operation: 'initialize', times: 1, params: {} },
      { operation: 'lock_plate', times: 1 },
      { operation: 'shake', times: 2, params: { speed: 500, duration: 1 } },
    ],
  })
})

test('one request answers the capabilities of every device, as each device answers its own', async (t) => {
  const { ask } = await openTestBench(t)
  const { devices } = (await ask('GET', '/api/capabilities')).body as { devices: { device_id: string }[] }
  t.ok(devices.length > 2)
  for (const one of devices) t.same(one, (await ask('GET', `/api/devices/${one.device_id}/capabilities`)).body)
})

test('the plate lock is known after it was locked, not while a lock fails, and not after an initialization', async (t) => {
  const { ask } = await openTestBench(t)
  const parts = async () => ((await ask('GET', '/api/devices/shaker-1')).body as { parts: object }).parts
  const post = (operation: string, json: object = {}) => ask('POST', `/api/devices/shaker-1/${operation}`, { json })
  await post('initialize')
  t.same(await parts(), {})
  await post('lock_plate')
  t.same(await parts(), { plate_lock: 'locked' })
  await post('unlock_plate')
  t.match(await post('shake', { speed: 500, duration: 1 }), { status: 409 })
  t.same(await parts(), { plate_lock: 'unlocked' }, 'a refusal moves nothing')
  await post('initialize')
  t.same(await parts(), {})
  const ofSealer = async () => ((await ask('GET', '/api/devices/sealer-1')).body as { parts: object }).parts
  await ask('POST', '/api/devices/sealer-1/initialize')
  await ask('POST', '/api/devices/sealer-1/open')
  t.same(await ofSealer(), { door: 'open' })
  await ask('POST', '/api/devices/sealer-1/seal', { json: { temperature: 100, duration: 1 } })
  t.same(await ofSealer(), {}, 'a seal moves the shuttle')
})
