// Jog, go to and free drive over HTTP: the renewals, whom they refuse, and what they leave in the audit trail.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import type { OperationRecord } from '../devices/records.ts'
import { isRefusal, openService, openTestBench, type TestedBench } from '../testing/http.ts'

const arm = '/api/devices/arm-1'
const along = { axis: 'x', direction: '+' }
const async = { Prefer: 'respond-async' }

async function jogging({ ask }: Pick<TestedBench, 'ask'>, json: object = along, operation = 'jog') {
  const begun = await ask('POST', `${arm}/${operation}`, { json, headers: async })
  return `/api/operations/${(begun.body as OperationRecord).operation_id}`
}

test('a jog is renewed with 204, and ended with DELETE; a late renewal is 409', async (t) => {
  const bench = await openTestBench(t)
  const { ask, clock } = bench
  await ask('POST', `${arm}/initialize`)
  const operation = await jogging(bench)
  for (let i = 0; i < 5; i++) {
    const renewed = await ask('POST', `${operation}/renew`)
    t.match({ status: renewed.status, text: renewed.text }, { status: 204, text: '' })
    await clock.advance(100)
  }
  isRefusal(t, await ask('POST', `${operation}/renew`, { key: 'read' }), 403, 'forbidden')
  isRefusal(t, await ask('POST', `${operation}/renew`, { key: 'operate' }), 423, 'locked')
  t.equal((await ask('DELETE', operation)).status, 202)
  await clock.advance(100)
  const result = { success: true, message: /^arm-1: jogged x by \+\d+(\.\d)? mm; its caller ended it$/ }
  t.match(await ask('GET', operation), { body: { status: 'ended', ended_early: true, result } })
  isRefusal(t, await ask('POST', `${operation}/renew`), 409, 'conflict')
  isRefusal(t, await ask('POST', '/api/operations/none/renew'), 404, 'not_found')
  t.match(await ask('GET', arm), { body: { state: 'ready', fault: null, stopped: null } })
})

test('begin and end of a jog are in the audit trail, and its renewals are not', async (t) => {
  const bench = await openTestBench(t)
  const { ask } = bench
  await ask('POST', `${arm}/initialize`)
  const operation = await jogging(bench)
  await ask('POST', `${operation}/renew`)
  await ask('DELETE', operation)
  const { entries } = (await ask('GET', '/api/system/audit')).body as { entries: { what: string }[] }
  const whats = entries.map(({ what }) => what)
  t.ok(whats.includes(`POST ${arm}/jog`))
  t.ok(whats.includes(`DELETE ${operation}`))
  t.notOk(whats.some((what) => what.endsWith('/renew')))
})

test('a jog without respond-async answers at the end of the first window', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', `${arm}/initialize`)
  t.match(await ask('POST', `${arm}/jog`, { json: along }), {
    status: 200,
    body: { success: true, message: /nothing renewed it for 150 ms$/ },
  })
})

test('words and numbers that a jog does not take are refused, and nothing moves', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', `${arm}/initialize`)
  for (const json of [
    {},
    { axis: 'x' },
    { axis: 'w', direction: '+' },
    { axis: 'roll', direction: '+' },
    { axis: 'x', direction: 'up' },
    { ...along, speed: 21 },
    { ...along, speed: 0 },
    { ...along, steps: 3 },
  ])
    isRefusal(t, await ask('POST', `${arm}/jog`, { json }), 400, 'invalid')
  isRefusal(t, await ask('POST', '/api/devices/shaker-1/jog', { json: along }), 400, 'invalid')
  t.match(await ask('GET', arm), { body: { state: 'ready' } })
})

test('go to moves to a taught point by the way that runs take, or above it; an unknown one is refused', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', `${arm}/initialize`)
  const coords = { x: 300, y: 200, z: 100, yaw: 0, pitch: 0, roll: 0 }
  const taught = { device_id: 'arm-1', coord_type: 'cartesian', coords }
  await ask('POST', '/api/teachpoints', { json: { ...taught, name: 'gate', coords: { ...coords, z: 300 } } })
  await ask('POST', '/api/teachpoints', { json: { ...taught, name: 'rack', gateway: 'gate' } })
  const above = await ask('POST', `${arm}/go_to`, { json: { teachpoint: 'rack', offset_z: 50 } })
  t.match(above, { status: 200, body: { success: true, message: 'arm-1: stands 50 mm above rack' } })
  t.match(await ask('GET', `${arm}/pose`), { body: { coords: { ...coords, z: 150 } } })
  const { frames } = (await ask('GET', `${arm}/wire`)).body as { frames: { text?: string }[] }
  t.match(JSON.stringify(frames), /via 1 300\.000 200\.000 300\.000/)
  isRefusal(t, await ask('POST', `${arm}/go_to`, { json: { teachpoint: 'rock' } }), 404, 'not_found')
  isRefusal(t, await ask('POST', `${arm}/go_to`, { json: { teachpoint: 'rack', offset_z: -1 } }), 400, 'invalid')
  isRefusal(t, await ask('POST', `${arm}/go_to`, { json: { teachpoint: 'gate', offset_z: 1000 } }), 400, 'invalid')
  t.match(await ask('GET', arm), { body: { state: 'ready' } })
})

test('a lease of another key refuses all three', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', `${arm}/initialize`)
  const coords = { x: 300, y: 200, z: 100, yaw: 0, pitch: 0, roll: 0 }
  await ask('POST', '/api/teachpoints', { json: { device_id: 'arm-1', name: 'pad_1', coord_type: 'cartesian', coords } })
  await ask('PUT', `${arm}/lock`, { json: { owner: 'Anna', ttl_s: 600 } })
  for (const [name, json] of [
    ['jog', along],
    ['free_drive', {}],
    ['go_to', { teachpoint: 'pad_1' }],
  ] as const)
    isRefusal(t, await ask('POST', `${arm}/${name}`, { json, key: 'operate' }), 423, 'locked')
})

// A client that is gone, over real sockets and in real time.

/** A program that jogs until it is killed, and prints each renewal. It begins anew where this computer was too slow to renew in time. */
const jogger = `
const { BENCH: url, KEY: key } = process.env
const ask = (method, path, body) => fetch(url + path, { method, body, headers: { 'X-API-Key': key, Prefer: 'respond-async', 'Content-Type': 'application/json' } })
const begin = async () => (await (await ask('POST', '${arm}/jog', JSON.stringify({ axis: 'yaw', direction: '+' }))).json()).operation_id
let operation_id = await begin()
for (;;) {
  const { status } = await ask('POST', '/api/operations/' + operation_id + '/renew')
  console.log(status)
  if (status !== 204) operation_id = await begin()
  await new Promise((resolve) => setTimeout(resolve, 50))
}`

function jogs(t: Test, url: string, key: string): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', jogger], {
    env: { ...process.env, BENCH: url, KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Forwards connections, until `cut` lets nothing through any more without closing a socket. */
async function wire(t: Test, port: number) {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (!isCut) to.write(bytes)
      })
      from.on('error', () => {})
      from.on('close', () => {
        if (!isCut) to.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const cut = () => {
    isCut = true
  }
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, cut }
}

test('the jog of a client that is killed, or cut off without a word, ends gently', async (t) => {
  const { bench, port, secrets } = await openService(t, { time_scale: 1 })
  const arm = bench.registry.find('arm-1')
  await arm.perform('initialize', {})
  for (const isKilled of [true, false]) {
    const { url, cut } = await wire(t, port)
    const child = jogs(t, url, secrets.operate)
    for (let renewed = 0; renewed < 3; ) renewed = /^204\n/.test(String((await once(child.stdout!, 'data'))[0])) ? renewed + 1 : 0
    if (isKilled) child.kill('SIGKILL')
    else cut()
    while (arm.operation.run) await new Promise((resolve) => setTimeout(resolve, 10))
    const result = { success: true, message: /nothing renewed it for 150 ms$/ }
    t.match(arm.info(), { state: 'ready', fault: null, stopped: null, last_operation: { operation: 'jog', ended_early: true, result } })
  }
})
