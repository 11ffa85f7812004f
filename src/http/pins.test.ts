// A walk through the whole service with devices on pins, simulated.

import { type Test, test } from 'tap'
import { openTestBench } from '../testing/http.ts'

const devices = [
  { device_id: 'shaker-1', driver: 'gpio_shaker', transport: { kind: 'simulated' } },
  { device_id: 'sealer-1', driver: 'gpio_sealer', transport: { kind: 'simulated' } },
]

async function setup(t: Test) {
  const { ask, clock, bench } = await openTestBench(t, { devices })
  const post = (path: string, json: object = {}) => ask('POST', path, { json })
  const get = (path: string) => ask('GET', path)
  await post('/api/devices/shaker-1/initialize')
  await post('/api/devices/sealer-1/initialize')
  return { post, get, ask, clock, bench }
}

test('a lid that opens in a run ends it, latches the device, and is in the wire log that is kept', async (t) => {
  const { post, get, ask, clock } = await setup(t)
  const shake = { speed: 600, duration: 60 }
  const started = await ask('POST', '/api/devices/shaker-1/shake', { json: shake, headers: { prefer: 'respond-async' } })
  t.equal(started.status, 202)
  await clock.advance(20_000)
  await post('/api/sim/devices/shaker-1/faults', { fault: 'interlock_open' })
  await clock.advance(3000)
  t.match((await get('/api/devices/shaker-1')).body, {
    state: 'faulted',
    is_initialized: false,
    fault: { command: 'shake', outcome: 'failed', error: /its lid was opened/, error_type: 'DeviceFailed' },
  })
  const { fault_frames } = (await get('/api/devices/shaker-1/wire')).body as { fault_frames: { text: string }[] }
  const texts = fault_frames.map(({ text }) => text)
  t.match(texts.join('|'), /lid is 0/)
  t.ok(texts.lastIndexOf('enable = 0') > texts.lastIndexOf('enable = 1'))
  t.equal((await post('/api/devices/shaker-1/shake', shake)).status, 409)
  await ask('DELETE', '/api/sim/devices/shaker-1/faults')
  t.equal((await post('/api/devices/shaker-1/initialize')).status, 200)
  t.match((await post('/api/devices/shaker-1/shake', { ...shake, duration: 5 })).body, { success: true })
})

test('a heater that cannot be seen any more is off and its device latched, though nothing runs', async (t) => {
  const { post, get, clock } = await setup(t)
  t.equal((await post('/api/devices/sealer-1/set_temperature', { temperature: 100 })).status, 200)
  await clock.advance(120_000)
  t.match((await get('/api/devices/sealer-1')).body, { state: 'ready' })
  await post('/api/sim/devices/sealer-1/faults', { fault: 'unplug' })
  await clock.advance(10_000)
  t.match((await get('/api/devices/sealer-1')).body, { state: 'faulted' })
  const { frames } = (await get('/api/devices/sealer-1/wire')).body as { frames: { text: string }[] }
  t.equal(
    frames.map(({ text }) => text).findLast((text) => text.startsWith('heater = ')),
    'heater = 0',
  )
})

test('a stop switches both off and is acknowledged, and a value outside the range reaches no pin', async (t) => {
  const { post, get } = await setup(t)
  t.match((await post('/api/stop')).body, { success: true })
  await post('/api/devices/sealer-1/initialize')
  const refused = await post('/api/devices/sealer-1/seal', { temperature: 160, duration: 3 })
  t.match(refused, { status: 400, body: { detail: /temperature 160 °C is outside what sealer-1 takes: 50 to 140 °C/ } })
  t.match((await get('/api/devices/shaker-1/capabilities')).body, { features: { locking: true, autonomous_timer: false } })
  t.equal((await post('/api/sim/devices/sealer-1/faults', { fault: 'garbage' })).status, 400)
})

test('a lid that chatters in a run is one fault and one event, and is closed only after 50 ms of quiet', async (t) => {
  const { post, get, ask, clock, bench } = await setup(t)
  const shake = { speed: 600, duration: 60 }
  await ask('POST', '/api/devices/shaker-1/shake', { json: shake, headers: { prefer: 'respond-async' } })
  await clock.advance(10_000)
  const lid = bench.simulations.get('shaker-1')!
  const chatter = (ms: number) => {
    for (let at = 0; at < ms; at += 10) {
      clock.after(at, () => lid.setFault('interlock_open', 0))
      clock.after(at + 5, () => lid.clearFaults())
    }
  }
  chatter(1000)
  await clock.advance(2000)
  const faulted = async () => {
    // Resolves when all that was fired is in the file, and is shown.
    await clock.run(bench.hub.getEventsSince())
    const { events } = (await get('/events?since=0')).body as { events: { event_name: string }[] }
    return events.filter(({ event_name }) => event_name === 'DEVICE.shaker-1.FAULTED').length
  }
  t.equal(await faulted(), 1)
  await post('/api/devices/shaker-1/initialize')
  chatter(300)
  await clock.advance(7)
  t.match(await post('/api/devices/shaker-1/shake', shake), { status: 409, body: { detail: /its lid is open/ } })
  t.equal(await faulted(), 1, 'what has not begun is not broken')
  await clock.advance(300)
  t.match((await post('/api/devices/shaker-1/shake', { ...shake, duration: 5 })).body, { success: true })
})
