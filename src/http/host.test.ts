import { test } from 'tap'
import { LabError } from '../errors.ts'
import { HandHost } from '../testing/care.ts'
import { openTestBench } from '../testing/http.ts'

test('what is not well with the computer is a word of /health, an incident and a figure', async (t) => {
  const host = new HandHost()
  const { ask, clock, bench } = await openTestBench(t, {}, { host })
  t.match(await ask('GET', '/health'), { status: 200, body: { status: 'ok', reasons: [] } })
  host.set({ under_voltage: true, clock_synced: false, room: { free: 1e9, total: 32e9 }, temperature: { celsius: 84.2, hot: 80 } })
  await clock.advance(400_000)
  const health = await ask('GET', '/health', { key: null })
  t.match(health, { status: 200, body: { status: 'degraded' } })
  t.same((health.body as { reasons: string[] }).reasons, ['clock', 'disk', 'under_voltage', 'temperature'])
  t.same(
    bench.hub.incidents
      .list()
      .map(({ category }) => category)
      .sort(),
    ['CLOCK', 'OTHER', 'POWER', 'STORAGE'],
  )
  const { text } = await ask('GET', '/metrics')
  t.match(text, /^benchd_health\{reason="disk"\} 1$/m)
  t.match(text, /^benchd_health\{reason="backup"\} 0$/m)
  t.match(text, /^benchd_clock_synced 0$/m)
  t.match(text, /^benchd_under_voltage 1$/m)
  t.match(text, /^benchd_cpu_temperature_celsius 84\.2$/m)
})

test('a computer that cannot tell is well, and has no such figures', async (t) => {
  const { ask, clock } = await openTestBench(t)
  await clock.advance(400_000)
  t.match(await ask('GET', '/health'), { status: 200, body: { status: 'ok', reasons: [] } })
  t.notMatch((await ask('GET', '/metrics')).text, /^benchd_(clock_synced|under_voltage|cpu_temperature_celsius) /m)
})

test('a full disk is told as soon as it has refused a write, and no longer than it is seen to be full', async (t) => {
  const host = new HandHost()
  const { ask, clock, bench } = await openTestBench(t, {}, { host })
  const refuse = (code: string) => {
    bench.teachpoints.create = async () => {
      throw new LabError('storage', 'it was not written', { cause: Object.assign(new Error(code), { code }) })
    }
  }
  const put = () => {
    const coords = { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 }
    return ask('POST', '/api/teachpoints', { json: { device_id: 'arm-1', name: 'pad_9', coord_type: 'cartesian', coords } })
  }
  refuse('EIO')
  t.equal((await put()).status, 503)
  t.match((await ask('GET', '/health')).body, { status: 'ok' })
  refuse('ENOSPC')
  t.equal((await put()).status, 503)
  t.match((await ask('GET', '/health')).body, { status: 'degraded', reasons: ['disk'] })
  t.match(bench.hub.incidents.list(), [{ category: 'STORAGE', message: /^a write was refused, for the disk of the data folder is full/ }])
  await clock.advance(60_000)
  t.match((await ask('GET', '/health')).body, { status: 'ok' })
})
