// Whatever has become of a file of the state, the service starts, answers a stop, says what is damaged, and keeps what it found.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Test, test } from 'tap'
import { OperationJournal } from '../devices/operation_journal.ts'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { startService } from '../main.ts'
import { benchConfig, openTestBench, type TestedBench } from '../testing/http.ts'
import { hasAllTrials } from '../testing/trials.ts'

type Damage = (path: string) => unknown

const ofFiles: Record<string, Damage> = {
  'nothing left': (path) => truncateSync(path, 0),
  zeros: (path) => writeFileSync(path, Buffer.alloc(readFileSync(path).length)),
  'a flipped byte': (path) => {
    const bytes = readFileSync(path)
    const at = bytes.length >> 1
    bytes[at] = bytes[at]! ^ 1
    writeFileSync(path, bytes)
  },
  'its second half cut off': (path) => truncateSync(path, readFileSync(path).length >> 1),
  garbage: (path) => writeFileSync(path, Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 256))),
}

const inTheirPlace: Record<string, Damage> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a socket': async (path) => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(`${path}.s`, resolve))
    // Under its first name it would go with its server.
    renameSync(`${path}.s`, path)
    await new Promise((resolve) => server.close(resolve))
  },
  '/dev/zero': (path) => symlinkSync('/dev/zero', path),
  '/dev/full': (path) => symlinkSync('/dev/full', path),
  'a circle of links': (path) => symlinkSync(basename(path), path),
  'a link to nowhere': (path) => symlinkSync('/none/at/all', path),
}

const files: Record<string, Damage> = {
  ...ofFiles,
  ...anew(inTheirPlace),
  ...anew({ 'a folder': (path) => mkdirSync(join(path, 'in it'), { recursive: true }) }),
  'no rights': (path: string) => chmodSync(path, 0),
}
const folders: Record<string, Damage> = {
  ...anew(inTheirPlace),
  ...anew({ 'a file': (path) => writeFileSync(path, 'a file') }),
  'no rights': (path: string) => chmodSync(path, 0),
}

function anew(damages: Record<string, Damage>): Record<string, Damage> {
  const removing = (damage: Damage) => (path: string) => {
    rmSync(path, { recursive: true, force: true })
    return damage(path)
  }
  return Object.fromEntries(Object.entries(damages).map(([name, damage]) => [name, removing(damage)]))
}

/** What happens to a file: it is told, and what was found is kept under another name, or where it is. */
type Fate = 'set aside' | 'left there' | 'made anew' | 'begun anew and told'

const run = 'executions/RUN.jsonl'

/** With the exceptions from the first. */
const state: Record<string, { fate: Fate; but?: Record<string, Fate> }> = {
  'teachpoints.json': { fate: 'set aside' },
  'keys.json': { fate: 'set aside' },
  'latches.json': { fate: 'set aside' },
  'leases.json': { fate: 'set aside' },
  'presets.json': { fate: 'set aside' },
  'workflows.json': { fate: 'set aside' },
  'versions.jsonl': { fate: 'set aside' },
  'queue.json': { fate: 'set aside' },
  'labware.json': { fate: 'set aside' },
  'durations.json': { fate: 'set aside' },
  'device_notes.json': { fate: 'set aside' },
  'event_ids.json': { fate: 'set aside' },
  'events/removed.json': { fate: 'set aside' },
  'idempotency.jsonl': { fate: 'set aside' },
  'operations.jsonl': { fate: 'set aside' },
  'records.jsonl': { fate: 'set aside' },
  'incidents.jsonl': { fate: 'set aside' },
  'runs.jsonl': { fate: 'set aside' },
  // Half of the file ends with a torn line, as after a power cut, so that the service does not report damage.
  [run]: { fate: 'set aside', but: { 'its second half cut off': 'made anew' } },
  'teachpoint_history.jsonl': { fate: 'set aside' },
  // The service does not notice a wrong byte inside a line of this file.
  'audit-refused.jsonl': {
    fate: 'set aside',
    but: { 'nothing left': 'made anew', 'its second half cut off': 'made anew', 'a flipped byte': 'made anew' },
  },
  'audit.jsonl': { fate: 'set aside', but: { 'nothing left': 'made anew', 'its second half cut off': 'made anew' } },
  'events/events-000001.jsonl': { fate: 'left there' },
  // Lines that are not whole are cut off at the end.
  'events/events-000002.jsonl': {
    fate: 'left there',
    but: { 'nothing left': 'made anew', zeros: 'begun anew and told', garbage: 'begun anew and told' },
  },
  'events/events-000001.idx.json': { fate: 'made anew' },
  events: { fate: 'set aside' },
  executions: { fate: 'set aside' },
  backups: { fate: 'set aside' },
}

/** Former versions of files, backups, the record of a run (src/workflow/records) and the documents of versions (src/workflow/versions.test.ts). */
const elsewhere = [/\.bak$/, /^backups\//, /^executions\/[^/.]+(\/record\.jsonl)?$/, /^versions(\/\w+)?$/]

const shaker = '/api/devices/shaker-1'
const silent = { info() {}, warn() {}, error() {} }
const isRoot = process.geteuid!() === 0
const nobody = 65_534

test('whatever has become of a file', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'benchd-damaged-'))
  chmodSync(home, 0o755)
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const used = `${home}/used`
  let states = ''
  await t.test('a bench that was in use when it was killed', async (t) => {
    states = await useBench(t, home, used)
    const tried = Object.keys(state).map((name) => name.replace('RUN', states))
    const others = readdirSync(used, { recursive: true, encoding: 'utf8' }).filter(
      (path) => !tried.includes(path) && !elsewhere.some((pattern) => pattern.test(path)),
    )
    t.same(others.sort(), [], 'each file is tried below, or is named above')
  })
  for (const [number, [name, { fate, but = {} }]] of Object.entries(state).entries()) {
    await t.test(name, async (t) => {
      const real = name.replace('RUN', states)
      t.ok(existsSync(join(used, real)), 'it is there')
      const all = Object.entries(lstatSync(join(used, real)).isDirectory() ? folders : files)
      // Else every second one, of each file others.
      const some = all.filter(([damage], n) => hasAllTrials || damage in but || (n + number) % 2 === 0)
      for (const [damage, spoil] of some) {
        await t.test(damage, async (t) => {
          const data_dir = `${home}/data`
          rmSync(data_dir, { recursive: true, force: true })
          cpSync(used, data_dir, { recursive: true })
          await spoil(join(data_dir, real))
          const of = but[damage] ?? fate
          const found = seen(join(data_dir, real))
          await asNobody(damage === 'no rights', data_dir, () => t.test('it starts', (t) => starts(t, data_dir, real, of !== 'made anew')))
          const now = join(data_dir, real)
          if (of === 'set aside')
            t.ok(
              asides(now).some((aside) => isSame(found, seen(aside))),
              `kept: ${asides(now).join()}`,
            )
          if (of === 'left there') t.equal(seen(now).type, found.type, 'it is left where it is')
        })
      }
    })
  }
})

/** Leaves a bench as a kill does, with something in each file. Answers the name of the file with the state of the run, without its ending. */
async function useBench(t: Test, home: string, used: string): Promise<string> {
  const [data_dir, again] = [`${home}/first`, `${home}/second`]
  mkdirSync(data_dir)
  const first = await openTestBench(t, {}, { folder: data_dir })
  await work(t, first)
  await first.bench.hub.log.until()
  cpSync(data_dir, again, { recursive: true })
  // A segment that another follows is sealed at the next start.
  writeFileSync(`${again}/events/events-000002.jsonl`, '')
  const second = await openTestBench(t, {}, { folder: again })
  await second.ask('POST', '/api/stop')
  await second.bench.hub.log.until()
  await second.ask('POST', '/api/system/backups', { json: {} })
  const learned = { operations: {}, hops: {} }
  const byHand = { 'durations.json': { LIVE: learned, DEVICE_SIM: learned }, 'labware.json': { topology: 'demo', labware: [] } }
  for (const [name, content] of Object.entries(byHand))
    if (!existsSync(`${again}/${name}`)) writeFileSync(`${again}/${name}`, JSON.stringify({ format: 1, ...content }))
  const runs = await OperationJournal.open(again, ({ message }) => t.fail(message))
  await runs.switchedOn('centrifuge-1', 'centrifuge')
  await runs.close()
  // The bench itself goes on until the end of the test.
  cpSync(again, used, { recursive: true })
  const [state = ''] = readdirSync(`${used}/executions`).filter((name) => name.endsWith('.jsonl'))
  return state.replace(/\.jsonl$/, '')
}

async function work(t: Test, { ask, bench }: TestedBench): Promise<void> {
  const post = async (path: string, json: object, status: number, headers = {}) => {
    const reply = await ask('POST', path, { json, headers })
    t.equal(reply.status, status, reply.text)
  }
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: true })
  await post(`${shaker}/initialize`, {}, 200, { 'Idempotency-Key': 'done' })
  await post('/api/topology/load', { name: 'demo' }, 200)
  await ask('PUT', '/api/workflows/patient', { json: patient })
  await post('/api/submissions', { workflow: 'patient', run_mode: 'LIVE' }, 202)
  await post('/api/queue', { submission: { workflow: 'patient', run_mode: 'LIVE' } }, 201)
  await ask('PUT', '/api/devices/sealer-1/lock', { json: { owner: 'somebody', ttl_s: 3600 } })
  await ask('PUT', `${shaker}/presets/shake/gentle`, { json: { params: { speed: 300 } } })
  await ask('PUT', `${shaker}/note`, { json: { text: 'The left clamp is stiff.' } })
  await post('/api/stop', {}, 200)
  bench.hub.incident('OTHER', 'something happened')
  await bench.hub.remove('another')
  await bench.hub.incidents.written()
  await bench.runs.written()
  await bench.ledger.lastOf('shaker-1')
  await bench.audit.newest(1)
}

const patient = {
  format: 1,
  name: 'patient',
  topology: 'demo',
  labware: { plate: { type: '96-well' } },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ wait_for: 'go' }],
    },
  },
  start: ['plate'],
}

type Found = { type: number; bytes: Buffer | undefined }

function seen(path: string): Found {
  const stats = lstatSync(path)
  return { type: stats.mode & 0o170_000, bytes: stats.isFile() ? readFileSync(path) : undefined }
}

function isSame(a: Found, b: Found): boolean {
  return a.type === b.type && (a.bytes === undefined || (b.bytes !== undefined && a.bytes.equals(b.bytes)))
}

/** Root may read everything, so it gives the folder to somebody who may not. */
async function asNobody(isAsked: boolean, folder: string, work: () => Promise<unknown>): Promise<void> {
  if (!isAsked || !isRoot) {
    await work()
    return
  }
  execFileSync('chown', ['-R', `${nobody}`, folder])
  process.seteuid!(nobody)
  try {
    await work()
  } finally {
    process.seteuid!(0)
  }
}

async function starts(t: Test, data_dir: string, name: string, isTold: boolean): Promise<void> {
  const { ask, bench, logged } = await openTestBench(t, {}, { folder: data_dir })
  t.equal((await ask('POST', '/api/stop')).status, 200, 'a stop is answered')
  for (const path of ['/events', shaker, '/api/executions', '/api/labware', '/api/system/backups'])
    t.equal((await ask('GET', path)).status, 200, path)
  const json = { device_id: 'arm-1', name: 'new', coord_type: 'cartesian', coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 } }
  t.equal((await ask('POST', '/api/teachpoints', { json })).status, 201, 'what can be stored is stored')
  await bench.audit.newest(1)
  const initialized = await ask('POST', `${shaker}/initialize`, { headers: { 'Idempotency-Key': 'another' } })
  t.equal(initialized.status, name === 'idempotency.jsonl' ? 409 : 200, initialized.text)
  const words = [...logged, ...bench.hub.incidents.list().map(({ message }) => message)]
  const told = words.filter((word) => word.includes(basename(name, '.jsonl')) && /damaged|cannot be|empty|torn/.test(word))
  t.equal(told.length > 0, isTold, `told: ${words.join('\n')}`)
}

/** What stands beside it under a name made from its own. */
function asides(path: string): string[] {
  const [folder, name] = [dirname(path), basename(path)]
  const stem = name.replace(/\..*/, '')
  return readdirSync(folder).flatMap((one) => (one.startsWith(stem) && one !== name ? [join(folder, one)] : []))
}

test('a restore that was interrupted and can no longer be completed keeps nobody from starting, and nothing moves before it was seen', async (t) => {
  const config = await benchConfig()
  const list = JSON.stringify({ format: 1, put: ['teachpoints.json'], take: [], before: 'before-restore-20260101T000000Z' })
  const lost: Record<string, Damage> = { 'a file that was to be put in place is gone': () => undefined }
  for (const [damage, spoil] of Object.entries({ ...files, ...lost })) {
    await t.test(damage, async (t) => {
      const data_dir = mkdtempSync(join(tmpdir(), 'benchd-damaged-'))
      t.teardown(() => rmSync(data_dir, { recursive: true, force: true }))
      mkdirSync(`${data_dir}/swap/before`, { recursive: true })
      writeFileSync(`${data_dir}/swap/before/teachpoints.json`, 'what was there before')
      writeFileSync(`${data_dir}/swap/list.json`, list)
      await spoil(`${data_dir}/swap/list.json`)
      await asNobody(damage === 'no rights', data_dir, async () => {
        const service = await startService(config, { data_dir, log: silent })
        const { api_key } = await service.bench.keys.create({ name: 'a', scope: 'operate' })
        const post = (path: string) => fetch(service.url + path, { method: 'POST', headers: { 'X-API-Key': api_key } })
        t.equal((await post('/api/stop')).status, 200)
        t.match(await (await post(`${shaker}/initialize`)).text(), /safe mode/)
        t.match(service.bench.safe_mode?.message, /a restore was interrupted and cannot be completed/)
        await service.close()
      })
      const [aside] = asides(`${data_dir}/swap`)
      t.match(aside, /swap\.corrupt-/)
      t.equal(readFileSync(`${aside}/before/teachpoints.json`, 'utf8'), 'what was there before')
      const again = await startService(config, { data_dir, log: silent })
      await again.close()
      t.equal(asides(`${data_dir}/swap`).length, 1)
    })
  }
})

test('whatever stands where the service begins: its locks, its list of starts, a restore that was interrupted', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'benchd-damaged-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const config = await benchConfig()
  const data_dir = `${home}/data`
  const trials: Record<string, Record<string, Damage>> = {
    'starts.json': files,
    'control.sock': { ...anew(inTheirPlace), 'a file': folders['a file']!, 'a folder': files['a folder']! },
    'offline.sock': { ...anew(inTheirPlace), 'a file': folders['a file']!, 'a folder': files['a folder']! },
    swap: { ...anew(inTheirPlace), 'a file': folders['a file']! },
  }
  for (const [name, damages] of Object.entries(trials)) {
    for (const [damage, spoil] of Object.entries(damages)) {
      rmSync(data_dir, { recursive: true, force: true })
      mkdirSync(data_dir)
      const path = join(data_dir, name)
      writeFileSync(path, JSON.stringify({ format: 1, starts: [{ boot: 'x', uptime_s: 1 }] }))
      await spoil(path)
      const found = seen(path)
      const told: string[] = []
      const log = { info() {}, warn: (message: string) => void told.push(message), error: (message: string) => void told.push(message) }
      const service = await startService(config, { data_dir, log })
      const { api_key } = await service.bench.keys.create({ name: 'a', scope: 'operate' })
      const reply = await fetch(`${service.url}/api/stop`, { method: 'POST', headers: { 'X-API-Key': api_key } })
      t.equal(reply.status, 200, `${name}: ${damage}`)
      const isLive = (damage === 'a socket' && name.endsWith('.sock')) || name === 'offline.sock' || name === 'swap'
      if (isLive || (isRoot && damage === 'no rights')) t.ok(existsSync(data_dir))
      else
        t.ok(
          asides(path).some((aside) => isSame(found, seen(aside))),
          `${name}: ${damage}: ${asides(path).join()}`,
        )
      if (name === 'starts.json' && !(isRoot && damage === 'no rights')) t.match(told.join(), /starts\.json is damaged/)
      await service.close()
    }
  }
})
