// `benchd events …` beside a service that runs, over its control socket and over the network.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import type { RuntimeEvent } from '../events/event.ts'
import { parseCsv } from '../kit/csv_reader.ts'
import { freePort } from '../kit/ports.ts'
import { benchd, program, type Running, running, served } from '../testing/cli.ts'

test('events tail prints what happens, and goes on after the service was killed, without a loss', async (t) => {
  const service = await killable(t)
  const tails = service.ways.map((way) => running(t, service.home, ['events', 'tail', '--execution', 'run-1', '--json', ...way]))
  const tries = tails.map(({ child }) => triesOf(child.stderr))
  const numbers = () => Promise.all(tails.map(({ line }) => threeOf(line)))
  await heard(service, tails)
  for (let n = 0; n < 3; n++) await service.emit('THREAD.plate.MOVING', { n })
  t.same(await numbers(), ['0 1 2', '0 1 2'])
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const twice = tries.map((tried) => tried(2))
    service.child.kill(signal)
    await service.ended
    // Nobody is there when they come back the first time.
    if (signal === 'SIGKILL') await Promise.all(twice)
    Object.assign(service, await killable(t, service))
    // Before they are back: what happens in between is the point.
    const from = signal === 'SIGKILL' ? 3 : 6
    for (let n = from; n < from + 3; n++) await service.emit('THREAD.plate.MOVING', { n })
    const wanted = `${from} ${from + 1} ${from + 2}`
    t.same(await numbers(), [wanted, wanted])
  }
})

test('events tail prints a line a person can read, of the types that were asked for', async (t) => {
  const service = await serving(t)
  const tail = running(t, service.home, ['events', 'tail', '--types', 'device, custom', '--data-dir', `${service.home}/data`])
  await heard(service, [tail])
  await service.emit('THREAD.plate.MOVING', { n: 1 })
  await service.emit('CUSTOM.note.EMITTED', { n: 2, value: '2' })
  t.match(await tail.line(/.*event note: 2$/), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}run-1 {2}event note: 2$/)
})

test('a type of event that benchd does not fire is told before events tail waits for it', async (t) => {
  const service = await serving(t)
  const tail = running(t, service.home, ['events', 'tail', '--types', 'incidnt,custom', '--data-dir', `${service.home}/data`])
  const [told] = (await once(tail.child.stderr.setEncoding('utf8'), 'data')) as [string]
  t.match(
    told,
    /^benchd: benchd itself fires no event of the type "INCIDNT", only a simulation may; did you mean "INCIDENT"\?; there is: EXECUTION, /,
  )
  await heard(service, [tail])
  const exported = await benchd(service.home, ['events', 'export', '--csv', '--execution', 'nothing', '--data-dir', `${service.home}/data`])
  t.match(exported, { code: 3, stdout: '', stderr: /the log has no event of a run nothing; see: benchd runs list/ })
})

test('events tail that finds no service, or has no key, ends at once', async (t) => {
  const service = await serving(t)
  t.match(await benchd(service.home, ['events', 'tail', '--url', service.url]), {
    code: 4,
    stderr: /wants a valid key, in BENCHD_API_KEY/,
  })
  t.match(await benchd(service.home, ['events', 'tail', '--data-dir', `${service.home}/none`]), { code: 69 })
})

test('events since takes seconds, a date and a time ago, and prints what GET /events answers', async (t) => {
  const service = await serving(t)
  const fired: RuntimeEvent[] = []
  await service.emit('THREAD.plate.MOVING', {}, 'run-2')
  for (let n = 0; n < 5; n++) fired.push(await service.emit(n % 2 ? 'CUSTOM.note.EMITTED' : 'THREAD.plate.MOVING', { n }))
  const iso = new Date(Math.floor(fired[0]!.timestamp * 1000)).toISOString()
  for (const way of service.ways) {
    const since = async (...args: string[]) => {
      const { code, stdout, stderr } = await benchd(service.home, ['events', 'since', ...args, '--json', '--execution', 'run-1', ...way])
      t.equal(code, 0)
      t.match(stderr, /^(benchd: events from \d{4}-\S+Z on\n)?$/)
      return ndjson(stdout)
    }
    t.same(await since(String(fired[2]!.timestamp)), fired.slice(2))
    for (const time of ['0', '10m', '2h', '1d', '3600s', iso, iso.slice(0, 10)]) t.same(await since(time), fired, time)
    t.same(await since('0', '--types', 'custom'), [fired[1], fired[3]])
  }
  const lines = async (...options: string[]) =>
    (await benchd(service.home, ['events', 'since', '10m', '--execution', 'run-1', ...options, ...service.ways[0]!])).stdout
  t.match(await lines(), /^\S+:\d\dZ {2}run-1 {2}event note\n\S+Z {2}run-1 {2}event note\n$/)
  t.match(await lines('--all'), /^\S+\.\d{3}Z {2}THREAD\.plate\.MOVING {2}run-1 {2}\{"n":0\}\n(.*\n){4}$/)
  const silent = await benchd(service.home, ['events', 'since', '10m', '--execution', 'run-2', ...service.ways[0]!])
  t.match(silent, { code: 0, stdout: '', stderr: /only states of the engine changed; to see them: --all/ })
  t.match(await lines('--types', 'thread'), /^\S+Z {2}run-1 {2}THREAD\.plate\.MOVING {2}\{"n":0\}\n/)
  for (const wrong of ['yesterday', '', '10x', '-5', 'NaN', '1960-01-01', '05/11/2026', '0x10']) {
    t.match(
      await benchd(service.home, ['events', 'since', ...service.ways[0]!, '--', wrong]),
      { code: 2, stdout: '', stderr: wrong ? /is no time/ : /TIME is empty/ },
      wrong,
    )
  }
})

test('events export prints all there is, over many pages, as verify counts it', async (t) => {
  const service = await serving(t)
  await service.post('/api/sim/load', { rate: 10_000, seconds: 0.35 })
  await service.emitted(3499)
  await service.emit('CUSTOM.note.EMITTED', { text: 'ü\n"\u2028' }, 'run-2')
  for (const way of service.ways) {
    const { code, stdout } = await benchd(service.home, ['events', 'export', ...way])
    t.equal(code, 0)
    const events = ndjson(stdout)
    t.same(
      events.filter(({ entity_type }) => entity_type === 'SIM').map(({ context }) => context.n),
      Array.from({ length: 3500 }, (_, n) => n),
    )
    t.same(events.at(-1)?.context, { text: 'ü\n"\u2028' })
    const verified = await benchd(service.home, ['events', 'verify', '--json', '--data-dir', `${service.home}/data`])
    t.match(verified, { code: 0 })
    t.same(JSON.parse(verified.stdout), { files: 1, events: events.length, damaged: [] })
  }
  const one = await benchd(service.home, ['events', 'export', '--execution', 'run-2', ...service.ways[0]!])
  t.same(
    ndjson(one.stdout).map(({ execution_id }) => execution_id),
    ['run-2'],
  )
  const exporting = spawn(process.execPath, [program, 'events', 'export', ...service.ways[0]!], { stdio: ['ignore', 'pipe', 'pipe'] })
  exporting.stdout.once('data', () => exporting.stdout.destroy())
  t.same(await Promise.all([text(exporting.stderr), once(exporting, 'exit')]), ['', [0, null]])
})

test('events export --csv has a header, a line for each event, and the context as JSON', async (t) => {
  const service = await serving(t)
  const fired = [await service.emit('CUSTOM.note.EMITTED', { text: 'a "b",\nc' }), await service.emit('THREAD.plate.MOVING', { n: 1 })]
  const { code, stdout } = await benchd(service.home, ['events', 'export', '--csv', '--execution', 'run-1', ...service.ways[0]!])
  t.equal(code, 0)
  const [head, ...rows] = parseCsv(stdout, 'stdout').map(({ cells }) => cells)
  t.same(head, ['timestamp', 'time', 'event_name', 'execution_id', 'entity_type', 'entity_id', 'status', 'context'])
  t.same(
    rows.map(([timestamp, time = '', event_name, execution_id, entity_type, entity_id, status, context = '']) => ({
      ...{ timestamp: Number(timestamp), event_name, execution_id, entity_type, entity_id, status, context: JSON.parse(context) },
      time: Date.parse(time),
    })),
    fired.map((event) => ({ ...event, time: Math.floor(event.timestamp * 1000 + 1e-4) })),
  )
  t.match(await benchd(service.home, ['events', 'export', '--csv', '--json', ...service.ways[0]!]), { code: 2, stderr: /not both/ })
  const unknown = await benchd(service.home, ['events', 'export', '--csv', '--execution', 'run-2', ...service.ways[0]!])
  t.match(unknown, { code: 3, stdout: '', stderr: /the log has no event of a run run-2/ })
})

test('events verify says which file is damaged at which byte, and ends with 1', async (t) => {
  const service = await serving(t)
  for (let n = 0; n < 20; n++) await service.emit('THREAD.plate.MOVING', { n })
  await service.close()
  const folder = `${service.home}/data/events`
  const dir = ['--data-dir', `${service.home}/data`]
  t.match(await benchd(service.home, ['events', 'verify', ...dir]), { code: 0, stdout: /^1 files, 20 events, 0 damaged lines\n$/ })
  const [name] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const bytes = readFileSync(`${folder}/${name}`)
  const at = bytes.indexOf('"n":7}')
  const start = bytes.lastIndexOf('\n', at) + 1
  bytes.write('8', at + 4)
  writeFileSync(`${folder}/${name}`, bytes)
  t.match(await benchd(service.home, ['events', 'verify', ...dir]), {
    code: 1,
    stdout: new RegExp(`^${name} at byte ${start}: .*no whole line\\n1 files, 19 events, 1 damaged lines\\n$`),
  })
  writeFileSync(`${folder}/${name}`, bytes.subarray(0, bytes.length - 10))
  const { damaged } = JSON.parse((await benchd(service.home, ['events', 'verify', '--json', ...dir])).stdout)
  t.match(damaged, [
    { file: name, offset: start },
    { file: name, problem: /at the end/ },
  ])
  t.match(await benchd(service.home, ['events', 'verify', '--data-dir', `${service.home}/none`]), {
    code: 3,
    stderr: /^benchd: there is no event log in \S+; the service makes it at its first start; .*--data-dir\n$/,
  })
})

type Known = { home: string; port: number; key: string }

/** A service in this process, on a folder of its own. */
async function serving(t: Test) {
  const known = await newHome(t)
  const { url, close } = await served(t, known.home)
  return { ...speaking(known, url), close }
}

/** A service that is a process of its own, on a folder and a port of its own, or on those it had before. */
async function killable(t: Test, known?: Known) {
  const its = known ?? (await newHome(t))
  const dir = ['--data-dir', `${its.home}/data`]
  const { child, line, ended } = running(t, its.home, ['serve', '--config', `${its.home}/config.json`, ...dir, '--port', String(its.port)])
  const url = await line(/http:\/\/[\d.]+:\d+/)
  child.stdout.resume()
  return { ...speaking(its, url), child, ended }
}

/** `ways` are the options to reach the service. */
function speaking({ home, port, key }: Known, url: string) {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
  const post = async (path: string, body: object) => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  return {
    ...{ home, port, key, url, post },
    ways: [
      ['--data-dir', `${home}/data`],
      ['--url', url, '--key', key],
    ],
    emit: async (event_name: string, context: object, execution_id = 'run-1') =>
      (await post('/api/sim/events', { event_name, execution_id, context })) as RuntimeEvent,
    /** Resolves when a flow has come so far. */
    async emitted(n: number) {
      for (let there = false; !there; ) there = (await (await fetch(`${url}/events`, { headers })).text()).includes(`"n":${n}}`)
    },
  }
}

/** Fires events until those who read along have printed one. */
async function heard(service: { emit(name: string, context: object): Promise<unknown> }, tails: readonly Running[]): Promise<void> {
  let waiting = true
  const all = Promise.all(tails.map(({ line }) => line(/"n":-1|event note: -1/))).finally(() => {
    waiting = false
  })
  while (waiting) await service.emit('CUSTOM.note.EMITTED', { n: -1, value: '-1' })
  await all
}

/** Answers what resolves when it has said so many times more that it tries again. */
function triesOf(stderr: Readable): (more: number) => Promise<void> {
  let count = 0
  let look = () => {}
  stderr.on('data', (bytes) => {
    count += String(bytes).split('trying again').length - 1
    look()
  })
  return (more) => {
    const wanted = count + more
    return new Promise((resolve) => {
      look = () => count >= wanted && resolve()
    })
  }
}

async function threeOf(line: Running['line']): Promise<string> {
  return `${await line(/"n":(\d+)/)} ${await line(/"n":(\d+)/)} ${await line(/"n":(\d+)/)}`
}

function ndjson(stdout: string): RuntimeEvent[] {
  return stdout.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []))
}

async function newHome(t: Test): Promise<Known> {
  t.teardown(() => undefined)
  const devices = [{ device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }]
  const home = t.testdir({ 'config.json': JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices }) })
  const made = await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'operate', '--data-dir', `${home}/data`])
  return { home, port: await freePort(), key: made.stdout.trim() }
}
