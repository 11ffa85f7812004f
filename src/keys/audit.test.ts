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
