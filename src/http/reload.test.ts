// The configuration file, changed beside a service that runs.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import type { Driver } from '../../drivers/driver.ts'
import { drivers } from '../../drivers/index.ts'
import { type Served, serveOnPty } from '../../drivers/serve.ts'
import { serialPort } from '../../drivers/transports/serial_port.ts'
import { readConfig } from '../config.ts'
import { silent } from '../kit/log.ts'
import { startService } from '../main.ts'
import { byHand, oneArm, workflowOf } from '../testing/documents.ts'
import { atTheEnd, dialled, isRefusal, openTestBench, said } from '../testing/http.ts'

const robot = { device_id: 'robot-1', driver: 'external' }
/** A topology with a shaker that no configuration has yet, and workflows on it. */
const places = ['pad', 'shaker_in', 'shaker_2_in']
const twoShakers = oneArm({
  ...{ name: 'own', arm: 'arm-1', parking: ['pad'], nests: { shaker_in: 'shaker-1', shaker_2_in: 'shaker-2' } },
  operations: { 'shaker-1': {}, 'shaker-2': { shake: 5 } },
})
const work = (name: string, action: object, end = 'pad') => {
  const plate = { ...byHand('pad', end), steps: [{ method: 'only' }] }
  return workflowOf(name, { plate }, { topology: 'own', methods: { only: [action] } })
}
const fast = work('fast', { do: 'shake', on: 'shaker-2', with: { speed: 1200, duration: 5 } })
const wait = work('wait', { wait_for: 'never' })

/** For a reload of the configuration alone. */
const nothingElse = async () => () => undefined
const listen = { host: '127.0.0.1', port: 0 }

async function serving(t: Test, first: object = {}, topology?: object) {
  const ending = atTheEnd(t)
  const folder = t.testdir({ data: {}, topologies: topology ? { 'own.json': JSON.stringify(topology) } : {} })
  const path = `${folder}/config.json`
  const write = (more: object) => writeFileSync(path, JSON.stringify({ format: 1, listen, devices: [robot], ...more }))
  write(first)
  const source = { path, read: () => readConfig(path) }
  const service = await startService(await readConfig(path), {
    data_dir: `${folder}/data`,
    topologies: `${folder}/topologies`,
    source,
    log: silent,
  })
  ending.push(async () => {
    await service.close()
    await service.bench.keys.reload()
  })
  const { api_key } = await service.bench.keys.create({ name: 'test', scope: 'admin' })
  const port = Number(new URL(service.url).port)
  return { service, path, write, port, api_key }
}

async function plain(t: Test, first: object = {}, topology?: object) {
  const bench = await serving(t, first, topology)
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { 'X-API-Key': bench.api_key, ...(body && { 'Content-Type': 'application/json' }) }
    const response = await fetch(bench.service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as unknown }
  }
  const asHost = async (host: string) =>
    (await said(bench.port, `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).slice(9, 12)
  const allowed = async (origin: string) =>
    (await fetch(`${bench.service.url}/health`, { headers: { Origin: origin } })).headers.get('access-control-allow-origin')
  return { ...bench, ask, asHost, allowed }
}

test('a reload takes over what can change without a restart, and names the rest', async (t) => {
  const { ask, asHost, allowed, write, path, service } = await plain(t, { cors: { origins: ['http://old.lab'] }, hosts: ['old.lab'] })
  t.match(await ask('POST', '/api/system/reload'), {
    status: 200,
    body: { success: true, message: /^the configuration is as it was; /, config_file: path, applied: [], needs_restart: [], faults: [] },
  })
  t.same([await asHost('old.lab'), await asHost('new.lab'), await allowed('http://old.lab')], ['200', '421', 'http://old.lab'])
  write({
    hosts: ['new.lab'],
    cors: { origins: ['http://new.lab'] },
    limits: { subscribers: 1, connections: 9 },
    system_id: 'other',
    devices: [robot, { ...robot, device_id: 'robot-2' }],
  })
  const rest = ['system_id']
  const taken = ['hosts', 'cors.origins', 'limits.subscribers', 'limits.connections', 'devices: robot-2 is new']
  t.match((await ask('GET', '/api/system/changes')).body, {
    config_file: path,
    at_once: taken,
    needs_restart: rest,
  })
  t.equal(await asHost('old.lab'), '200', 'who asks changes nothing')
  t.match((await ask('POST', '/api/system/reload')).body, {
    message: /^taken over: hosts, cors\.origins, .*; needs a restart: system_id; \d+ topolog/,
    applied: taken,
    needs_restart: rest,
  })
  t.same([await asHost('old.lab'), await asHost('new.lab')], ['421', '200'])
  t.same([await allowed('http://old.lab'), await allowed('http://new.lab')], [null, 'http://new.lab'])
  const leave = new AbortController()
  t.teardown(() => leave.abort())
  const headers = { 'X-API-Key': (await service.bench.keys.create({ name: 'reader', scope: 'read' })).api_key }
  t.equal((await fetch(`${service.url}/events/stream`, { headers, signal: leave.signal })).status, 200)
  isRefusal(t, await ask('GET', '/events/stream'), 503, 'overloaded')
  t.match(await ask('GET', '/api/system'), { body: { system_id: 'system' } })
  t.match((await ask('POST', '/api/system/reload')).body, { applied: [], needs_restart: rest }, 'it stays due')
})

test('name and limits of a device are taken over and bound what is asked from then on, while it stays open', async (t) => {
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' }, limits: { speed: { max: 1500 } } }
  const { ask, write, service } = await plain(t, { devices: [shaker, robot], time_scale: 1000 })
  const change = (...devices: object[]) => write({ devices, time_scale: 1000 })
  const fastest = async () => (await ask('GET', '/api/devices/shaker-1/capabilities')).text.match(/"speed":\{[^}]*"max":(\d+)/)?.[1]
  const begun = service.bench.registry.find('shaker-1').perform('initialize', {})
  t.equal(await fastest(), '1500')
  change({ ...shaker, name: 'By the window', limits: { speed: { max: 900 } } }, { ...robot, name: 'Robbie' })
  const places = ['devices: shaker-1.limits.speed.max', 'devices: shaker-1.name', 'devices: robot-1.name']
  t.match((await ask('POST', '/api/system/reload')).body, { applied: places, needs_restart: [] })
  t.match((await ask('GET', '/api/devices')).body, { devices: [{ name: 'By the window' }, { name: 'Robbie' }] })
  t.equal(await fastest(), '900')
  await begun
  t.equal(await fastest(), '900', 'what the instrument tells of itself is bounded as well')
  t.equal((await ask('POST', '/api/devices/shaker-1/lock_plate')).status, 200)
  const refused = await ask('POST', '/api/devices/shaker-1/shake', { speed: 1000, duration: 1 })
  isRefusal(t, refused, 400, 'invalid')
  t.match(refused.text, /speed 1000 rpm is outside what shaker-1 takes: \d+ to 900 rpm/)
  t.match(await ask('GET', '/api/devices/shaker-1'), { body: { is_initialized: true } })
  change({ ...shaker, limits: { speed: { max: 800 } }, on_restart: 'leave' }, { ...robot, name: 'Robbie' })
  t.match((await ask('POST', '/api/system/reload')).body, { needs_restart: [] })
  t.equal(await fastest(), '800')
  t.match(await ask('GET', '/api/devices/shaker-1'), { body: { is_initialized: false } }, 'where more of it differs it is opened anew')
  change(shaker, robot)
  t.equal((await ask('POST', '/api/system/reload')).status, 200)
  t.equal(await fastest(), '1500')
})

test('workflows are held against the limits that a reload takes over', async (t) => {
  const own = oneArm({ name: 'own', arm: 'robot-1', parking: ['pad'], storages: ['end'], nests: { shaker_in: 'shaker-1' } })
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }
  const change = (max: number) => ({ devices: [{ ...shaker, limits: { speed: { max } } }, robot] })
  const { ask, write } = await plain(t, change(1500), own)
  const fast = work('fast', { do: 'shake', on: 'shaker-1', with: { speed: 1200, duration: 5 } }, 'end')
  const put = await ask('PUT', '/api/workflows/fast', fast)
  t.equal(put.status, 201, put.text)
  for (const [max, faults] of [
    [900, [{ origin: 'workflows.json', reason: /speed 1200 rpm is outside what shaker-1 takes: \d+ to 900 rpm/ }]],
    [1500, []],
  ] as const) {
    write(change(max))
    const reloaded = (await ask('POST', '/api/system/reload')).body as { applied: string[]; faults: object[] }
    t.same(reloaded.applied, ['devices: shaker-1.limits.speed.max'])
    t.equal(reloaded.faults.length, faults.length)
    t.match(reloaded.faults, faults)
    t.equal((await ask('GET', '/api/workflows/fast')).status, faults.length ? 404 : 200)
  }
})

test('who may not read the configuration is not told what stands in a file that has mistakes', async (t) => {
  const { service, ask, path } = await plain(t)
  const { api_key } = await service.bench.keys.create({ name: 'display', scope: 'read' })
  const changes = async () => {
    const response = await fetch(`${service.url}/api/system/changes`, { headers: { 'X-API-Key': api_key } })
    return { status: response.status, text: await response.text() }
  }
  t.match(await changes(), { status: 200 })
  const secret = 'https://hooks.example/T0K3N'
  for (const text of [JSON.stringify({ format: 1, listen, devices: [robot], notify: secret }), `{"notify": ${secret}}`, undefined]) {
    if (text === undefined) rmSync(path)
    else writeFileSync(path, text)
    const { status, text: told } = await changes()
    t.match(told, /repeat the request with a key of scope admin to see the mistake/)
    t.notMatch(told, /hooks|T0K3N/)
    const whole = await ask('GET', '/api/system/changes')
    t.equal(status, whole.status)
    t.notMatch(whole.text, /a key of scope admin/)
    if (text) t.match(whole.text, /hooks|https/, 'an admin is told')
  }
})

test('the arguments of a bridge are in no list of changes', async (t) => {
  const reader = (token: string) => ({
    ...{ device_id: 'reader-1', driver: 'bridge', type: 'reader', transport: { kind: 'bridge', command: ['cat', '--token', token] } },
  })
  const { ask, write } = await plain(t, { devices: [reader('T0K3N')] })
  write({ devices: [reader('T0K3N-2')] })
  const answers = [await ask('GET', '/api/system/changes'), await ask('GET', '/api/system/config'), await ask('POST', '/api/system/reload')]
  t.match(answers[0]!.body, { at_once: ['devices: reader-1.transport.command'] })
  for (const { status, text } of answers) t.same([status, text.includes('T0K3N')], [200, false], text)
})

const simulated = (device_id: string, driver: string, more: object = {}) => ({
  ...{ device_id, driver, transport: { kind: 'simulated' } },
  ...more,
})
type Reloaded = { applied: string[]; needs_restart: string[]; faults: { origin: string; reason: string }[] }

test('devices are added, changed and removed while the service runs', async (t) => {
  const [shaker, sealer] = [simulated('shaker-1', 'bioshake', { settings: { model: '3000' } }), simulated('sealer-1', 'a4s')]
  const { ask, write, service, api_key } = await plain(t, { devices: [shaker, robot, sealer], time_scale: 1000 }, twoShakers)
  const put = await ask('PUT', '/api/workflows/fast', fast)
  t.equal(put.status, 201, put.text)
  await ask('POST', '/api/devices/shaker-1/stop')
  write({
    devices: [
      simulated('shaker-2', 'bioshake', { limits: { speed: { max: 900 } } }),
      robot,
      { ...shaker, settings: { model: '3000-T elm' } },
    ],
    time_scale: 1000,
  })
  const applied = ['devices: sealer-1 is gone', 'devices: shaker-2 is new', 'devices: shaker-1.settings.model', 'devices: their order']
  t.same(((await ask('GET', '/api/system/changes')).body as { at_once: string[] }).at_once.toSorted(), applied.toSorted())
  const { status, body } = await ask('POST', '/api/system/reload')
  t.match({ status, body }, { status: 200, body: { needs_restart: [], message: /^taken over: devices: / } })
  t.match((body as Reloaded).faults, [
    { origin: 'workflows.json', reason: /speed 1200 rpm is outside what shaker-2 takes: \d+ to 900 rpm/ },
  ])
  const { events } = (await ask('GET', '/events?limit=1000')).body as { events: { event_name: string; context: object }[] }
  t.match(
    events.filter(({ event_name }) => /\.(ADDED|CHANGED|REMOVED)$/.test(event_name)),
    [
      { event_name: 'DEVICE.sealer-1.REMOVED', context: { device_name: 'sealer-1', changed: [] } },
      { event_name: 'DEVICE.shaker-2.ADDED', context: { device_name: 'shaker-2', changed: [] } },
      { event_name: 'DEVICE.shaker-1.CHANGED', context: { device_name: 'shaker-1', changed: ['settings.model'] } },
    ],
  )
  const { entries } = (await ask('GET', '/api/system/audit?limit=1000&outcome=done')).body as { entries: { what: string }[] }
  t.same(
    entries
      .map(({ what }) => what)
      .filter((what) => / by a reload/.test(what))
      .toSorted(),
    ['device sealer-1 removed by a reload', 'device shaker-1 changed by a reload: settings.model', 'device shaker-2 added by a reload'],
  )
  const ids = ['shaker-2', 'robot-1', 'shaker-1']
  t.match(await ask('GET', '/api/devices'), { body: { devices: ids.map((device_id) => ({ device_id })) } })
  const metrics = await (await fetch(`${service.url}/metrics`, { headers: { 'X-API-Key': api_key } })).text()
  const labelled = [...metrics.matchAll(/benchd_device_state\{device_id="([^"]+)/g)].map(([, device_id]) => device_id)
  t.same([...new Set(labelled)], ids)
  isRefusal(t, await ask('GET', '/api/devices/sealer-1'), 404, 'not_found')
  isRefusal(t, await ask('POST', '/api/sim/devices/sealer-1/faults', { fault: 'jam' }), 404, 'not_found')
  t.equal((await ask('POST', '/api/sim/devices/shaker-2/faults', { fault: 'jam' })).status, 200)
  t.equal((await ask('DELETE', '/api/sim/devices/shaker-2/faults')).status, 200)
  t.match(await ask('GET', '/api/devices/shaker-1/capabilities'), { text: /"set_temperature"/ })
  t.match(await ask('GET', '/api/devices/shaker-1'), { body: { fault: { error_type: 'Stopped' } } }, 'what is latched stays latched')
  for (const id of ['shaker-1', 'shaker-2']) {
    const begun = await ask('POST', `/api/devices/${id}/initialize`)
    t.equal(begun.status, 200, begun.text)
  }
  t.match((await ask('POST', '/api/system/reload')).body, { message: /^the configuration is as it was/ })
})

test('a device that is in use is neither changed nor removed, and nothing else of the reload is done', async (t) => {
  const shaker = simulated('shaker-1', 'bioshake')
  const arm = simulated('arm-1', 'arm')
  const { ask, write, asHost, service } = await plain(t, { devices: [shaker, arm] }, twoShakers)
  for (const devices of [[arm], [{ ...shaker, settings: { model: '3000' } }, arm]]) {
    const change = () => write({ devices: [...devices, simulated('sealer-1', 'a4s')], hosts: ['new.lab'] })
    const isRefused = async (words: RegExp) => {
      change()
      const refused = await ask('POST', '/api/system/reload')
      isRefusal(t, refused, 409, 'conflict')
      t.match(refused.text, words)
      t.equal(await asHost('new.lab'), '421')
      t.match(await ask('GET', '/api/devices'), { body: { devices: [{ device_id: 'shaker-1' }, { device_id: 'arm-1' }] } })
    }
    const begun = ask('POST', '/api/devices/shaker-1/initialize')
    while (!/"state":"busy"/.test((await ask('GET', '/api/devices/shaker-1')).text));
    await isRefused(/shaker-1 is running initialize; wait for that or stop it/)
    await ask('POST', '/api/devices/shaker-1/stop')
    await begun
    t.equal((await ask('PUT', '/api/devices/shaker-1/lock', { owner: 'Ana', ttl_s: 600 })).status, 200)
    await isRefused(/shaker-1 is kept by Ana; ask them/)
    t.equal((await ask('DELETE', '/api/devices/shaker-1/lock')).status, 200)
    const execution_id = await waiting(t, ask)
    await isRefused(new RegExp(`shaker-1 is used by execution ${execution_id} \\(wait\\); stop the run`))
    await ask('POST', '/api/topology/unload', { force: true })
    while (!service.bench.runs.runtime.runs.all().every(({ isOver }) => isOver)) await new Promise(setImmediate)
  }
  t.equal((await ask('POST', '/api/system/reload')).status, 200, 'it is free now')
  t.equal(await asHost('new.lab'), '200')
})

/** A run that is open, and does nothing. */
async function waiting(
  t: Test,
  ask: (method: string, path: string, body?: object) => Promise<{ status: number; text: string; body: unknown }>,
) {
  const coords = { x: 200, y: 100, z: 50, yaw: 0, pitch: 0, roll: 0 }
  const points = places.map((name) => ({ device_id: 'arm-1', name, coord_type: 'cartesian', coords }))
  await ask('POST', '/api/teachpoints/bulk', points)
  await ask('PUT', '/api/workflows/wait', wait)
  await ask('POST', '/api/topology/load', { name: 'own', force: true })
  const submitted = await ask('POST', '/api/submissions', { workflow: 'wait', run_mode: 'LIVE' })
  t.ok(submitted.status < 300, submitted.text)
  return (submitted.body as { execution_id: string }).execution_id
}

test('two instruments whose cables were swapped are exchanged, heat is off, and a stop counts all the while', async (t) => {
  const driver = (await drivers.bioshake()) as Driver
  const plugged = (side: string) => serveOnPty(driver, {}, { time_scale: 1000, link: `${tmpdir()}/benchd-${process.pid}-${side}` })
  const [left, right] = [await plugged('left'), await plugged('right')]
  for (const one of [left, right]) t.teardown(() => one.close())
  const on = (device_id: string, { path }: Served) => ({ device_id, driver: 'bioshake', transport: { kind: 'serial', path } })
  const { ask, write, service } = await plain(t, { devices: [on('shaker-1', left), on('shaker-2', right)] })
  const isState = async (device_id: string, state: string) => {
    while (service.bench.registry.find(device_id).state !== state) await new Promise(setImmediate)
  }
  for (const id of ['shaker-1', 'shaker-2']) {
    await isState(id, 'not_initialized')
    const begun = await ask('POST', `/api/devices/${id}/initialize`)
    t.equal(begun.status, 200, begun.text)
    t.equal((await ask('POST', `/api/devices/${id}/set_temperature`, { temperature: 60 })).status, 200)
  }
  write({ devices: [on('shaker-1', right), on('shaker-2', left)] })
  const reloaded = ask('POST', '/api/system/reload')
  while (left.simulator.world.heating || right.simulator.world.heating) await new Promise(setImmediate)
  await ask('POST', '/api/devices/shaker-1/stop')
  t.equal((await reloaded).status, 200)
  await isState('shaker-1', 'stopped')
  await isState('shaker-2', 'not_initialized')
  for (const id of ['shaker-1', 'shaker-2']) t.equal((await ask('POST', `/api/devices/${id}/initialize`)).status, 200, id)
  t.equal((await ask('POST', '/api/devices/shaker-2/set_temperature', { temperature: 60 })).status, 200)
  t.ok(left.simulator.world.heating, 'shaker-2 is the left one now')
  write({ devices: [on('shaker-1', right)] })
  const hot = await ask('POST', '/api/system/reload')
  isRefusal(t, hot, 409, 'conflict')
  t.match(hot.text, /shaker-2 may still move or heat; .*stop it/)
  write({ devices: [on('shaker-1', right), { device_id: 'shaker-2', driver: 'bioshake', transport: { kind: 'simulated' } }] })
  isRefusal(t, await ask('POST', '/api/system/reload'), 409, 'conflict')
  t.ok(left.simulator.world.heating, 'a simulator in its place would not reach it')
  write({ devices: [on('shaker-1', right)] })
  t.equal((await ask('POST', '/api/devices/shaker-2/stop')).status, 200)
  t.notOk(left.simulator.world.heating, 'somebody sees that it is off before it is let go')
  const gone = await ask('POST', '/api/system/reload')
  t.equal(gone.status, 200, gone.text)
  const port = serialPort({ path: left.path, serial: driver.serial })
  await port.open()
  await port.close()
})

test('fewer connections are taken from the reload on', async (t) => {
  const { service, port, write } = await serving(t)
  const request = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  const first = await dialled(port)
  t.teardown(() => first.destroy())
  t.match(await said(port, request), /^HTTP\/1\.1 200/)
  write({ limits: { connections: 1 } })
  await service.bench.reloading.take(nothingElse)
  const closed = once(first, 'close')
  t.match(await said(port, request), /^HTTP\/1\.1 200/)
  const second = await dialled(port)
  t.teardown(() => second.destroy())
  await closed
})

test('a file that is not right is refused with what is wrong in it, and nothing changes', async (t) => {
  const { ask, asHost, path, write } = await plain(t, { hosts: ['old.lab'] })
  for (const [text, words] of [
    ['{ "format": 1', /is not JSON/],
    [JSON.stringify({ format: 1, listen, hosts: ['new.lab'], devices: [robot, robot] }), /two devices are called robot-1/],
    [
      JSON.stringify({ format: 1, hosts: ['new.lab'], listen: { tls: { cert: '/none', key: '/none' } } }),
      /listen\.tls: \/none cannot be read/,
    ],
  ] as const) {
    writeFileSync(path, text)
    for (const [method, way] of [
      ['POST', 'reload'],
      ['GET', 'changes'],
    ] as const) {
      const refused = await ask(method, `/api/system/${way}`)
      isRefusal(t, refused, 400, 'invalid')
      t.match(refused.text, words)
    }
    t.same([await asHost('old.lab'), await asHost('new.lab')], ['200', '421'])
  }
  write({ hosts: ['new.lab'] })
  t.match((await ask('POST', '/api/system/reload')).body, { applied: ['hosts'] })
})

test('a reload whose topologies are refused takes over nothing of the configuration', async (t) => {
  const { service, asHost, write } = await plain(t)
  write({ hosts: ['new.lab'] })
  await t.rejects(
    service.bench.reloading.take(() => Promise.reject(new Error('runs are open'))),
    /runs are open/,
  )
  t.equal(await asHost('new.lab'), '421')
})

test('without a file that is said', async (t) => {
  const { ask } = await openTestBench(t)
  t.match(await ask('POST', '/api/system/reload'), {
    status: 200,
    body: { message: /^there is no configuration file to read; \d+ topolog/, config_file: null, applied: [], needs_restart: [] },
  })
})

test('a new certificate is served from the reload on', async (t) => {
  const folder = t.testdir()
  const script = fileURLToPath(new URL('../../../scripts/make-cert.sh', import.meta.url))
  const make = () => execFileSync(script, ['--force', folder], { stdio: 'pipe' })
  make()
  const { service, port } = await inFolder(t, folder)
  const before = service.fingerprint
  t.equal(await served(port), before)
  make()
  t.match(await service.bench.reloading.take(nothingElse), { at_once: ['listen.tls: the certificate'], needs_restart: [] })
  t.not(service.fingerprint, before)
  t.equal(await served(port), service.fingerprint)
  const key = readFileSync(`${folder}/key.pem`)
  make()
  writeFileSync(`${folder}/key.pem`, key)
  await t.rejects(service.bench.reloading.take(nothingElse), { code: 'invalid', message: /it is not of this key/ })
  t.equal(await served(port), service.fingerprint)
})

async function inFolder(t: Test, folder: string) {
  const ending = atTheEnd(t)
  const path = `${folder}/config.json`
  const tls = { cert: `${folder}/cert.pem`, key: `${folder}/key.pem` }
  writeFileSync(path, JSON.stringify({ format: 1, listen: { ...listen, tls } }))
  const source = { path, read: () => readConfig(path) }
  const service = await startService(await readConfig(path), { data_dir: `${folder}/data`, source, log: silent })
  ending.push(() => service.close())
  return { service, port: Number(new URL(service.url).port) }
}

/** The fingerprint of the certificate that is served. */
function served(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}
