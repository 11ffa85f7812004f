import { rmSync } from 'node:fs'
import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { Audit } from './audit.ts'

test('the head is told to the log every hour in which something happened, and at the end', async (t) => {
  const told: string[] = []
  const clock = new VirtualClock()
  const log = { info: (line: string) => void told.push(line), warn() {}, error() {} }
  const audit = new Audit({ folder: t.testdir(), log, clock, report: ({ message }) => t.fail(message) })
  audit.note({ what: 'one' })
  const first = (await audit.newest(1)).head
  await clock.advance(3_600_000)
  t.same(told, [`audit: line 1 has the hash ${first.hash}`])
  await clock.advance(3 * 3_600_000)
  t.equal(told.length, 1, 'nothing has happened since')
  audit.note({ what: 'two' })
  await audit.close()
  t.match(told[1], /^audit: line 2 has the hash [0-9a-f]{64}$/)
  t.equal(clock.timers, 0)
})

test('more than it can take down is counted', async (t) => {
  const audit = new Audit({ folder: t.testdir(), log: { info() {}, warn() {}, error() {} }, clock: new VirtualClock(), report: () => {} })
  for (let i = 0; i < 1500; i++) audit.note({ what: `deed ${i}`, key_id: 'local' })
  await audit.newest(1)
  audit.note({ what: 'after', key_id: 'local' })
  t.match((await audit.newest(1)).entries, [{ what: 'after', left_out: 500 }])
  await audit.close()
})

test('a disk that refuses is told once, and what happened meanwhile is taken down when it can be', async (t) => {
  const folder = `${t.testdir({ data: 'a file' })}/data`
  const reports: string[] = []
  const report = ({ message }: { message: string }) => void reports.push(message)
  const audit = new Audit({ folder, log: { info() {}, warn() {}, error() {} }, clock: new VirtualClock(), report })
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
  t.equal(reports.length, 1)
})
