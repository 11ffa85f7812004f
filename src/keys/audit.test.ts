import { readFileSync, rmSync } from 'node:fs'
import { type Test, test } from 'tap'
import { verifyChain } from '../kit/chained_lines.ts'
import { VirtualClock } from '../kit/clock.ts'
import { Audit } from './audit.ts'

function begin(t: Test, folder = t.testdir()) {
  const told: string[] = []
  const reports: string[] = []
  const clock = new VirtualClock()
  const log = { info: (line: string) => void told.push(line), warn() {}, error() {} }
  const audit = new Audit({ folder, log, clock, now: () => 1e9 + clock.now() / 1000, report: ({ message }) => void reports.push(message) })
  const linesOf = (name: string) => readFileSync(`${folder}/${name}`, 'utf8').trimEnd().split('\n')
  return { folder, told, reports, clock, audit, linesOf }
}

const refused = { key_id: 'reader', status: 403 }
const left = (entries: readonly { left_out?: number | undefined }[]) => entries.reduce((sum, { left_out = 0 }) => sum + left_out, 0)
const written = (entries: readonly { times?: number | undefined }[]) => entries.reduce((sum, { times = 1 }) => sum + times, 0)

test('the heads are told to the log every hour in which something happened, and at the end', async (t) => {
  const { told, clock, audit } = begin(t)
  audit.note({ what: 'one' })
  const first = (await audit.newest(1)).head
  await clock.advance(3_600_000)
  t.same(told, [`audit: line 1 has the hash ${first.hash}`])
  await clock.advance(3 * 3_600_000)
  t.equal(told.length, 1, 'nothing has happened since')
  audit.note({ what: 'two' })
  audit.note({ ...refused, what: 'three' })
  await audit.close()
  t.match(told[1], /^audit: line 2 has the hash [0-9a-f]{64}$/)
  t.match(told[2], /^audit of refusals: line 1 has the hash [0-9a-f]{64}$/)
  t.equal(clock.timers, 0)
})

test('more than it can take down is counted', async (t) => {
  const { audit } = begin(t)
  for (let i = 0; i < 1500; i++) audit.note({ what: `deed ${i}`, key_id: 'local' })
  await audit.newest(1)
  audit.note({ what: 'after', key_id: 'local' })
  const { entries } = await audit.newest(1000)
  t.match(entries.at(-1), { what: 'after' })
  t.match(
    entries.find(({ left_out }) => left_out),
    { what: 'deed 1499', left_out: 499 },
    'the newest is written after all',
  )
  await audit.close()
})

test('a disk that refuses is told once, and what happened meanwhile is taken down when it can be', async (t) => {
  const { folder, reports, audit } = begin(t, `${t.testdir({ data: 'a file' })}/data`)
  for (let i = 0; i < 3; i++) {
    audit.note({ what: `deed ${i}`, key_id: 'local' })
    t.same((await audit.newest(10)).entries, [])
  }
  t.match(reports, [/^who does what is not taken down: /])
  rmSync(folder)
  audit.note({ what: 'deed 3', key_id: 'local' })
  t.same(
    (await audit.newest(10)).entries.map(({ what }) => what),
    ['deed 0', 'deed 1', 'deed 2', 'deed 3'],
  )
  await audit.close()
  audit.note({ what: 'too late', key_id: 'local' })
  t.equal((await audit.newest(1)).head.seq, 4)
  t.equal(reports.filter((line) => line.startsWith('who does what is not taken down: audit.jsonl ')).length, 1)
})

test('refusals of one key are twenty lines at once and then one a second; the others are counted, also when nothing comes after them', async (t) => {
  const { clock, audit } = begin(t)
  for (let i = 0; i < 1000; i++) audit.note({ ...refused, what: `refused ${i}` })
  audit.note({ ...refused, key_id: 'another', what: 'refused once' })
  const { entries } = await audit.newest(1000)
  t.equal(entries.length, 21)
  t.same(entries.at(-1), { ...entries.at(-1), what: 'refused once', left_out: 980 }, 'each key has its own')
  await clock.advance(2000)
  for (let i = 0; i < 1000; i++) audit.note({ ...refused, what: `later ${i}` })
  await clock.advance(10_000)
  const all = (await audit.newest(1000)).entries
  t.equal(all.length, 21 + 2 + 1)
  t.match(all.at(-1), { what: 'later 999', left_out: 997 }, 'after a while they are told without another line')
  t.equal(all.length + left(all), 2001)
  await audit.close()
  t.equal(clock.timers, 0)
})

test('no flood of refusals pushes out what was done: each has a file, a chain and a length of its own', async (t) => {
  const { folder, clock, audit, linesOf } = begin(t)
  audit.note({ key_id: 'worker', what: 'a deed', status: 200 })
  audit.note({ key_id: 'worker', what: 'an operation that was stopped', status: 409, operation_id: 'an-id' })
  audit.note({ key_id: 'worker', what: 'a stop that was not sent', status: 500 })
  for (let second = 0; second < 100; second++) {
    for (let i = 0; i < 50; i++) audit.note({ ...refused, what: `refused ${i}` })
    await clock.advance(1000)
  }
  audit.note({ key_id: 'worker', what: 'a later deed', status: 200 })
  const done = await audit.newest(1000, 'done')
  t.same(
    done.entries.map(({ what, file }) => [what, file]),
    [
      ['a deed', 'audit.jsonl'],
      ['an operation that was stopped', 'audit.jsonl'],
      ['a stop that was not sent', 'audit.jsonl'],
      ['a later deed', 'audit.jsonl'],
    ],
  )
  const others = await audit.newest(1000, 'refused')
  t.ok(others.entries.every(({ file, status }) => file === 'audit-refused.jsonl' && status === 403))
  t.equal(others.entries.length + left(others.entries), 5000)
  const both = await audit.newest(1000)
  t.equal(both.entries.length, done.entries.length + others.entries.length)
  t.same(
    both.entries.map(({ at }) => at),
    both.entries.map(({ at }) => at).sort((a, b) => a - b),
    'one trail, in the order of time',
  )
  await audit.close()
  t.equal(linesOf('audit.jsonl').length, 4)
  t.match(await verifyChain(`${folder}/audit.jsonl`), { broken: [], torn: 0, head: both.head })
  t.match(await verifyChain(`${folder}/audit-refused.jsonl`), { broken: [], torn: 0, head: both.refused_head })
  const again = begin(t, folder)
  t.same((await again.audit.newest(1000, 'refused')).entries.at(-1), others.entries.at(-1), 'what was refused before a restart is shown')
  await again.audit.close()
})

test('requests of one key that are alike are twenty lines at once and then one a second; the others become one line', async (t) => {
  const { clock, audit } = begin(t)
  const same = { key_id: 'worker', what: 'PUT /api/teachpoints/arm-1/a', status: 200, from: '10.0.0.1' }
  for (let i = 0; i < 500; i++) audit.note({ ...same, operation_id: `number ${i}` })
  audit.note({ ...same, what: 'PUT /api/teachpoints/arm-1/b' })
  audit.note({ ...same, key_id: 'another' })
  audit.note({ ...same, status: 201 })
  t.equal((await audit.newest(1000)).entries.length, 20 + 1 + 3)
  await clock.advance(1000)
  for (let i = 0; i < 100; i++) audit.note({ ...same, from: '10.0.0.2' })
  audit.note(same)
  await clock.advance(10_000)
  const { entries } = await audit.newest(1000)
  t.equal(entries.length, 24 + 1 + 1)
  t.match(
    entries.filter(({ times }) => times),
    [
      { what: same.what, times: 480, from: '10.0.0.1', operation_id: 'number 499' },
      { what: same.what, times: 100, from: null },
    ],
  )
  t.equal(written(entries), 604)
  t.same(left(entries), 0)
  for (let i = 0; i < 11; i++) audit.note(same)
  await clock.advance(10_000)
  t.notOk((await audit.newest(1)).entries[0]!.times, 'one that was held back alone is a line like any other')
  await audit.close()
})

test('what waits to become one line is written at the end', async (t) => {
  const { audit, linesOf } = begin(t)
  for (let i = 0; i < 30; i++) audit.note({ key_id: 'worker', what: 'the same' })
  for (let i = 0; i < 30; i++) audit.note({ ...refused, what: 'the same' })
  await audit.close()
  t.equal(linesOf('audit.jsonl').length, 21)
  t.match(linesOf('audit.jsonl').at(-1), /"times":10/)
  t.match(linesOf('audit-refused.jsonl').at(-1), /"left_out":9/)
})

test('what was asked for takes three hundred bytes of a line at most, whatever it is made of', async (t) => {
  const { audit } = begin(t)
  const long = ['a', '漢', '😀', '\u0001', '"'].map((letter) => letter.repeat(400))
  const short = ['a'.repeat(300), '漢'.repeat(100)]
  for (const what of [...long, ...short]) audit.note({ what })
  const whats = (await audit.newest(10)).entries.map(({ what }) => what)
  for (const what of whats) {
    const bytes = Buffer.byteLength(JSON.stringify(what)) - 2
    t.ok(bytes <= 300 && bytes > 290, `${bytes} bytes of ${what.slice(0, 2)}`)
    t.ok(what.isWellFormed())
  }
  t.ok(whats.slice(0, long.length).every((what) => what.endsWith('…')))
  t.same(whats.slice(long.length), short)
  await audit.close()
})

test('a folder in the place of the file of refusals is set aside, and holds nothing up', async (t) => {
  const folder = t.testdir({ 'audit-refused.jsonl': {} })
  const { reports, audit } = begin(t, folder)
  audit.note({ ...refused, what: 'refused' })
  audit.note({ key_id: 'worker', what: 'a deed' })
  const { entries } = await audit.newest(10)
  t.same(entries.map(({ what }) => what).toSorted(), ['a deed', 'refused'])
  t.match(reports.join(), /audit-refused\.jsonl/)
  await audit.close()
})
