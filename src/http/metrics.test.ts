import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { openTestBench } from '../testing/http.ts'

const noPromtool = spawnSync('promtool', ['--version']).status === 0 ? false : 'promtool is not installed here'

test('figures are told in lines that Prometheus reads', async (t) => {
  const { ask, bench } = await openTestBench(t)
  await bench.hub.stored(bench.hub.emit('THREAD.a.STARTED', {}))
  bench.hub.emit('a "strange" one', {})
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize')).status, 200)
  await ask('POST', '/api/sim/devices/spare-1/faults', { json: { fault: 'no_reply' } })
  t.not((await ask('POST', '/api/devices/spare-1/initialize')).status, 200)
  const { status, headers, text } = await ask('GET', '/metrics', { key: 'read' })
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  for (const line of text.trimEnd().split('\n')) t.match(line, /^(# (HELP|TYPE) benchd_\w+ .+|benchd_\w+(\{[^}]+\})? [\d.e-]+)$/)
  t.match(text, new RegExp(`^benchd_build_info{version="${bench.version}",api_version="2\\.1\\.0"} 1$`, 'm'))
  t.match(text, /^benchd_health\{reason="storage"\} 0$/m)
  t.match(text, /^benchd_event_loop_lag_seconds \d/m)
  t.match(text, /^benchd_device_operations_total\{device_id="shaker-1",operation="initialize",result="success"\} 1$/m)
  t.match(text, /^benchd_device_operations_total\{device_id="spare-1",operation="initialize",result="failed"\} 1$/m)
  t.match(text, /^benchd_events_total\{type="THREAD"\} 1$/m)
  t.match(text, /^benchd_events_total\{type="other"\} 1$/m)
  t.match(text, /^benchd_event_log_bytes [1-9]/m)
  t.match(text, /^benchd_disk_free_bytes [1-9]/m)
  t.match(text, /^benchd_disk_written_bytes_total \d/m)
  t.match(text, /^benchd_device_state\{device_id="shaker-1",state="ready"\} 1$/m)
  t.equal((await ask('GET', '/metrics', { key: null })).status, 401)
})

test('a device that is initialized tells its temperature, its target and the speed it runs at; one that fails leaves its line out', async (t) => {
  const { ask, clock } = await openTestBench(t)
  const metrics = async () => (await ask('GET', '/metrics', { key: 'read' })).text
  t.notMatch(await metrics(), /^benchd_device_temperature_celsius\{/m, 'no question was asked yet')
  for (const id of ['shaker-1', 'spare-1']) t.equal((await ask('POST', `/api/devices/${id}/initialize`)).status, 200)
  t.equal((await ask('POST', '/api/devices/shaker-1/set_temperature', { json: { temperature: 37 } })).status, 200)
  t.equal((await ask('POST', '/api/devices/shaker-1/lock_plate')).status, 200)
  const shaking = { json: { speed: 500, duration: 60 }, headers: { Prefer: 'respond-async' } }
  t.match(await ask('POST', '/api/devices/shaker-1/shake', shaking), { status: 202 })
  await clock.advance(12_000)
  const text = await metrics()
  t.match(text, /^benchd_device_temperature_celsius\{device_id="shaker-1"\} [1-9][\d.]*$/m)
  t.match(text, /^benchd_device_temperature_celsius\{device_id="spare-1"\} [1-9][\d.]*$/m)
  t.match(text, /^benchd_device_target_temperature_celsius\{device_id="shaker-1"\} 37$/m)
  t.notMatch(text, /^benchd_device_target_temperature_celsius\{device_id="spare-1"\}/m)
  t.match(text, /^benchd_device_speed_rpm\{device_id="shaker-1"\} 500$/m)
  t.notMatch(text, /^benchd_device_speed_rpm\{device_id="spare-1"\}/m)

  if (!noPromtool) t.same(complaintsOf(text), '', 'promtool has nothing to say against it')

  await ask('POST', '/api/sim/devices/spare-1/faults', { json: { fault: 'no_reply' } })
  t.match(await metrics(), /^benchd_device_temperature_celsius\{device_id="spare-1"\}/m, 'a scrape asks no instrument')
  await clock.advance(45_000)
  const silent = await metrics()
  t.notMatch(silent, /^benchd_device_temperature_celsius\{device_id="spare-1"\}/m)
  t.match(silent, /^benchd_device_temperature_celsius\{device_id="shaker-1"\}/m)
})

/** What `promtool check metrics` says about figures: it parses them, and knows the conventions of their names, units and help. */
function complaintsOf(text: string): string {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  return status === 0 ? `${stdout}${stderr}` : `promtool ended with ${status}: ${stdout}${stderr}`
}

test('promtool finds what is wrong with figures', { skip: noPromtool }, (t) => {
  t.match(complaintsOf('# TYPE benchd_x_total gauge\nbenchd_x_total 1\n'), /benchd_x_total no help text/)
  t.match(complaintsOf('benchd_x one\n'), /^promtool ended with [1-9]/)
  t.end()
})

test('the configuration for Prometheus in the guide is one that Prometheus takes', { skip: noPromtool }, (t) => {
  const guide = readFileSync(new URL('../../../systemd/README.md', import.meta.url), 'utf8')
  const [, yaml = ''] = /```yaml\n(scrape_configs:[\s\S]*?)```/.exec(guide) ?? []
  t.match(yaml, 'authorization')
  const file = `${t.testdir()}/prometheus.yml`
  const check = () => spawnSync('promtool', ['check', 'config', file], { encoding: 'utf8' })
  writeFileSync(file, yaml)
  t.match(check(), { status: 0, stdout: /SUCCESS/ })
  writeFileSync(file, yaml.replace('authorization', 'authorisation'))
  t.match(check(), { status: 1, stderr: /field authorisation not found/ })
  t.end()
})
