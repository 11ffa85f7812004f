// `benchd status`, `top` and `discover`: what is seen of a whole bench, and of all of them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stripVTControlCharacters } from 'node:util'
import { type Test, test } from 'tap'
import { benchd, demo, type Outcome, patient, program } from '../testing/cli.ts'
import { frame, type View } from './frame.ts'

const waits = patient([{ method: 'ask' }])

/** A bench with a run that waits for somebody. */
async function busy(t: Test) {
  const bench = await demo(t)
  writeFileSync(`${bench.home}/workflow.json`, JSON.stringify(waits))
  await bench.run('workflows', 'put', `${bench.home}/workflow.json`)
  const id = (await bench.run('runs', 'submit', 'patient')).stdout.trim()
  const { steps } = await bench.until<{ steps: { step_id: string }[] }>('/api/operator/steps', ({ steps }) => steps.length > 0)
  return { ...bench, id, step: steps[0]!.step_id }
}

test('status has on one screen the service, the disk, the devices, open runs and what waits for somebody', async (t) => {
  const { run, json, id, step } = await busy(t)
  const { code, stdout, stderr } = await run('status')
  t.match({ code, stderr }, { code: 0, stderr: '' })
  t.match(stdout, /^benchd \d+\.\d+\.\d+ {2}(ok|degraded.*) {2}up \d+:\d\d {2}system\ndisk [\d.]+ GB free of [\d.]+ GB/)
  // The table has a column for readings once a device has reported one.
  t.match(stdout, /\n\nID +TYPE +NAME +STATE( +READINGS)?\nshaker-1 +shaker +Plate shaker +\w+ \(simulated\).*\n/)
  t.match(stdout, new RegExp(`\n${id.slice(0, 8)} +patient +On the bench +needs a person +20`))
  t.match(stdout, new RegExp(`\n${step} +20\\S+ +look at the plate\nwhen done: benchd runs confirm STEP`))
  t.match(await json('status'), {
    health: { version: String, reasons: Array },
    devices: [{ device_id: 'shaker-1', state: String }, {}, {}, {}],
    runs: [{ execution_id: id }],
    steps: [{ step_id: step }],
    host: { disk_free_bytes: Number, clock_ahead_s: Number },
  })
})

test('a fault stands behind the columns, and status names the threads that wait for somebody, also when their incident was seen', async (t) => {
  const { run, json, until, home } = await demo(t)
  t.notMatch((await run('devices', 'list')).stdout, 'FAULT')
  writeFileSync(
    `${home}/workflow.json`,
    JSON.stringify(patient([{ action: { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 1 } } }])),
  )
  await run('workflows', 'put', `${home}/workflow.json`)
  await run('sim', 'fault', 'shaker-1', 'no_reply')
  const id = (await run('runs', 'submit', 'patient')).stdout.trim()
  await until<{ threads: { status: string }[] }>(`/api/executions/${id}/threads`, ({ threads }) =>
    threads.some(({ status }) => status === 'PAUSED'),
  )
  for (const { incident_id } of (await json<{ incidents: { incident_id: string }[] }>('incidents', 'list')).incidents)
    await run('incidents', 'ack', incident_id)
  t.match((await run('runs', 'list')).stdout, /patient +On the bench +needs a person +1 /)
  const { stdout } = await run('status')
  t.match(stdout, /patient +On the bench +needs a person/)
  t.match(
    stdout,
    /RUN +WAITING +STATUS +SINCE \(\S+\) +WHY\n\w{8} +plate +PAUSED +20\S+ +.*shaker-1.*\nwhat to do: (npx )?benchd runs why RUN/,
  )
  t.match(
    (await run('devices', 'list')).stdout,
    /STATE +FAULT\nshaker-1 +shaker +Plate shaker +\w+ \(may still be on; simulated\) +shaker-1: no reply/,
  )
})

test('top prints one picture where there is no terminal, and it fits one where there is', async (t) => {
  const { run, json, id, step } = await busy(t)
  const { stdout } = await run('top')
  t.match(stdout, new RegExp(`to do: look at the plate {2}\\(when done: benchd runs confirm ${step}\\)`))
  t.match(
    stdout,
    new RegExp(`patient {2}On the bench {2}needs a person {2}${id.slice(0, 8)}\nTHREAD +STATUS +WHERE +WAITS FOR\nplate +\\w+ +pad_1`),
  )
  const view = await json<View>('top')
  for (const size of [
    { columns: 40, rows: 10 },
    { columns: 200, rows: 100 },
  ]) {
    const lines = frame(view, { size })
    t.ok(lines.length <= size.rows && lines.every((line) => stripVTControlCharacters(line).length <= size.columns), JSON.stringify(size))
  }
  t.match(frame(view, { size: { columns: 40, rows: 10 } }).at(-1), /^… \d+ lines more$/)
  const others = { pressure: { value: 900, target: null, unit: 'mbar' } }
  const readings = { 'shaker-1': { at: 1, temperature: 36.96, target: 37, others } }
  const told = frame({ ...view, bench: { ...view.bench, readings } }).join('\n')
  t.match(told, /DEVICE .* READINGS\nshaker-1 .* 37\.0 °C \(37\), pressure 900 mbar\n/)
  t.same(frame(view, { size: { columns: 200, rows: 100 } }), frame(view))
})

test('top on a terminal shows what happens, and ends with q, and with Ctrl-C, and gives the screen back', async (t) => {
  const { home, dir, run, id, step } = await busy(t)
  for (const key of ['q', '\u0003']) {
    const words = [process.execPath, program, 'top', ...dir].join(' ')
    const child = spawn('script', ['-qec', words, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, HOME: home } })
    t.teardown(() => child.kill('SIGKILL'))
    const closed = once(child, 'close')
    let shown = ''
    for await (const part of child.stdout) {
      const before = shown
      shown += part
      const seen = (words: string) => shown.includes(words) && !before.includes(words)
      if (key === 'q' && seen('look at the plate')) await run('runs', 'confirm', step)
      if (seen(key === 'q' ? 'no open runs' : 'shaker-1')) child.stdin.write(key)
    }
    t.same(await closed, [0, null], JSON.stringify(key))
    t.match(shown, '\u001b[?1049h')
    t.ok(shown.endsWith('\u001b[?1049l'), 'the screen is as it was')
    if (key === 'q') t.match(shown, id.slice(0, 8))
  }
})

test('top follows the live stream alone, counts on between its changes, and says when it is lost', async (t) => {
  t.teardown(() => undefined)
  const home = t.testdir({})
  const asked: string[] = []
  const operation = { name: 'seal', seconds_left: 600 }
  const states = [
    ['service', 'lab', { status: 'ok', version: '1', uptime_s: 1, reasons: [] }],
    ['device', 'sealer-1', { device_id: 'sealer-1', type: 'sealer', name: 'Sealer', state: 'busy', operation, simulated: false }],
  ].map(([kind, id, value]) => frameOf('state', { kind, id, value }))
  let streams = 0
  let endStream = () => {}
  const server = createServer(({ url = '' }, response) => {
    asked.push(url)
    if (url === '/api/system') return response.end('{"time_scale": 60}')
    // The second stream is refused, so that the picture stays old.
    if (url !== '/api/live' || ++streams > 1) return response.writeHead(503).end('{"detail": "the service ends"}')
    response.write(states.join('') + frameOf('ready', {}))
    const beats = setInterval(() => response.write(frameOf('beat', { time: 1 })), 100)
    response.on('close', () => clearInterval(beats))
    endStream = () => response.end()
    return undefined
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const words = [process.execPath, program, 'top', '--url', url, '--key', 'bk_any'].join(' ')
  const child = spawn('script', ['-qec', words, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, HOME: home } })
  t.teardown(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let shown = ''
  let isEnded = false
  const left = () => [...shown.matchAll(/seal, (\d+):(\d\d) left/g)].map(([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds))
  for await (const part of child.stdout) {
    shown += part
    // A minute of the instrument has gone by without any news of it.
    if ((left().at(-1) ?? 600) < 540) endStream()
    if (isEnded || !shown.includes('not of now: the service ends')) continue
    child.stdin.write('q')
    isEnded = true
  }
  t.same(await closed, [0, null])
  t.equal(left()[0], 600)
  t.match(shown, /not of now: the service ended the stream/)
  t.same([...new Set(asked)], ['/api/system', '/api/live'], 'nothing else is asked')
})

function frameOf(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

test('discover lists what Avahi hears, and without Avahi says what to do', async (t) => {
  t.teardown(() => undefined)
  const home = t.testdir({ bin: {}, empty: {} })
  const avahi = (script: string) => writeFileSync(`${home}/bin/avahi-browse`, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const discover = (...args: string[]): Promise<Outcome> => benchd(home, ['discover', ...args], { PATH: `${home}/bin:/usr/bin:/bin` })
  const heard = '=;eth0;IPv4;benchd\\\\032on\\\\032lab-pi-1;_benchd._tcp;local;lab-pi-1.local;192.168.4.21;8520;"tls=0"'
  avahi(`[ "$*" = "-rpt _benchd._tcp" ] && printf '%b\\n' '${heard}'`)
  t.match(await discover(), {
    code: 0,
    stdout: /^NAME .*\nbenchd on lab-pi-1 +http:\/\/lab-pi-1\.local:8520 +192\.168\.4\.21\n$/,
    stderr: '',
  })
  t.match(JSON.parse((await discover('--json')).stdout), { benches: [{ url: 'http://lab-pi-1.local:8520', addresses: ['192.168.4.21'] }] })
  avahi('exit 0')
  t.match(await discover(), { code: 0, stderr: /no bench was heard/ })
  t.match(await discover('--quiet'), { code: 0, stderr: '' })
  avahi('echo "Failed to create client object: Daemon not running" >&2; exit 1')
  t.match(await discover(), { code: 1, stdout: '', stderr: /Daemon not running.*systemctl start avahi-daemon/ })
  mkdirSync(`${home}/none`)
  const without = await benchd(home, ['discover'], { PATH: `${home}/none` })
  t.match(without, {
    code: 1,
    stdout: '',
    stderr: /sudo apt install avahi-utils; or use the address of the bench: (npx )?benchd status --url/,
  })
})

test('status of a service that is not there, or does not answer, ends with 69', async (t) => {
  t.teardown(() => undefined)
  const home = t.testdir({})
  t.match(await benchd(home, ['status', '--data-dir', `${home}/none`]), {
    code: 69,
    stderr: /no service answers at the folder \S+: no service runs on it; start one \((npx )?benchd serve/,
  })
  t.match(await benchd(home, ['top', '--data-dir', `${home}/none`]), { code: 69 })
  const deaf = spawn(process.execPath, [
    '-e',
    "require('net').createServer(() => {}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })",
  ])
  t.teardown(() => deaf.kill('SIGKILL'))
  const [port] = (await once(deaf.stdout, 'data')) as [Buffer]
  const url = `http://127.0.0.1:${String(port).trim()}`
  t.match(await benchd(home, ['status', '--url', url, '--timeout', '0.2']), { code: 69, stderr: /no answer within 0\.2 s/ })
  t.match(await benchd(home, ['status', '--url', url, '--timeout', 'soon']), { code: 2, stderr: /--timeout soon/ })
})
