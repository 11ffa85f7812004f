// `benchd devices …` and `benchd stop` on the demo's bench.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import { operations } from '../../devices/operations.ts'
import { readings } from '../../devices/reading_table.ts'
import type { DeviceInfo } from '../../devices/records.ts'
import { benchd, demo, program, running } from '../../testing/cli.ts'
import { commands } from './devices.ts'

const shaker = '/api/devices/shaker-1'
const long = ['devices', 'shake', 'shaker-1', '--speed', '500', '--duration', '90000']
type Bench = Awaited<ReturnType<typeof demo>>

/** A shaker that is ready to shake, at a scale at which 90,000 s are long. */
async function ready(t: Parameters<typeof demo>[0], scale = 20): Promise<Bench> {
  const bench = await demo(t, { scale })
  for (const verb of ['init', 'lock-plate']) t.match(await bench.run('devices', verb, 'shaker-1'), { code: 0 })
  return bench
}

function inState({ until }: Bench, state: DeviceInfo['state']): Promise<DeviceInfo> {
  return until<DeviceInfo>(shaker, (device) => device.state === state)
}

test('each operation and each reading of the table is a command, with the options of its parameters', async (t) => {
  const called = (name: string) => commands.find((command) => command.name === `devices ${name.replaceAll('_', '-')}`)
  for (const [name, { summary, params, ...row }] of Object.entries(operations)) {
    // The operations that are held, and that go to a teachpoint, have commands of their own.
    if ('held' in row || 'goes_to' in row) continue
    // A stop takes several devices at the shell.
    if (name !== 'stop') t.equal(called(name)?.summary, summary)
    for (const param of Object.keys(params.entries))
      t.match(called(name)?.options[param.replaceAll('_', '-')], { type: 'string', help: /\w/ })
  }
  for (const [name, { summary }] of Object.entries(readings)) t.equal(called(name)?.summary, summary)
})

test('devices are listed and shown, with what they can do and what they last said', async (t) => {
  const { run, json } = await ready(t)
  const listed = await run('devices')
  t.match(listed, {
    code: 0,
    stderr: '',
    stdout: /^ID +TYPE +NAME +STATE( +READINGS)?\nshaker-1 +shaker +Plate shaker +ready \(simulated\).*\n/,
  })
  t.same(await run('devices', 'list'), listed)
  t.match(await json('devices'), { devices: [{ device_id: 'shaker-1', state: 'ready' }, {}, {}, {}] })
  t.match(await run('devices', 'show', 'shaker-1'), { code: 0, stdout: /driver +bioshake\n[\s\S]*last +lock_plate, / })
  t.match(await run('devices', 'caps', 'shaker-1'), { code: 0, stdout: /shake +--speed --duration +5 s[\s\S]*speed +200 +3000 +1 +rpm/ })
  t.match(await json('devices', 'caps', 'sealer-1'), { operations: [{ name: 'initialize' }], limits: { temperature: { unit: '°C' } } })
  t.match(await run('devices', 'wire', 'shaker-1'), { code: 0, stdout: /Z {2}> getDescription/ })
  t.match(await json('devices', 'wire', 'shaker-1'), { device_id: 'shaker-1', frames: [{ direction: 'to_device' }] })
  for (const verb of ['show', 'caps', 'wire', 'init', 'get-temperature', 'clear-fault', 'stop'])
    t.match(await run('devices', verb, 'shaker-9'), { code: 3, stdout: '', stderr: /no device "?shaker-9/ }, verb)
})

test('an operation is done with one line at the end, and what cannot be ends with its exit code', async (t) => {
  const { run, json } = await ready(t)
  t.match(await run('devices', 'shake', 'shaker-1', '--speed', '500', '--duration', '5'), {
    code: 0,
    stdout: 'shaker-1: shook at 500 rpm for 5 s\n',
    stderr: '',
  })
  t.same(await json('devices', 'unlock-plate', 'shaker-1'), { success: true, message: 'shaker-1: plate unlocked' })
  t.match(await run('devices', 'lock-plate', 'shaker-1', '--quiet'), { code: 0, stdout: '', stderr: '' })
  t.match(await run('devices', 'get-temperature', 'shaker-1'), { code: 0, stdout: /^shaker-1: temperature [\d.]+ °C, target none\n$/ })
  t.match(await run('devices', 'initialized', 'arm-1'), { code: 0, stdout: 'arm-1: is_initialized no\n' })
  t.match(await json('devices', 'initialized', 'shaker-1'), { is_initialized: true })
  for (const [args, code, sentence] of [
    [['shake', 'shaker-1', '--speed', '500'], 2, /--duration is missing: Time of shaking, in s/],
    [['shake', 'shaker-1', '--speed', 'fast', '--duration', '5'], 2, /--speed fast is not a number/],
    [['shake', 'shaker-1', '--speed', '-5', '--duration', '5'], 2, /200 to 3000 rpm/],
    [['shake', 'sealer-1', '--speed', '500', '--duration', '5'], 2, /sealer/],
    [['close', 'sealer-1'], 5, /initialize/],
    [['shkae', 'shaker-1'], 2, /did you mean "devices shake"/],
  ] as const) {
    t.match(await run('devices', ...args), { code, stdout: '', stderr: sentence }, args.join(' '))
  }
})

test('Ctrl-C leaves the device running and says so; with --stop-on-interrupt it is stopped', async (t) => {
  const bench = await ready(t)
  const { home, dir, run } = bench
  const left = running(t, home, [...long, ...dir])
  await inState(bench, 'busy')
  t.match(await run('devices', 'shake', 'shaker-1', '--speed', '500', '--duration', '5'), { code: 5, stderr: /shake/ })
  left.child.kill('SIGINT')
  t.match(await left.ended, { code: 130, stderr: /shake was not stopped: shaker-1 goes on with it; to stop it: benchd stop shaker-1/ })
  t.match(await run('devices'), { stdout: /busy \(shake, \d+:\d\d:\d\d left; simulated\)/ })
  t.match(await run('stop', 'shaker-1'), { code: 0, stdout: 'shaker-1 stopped\n' })
  await inState(bench, 'stopped')
  await run('devices', 'init', 'shaker-1')
  await run('devices', 'lock-plate', 'shaker-1')
  const stopped = running(t, home, [...long, '--stop-on-interrupt', ...dir])
  await inState(bench, 'busy')
  stopped.child.kill('SIGINT')
  t.match(await stopped.ended, { code: 130, stderr: /shaker-1 stopped/ })
  await inState(bench, 'stopped')
})

test('an operation is ended early with what it came to, and one that cannot end so says what there is instead', async (t) => {
  const bench = await ready(t)
  const { home, dir, run } = bench
  const left = running(t, home, [...long, ...dir])
  await inState(bench, 'busy')
  t.match(await run('devices', 'end', 'shaker-1'), { code: 0, stdout: /^shaker-1: ended after [\d.]+ s of \d+ s\n$/ })
  t.match(await left.ended, { code: 0 })
  t.match(await run('devices', 'show', 'shaker-1'), { stdout: /ready[\s\S]*shake.*: shaker-1: ended after/ })
  t.match(await run('devices', 'caps', 'shaker-1'), { stdout: /ENDS EARLY[\s\S]*shake .* yes\n/ })
})

test('an operation that somebody stops has failed, and on a terminal the time that is left runs down', async (t) => {
  const { home, dir, run } = await ready(t)
  const words = [process.execPath, program, ...long, ...dir].join(' ')
  const child = spawn('script', ['-qec', words, '/dev/null'], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, HOME: home } })
  t.teardown(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let shown = ''
  for await (const part of child.stdout) {
    shown += part
    if (shown.includes('left') && !shown.includes('stopped')) await run('stop', 'shaker-1', '--quiet')
  }
  t.match(shown, /shaker-1: shake, (24|25):\d\d:\d\d left/)
  t.match(shown, /shaker-1: stopped\r\n$/)
  t.same(await closed, [1, null])
})

/** Whether each stop is confirmed in time depends on how busy the computer is. */
const ofAll = /shaker-1[\s\S]*(all devices stopped|stop sent to all devices, not confirmed by each)\n$/

test('a stop that is not confirmed ends with 1, and stop wants to know what', async (t) => {
  const { run, json, ask } = await ready(t)
  t.match(await run('stop'), { code: 2, stdout: '', stderr: /the id of a device, or --all/ })
  const { code, stdout } = await run('stop', '--all')
  t.match(stdout, ofAll)
  t.equal(code, /all devices stopped\n$/.test(stdout) ? 0 : 1)
  await ask('POST', '/api/sim/devices/shaker-1/faults', { fault: 'no_reply' })
  t.match(await run('stop', 'shaker-1'), { code: 1, stdout: 'shaker-1: stop sent, not confirmed\n' })
  t.match(await run('devices', 'stop', 'shaker-1', '--json'), { code: 1, stdout: /"success":false/ })
  t.match(await run('stop', '--all', '--quiet'), { code: 1, stdout: /not confirmed by each/ }, 'what went wrong is no news to keep quiet')
  t.match(await json('stop', '--all'), { success: false, devices: [{ device_id: 'shaker-1', success: false }] })
})

test('a stop passes over what it cannot use, says so, and stops', async (t) => {
  const bench = await ready(t)
  const { run } = bench
  for (const [words, stderr] of [
    [['--all', '--yes'], /benchd stop cannot use --yes, and passes over it/],
    [['--all', '-y', '--force=1'], /cannot use -y[\s\S]*cannot use --force=1/],
    [['-a'], /^benchd: when it is safe/],
    [['', '--all'], /cannot use ""/],
    [['-all'], /^benchd: when it is safe/],
    [['--ALL'], /^benchd: when it is safe/],
    [['all'], /^benchd: when it is safe/],
    [['shaker-1', '--all'], /^benchd: when it is safe/],
    [['--all', '--timeout', 'soon'], /cannot use --timeout soon/],
    [['--all', '--timeout'], /cannot use --timeout/],
  ] as const) {
    await run('devices', 'init', 'shaker-1')
    t.match(await run('stop', ...words), { stdout: ofAll, stderr }, words.join(' '))
    await inState(bench, 'stopped')
  }
  t.match(await run('devices', 'stop', '--all', '--yes'), { stdout: ofAll })
  t.match(await run('stop', 'arm-1', 'nothing', 'shaker-1', '-f'), {
    code: 3,
    stdout: /^arm-1.*\nshaker-1.*\n$/,
    stderr: /nothing/,
  })
  t.match(await run('stop', '--yes'), { code: 2, stderr: /the id of a device, or --all; nothing was stopped/ })
})

test('after a stop of all, the devices that need it are initialized one after the other, until one fails', async (t) => {
  const { home, url, run, json, ask } = await ready(t)
  t.match(await run('devices', 'init'), { code: 2, stderr: /the id of a device, or --all/ })
  t.match(await run('devices', 'init', 'shaker-1', '--all'), { code: 2, stderr: /the id of a device, or --all/ })
  // On a busy computer a simulated instrument may acknowledge the stop too late. The test then sends the stop again.
  let stopped = await run('stop', '--all')
  for (let left = 10; stopped.code === 1 && left > 0; left--) stopped = await run('stop', '--all')
  t.match(stopped, { code: 0, stderr: /when it is safe: benchd devices init --all/ })
  const ids = ['shaker-1', 'sealer-1', 'centrifuge-1', 'arm-1']
  t.match(await run('devices', 'init', '--all'), {
    code: 2,
    stderr: /initialize shaker-1, sealer-1, centrifuge-1, arm-1, one after the other: each may move; .* --yes/,
  })
  await ask('POST', '/api/sim/devices/centrifuge-1/faults', { fault: 'no_reply' })
  const cut = await run('devices', 'init', '--all', '--yes')
  t.match(cut, {
    code: 1,
    stdout: /^shaker-1: initialized\nsealer-1: initialized\n$/,
    stderr: /not initialized: arm-1\n[\s\S]*centrifuge-1/,
  })
  await ask('DELETE', '/api/sim/devices/centrifuge-1/faults')
  t.match(await run('devices', 'init', '--all', '--yes'), { code: 0, stdout: 'centrifuge-1: initialized\narm-1: initialized\n' })
  await ask('POST', '/api/sim/devices/centrifuge-1/faults', { fault: 'no_reply' })
  t.match(await run('devices', 'open', 'centrifuge-1'), { code: 1 })
  await ask('DELETE', '/api/sim/devices/centrifuge-1/faults')
  await run('stop', 'shaker-1')
  t.match(await run('devices', 'init', '--all', '--yes'), {
    code: 0,
    stdout: 'shaker-1: initialized\n',
    stderr: /centrifuge-1 has a fault and is left out: look at it first, then: benchd devices init centrifuge-1/,
  })
  const key = (await run('key', 'create', '--name', 'other', '--scope', 'operate')).stdout.trim()
  const other = (...args: string[]) => benchd(home, args, { BENCHD_URL: url, BENCHD_API_KEY: key })
  t.match(await other('devices', 'lock', 'shaker-1', '--owner', 'ann'), { code: 0 })
  for (const id of ['shaker-1', 'sealer-1']) await run('stop', id)
  const passed = await run('devices', 'init', '--all', '--yes')
  t.match(passed, { code: 5, stdout: 'sealer-1: initialized\n', stderr: /shaker-1 is leased by ann/ })
  t.match(await run('devices', 'init', 'shaker-1', '--override'), { code: 0 })
  t.match(await run('devices', 'init', 'centrifuge-1'), { code: 0 })
  t.match(await run('devices', 'init', '--all'), { code: 0, stdout: 'no device has to be initialized\n' })
  const { devices } = (await json('devices')) as { devices: DeviceInfo[] }
  t.same(
    devices.map(({ device_id, state }) => [device_id, state]),
    ids.map((id) => [id, 'ready']),
  )
})

test('all are initialized as they were shown: nothing moves after one that is not so any more, or that refuses', async (t) => {
  const refusals: Record<string, [status: number, reason: string]> = {}
  const secondStops: Record<string, object | null> = { 'shaker-1': null, 'sealer-1': { by: 'bob', at: 7 } }
  const asked: string[] = []
  const ids = ['shaker-1', 'sealer-1', 'arm-1']
  const server = createServer(({ method, url = '', headers }, response) => {
    const [, device_id] = /devices\/([^/]+)/.exec(url) ?? []
    const [status = 200, reason] = (method === 'POST' && refusals[device_id!]) || []
    if (method === 'POST') asked.push(`${device_id} ${headers['if-state']}`)
    const again = secondStops[device_id ?? '']
    // A bench of an earlier version shows no second stop.
    const stopped = { by: 'ann', at: 5.25, ...(again !== undefined && { again }) }
    const device = (id: string) => ({ device_id: id, state: 'stopped', stopped })
    const shown = device_id ? device(device_id) : { devices: ids.map(device) }
    const told = reason ? { detail: `it refuses: ${reason}` } : { success: true, message: 'done' }
    response.writeHead(status, { 'Content-Type': 'application/json', ...(reason && { 'X-Reason': reason }) })
    response.end(JSON.stringify(method === 'POST' ? told : shown))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const all = () => benchd(t.testdir({}), ['devices', 'init', '--all', '--yes'], { BENCHD_URL: url, BENCHD_API_KEY: 'bk_1_2' })
  for (const refusal of [
    [409, 'conflict'],
    [409, 'interlock'],
    [409, 'safe_mode'],
  ] as const) {
    refusals['sealer-1'] = [...refusal]
    asked.length = 0
    t.match(await all(), { code: 5, stderr: new RegExp(`not initialized: arm-1\n[\\s\\S]*it refuses: ${refusal[1]}`) })
    t.same(asked, ['shaker-1 stopped 5.25', 'sealer-1 stopped 7'])
  }
  for (const refusal of [
    [423, 'locked'],
    [409, 'busy'],
  ] as const) {
    refusals['sealer-1'] = [...refusal]
    t.match(await all(), { code: 5, stdout: /^shaker-1: done\narm-1: done\n$/, stderr: new RegExp(`it refuses: ${refusal[1]}`) })
    t.equal(asked.at(-1), 'arm-1 stopped')
  }
})

test('a device that somebody keeps is refused to others, until it is let go or an administrator says so', async (t) => {
  const { home, url, run, json } = await ready(t)
  const key = (await run('key', 'create', '--name', 'other', '--scope', 'operate')).stdout.trim()
  const other = (...args: string[]) => benchd(home, args, { BENCHD_URL: url, BENCHD_API_KEY: key })
  const kept = await other('devices', 'lock', 'shaker-1', '--note', 'calibration', '--ttl', '600', '--owner', 'ann')
  t.match(kept, { code: 0, stdout: /^shaker-1 is kept for ann until 20\S+\n$/ })
  t.match(await run('devices', 'show', 'shaker-1'), { stdout: /lock +ann, calibration, until 20/ })
  t.match(await run('devices', 'unlock-plate', 'shaker-1'), { code: 5, stderr: /ann/ })
  t.match(await run('devices', 'unlock', 'shaker-1'), { code: 5, stderr: /ann/ })
  t.match(await run('devices', 'unlock-plate', 'shaker-1', '--override'), { code: 0 })
  t.match(await other('devices', 'unlock', 'shaker-1'), { code: 0, stdout: /not leased any more/ })
  t.match(await json('devices', 'lock', 'shaker-1'), { owner: /^\S+@\S+$/, note: null })
  t.match(await run('devices', 'lock', 'shaker-1', '--ttl', 'soon'), { code: 2, stderr: /not a number of seconds/ })
  t.match(await run('devices', 'lock', 'shaker-1', '--ttl', '90000'), { code: 2, stderr: /ttl_s/ })
  t.match(await run('devices', 'clear-fault', 'shaker-1'), { code: 0, stdout: 'there was no fault\n' })
})
