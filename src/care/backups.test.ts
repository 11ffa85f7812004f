import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import type { Manifest } from './backup.ts'
import { Backups } from './backups.ts'

const hour = 3_600_000
const began = Date.parse('2026-11-20T17:00:00Z')
const little = { with_keys: false, with_events: false }

const state = {
  'teachpoints.json': '{}',
  'teachpoints.json.bak': '{}',
  'teachpoints.json.corrupt-2026': '{',
  'keys.json': 'hashes',
  'keys.json.bak': 'hashes',
  'starts.json': '{}',
  'records.jsonl': '{}\n',
  'durations.json': '{}',
  'descriptions.json': '{}',
  'device_notes.json': '{}',
  photos: { 'shaker-1': 'JPEG' },
  '.bashrc': 'of a shell',
  '.ssh': { authorized_keys: 'of somebody' },
  'half.tmp': '',
  events: { 'events-000001.jsonl': 'e\n', 'events-000001.jsonl.torn': 'e' },
  executions: { 'a.jsonl': 'x', '7b1c': { 'record.jsonl': 'r' } },
  'before-restore-20260101T000000Z': { 'teachpoints.json': 'old' },
  swap: { new: { a: '' } },
}

function opened(t: Test) {
  t.teardown(() => undefined)
  const folder = t.testdir({ data: state, etc: { 'config.json': '{"format":1}', topologies: { 'a.json': '{}', deep: { 'b.ts': '' } } } })
  const data_dir = `${folder}/data`
  const clock = new VirtualClock()
  const told: string[] = []
  const room = { free: 50e9, total: 100e9 }
  const behind = { ms: 0 }
  const sources = {
    data_dir,
    config: `${folder}/etc/config.json`,
    topologies: `${folder}/etc/topologies`,
    version: '1.2.3',
    system_id: 'bench-7',
  }
  const open = () =>
    new Backups({
      sources,
      log: silent,
      clock,
      report: ({ message }) => void told.push(message),
      now: () => began + clock.now() - behind.ms,
      room: async () => room,
    })
  return { data_dir, clock, told, room, behind, open, backups: open() }
}

function listed(path: string): string[] {
  return execFileSync('tar', ['-tzf', path], { encoding: 'utf8' }).trim().split('\n')
}

test('a backup holds configuration, topologies and state; keys and events only when they are asked for', async (t) => {
  const { backups, data_dir } = opened(t)
  symlinkSync('/etc/passwd', `${data_dir}/workflows.json`)
  const config = ['config/config.json', 'config/topologies/a.json', 'config/topologies/deep/b.ts']
  const usual = [
    'descriptions.json',
    'device_notes.json',
    'durations.json',
    'executions/a.jsonl',
    'photos/shaker-1',
    'records.jsonl',
    'teachpoints.json',
    'teachpoints.json.bak',
    'executions/7b1c/record.jsonl',
  ].map((name) => `state/${name}`)
  const made = await backups.make(little)
  t.match(made, { name: 'asked-20261120T170000Z.tar.gz', made_at: began / 1000, is_daily: false, ...little })
  const path = `${data_dir}/backups/${made.name}`
  t.same(listed(path), [...config, ...usual, 'manifest.json'])
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(`${data_dir}/backups`).mode & 0o777, 0o700)
  t.equal(made.size, statSync(path).size)
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', path, 'manifest.json'], { encoding: 'utf8' })) as Manifest
  t.match(manifest, {
    format: 1,
    version: '1.2.3',
    system_id: 'bench-7',
    made_at: began / 1000,
    left_out: [
      /^state\/workflows\.json: it is no plain file/,
      'state/.bashrc: benchd keeps no such file',
      'state/.ssh/: benchd keeps no such file',
    ],
  })
  t.equal(manifest.files.length, 12)

  const whole = await backups.make({ with_keys: true, with_events: true })
  t.match(whole, { name: 'asked-20261120T170001Z-keys-events.tar.gz', with_keys: true, with_events: true })
  const more = ['events/events-000001.jsonl', 'keys.json', 'keys.json.bak'].map((name) => `state/${name}`)
  t.same(listed(`${data_dir}/backups/${whole.name}`).sort(), [...config, ...usual, ...more, 'manifest.json'].sort())
  t.same(
    (await backups.list()).map(({ name }) => name),
    [whole.name, made.name],
  )
  t.same(await buffer(backups.read(made)), readFileSync(path))
  await t.rejects(backups.get('../keys.json'), { code: 'not_found' })
  await t.rejects(backups.remove('nothing'), { code: 'not_found' })
  await backups.remove(made.name)
  t.same(
    (await backups.list()).map(({ name }) => name),
    [whole.name],
  )
})

/** Lets time pass, an hour at a time, and what it wakes write its files. */
async function passed(clock: VirtualClock, hours: number, backups: Backups): Promise<void> {
  for (let i = 0; i < hours; i++) {
    await clock.advance(hour)
    await settled(backups)
  }
}

/** Behind whatever is being made. */
async function settled(backups: Backups): Promise<void> {
  await backups.remove('nothing').catch(() => undefined)
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
}

test('one is made a day, a minute after the start or a day after the last, and the newest seven are kept', async (t) => {
  const { backups, clock, data_dir, open, told } = opened(t)
  mkdirSync(`${data_dir}/backups`)
  writeFileSync(`${data_dir}/backups/daily-x.tar.gz.1.tmp`, 'half')
  writeFileSync(`${data_dir}/backups/mine.txt`, '')
  await backups.make(little)
  await backups.start()
  await clock.advance(59_000)
  await settled(backups)
  t.same((await backups.list()).length, 1)
  await clock.advance(1000)
  await settled(backups)
  const first = 'daily-20261120T170100Z.tar.gz'
  t.equal((await backups.list())[0]?.name, first)
  await passed(clock, 23, backups)
  t.equal((await backups.list()).length, 2)
  await passed(clock, 2, backups)
  t.equal((await backups.list())[0]?.name, 'daily-20261121T170100Z.tar.gz')
  await backups.close()

  // Two hours after the last: one that is begun anew waits for the rest of the day.
  const again = open()
  await again.start()
  await passed(clock, 20, again)
  t.equal((await again.list()).length, 3)
  await passed(clock, 10 * 24, again)
  const daily = (await again.list()).filter(({ is_daily }) => is_daily)
  t.equal(daily.length, 7)
  t.equal((await again.list()).length, 8, 'the one that was asked for stays')
  t.notOk(daily.some(({ name }) => name === first))
  t.same(
    readdirSync(`${data_dir}/backups`).filter((name) => !name.endsWith('.tar.gz')),
    ['mine.txt'],
  )
  t.same(told, [])
  await again.close()
})

test('one that is taken away at once costs none of those that are kept', async (t) => {
  const { backups } = opened(t)
  for (let i = 0; i < 8; i++) await backups.make(little)
  const kept = await backups.list()
  t.equal(kept.length, 7)
  await backups.remove((await backups.make({ ...little, keep: false })).name)
  t.same(await backups.list(), kept)
})

test('a clock that was ahead once keeps no backup from being made, nor from being kept', async (t) => {
  const { backups, clock, data_dir } = opened(t)
  mkdirSync(`${data_dir}/backups`)
  for (let day = 1; day <= 7; day++) writeFileSync(`${data_dir}/backups/daily-2030010${day}T000000Z.tar.gz`, '')
  await backups.start()
  await passed(clock, 2, backups)
  const names = (await backups.list()).map(({ name }) => name)
  t.equal(names.length, 7)
  t.equal(names.filter((name) => name.startsWith('daily-20261120')).length, 1)
  await passed(clock, 3 * 24, backups)
  const later = (await backups.list()).map(({ name }) => name)
  t.same(
    later.filter((name) => name.startsWith('daily-2026')).length,
    4,
    'those of the right clock are kept, and those of a time to come go',
  )
  t.equal(later.length, 7)
  await backups.close()
})

test('a clock that is behind until a time server sets it costs no backup', async (t) => {
  const { backups, clock, data_dir, behind } = opened(t)
  mkdirSync(`${data_dir}/backups`)
  for (let day = 14; day <= 20; day++) writeFileSync(`${data_dir}/backups/daily-202611${day}T160000Z.tar.gz`, '')
  const kept = await backups.list()
  behind.ms = 300 * 86_400_000
  await backups.start()
  await clock.advance(120_000)
  behind.ms = 0
  await passed(clock, 12, backups)
  t.same(await backups.list(), kept)
  await passed(clock, 24, backups)
  t.equal((await backups.list()).filter(({ name }) => name.startsWith('daily-20261121')).length, 1)
  await backups.close()
})

test('with a disk that is nearly full none is made: it is told once, tried every hour, and well again when one is made', async (t) => {
  const { backups, clock, room, told } = opened(t)
  room.free = 1e9
  await backups.start()
  await clock.advance(60_000)
  await settled(backups)
  t.same(await backups.list(), [])
  t.match(told, [/^the daily backup was not made: the disk has 1000 MB left, too little for a backup/])
  t.match(backups.trouble, /not made/)
  await t.rejects(backups.make(little), { code: 'storage' })
  await passed(clock, 3, backups)
  t.equal(told.length, 1)
  room.free = 50e9
  await passed(clock, 1, backups)
  t.equal((await backups.list()).length, 1)
  t.equal(backups.trouble, undefined)
  await backups.close()
})

test('one that fails leaves nothing half made, and is told', async (t) => {
  const { backups, clock, data_dir, told } = opened(t)
  writeFileSync(`${data_dir}/backups`, 'in the way')
  await clock.advance(1)
  await t.rejects(backups.make(little), { message: /cannot/ })
  t.same(told, [])
  await backups.close()
  await t.rejects(backups.make(little), { code: 'stopping' })
  t.same(
    readdirSync(data_dir).filter((name) => name.endsWith('.gz')),
    [],
  )
})
