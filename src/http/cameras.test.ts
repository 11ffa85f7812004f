// Pictures of cameras over the API, and those that are kept.

import { type Test, test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { jpeg, openCamera } from '../testing/camera.ts'
import { isRefusal, openService } from '../testing/http.ts'

async function benchWith(t: Test, more: object = {}) {
  const camera = await openCamera()
  const bench = await openService(t, { cameras: [{ name: 'deck', url: camera.url, ...more }] })
  t.teardown(() => camera.close())
  return { camera, ...bench }
}

/** Asks until the answer has something. */
async function found<Item>(ask: () => Promise<Item[]>): Promise<Item[]> {
  for (;;) {
    const items = await ask()
    if (items.length > 0) return items
  }
}

test('a picture comes from the service itself, with headers that let nothing run, and no address is shown', async (t) => {
  const { ask, url, secrets, camera } = await benchWith(t)
  t.match((await ask('GET', '/api/cameras', { key: 'read' })).body, {
    cameras: [{ name: 'deck', taken_at: null, failure: null, at_incidents: false, at_run_ends: false }],
  })
  const answer = await fetch(`${url}/api/cameras/deck/picture`, { headers: { 'X-API-Key': secrets.read } })
  t.same(Buffer.from(await answer.arrayBuffer()), jpeg)
  const headers = Object.fromEntries(answer.headers)
  t.match(headers, {
    'content-type': 'image/jpeg',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'last-modified': /GMT$/,
  })
  isRefusal(t, await ask('GET', '/api/cameras/deck/picture', { key: null }), 401)
  isRefusal(t, await ask('GET', '/api/cameras/door/picture'), 404, 'not_found')
  const config = await ask('GET', '/api/system/config')
  t.match(config.body, { cameras: [{ name: 'deck' }] })
  t.notMatch(config.text, 'T0K3N')
  t.equal(camera.asked, 1)
})

test('a dead camera is told and delays nothing', async (t) => {
  const { ask, camera, bench } = await benchWith(t, { at_incidents: true })
  let arrived = () => {}
  const here = new Promise<void>((resolve) => {
    arrived = resolve
  })
  camera.answer = arrived
  const lost = ask('GET', '/api/cameras/deck/picture')
  await here
  t.match(await ask('POST', '/api/devices/shaker-1/initialize'), { status: 200 })
  const { incident_id } = bench.hub.incident('OTHER', 'something happened')
  t.match((await ask('GET', `/api/incidents/${incident_id}`)).body, { pictures: [] })
  t.match((await ask('POST', '/api/stop')).status, 200)
  const refused = await lost
  isRefusal(t, refused, 500, 'no_reply')
  t.match(refused.text, 'the camera deck has sent no whole picture within 2 s')
  t.match((await ask('GET', '/api/cameras')).body, { cameras: [{ failure: /2 s/ }] })
})

test('a picture is kept with an incident, where that is configured', async (t) => {
  const { ask, bench, url, secrets } = await benchWith(t, { at_incidents: true })
  const { incident_id } = bench.hub.incident('OTHER', 'something happened')
  const pictures = await found(async () => {
    const { body } = await ask('GET', `/api/incidents/${incident_id}`)
    return (body as { pictures: string[] }).pictures
  })
  t.same(pictures, ['deck'])
  const answer = await fetch(`${url}/api/incidents/${incident_id}/pictures/deck`, { headers: { 'X-API-Key': secrets.read } })
  t.same(Buffer.from(await answer.arrayBuffer()), jpeg)
  t.match(Object.fromEntries(answer.headers), { 'content-type': 'image/jpeg', 'x-content-type-options': 'nosniff' })
  isRefusal(t, await ask('GET', `/api/incidents/${incident_id}/pictures/door`), 404, 'not_found')
  const list = (await ask('GET', '/api/incidents')).body as { incidents: { pictures: string[] }[] }
  t.same(
    list.incidents.map(({ pictures }) => pictures),
    [['deck']],
  )
})

test('by default no picture is kept', async (t) => {
  const { ask, bench, camera } = await benchWith(t)
  const { incident_id } = bench.hub.incident('OTHER', 'something happened')
  await bench.hub.incidents.written()
  t.match((await ask('GET', `/api/incidents/${incident_id}`)).body, { pictures: [] })
  t.equal(camera.asked, 0)
})

test('a picture is a file of a LIVE run that has ended, where that is configured', async (t) => {
  const { ask, bench, camera } = await benchWith(t, { at_run_ends: true })
  t.equal((await ask('POST', '/api/teachpoints/bulk', { json: demoTeachpoints })).status, 200)
  t.equal((await ask('POST', '/api/topology/load', { json: { name: 'demo' } })).status, 200)
  const submitted = await ask('POST', '/api/submissions', { json: { workflow: 'seal-and-spin', run_mode: 'LIVE' } })
  t.equal(submitted.status, 202, submitted.text)
  const { execution_id } = submitted.body as { execution_id: string }
  const { runtime } = bench.runs
  await runtime.over(runtime.runs.get(execution_id)!)
  type File = { name: string; media_type: string; bytes: number; note: string }
  const [file] = await found(async () => {
    const { body } = await ask('GET', `/api/executions/${execution_id}/files`)
    return (body as { files: File[] }).files
  })
  t.match(file, { name: /^camera-deck-\d{8}T\d{6}\.jpeg$/, media_type: 'image/jpeg', bytes: jpeg.length, note: /at the end of the run/ })
  t.equal(camera.asked, 1)
})
