// The state of a bench at a real MQTT broker, and commands that come over it.

import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openService } from '../testing/http.ts'
import { type Mosquitto, mosquitto } from '../testing/mosquitto.ts'
import { withMosquitto } from '../testing/with_mosquitto.ts'

const base = 'benchd/bench-1'

/** Opens a service that publishes to the broker, and waits until it does. */
async function published(t: Test, broker: Mosquitto, mqtt: object = {}) {
  const listener = await broker.listen()
  const online = listener.next(({ topic, payload }) => topic === `${base}/availability` && payload === 'online')
  const service = await openService(t, { system_id: 'bench-1', mqtt: { url: broker.url, ...mqtt } })
  await online
  const of = (topic: string, fits: (value: Record<string, unknown>) => boolean) =>
    listener.next((one) => one.topic === `${base}/${topic}` && one.payload !== '' && fits(JSON.parse(one.payload)))
  return { ...service, listener, of }
}

withMosquitto('devices are kept by the broker with their state, also for a client that comes later', async (t) => {
  const broker = await mosquitto(t)
  const { of, ask } = await published(t, broker)
  const ready = of('device/shaker-1/state', ({ is_initialized }) => is_initialized === true)
  await ask('POST', '/api/devices/shaker-1/initialize')
  await ready
  const kept = await broker.retained()
  t.match(JSON.parse(kept.get(`${base}/device/shaker-1/state`)!), { device_id: 'shaker-1', is_initialized: true, stopped: null })
  t.match(JSON.parse(kept.get(`${base}/state`)!), { status: /ok|degraded/ })
  t.same(
    [...kept.keys()].filter((topic) => topic.includes('/event/')),
    [],
  )
  t.match((await ask('GET', '/api/mqtt')).body, { link: { url: broker.url, topic: base, is_connected: true, failure: null } })
})

withMosquitto(
  'a run is kept while it is open, an incident until it is acknowledged, and events only where they are asked for',
  async (t) => {
    const broker = await mosquitto(t)
    const { listener, of, ask, bench } = await published(t, broker, { events: true })
    const gone = (start: string) => listener.next(({ topic, payload }) => topic.startsWith(`${base}/${start}`) && payload === '')
    const event = of('event/INCIDENT/OTHER', ({ event_name }) => /^INCIDENT\./.test(String(event_name)))
    const told = listener.next(({ topic, payload }) => topic.startsWith(`${base}/incident/`) && payload !== '')
    const { incident_id } = bench.hub.incident('OTHER', 'somebody should look at it')
    t.match(JSON.parse((await told).payload), { incident_id, message: 'somebody should look at it' })
    t.match(JSON.parse((await event).payload), { entity_id: incident_id })
    const acknowledged = gone('incident/')
    await ask('POST', `/api/incidents/${incident_id}/acknowledge`)
    await acknowledged
    t.same(
      [...(await broker.retained()).keys()].filter((topic) => /\/(incident|event)\//.test(topic)),
      [],
    )
  },
)

withMosquitto('values come anew after the broker was away, and those of things that are gone are removed', async (t) => {
  const broker = await mosquitto(t)
  const { bench, ask } = await published(t, broker)
  const { incident_id } = bench.hub.incident('OTHER', 'this one is over soon')
  await broker.kill()
  await ask('POST', `/api/incidents/${incident_id}/acknowledge`)
  await ask('POST', '/api/devices/shaker-1/stop')
  const stale = { [`${base}/incident/${incident_id}`]: '{"message": "this one is over soon"}', [`${base}/run/gone`]: '{}' }
  await broker.start(stale)
  let kept = await broker.retained()
  const isAsItIs = () =>
    !Object.keys(stale).some((topic) => kept.has(topic)) && /"stopped":\{/.test(kept.get(`${base}/device/shaker-1/state`) ?? '')
  while (!isAsItIs()) kept = await broker.retained()
  t.equal(bench.links.mqtt!.status().failure, null)
})

withMosquitto('the broker tells that the bench is gone, in good order or not', async (t) => {
  const broker = await mosquitto(t)
  const { listener, service } = await published(t, broker)
  const offline = listener.next(({ topic, payload }) => topic === `${base}/availability` && payload === 'offline')
  await service.close()
  await offline
  t.equal((await broker.retained()).get(`${base}/availability`), 'offline')
})

withMosquitto('commands are carried out with the configured key, but not those that the broker has kept', async (t) => {
  const broker = await mosquitto(t)
  broker.publish(`${base}/device/shaker-1/operate`, '{"operation": "initialize"}', '-r')
  const key = join(tmpdir(), `mqtt-${process.pid}.key`)
  t.teardown(() => rmSync(key, { force: true }))
  const { of, ask, bench, secrets, warned } = await published(t, broker, { commands: { key } })
  const result = (id: unknown, device = 'shaker-1') => of(`device/${device}/result`, (one) => one['id'] === id)
  const failed = result('no key')
  broker.publish(`${base}/device/shaker-1/operate`, '{"operation": "initialize", "id": "no key"}')
  t.match(JSON.parse((await failed).payload), { status: 503, body: { detail: /not carried out: .*mqtt-/ } })
  writeFileSync(key, 'bk_none\n')
  const refused = result('wrong key')
  broker.publish(`${base}/device/shaker-1/operate`, '{"operation": "initialize", "id": "wrong key"}')
  t.match(JSON.parse((await refused).payload), { status: 401 })
  writeFileSync(key, `${secrets.operate}\n`)
  const done = result(2)
  broker.publish(`${base}/device/shaker-1/operate`, '{"operation": "initialize", "id": 2}')
  t.match(JSON.parse((await done).payload), { status: 200, body: { success: true } })
  const locked = result('lock')
  broker.publish(`${base}/device/shaker-1/operate`, '{"operation": "lock_plate", "id": "lock"}')
  await locked
  const shaken = result(3)
  broker.publish(`${base}/device/shaker-1/operate`, '{"operation": "shake", "params": {"speed": 500, "duration": 1}, "id": 3}')
  t.match(JSON.parse((await shaken).payload), { status: 200, body: { success: true } })
  for (const [payload, detail] of [
    ['shake', /no JSON object/],
    ['{"operation": "../keys"}', /operation is missing/],
    ['{"operation": "shake", "params": 3}', /params is no object/],
  ] as const) {
    const answer = result(null)
    broker.publish(`${base}/device/shaker-1/operate`, payload)
    t.match(JSON.parse((await answer).payload), { status: 400, body: { detail } })
  }
  const unknown = result('x', 'nobody')
  broker.publish(`${base}/device/nobody/operate`, '{"operation": "initialize", "id": "x"}')
  t.match(JSON.parse((await unknown).payload), { status: 404 })
  const stopped = of('result', ({ status }) => status === 200)
  broker.publish(`${base}/stop`, '')
  await stopped
  t.ok(bench.registry.find('shaker-1').info().stopped)
  t.match(warned, [/not carried out, because the broker had kept it/, /not carried out/])
  const lines = (await ask('GET', '/api/system/audit?device_id=shaker-1')).body as { lines: { text?: string }[] }
  t.match(JSON.stringify(lines), /Shake|shake/)
})

withMosquitto('without `commands` nothing is carried out', async (t) => {
  const broker = await mosquitto(t)
  const { bench, of, ask } = await published(t, broker)
  broker.publish(`${base}/stop`, '')
  broker.publish(`${base}/device/shaker-1/operate`, '{"operation": "initialize"}')
  const later = of('device/sealer-1/state', ({ stopped }) => stopped !== null)
  await ask('POST', '/api/devices/sealer-1/stop')
  await later
  t.equal(bench.registry.find('shaker-1').info().stopped, null)
  t.equal(bench.registry.find('shaker-1').info().is_initialized, false)
})

withMosquitto('a password and a certificate are needed where the broker wants them', async (t) => {
  const broker = await mosquitto(t)
  const password = join(tmpdir(), `mqtt-${process.pid}.password`)
  t.teardown(() => rmSync(password, { force: true }))
  writeFileSync(password, 'secret\n')
  const { warned, bench } = await published(t, broker, { username: 'bench-1', password })
  t.same(warned, [])
  t.ok(bench.links.mqtt!.status().is_connected)
  const other = await openService(t, { mqtt: { url: broker.url, password: `${password}.none` } })
  t.match(other.bench.links.mqtt!.status(), { is_connected: false, failure: /none.*put that right/ })
  t.match(other.warned, [/mqtt: .*none/])
})
