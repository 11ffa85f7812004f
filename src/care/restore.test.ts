import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { tarEnd, tarFill, tarHead } from '../kit/tar.ts'
import { sha256Of, treeOf } from '../kit/tree.ts'
import { emitMany, onBench, Socket } from '../testing/events.ts'
import { type Manifest, makeBackup } from './backup.ts'
import { type FileChange, openBackup, type Parts, planOf, restore } from './restore.ts'
import { configPlanOf, restoreConfig } from './restore_config.ts'

const whole: Parts = { all: true, keys: true }
const usual: Parts = { all: false, keys: false }
const at = new Date('2026-11-20T17:15:30Z')

const then = {
  'fleet.json': 'then',
  'teachpoints.json': 'then',
  'workflows.json': 'then',
  photos: { 'shaker-1': 'then' },
  'keys.json': 'then',
  'records.jsonl': 'then',
  'latches.json': 'then',
  'audit.jsonl': 'then',
  'audit-refused.jsonl': 'then',
  executions: { 'one.jsonl': 'then', run_1: { 'record.jsonl': 'then' } },
  events: { 'events-000001.jsonl': 'then' },
}
const now = {
  'teachpoints.json': 'now',
  'workflows.json': 'then',
  photos: { 'shaker-1': 'now' },
  'durations.json': 'now',
  'keys.json': 'now',
  'records.jsonl': 'now',
  'latches.json': 'now',
  'audit.jsonl': 'now',
  executions: { 'two.jsonl': 'now' },
  events: { 'events-000007.jsonl': 'now' },
}

async function prepared(t: Test, here: object, wanted = { with_keys: true, with_events: true }) {
  t.teardown(() => undefined)
  const folder = t.testdir({
    then,
    here: here as typeof now,
    etc: { 'config.json': 'then', topologies: { 'a.json': 'then', 'b.json': 'then' } },
  })
  const path = `${folder}/it.tar.gz`
  const sources = {
    data_dir: `${folder}/then`,
    config: `${folder}/etc/config.json`,
    topologies: `${folder}/etc/topologies`,
    version: '1.2.3',
    system_id: 'bench-7',
  }
  await makeBackup(sources, wanted, { path, at })
  const opened = await openBackup(path)
  t.teardown(() => opened.archive.close())
  return { folder, path, opened, here: `${folder}/here` }
}

function worded(plan: readonly FileChange[]): string[] {
  return plan.map(({ name, change }) => `${change}: ${name}`)
}

test('a restore takes the epoch of the event log away, and a backup has none', async (t) => {
  const { opened, here } = await prepared(t, { ...now, 'fleet.json': 'now', 'fleet.json.bak': 'now' })
  t.notOk(opened.manifest.files.some(({ name }) => name.includes('fleet')))
  const before = await restore(opened, here, await planOf(opened, here, usual), at)
  t.notOk(existsSync(`${here}/fleet.json`))
  t.notOk(existsSync(`${here}/fleet.json.bak`))
  t.equal(readFileSync(`${here}/${before}/fleet.json`, 'utf8'), 'now')
})

test('what people set up comes back; what ran, the keys, and what is so of the bench stay as they are here', async (t) => {
  const { opened, here } = await prepared(t, now)
  const plan = await planOf(opened, here, usual)
  t.same(worded(plan), [
    'left alone: audit-refused.jsonl',
    'left alone: audit.jsonl',
    'taken away: durations.json',
    'left alone: events/events-000001.jsonl',
    'left alone: events/events-000007.jsonl',
    'left alone: executions/one.jsonl',
    'left alone: executions/run_1/record.jsonl',
    'left alone: executions/two.jsonl',
    'left alone: keys.json',
    'left alone: latches.json',
    'replaced: photos/shaker-1',
    'left alone: records.jsonl',
    'replaced: teachpoints.json',
    'the same: workflows.json',
  ])
  t.equal(await restore(opened, here, plan, at), 'before-restore-20261120T171530Z')
  const read = (name: string) => readFileSync(`${here}/${name}`, 'utf8')
  t.equal(read('teachpoints.json'), 'then')
  t.equal(read('photos/shaker-1'), 'then')
  t.notOk(existsSync(`${here}/durations.json`))
  t.equal(read('before-restore-20261120T171530Z/teachpoints.json'), 'now')
  t.equal(read('before-restore-20261120T171530Z/durations.json'), 'now')
  for (const name of ['keys.json', 'records.jsonl', 'latches.json', 'executions/two.jsonl']) t.equal(read(name), 'now', name)
  t.equal(statSync(`${here}/teachpoints.json`).mode & 0o777, 0o600)
  t.notOk(existsSync(`${here}/swap`))
  t.equal(await restore(opened, here, await planOf(opened, here, usual), at), undefined, 'nothing is left to be done')
})

test('with --all and --with-keys what ran and the keys come back too; the audit and what is so of the bench never do', async (t) => {
  const { opened, here } = await prepared(t, now)
  const plan = await planOf(opened, here, whole)
  t.same(
    worded(plan).filter((words) => !words.startsWith('replaced')),
    [
      'left alone: audit-refused.jsonl',
      'left alone: audit.jsonl',
      'taken away: durations.json',
      'added: events/events-000001.jsonl',
      'taken away: events/events-000007.jsonl',
      'added: executions/one.jsonl',
      'added: executions/run_1/record.jsonl',
      'taken away: executions/two.jsonl',
      'left alone: latches.json',
      'the same: workflows.json',
    ],
  )
  await restore(opened, here, plan, at)
  t.equal(readFileSync(`${here}/keys.json`, 'utf8'), 'then')
  t.equal(readFileSync(`${here}/before-restore-20261120T171530Z/events/events-000007.jsonl`, 'utf8'), 'now')
})

test('an older event log that is put back goes on with ids that were never given, and who has seen a lost event is told of a gap', async (t) => {
  const folder = t.testdir({ data: {} })
  const data_dir = `${folder}/data`
  const happened = async (count: number) => {
    const { hub } = await onBench(data_dir)
    const socket = new Socket()
    hub.streams.subscribe({ outlet: socket, after_seq: 45 })
    await hub.stored(emitMany(hub, count))
    await hub.close()
    return socket
  }
  await happened(20)
  const sources = { data_dir, config: undefined, topologies: undefined, version: '1.2.3', system_id: 'bench-7' }
  await makeBackup(sources, { with_keys: true, with_events: true }, { path: `${folder}/it.tar.gz`, at })
  t.equal((await happened(30)).ids.at(-1), 50)
  const opened = await openBackup(`${folder}/it.tar.gz`)
  t.notOk(opened.manifest.files.some(({ name }) => name.includes('event_ids')))
  const plan = await planOf(opened, data_dir, whole)
  t.match(worded(plan), ['replaced: events/events-000001.jsonl'])
  t.equal(plan.length, 1)
  await restore(opened, data_dir, plan, at)
  await opened.archive.close()
  const { ids, text, events, counted } = await happened(3)
  t.match(events[0], {
    event_name: /^INCIDENT\..*\.STORAGE$/,
    context: { message: /^the event log ends with event 20, and event 50 was in it before/ },
  })
  t.same(counted, [0, 1, 2])
  t.equal(ids.length, 4)
  t.ok(ids[0]! > 50)
  t.match(text, /^: gap$/m)
})

test('a folder that has nothing takes all there is, also without being asked, but for the keys', async (t) => {
  const { opened, here } = await prepared(t, {})
  const plan = await planOf(opened, here, usual)
  t.same(
    plan.filter(({ change }) => change !== 'added'),
    [{ name: 'keys.json', change: 'left alone' }],
  )
  t.equal(plan.length, 11)
  t.equal(await restore(opened, here, plan, at), undefined, 'there was nothing to keep')
  t.notOk(existsSync(`${here}/keys.json`))
  await restore(opened, here, await planOf(opened, here, whole), at)
  for (const name of ['keys.json', 'latches.json', 'events/events-000001.jsonl']) t.equal(readFileSync(`${here}/${name}`, 'utf8'), 'then')
})

test('after a backup without keys and events those of here stay, whatever is asked for', async (t) => {
  const { opened, here } = await prepared(t, now, { with_keys: false, with_events: false })
  const changes = worded(await planOf(opened, here, whole))
  t.ok(changes.includes('left alone: keys.json'))
  t.ok(changes.includes('left alone: events/events-000007.jsonl'))
})

test('the configuration comes back file by file, and what was there stands beside it', async (t) => {
  const { opened, folder } = await prepared(t, now)
  const places = { config: `${folder}/etc/config.json`, topologies: `${folder}/new/topologies` }
  writeFileSync(places.config, 'now')
  const plan = await configPlanOf(opened, places)
  t.same(worded(plan), [`replaced: ${places.config}`, `added: ${places.topologies}/a.json`, `added: ${places.topologies}/b.json`])
  await restoreConfig(opened, places, plan, at)
  t.equal(readFileSync(places.config, 'utf8'), 'then')
  t.equal(statSync(places.config).mode & 0o777, 0o644)
  t.equal(readFileSync(`${places.config}.2026-11-20T171530`, 'utf8'), 'now')
  t.same(new Set((await configPlanOf(opened, places)).map(({ change }) => change)), new Set(['the same']))
})

/** A name as somebody may have made one; no slash is in it. */
const oddName = fc.oneof(
  fc.stringMatching(/^[a-c.~ -]{1,6}$/),
  fc.string({ unit: fc.constantFrom(...'a\\\n\u0001\u001b\u007f\u202eäß\u{1F600}"\''), minLength: 1, maxLength: 6 }),
  fc.constantFrom(
    'swap',
    'backups',
    'a.tmp',
    'x.sock',
    '.git',
    '.env',
    'node_modules',
    'manifest.json',
    '__proto__',
    '..json',
    'control.sock',
  ),
  fc.constantFrom('n'.repeat(99), 'n'.repeat(101), 'ä'.repeat(60), 'n'.repeat(250)),
)
const oddPath = fc.array(oddName, { minLength: 1, maxLength: 4 })
const oddBytes = fc.oneof(fc.uint8Array({ maxLength: 600 }), fc.constant(new Uint8Array(4 * 1024 * 1024 + 1)))

function layDown(folder: string, files: readonly (readonly [string[], Uint8Array])[]): void {
  for (const [segments, bytes] of files) {
    if (segments.some((one) => one === '.' || one === '..')) continue
    try {
      mkdirSync([folder, ...segments.slice(0, -1)].join('/'), { recursive: true })
      writeFileSync([folder, ...segments].join('/'), bytes)
    } catch {
      // A file is where a folder should be.
    }
  }
}

test('whatever is there, a backup of it can be put back, and it tells what it has left out', async (t) => {
  t.teardown(() => undefined)
  const root = t.testdir({})
  let round = 0
  const files = fc.array(fc.tuple(oddPath, oddBytes), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(files, files, async (state, topologies) => {
      const folder = `${root}/${round++}`
      for (const name of ['data', 'etc/topologies', 'new']) mkdirSync(`${folder}/${name}`, { recursive: true })
      writeFileSync(`${folder}/etc/config.json`, '{}')
      layDown(`${folder}/data`, state)
      layDown(`${folder}/etc/topologies`, topologies)
      const sources = { data_dir: `${folder}/data`, config: `${folder}/etc/config.json`, topologies: `${folder}/etc/topologies` }
      const path = `${folder}/it.tar.gz`
      const wanted = { with_keys: true, with_events: true }
      const { left_out, files: packed } = await makeBackup({ ...sources, version: '1', system_id: 's' }, wanted, { path, at })
      const opened = await openBackup(path)
      try {
        await restore(opened, `${folder}/new`, await planOf(opened, `${folder}/new`, whole), at)
        const places = { config: `${folder}/new-etc/config.json`, topologies: `${folder}/new-etc/topologies` }
        await restoreConfig(opened, places, await configPlanOf(opened, places), at)
      } finally {
        await opened.archive.close()
      }
      for (const { name } of opened.manifest.files.filter(({ name }) => opened.passed_over.includes(name)))
        throw new Error(`packed, and not put back: ${name}`)
      for (const { name } of packed) {
        const [from, to] = name.startsWith('state/') ? ['data', 'new'] : ['etc', 'new-etc']
        const below = name.slice(name.indexOf('/'))
        if (!readFileSync(`${folder}/${from}${below}`).equals(readFileSync(`${folder}/${to}${below}`)))
          throw new Error(`${name} is not as it was`)
      }
      const there = (await treeOf(sources.topologies)).files.map(({ name }) => `config/topologies/${name}`)
      const silent = there.filter((name) => !packed.some((one) => one.name === name) && !/\/(\.|node_modules)/.test(name))
      if (silent.length > left_out.length) throw new Error(`not told: ${silent}`)
      rmSync(folder, { recursive: true })
    }),
    { numRuns: 60 },
  )
})

test('what tools keep beside a topology is left out, and told', async (t) => {
  t.teardown(() => undefined)
  const folder = t.testdir({
    data: {},
    topologies: {
      'a.json': '{}',
      '.env': 'TOKEN=1',
      '.git': { config: 'x' },
      node_modules: { a: { 'b.js': '' } },
      'big.json': 'x'.repeat(5_000_000),
    },
  })
  const sources = { data_dir: `${folder}/data`, config: undefined, topologies: `${folder}/topologies`, version: '1', system_id: 's' }
  const made = await makeBackup(sources, { with_keys: false, with_events: false }, { path: `${folder}/it.tar.gz`, at })
  t.same(
    made.files.map(({ name }) => name),
    ['config/topologies/a.json'],
  )
  t.same(made.left_out.map((one) => one.split(':')[0]).sort(), [
    'config/topologies/.env',
    'config/topologies/.git/',
    'config/topologies/big.json',
    'config/topologies/node_modules/',
  ])
})

type Member = { name: string; text: string }
const manifest = (files: readonly Member[], more: object = {}): Member => {
  const sizes = files.map(({ name, text }) => ({ name, size: text.length, sha256: createHash('sha256').update(text).digest('hex') }))
  const list: Manifest = {
    format: 1,
    version: '1',
    made_at: 0,
    system_id: 's',
    with_keys: true,
    with_events: true,
    files: sizes,
    left_out: [],
  }
  return { name: 'manifest.json', text: JSON.stringify({ ...list, ...more }) }
}

/** An archive that somebody made by hand. */
function forged(path: string, members: readonly Member[]): void {
  const parts = members.flatMap(({ name, text }) => [
    tarHead({ name, size: text.length, mtime_s: 0 }),
    Buffer.from(text),
    tarFill(text.length),
  ])
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, gzipSync(Buffer.concat([...parts, tarEnd])))
}

test('an archive that is no backup, or wants to write elsewhere, is refused before anything is written', async (t) => {
  t.teardown(() => undefined)
  const folder = t.testdir({ here: now })
  const path = `${folder}/it.tar.gz`
  const good: Member = { name: 'state/teachpoints.json', text: 'evil' }
  const refused = async (members: readonly Member[], reason: RegExp, code = 'storage') => {
    forged(path, members)
    await t.rejects(openBackup(path), { code, message: reason }, String(reason))
  }
  for (const name of [
    'state/../../etc/passwd',
    '../state/a',
    '/etc/passwd',
    'state//etc',
    'state/.',
    'state/swap/list.json',
    'state/backups/a',
    'state/control.sock',
    'state/a\\b',
    'state/a\nb',
    'state/.ssh/../../x',
    'config/../x',
    'config/other.json',
    'config/topologies/../../x',
    'etc/passwd',
    'state/',
    'state',
  ]) {
    const member = { name, text: 'evil' }
    await refused([member, manifest([member])], /is no file of a backup/)
  }
  await refused([good], /it has no manifest\.json/)
  await refused([good, manifest([])], /holds files that its list does not name/)
  await refused([manifest([good])], /"state\/teachpoints\.json" is missing/)
  await refused([good, { ...manifest([{ ...good, text: 'good' }]) }], /is not as it was packed/)
  await refused([good, good, manifest([good])], /is in it twice/)
  await refused([good, manifest([good]), { name: 'state/more', text: '' }], /stands behind its list/)
  await refused([good, manifest([good], { format: 2 })], /has format 2; this version knows up to 1: install a newer/, 'config')
  await refused([good, manifest([good], { more: 1 })], /is not as benchd writes it/)
  await refused([good, { name: 'manifest.json', text: '{' }], /manifest\.json of the archive is damaged/)
  writeFileSync(path, 'no archive')
  await t.rejects(openBackup(path), { code: 'storage', message: /is damaged/ })
  await t.rejects(openBackup(`${folder}/none`), { code: 'not_found' })
})

test('an archive that changes after it was looked through changes nothing', async (t) => {
  const { opened, here, path } = await prepared(t, now)
  const plan = await planOf(opened, here, usual)
  const before = await sha256Of(`${here}/teachpoints.json`)
  const evil: Member = { name: 'state/teachpoints.json', text: 'evil' }
  forged(`${path}.evil`, [evil, manifest([evil])])
  writeFileSync(path, readFileSync(`${path}.evil`))
  await t.rejects(restore(opened, here, plan, at), { code: 'storage', message: /reads otherwise the second time/ })
  t.equal(await sha256Of(`${here}/teachpoints.json`), before)
  t.notOk(existsSync(`${here}/swap`))
  writeFileSync(path, readFileSync(`${path}.evil`).subarray(0, 60))
  await t.rejects(restore(opened, here, plan, at), { code: 'storage' })
  t.equal(await sha256Of(`${here}/teachpoints.json`), before)
})

test('what is no file of benchd is not put back, and told', async (t) => {
  t.teardown(() => undefined)
  const folder = t.testdir({ here: now, etc: {} })
  const path = `${folder}/it.tar.gz`
  const strange = [
    'state/.ssh/authorized_keys',
    'state/.bashrc',
    'state/later.json',
    'state/events/sub/a.jsonl',
    'state/executions/sub/.profile',
    'config/topologies/.git/hooks/post-checkout',
    'config/topologies/node_modules/a/index.js',
  ]
  const members = [...strange, 'state/teachpoints.json', 'config/topologies/a.json'].map((name) => ({ name, text: name }))
  forged(path, [...members, manifest(members)])
  const opened = await openBackup(path)
  t.teardown(() => opened.archive.close())
  t.same(opened.passed_over, strange)
  const plan = await planOf(opened, `${folder}/here`, whole)
  await restore(opened, `${folder}/here`, plan, at)
  const places = { config: `${folder}/etc/config.json`, topologies: `${folder}/etc/topologies` }
  await restoreConfig(opened, places, await configPlanOf(opened, places), at)
  const there = [...(await treeOf(`${folder}/here`)).files, ...(await treeOf(`${folder}/etc`)).files].map(({ name }) => name)
  t.ok(there.includes('teachpoints.json') && there.includes('topologies/a.json'))
  t.same(
    there.filter((name) => strange.some((one) => name.endsWith(one.replace(/^\w+\//, '')))),
    [],
  )
})

test('an archive that would fill the memory is refused: many files of the configuration, large ones together, a long list', async (t) => {
  t.teardown(() => undefined)
  const path = `${t.testdir({})}/it.tar.gz`
  const refused = async (members: readonly Member[], reason: RegExp, most?: number) => {
    forged(path, members)
    await t.rejects(openBackup(path, most), { code: 'storage', message: reason })
  }
  const topology = (i: number, text: string) => ({ name: `config/topologies/${i}.json`, text })
  await refused(
    Array.from({ length: 5 }, (_, i) => topology(i, ' '.repeat(4 * 1024 * 1024))),
    /its configuration is more than 1000 files, or longer than 16 MiB/,
  )
  await refused(
    Array.from({ length: 1001 }, (_, i) => topology(i, '')),
    /its configuration is more than 1000 files/,
  )
  await refused(
    [{ name: 'manifest.json', text: `{"format":1,"left_out":[${'[],'.repeat(12_000_000)}[]]}` }],
    /is \d+ bytes long, which cannot be/,
  )
  await refused(
    Array.from({ length: 201 }, (_, i) => ({ name: `state/events/${i}.jsonl`, text: '' })),
    /there are more than 200 files in it/,
    200,
  )
})

test('a list that is wrong in a million places is refused at the first', async (t) => {
  t.teardown(() => undefined)
  const path = `${t.testdir({})}/it.tar.gz`
  const script = `import(${JSON.stringify(new URL('./restore.js', import.meta.url).href)}).then(({ openBackup }) => openBackup(${JSON.stringify(path)})).catch(({ message }) => console.log(message))`
  forged(path, [{ name: 'manifest.json', text: `{"format":1,"files":[${'{},'.repeat(1_000_000)}{}]}` }])
  // Each place would take a kilobyte.
  const { stdout } = spawnSync(process.execPath, ['--max-old-space-size=256', '-e', script], { encoding: 'utf8' })
  t.match(stdout, /is not as benchd writes it/)
})

test('a configuration that a restore would refuse as too much is left out of the backup from there on, and told', async (t) => {
  t.teardown(() => undefined)
  const large = ' '.repeat(4 * 1024 * 1024)
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`${String(i).padStart(4, '0')}.json`, '']))
  const folder = t.testdir({ data: {}, etc: { 'config.json': '{}' }, few: { a: large, b: large, c: large, d: large, e: '' }, many })
  const sources = { data_dir: `${folder}/data`, config: `${folder}/etc/config.json`, version: '1', system_id: 's' }
  const made = async (topologies: string) => {
    const path = `${folder}/${topologies}.tar.gz`
    await makeBackup({ ...sources, topologies: `${folder}/${topologies}` }, { with_keys: false, with_events: false }, { path, at })
    const opened = await openBackup(path)
    await opened.archive.close()
    return opened
  }
  const few = await made('few')
  t.same([...few.config.keys()], ['config.json', 'topologies/a', 'topologies/b', 'topologies/c', 'topologies/e'])
  t.match(few.manifest.left_out, ['config/topologies/d: the configuration is longer than 16 MiB'])
  t.equal((await made('many')).config.size, 1000)
})
