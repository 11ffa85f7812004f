// The service looks at itself: the doctor, the configuration in force, and the bundle.

import { gunzipSync } from 'node:zlib'
import { test } from 'tap'
import { isRefusal, openTestBench } from '../testing/http.ts'

test('the doctor examines the computer of the service, for admins', async (t) => {
  const { ask } = await openTestBench(t)
  const [one, other] = await Promise.all([ask('GET', '/api/system/doctor'), ask('GET', '/api/system/doctor')])
  const { findings, failed, warnings } = one.body as { findings: { check: string; level: string }[]; failed: number; warnings: number }
  t.same(other.body, one.body, 'two at a time share one examination')
  for (const check of ['node', 'service', 'storage', 'instruments'])
    t.ok(
      findings.some((one) => one.check === check),
      check,
    )
  t.equal(failed, findings.filter(({ level }) => level === 'FAIL').length)
  t.equal(warnings, findings.filter(({ level }) => level === 'WARN').length)
  for (const path of ['doctor', 'config', 'bundle']) isRefusal(t, await ask('GET', `/api/system/${path}`, { key: 'operate' }), 403)
})

test('the configuration in force is told with its defaults and without its secrets', async (t) => {
  const { ask } = await openTestBench(t, {
    notify: [{ url: 'https://hooks.example/T0/secret-part', on: ['incident'], headers: { Authorization: 'x' } }],
  })
  const { body, text } = await ask('GET', '/api/system/config')
  t.match(body, { system_id: 'system', limits: { subscribers: Number }, devices: [{ device_id: 'shaker-1' }] })
  t.notMatch(text, /secret-part|"x"/)
})

test('the bundle has what others need to help, and no secret', async (t) => {
  const { ask, hono, secrets, clock } = await openTestBench(t)
  await ask('POST', '/api/stop')
  const response = await clock.run(
    Promise.resolve(hono.request('/api/system/bundle', { headers: { Host: 'localhost', 'X-API-Key': secrets.admin } })),
  )
  t.match(response.headers.get('content-disposition'), /^attachment; filename="benchd-bundle-\d+T\d+Z\.tar\.gz"$/)
  const tar = gunzipSync(Buffer.from(await response.arrayBuffer())).toString('latin1')
  const names = ['README.txt', 'config.json', 'doctor.json', 'health.json', 'devices.json', 'events.jsonl', 'wire/shaker-1.json']
  for (const name of names) t.ok(tar.includes(name), name)
  t.match(tar, /shaker-1 was stopped/)
  t.notMatch(tar, new RegExp(Object.values(secrets).join('|')))
})
