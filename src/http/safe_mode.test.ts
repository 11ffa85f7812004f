import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import type { Bench } from '../bench/bench.ts'
import { silent } from '../kit/log.ts'
import { startService } from '../main.ts'
import { atTheEnd, benchConfig, isRefusal, openTestBench } from '../testing/http.ts'
import { routes } from './routes.ts'
import { mustNotBeSafeMode } from './safe_mode.ts'

test('in safe mode it is read and stopped, but nothing moves until somebody has acknowledged why', async (t) => {
  const { ask, bench } = await openTestBench(t, {}, { safe: 'the service broke off' })
  t.match((await ask('GET', '/health')).body, { status: 'degraded', reasons: ['safe_mode'] })
  t.equal((await ask('GET', '/api/devices/shaker-1')).status, 200)
  isRefusal(t, await ask('POST', '/api/devices/shaker-1/initialize'), 409, 'safe_mode')
  isRefusal(t, await ask('POST', '/api/submissions', { json: { workflow: 'seal-and-spin', run_mode: 'PURE_SIM' } }), 409, 'safe_mode')
  t.equal((await ask('POST', '/api/devices/shaker-1/stop')).status, 200)
  t.equal((await ask('POST', '/api/stop')).status, 200)

  const { incident_id } = bench.safe_mode!
  isRefusal(t, await ask('POST', `/api/incidents/${incident_id}/acknowledge`, { key: 'read' }), 403)
  t.equal((await ask('POST', `/api/incidents/${incident_id}/acknowledge`, { key: 'operate' })).status, 200)
  t.match((await ask('GET', '/health')).body, { status: 'ok', reasons: [] })
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize')).status, 200)
})

test('once acknowledged, its incident may be forgotten for newer ones', async (t) => {
  const { ask, bench } = await openTestBench(t, {}, { safe: 'the service broke off' })
  const { incident_id } = bench.safe_mode!
  const flood = () => {
    for (let n = 0; n < 1000; n++) bench.hub.incident('OTHER', `the ${n}th`)
  }
  flood()
  isRefusal(t, await ask('POST', '/api/devices/shaker-1/initialize'), 409, 'safe_mode')
  t.equal((await ask('POST', `/api/incidents/${incident_id}/acknowledge`)).status, 200)
  flood()
  isRefusal(t, await ask('GET', `/api/incidents/${incident_id}`), 404)
  t.equal((await ask('GET', '/health')).status, 200)
  t.equal((await ask('POST', '/api/stop')).status, 200)
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize')).status, 200)
})

test('a route that is new is refused in safe mode, unless it is known to move nothing', (t) => {
  const bench = { safe_mode: { incident_id: 'x' } } as Bench
  const moving = /^\/api\/(devices|submissions|executions|threads|operator)/
  const harmless = /(stop|pause|close|clear_fault|\/lock|\/:preset|\/note|\/photo|\/inventory)$/
  for (const route of routes) {
    const check = () => mustNotBeSafeMode(bench, route)
    if (route.scope !== 'operate') t.doesNotThrow(check, route.operation_id)
    else if (moving.test(route.path) && !harmless.test(route.path)) t.throws(check, { code: 'safe_mode' }, route.operation_id)
  }
  t.end()
})

test('the fourth start begins in safe mode when three broke off, and one that ends in order forgets them', async (t) => {
  const data_dir = t.testdir({})
  const config = await benchConfig()
  const begin = () => startService(config, { data_dir, log: silent })
  const ending = atTheEnd(t)
  for (let n = 0; n < 3; n++) {
    const service = await begin()
    t.equal(service.bench.safe_mode, undefined)
    // What a SIGKILL at this moment would leave behind.
    const left = readFileSync(`${data_dir}/starts.json`, 'utf8')
    await service.close()
    writeFileSync(`${data_dir}/starts.json`, left)
  }
  const fourth = await begin()
  t.match(fourth.bench.safe_mode?.message, /broke off 3 times in 5 minutes/)
  await fourth.close()
  const fifth = await begin()
  ending.push(() => fifth.close())
  t.equal(fifth.bench.safe_mode, undefined)
})

test('a start that was refused has not broken off', async (t) => {
  const data_dir = t.testdir({ 'teachpoints.json': '{"format": 99}' })
  const config = await benchConfig()
  const begin = () => startService(config, { data_dir, log: silent })
  const ending = atTheEnd(t)
  for (let n = 0; n < 3; n++) await t.rejects(begin(), { code: 'config' })
  rmSync(`${data_dir}/teachpoints.json`)
  const service = await begin()
  ending.push(() => service.close())
  t.equal(service.bench.safe_mode, undefined)
})
