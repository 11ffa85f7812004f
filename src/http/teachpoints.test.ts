// The rows of the teachpoints, over HTTP, and what of them survives a SIGKILL of the service.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { Keys } from '../keys/keys.ts'
import { atTheEnd, isRefusal, openTestBench } from '../testing/http.ts'

const points = '/api/teachpoints'
const coords = { x: 1, y: -2.5, z: 3e-3, yaw: 0, pitch: 0, roll: 180 }
const at = (name: string, more: object = {}) => ({ device_id: 'arm-1', name, coord_type: 'cartesian', coords, ...more })
const joints = { base: 1, shoulder: 2, elbow: 3, wrist: 4, rail: 0, gripper: 0 }

test('a point is created, read, listed, replaced and deleted', async (t) => {
  const { ask } = await openTestBench(t)
  const full = at('home', { orientation: 'left', access: { access_type: 'vertical', vertical_clearance: 50 }, gateway: 'safe' })
  const created = await ask('POST', points, { json: full, key: 'operate' })
  t.strictSame([created.status, created.body], [201, full])
  t.equal(created.headers.get('location'), `${points}/arm-1/home`)
  t.strictSame((await ask('GET', `${points}/arm-1/home`, { key: 'read' })).body, full)
  const jointed = { coord_type: 'joint', coords: { base: 1, shoulder: 2, elbow: 3, wrist: 4 } }
  const replaced = await ask('PUT', `${points}/arm-1/home`, { json: jointed })
  const expected = { device_id: 'arm-1', name: 'home', coord_type: 'joint', coords: joints }
  t.strictSame([replaced.status, replaced.body], [200, expected], 'whole: what the body leaves out is gone')
  await ask('POST', points, { json: at('B') })
  t.strictSame((await ask('GET', `${points}?device_id=arm-1`, { key: 'read' })).body, { teachpoints: [at('B'), expected] })
  t.strictSame((await ask('GET', `${points}?device_id=robot-1`)).body, { teachpoints: [] })
  const deleted = await ask('DELETE', `${points}/arm-1/home`)
  t.strictSame([deleted.status, deleted.body], [200, { success: true, message: 'deleted "home" of arm-1' }])
  isRefusal(t, await ask('GET', `${points}/arm-1/home`), 404, 'not_found')
  isRefusal(t, await ask('DELETE', `${points}/arm-1/home`), 404, 'not_found')
})

test('a point is found at the name that was sent, with the white space at its ends', async (t) => {
  const { ask } = await openTestBench(t)
  const created = await ask('POST', points, { json: at(' lead') })
  t.match([created.status, created.body], [201, { name: 'lead' }])
  const path = `${points}/arm-1/%20lead`
  t.match((await ask('GET', path)).body, { name: 'lead' })
  t.match((await ask('GET', `${path}/history`)).body, { versions: [{}] })
  t.match((await ask('PUT', path, { json: { coord_type: 'cartesian', coords: { ...coords, x: 7 } } })).body, {
    name: 'lead',
    coords: { x: 7 },
  })
  const { versions } = (await ask('GET', `${path}/history`)).body as { versions: { version: string }[] }
  t.match((await ask('POST', `${path}/restore`, { json: { version: versions[1]!.version } })).body, { name: 'lead', coords: { x: 1 } })
  t.equal((await ask('DELETE', path)).status, 200)
})

test('a point that was changed since it was read is not replaced by whoever says what he read', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', points, { json: at('home') })
  const tag = (await ask('GET', `${points}/arm-1/home`)).headers.get('etag')!
  const moved = at('home', { coords: { ...coords, x: 2 } })
  const first = await ask('PUT', `${points}/arm-1/home`, { json: moved, headers: { 'If-Match': tag } })
  t.equal(first.status, 200)
  const second = await ask('PUT', `${points}/arm-1/home`, { json: at('home'), headers: { 'If-Match': tag } })
  isRefusal(t, second, 409, 'conflict')
  t.strictSame((await ask('GET', `${points}/arm-1/home`)).body, moved)
  const again = await ask('PUT', `${points}/arm-1/home`, { json: at('home'), headers: { 'If-Match': first.headers.get('etag')! } })
  t.equal(again.status, 200)
  t.equal((await ask('PUT', `${points}/arm-1/home`, { json: moved, headers: { 'If-Match': '*' } })).status, 200)
})

test('what is missing is named: the device, or the point', async (t) => {
  const { ask } = await openTestBench(t)
  for (const [method, path, json] of [
    ['GET', `${points}?device_id=arm-9`],
    ['GET', `${points}/arm-9/home`],
    ['PUT', `${points}/arm-9/home`, at('home')],
    ['DELETE', `${points}/arm-9/home`],
    ['GET', `${points}/export/arm-9`],
    ['POST', points, at('home', { device_id: 'arm-9' })],
    ['POST', `${points}/bulk`, [at('home', { device_id: 'arm-9' })]],
  ] as const) {
    const answer = await ask(method, path, { json })
    isRefusal(t, answer, 404, 'not_found')
    t.match(answer.text, /no device \\"arm-9\\"/)
  }
  isRefusal(t, await ask('GET', points), 400, 'invalid')
  const missing = await ask('PUT', `${points}/arm-1/nowhere`, { json: at('nowhere') })
  isRefusal(t, missing, 404)
  t.match(missing.text, /arm-1.*nowhere/)
})

test('a body that is not a teachpoint is refused, and nothing is stored', async (t) => {
  const { ask, bench } = await openTestBench(t)
  const { roll: _, ...lacking } = coords
  for (const json of [
    {},
    [],
    null,
    at('home', { coords: lacking }),
    at('home', { coords: { ...coords, tilt: 1 } }),
    at('home', { coords: { ...coords, x: '1' } }),
    at('home', { coords: [1, 2, 3] }),
    at('home', { coord_type: 'polar' }),
    at('home', { coord_type: 'joint' }),
    at('home', { note: 'x' }),
    at('home', { gateway: 'home' }),
    at('home', { device_id: 'a.b' }),
    at(''),
    { ...at('x'), name: 7 },
  ])
    isRefusal(t, await ask('POST', points, { json }), 400, 'invalid')
  t.same(bench.teachpoints.list('arm-1'), [])
})

test('PUT changes neither name nor device', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', points, { json: at('home') })
  const path = `${points}/arm-1/home`
  isRefusal(t, await ask('PUT', path, { json: at('other') }), 400, 'invalid')
  isRefusal(t, await ask('PUT', path, { json: at('home', { device_id: 'robot-1' }) }), 400, 'invalid')
  t.equal((await ask('PUT', path, { json: at('home') })).status, 200)
  t.equal((await ask('PUT', path, { json: { coord_type: 'cartesian', coords } })).status, 200)
  isRefusal(t, await ask('PUT', path), 400, 'invalid')
  isRefusal(t, await ask('PUT', path, { json: {} }), 400, 'invalid')
})

test('a bulk import is all or nothing, as an object or as the bare array', async (t) => {
  const { ask } = await openTestBench(t)
  const listed = async () => ((await ask('GET', `${points}?device_id=arm-1`)).body as { teachpoints: object[] }).teachpoints
  const first = await ask('POST', `${points}/bulk`, { json: { teachpoints: [at('a'), at('b')] } })
  t.strictSame([first.status, first.body], [200, { success: true, message: '2 created, 0 updated', created: 2, updated: 0 }])
  t.strictSame((await ask('POST', `${points}/bulk`, { json: [at('c')] })).body, {
    success: true,
    message: '1 created, 0 updated',
    created: 1,
    updated: 0,
  })
  const before = await listed()
  isRefusal(t, await ask('POST', `${points}/bulk`, { json: [at('d'), at('a')] }), 409, 'exists')
  isRefusal(t, await ask('POST', `${points}/bulk`, { json: [at('d'), at('d')] }), 400, 'invalid')
  isRefusal(t, await ask('POST', `${points}/bulk`, { json: { teachpoints: [at('d'), at('d')], overwrite: true } }), 400, 'invalid')
  isRefusal(t, await ask('POST', `${points}/bulk`, { json: [at('d'), at('e', { coord_type: 'polar' })] }), 400, 'invalid')
  isRefusal(t, await ask('POST', `${points}/bulk`, { json: { device_id: 'robot-1', teachpoints: [at('d')] } }), 400, 'invalid')
  isRefusal(t, await ask('POST', `${points}/bulk`, { json: [at('d'), at('e', { device_id: 'arm-9' })] }), 404, 'not_found')
  t.same(await listed(), before)
  const moved = at('a', { coords: { ...coords, x: 9 } })
  const both = await ask('POST', `${points}/bulk`, { json: { teachpoints: [moved, at('d')], overwrite: true } })
  t.strictSame(both.body, { success: true, message: '1 created, 1 updated', created: 1, updated: 1 })
  t.strictSame(await listed(), [moved, at('b'), at('c'), at('d')])
})

test('what is exported is imported to the same', async (t) => {
  const { ask } = await openTestBench(t)
  const all = [
    at('Ablage 3/ü', { access: 'from above' }),
    at('a', { orientation: 'right', gateway: 'b' }),
    { ...at('j'), coord_type: 'joint', coords: joints },
  ]
  await ask('POST', `${points}/bulk`, { json: all })
  const exported = await ask('GET', `${points}/export/arm-1`, { key: 'read' })
  t.strictSame(exported.body, { device_id: 'arm-1', teachpoints: all.sort((a, b) => (a.name < b.name ? -1 : 1)) })
  for (const { name } of all) await ask('DELETE', `${points}/arm-1/${encodeURIComponent(name)}`)
  const headers = { 'Content-Type': 'application/json' }
  t.match(await ask('POST', `${points}/bulk`, { headers, body: exported.text }), { status: 200, body: { created: 3, updated: 0 } })
  t.equal((await ask('GET', `${points}/export/arm-1`)).text, exported.text)
  t.match(await ask('POST', `${points}/bulk`, { json: { ...(exported.body as object), overwrite: true } }), {
    body: { created: 0, updated: 3 },
  })
  t.equal((await ask('GET', `${points}/export/arm-1`)).text, exported.text)
})

test('of many who create a name at the same time exactly one wins', async (t) => {
  const { ask } = await openTestBench(t)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, x) => ask('POST', points, { json: at('home', { coords: { ...coords, x } }) })),
  )
  const won = answers.filter(({ status }) => status === 201)
  t.equal(won.length, 1)
  for (const answer of answers) if (answer.status !== 201) isRefusal(t, answer, 409, 'exists')
  t.strictSame((await ask('GET', `${points}/arm-1/home`)).body, won[0]?.body)
})

test('a body may be 2 MiB for an import, and 256 KiB elsewhere', async (t) => {
  const { ask } = await openTestBench(t)
  const headers = { 'Content-Type': 'application/json' }
  const padded = (bytes: number) => `[${' '.repeat(bytes - 2)}]`
  t.equal((await ask('POST', `${points}/bulk`, { headers, body: padded(2 * 1024 * 1024) })).status, 200)
  isRefusal(t, await ask('POST', `${points}/bulk`, { headers, body: padded(2 * 1024 * 1024 + 1) }), 413, 'too_large')
  isRefusal(t, await ask('POST', points, { headers, body: padded(256 * 1024) }), 400, 'invalid')
  isRefusal(t, await ask('POST', points, { headers, body: padded(256 * 1024 + 1) }), 413, 'too_large')
})

// The store alone is killed a hundred times in src/teachpoints; each of these is a start of the whole service.
const kills = 12
const writers = 4

test('a service that is killed at any moment has every write that it answered, and starts again', async (t) => {
  const ending = atTheEnd(t)
  const folder = t.testdir({})
  const data_dir = `${folder}/data`
  const devices = [{ device_id: 'arm-1', driver: 'external' }]
  writeFileSync(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices }))
  mkdirSync(data_dir, { mode: 0o700 })
  const key = await keyFor(data_dir)
  let child: ChildProcess | undefined
  ending.push(async () => void child?.kill('SIGKILL'))

  /** By writer, the number that was answered last; none of its points is there while it is even. */
  const answered: number[] = Array(writers).fill(0)
  let writes = 0
  for (let kill = 0; kill <= kills; kill++) {
    const started = await served(folder)
    child = started.child
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    const { teachpoints } = (await (await fetch(`${started.url}${points}?device_id=arm-1`, { headers })).json()) as {
      teachpoints: { name: string; coords: { x: number } }[]
    }
    for (let writer = 0; writer < writers; writer++) {
      const there = teachpoints.find(({ name }) => name === `w${writer}`)?.coords.x
      const last = answered[writer]!
      const isAs = (round: number) => (round % 3 === 0 ? there === undefined : there === round)
      if (isAs(last)) continue
      // What was under way may be there: then the writer goes on after it.
      if (isAs(last + 1)) answered[writer] = last + 1
      else t.fail(`kill ${kill}: round ${last} of writer ${writer} was answered, and ${there} is there`)
    }
    if (kill === kills) break
    const ended = once(started.child, 'close')
    const enough = 4 + ((kill * 7) % 13)
    let now = 0
    await Promise.all(
      answered.map(async (_, writer) => {
        for (;;) {
          const ok = await write(started.url, headers, writer, answered[writer]! + 1)
          if (!ok) return
          answered[writer]!++
          writes++
          if (++now === enough) started.child.kill('SIGKILL')
        }
      }),
    )
    const [, signal] = await ended
    t.equal(signal, 'SIGKILL')
  }
  t.ok(writes > kills * 4, `${writes} writes were answered over ${kills} kills`)
})

/** Create, replace, delete, and again. False when the service is gone. */
async function write(url: string, headers: Record<string, string>, writer: number, round: number): Promise<boolean> {
  const point = at(`w${writer}`, { coords: { ...coords, x: round } })
  const [method, path] = round % 3 === 1 ? ['POST', points] : [round % 3 === 2 ? 'PUT' : 'DELETE', `${points}/arm-1/w${writer}`]
  const body = method === 'DELETE' ? null : JSON.stringify(point)
  const response = await fetch(url + path, { method, headers, body }).catch(() => undefined)
  if (!response) return false
  if (!response.ok) throw new Error(`${method} ${path} was refused: ${await response.text()}`)
  return true
}

async function keyFor(folder: string): Promise<string> {
  const keys = await Keys.open({ folder, report: () => undefined })
  const { api_key } = await keys.create({ name: 'writer', scope: 'operate' })
  keys.close()
  return api_key
}

async function served(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const main = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))
  const args = [main, 'serve', '--config', `${folder}/config.json`, '--data-dir', `${folder}/data`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\/\/[\d.]+:\d+/.exec(line) ?? []
    if (url) return { child, url }
  }
  throw new Error('the service ended before it listened')
}
