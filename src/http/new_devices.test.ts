// Devices that are added to the configuration of a service that runs.

import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { driver } from '../../drivers/bioshake/driver.ts'
import { driver as microspin } from '../../drivers/microspin/driver.ts'
import { serveOnPty, serveOnTcp } from '../../drivers/serve.ts'
import { readConfig } from '../config.ts'
import { silent } from '../kit/log.ts'
import { startService } from '../main.ts'
import { atTheEnd, isRefusal, type Reply } from '../testing/http.ts'

const first = `{
  // The bench in the corner.
  "format": 1,
  "listen": { "host": "127.0.0.1", "port": 0 },
  "time_scale": 1000,
  "devices": [
    { "device_id": "sealer-1", "driver": "a4s", "transport": { "kind": "simulated" } } // hot
  ]
}
`

async function bench(t: Test, { folder: named, text = first }: { folder?: string; text?: string } = {}) {
  const ending = atTheEnd(t)
  const folder = named ?? t.testdir({})
  const path = `${folder}/config.json`
  writeFileSync(path, text)
  const data_dir = `${t.testdirName}-data`
  const source = { path, read: () => readConfig(path) }
  const service = await startService(await readConfig(path), { data_dir, topologies: `${folder}/topologies`, source, log: silent })
  ending.push(async () => {
    await service.close()
    await service.bench.keys.reload()
    execFileSync('rm', ['-rf', data_dir])
  })
  const keys = { admin: '', operate: '' }
  for (const scope of ['admin', 'operate'] as const)
    keys[scope] = (await service.bench.keys.create({ name: `${scope} key`, scope })).api_key
  const ask = async (method: string, path: string, json?: object, key: keyof typeof keys = 'admin'): Promise<Reply> => {
    const headers = { 'X-API-Key': keys[key], ...(json && { 'Content-Type': 'application/json' }) }
    const response = await fetch(service.url + path, { method, headers, ...(json && { body: JSON.stringify(json) }) })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as unknown }
  }
  const add = (device: object, key?: keyof typeof keys) => ask('POST', '/api/devices', device, key)
  const config = () => readFileSync(path, 'utf8')
  const copies = () => readdirSync(folder).filter((name) => name.startsWith('config.json.'))
  return { service, folder, path, ask, add, config, copies, ending }
}

/** A shaker at a port below /dev. */
async function shakerAt(ending: (() => Promise<unknown>)[]) {
  const shaker = await serveOnPty(driver, { model: '3000-T elm' })
  ending.push(() => shaker.close())
  return { shaker, transport: { kind: 'serial', path: shaker.path } }
}

const simulated = { kind: 'simulated' }

test('an instrument is asked who it is, added, and in force without a restart; the trail names the key', async (t) => {
  const { ask, add, config, copies, service, folder, ending } = await bench(t)
  const { transport } = await shakerAt(ending)
  const drivers = await ask('GET', '/api/drivers')
  t.match(drivers.body, { config_file: `${folder}/config.json`, is_writable: true })
  const rows = (drivers.body as { drivers: { driver: string; models: string[] }[] }).drivers
  t.match(rows.find(({ driver }) => driver === 'bioshake')?.models, /3000-T elm/)
  t.match(
    rows.find(({ driver }) => driver === 'bioshake'),
    { is_tcp: true, tcp_port: null },
  )
  t.match(
    rows.find(({ driver }) => driver === 'microspin'),
    { is_tcp: true, tcp_port: 1000 },
  )
  t.notOk(
    rows.some(({ driver }) => driver.startsWith('gpio')),
    'their wiring is written by hand',
  )
  const begun = service.bench.registry.find('sealer-1').perform('initialize', {})
  const told = await ask('POST', '/api/drivers/bioshake/identify', { transport })
  const identity = { model: 'BIOSHAKE 3000-T elm (simulated)', serial_number: 'SIM-0001' }
  t.match(told.body, { identity, expected: identity, is_wrong: false, fitting_drivers: [] })
  const added = await add({ device_id: 'shaker-1', driver: 'bioshake', name: 'By the window', transport, identity })
  t.match(added, { status: 201, body: { success: true, device_id: 'shaker-1', in_force: true } })
  t.equal(added.headers.get('location'), '/api/devices/shaker-1')
  t.match((await ask('GET', '/api/devices/shaker-1')).body, { name: 'By the window' })
  t.match(config(), '// The bench in the corner.')
  t.match(config(), '// hot')
  t.same(
    copies().map((name) => readFileSync(`${folder}/${name}`, 'utf8')),
    [first],
  )
  t.match(await readConfig(`${folder}/config.json`), { devices: [{ device_id: 'sealer-1' }, { device_id: 'shaker-1', identity }] })
  t.match(await begun, { success: true }, 'the other device goes on')
  t.match((await ask('GET', '/api/system/changes')).body, { at_once: [], needs_restart: [] })
  const trail = (await ask('GET', '/api/system/audit')).body as { entries: { who: string; text: string }[] }
  const line = trail.entries.find(({ text }) => text.startsWith('Added the device'))
  t.match(line, { text: 'Added the device shaker-1 to the configuration, driver bioshake' })
  t.match(JSON.stringify(line), 'admin key')
})

test('a port that answers nothing, or otherwise, is told, and adding does not depend on it', async (t) => {
  const { ask, add, ending } = await bench(t)
  const { shaker, transport } = await shakerAt(ending)
  t.match((await ask('POST', '/api/drivers/ika_shaker/identify', { transport })).body, {
    identity: null,
    is_wrong: true,
    fitting_drivers: ['bioshake'],
    message: /as an instrument of the driver bioshake does/,
  })
  shaker.setFault('no_reply')
  t.match((await ask('POST', '/api/drivers/bioshake/identify', { transport })).body, {
    identity: null,
    is_wrong: false,
    message: /^the instrument did not say who it is: /,
  })
  const gone = await ask('POST', '/api/drivers/bioshake/identify', { transport: { kind: 'serial', path: '/dev/ttyUSB99' } })
  t.match(gone, { status: 200, body: { identity: null, message: /ttyUSB99/ } })
  t.match(await add({ device_id: 'shaker-1', driver: 'bioshake', transport }), { status: 201 })
  t.match(await add({ device_id: 'hands', driver: 'person' }), { status: 201, body: { in_force: true } })
  t.match((await ask('GET', '/api/devices/hands')).body, { type: 'transporter' })
})

test('what would be wrong is refused, and the file stays', async (t) => {
  const { ask, add, config, copies, ending } = await bench(t)
  const { transport } = await shakerAt(ending)
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport }
  isRefusal(t, await add(shaker, 'operate'), 403, 'forbidden')
  isRefusal(t, await ask('POST', '/api/drivers/bioshake/identify', { transport }, 'operate'), 403, 'forbidden')
  isRefusal(t, await add({ ...shaker, device_id: 'sealer-1' }), 409, 'exists')
  for (const device_id of ['export', 'constructor', 'toString', 'valueOf'])
    isRefusal(t, await add({ ...shaker, device_id }), 400, 'invalid')
  isRefusal(t, await add({ ...shaker, driver: 'bridge' }), 400, 'invalid')
  isRefusal(t, await add({ ...shaker, transport: { kind: 'serial', path: '/etc/passwd' } }), 400, 'invalid')
  isRefusal(t, await add({ ...shaker, transport: { kind: 'serial', path: '/dev/../etc/passwd' } }), 400, 'invalid')
  // The system ends a path at a NUL: such a path would be another name of a port that is in use.
  isRefusal(t, await add({ ...shaker, transport: { kind: 'serial', path: `${transport.path}\0x` } }), 400, 'invalid')
  isRefusal(t, await add({ ...shaker, settings: { model: 'none' } }), 400, 'invalid')
  isRefusal(t, await add({ device_id: 'shaker-1', driver: 'bioshake' }), 400, 'invalid')
  isRefusal(t, await ask('POST', '/api/drivers/nobody/identify', { transport }), 404, 'not_found')
  t.same([config(), copies()], [first, []])
  t.match(await add(shaker), { status: 201 })
  const second = await add({ ...shaker, device_id: 'shaker-2' })
  isRefusal(t, second, 409, 'conflict')
  t.match(second.text, 'shaker-1 is on that port')
  isRefusal(t, await ask('POST', '/api/drivers/bioshake/identify', { transport }), 409, 'conflict')
  t.equal(copies().length, 1)
})

test('of two devices with one id at once one is added, and two others both are', async (t) => {
  const { add, path } = await bench(t)
  const same = { device_id: 'shaker-1', driver: 'bioshake', transport: simulated }
  t.same((await Promise.all([add(same), add(same)])).map(({ status }) => status).sort(), [201, 409])
  const others = ['shaker-2', 'shaker-3'].map((device_id) => add({ ...same, device_id }))
  t.same(
    (await Promise.all(others)).map(({ status }) => status),
    [201, 201],
  )
  t.same(
    (await readConfig(path)).devices.map(({ device_id }) => device_id),
    ['sealer-1', 'shaker-1', 'shaker-2', 'shaker-3'],
  )
})

test('a file with changes of somebody else, or with a mistake, is not written', async (t) => {
  const { add, path, config } = await bench(t)
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: simulated }
  const changed = first.replace('"a4s"', '"plateloc"')
  writeFileSync(path, changed)
  const pending = await add(shaker)
  isRefusal(t, pending, 409, 'conflict')
  t.match(pending.text, /sealer-1\.driver.*POST \/api\/system\/reload/)
  t.equal(config(), changed)
  writeFileSync(path, '{ "format": ')
  isRefusal(t, await add(shaker), 400, 'invalid')
  t.equal(config(), '{ "format": ')
})

test('a service without a configuration file says so', async (t) => {
  const { openTestBench } = await import('../testing/http.ts')
  const { ask } = await openTestBench(t)
  t.match((await ask('GET', '/api/drivers')).body, { config_file: null, is_writable: false })
  const refused = await ask('POST', '/api/devices', { json: { device_id: 'hands', driver: 'person' } })
  isRefusal(t, refused, 409, 'conflict')
})

/** A disk of its own, which needs the rights to mount one. */
function mounted(t: Test): string | undefined {
  const folder = t.testdir({})
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  return folder
}

test('a file that the service may not write is refused beforehand, and stays', async (t) => {
  const ending = atTheEnd(t)
  const disk = mounted(t)
  if (disk !== undefined) ending.push(async () => execFileSync('umount', [disk]))
  const { add, ask, config, folder } = await bench(t, disk === undefined ? {} : { folder: disk })
  if (disk === undefined) chmodSync(folder, 0o555)
  else execFileSync('mount', ['-o', 'remount,ro', disk])
  t.match((await ask('GET', '/api/drivers')).body, { is_writable: false })
  const refused = await add({ device_id: 'hands', driver: 'person' })
  isRefusal(t, refused, 403, 'forbidden')
  t.match(refused.text, /the service may not write .*config\.json/)
  t.equal(config(), first)
  if (disk === undefined) chmodSync(folder, 0o755)
})

test('on a full disk nothing is changed', async (t) => {
  const ending = atTheEnd(t)
  const disk = mounted(t)
  if (disk === undefined) return t.comment('needs the rights to mount a small disk')
  ending.push(async () => execFileSync('umount', [disk]))
  const { add, config, copies } = await bench(t, { folder: disk })
  t.throws(() => writeFileSync(`${disk}/ballast`, Buffer.alloc(128 * 1024)), { code: 'ENOSPC' })
  isRefusal(t, await add({ device_id: 'hands', driver: 'person' }), 503, 'storage')
  t.same([config(), copies()], [first, []])
  execFileSync('rm', [`${disk}/ballast`])
  t.match(await add({ device_id: 'hands', driver: 'person' }), { status: 201 })
})

test('an instrument on the network is asked and added by its address, and stopped; its deadline is that of its brake', async (t) => {
  const { ask, add, ending } = await bench(t)
  const served = await serveOnTcp(microspin, {}, { port: 0, time_scale: 100 })
  ending.push(() => served.close())
  const transport = { kind: 'tcp', host: '127.0.0.1', port: served.port }
  const settings = { deceleration: 20 }
  const told = await ask('POST', '/api/drivers/microspin/identify', { transport, settings })
  t.match(told.body, { identity: { model: 'MicroSpin', serial_number: 'SIM-0001' }, is_wrong: false })
  t.match(await add({ device_id: 'spin-1', driver: 'microspin', transport, settings }), { status: 201, body: { in_force: true } })
  t.match((await add({ device_id: 'spin-2', driver: 'microspin', transport })).body, { detail: /spin-1 is on that port/ })
  const { operations } = (await ask('GET', '/api/devices/spin-1/capabilities')).body as {
    operations: { name: string; max_seconds: number }[]
  }
  t.equal(operations.find(({ name }) => name === 'centrifuge')?.max_seconds, 3600 + 900)
  t.match(await ask('POST', '/api/devices/spin-1/initialize', {}), { status: 200 })
  const spinning = ask('POST', '/api/devices/spin-1/centrifuge', { g: 500, duration: 3600 })
  while (!served.simulator.world.moving) await new Promise((resolve) => setTimeout(resolve, 10))
  t.match(await ask('POST', '/api/devices/spin-1/stop', {}), { status: 200, body: { success: true } })
  t.match(await spinning, { body: { success: false } })
  t.equal(served.simulator.world.latched, true)
})
