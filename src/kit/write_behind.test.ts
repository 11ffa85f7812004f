import { test } from 'tap'
import { VirtualClock } from './clock.ts'
import { deferred } from './deferred.ts'
import { WriteBehind } from './write_behind.ts'

/** Each write is held until it is let go, and fails where `failing` says so. */
function begin({ rest_ms = 0 } = {}) {
  const clock = new VirtualClock()
  const writes: ReturnType<typeof deferred<void>>[] = []
  const failures: string[] = []
  const again: boolean[] = []
  const behind = new WriteBehind({
    clock,
    rest_ms,
    write(isAgain) {
      again.push(isAgain)
      const one = deferred<void>()
      writes.push(one)
      return one.promise
    },
    onFailure: (error) => failures.push((error as Error).message),
  })
  return { clock, writes, failures, again, behind }
}

const turns = () => new Promise(setImmediate)

test('all that is asked for while a write is under way becomes one write after it', async (t) => {
  const { writes, behind } = begin()
  const first = behind.now()
  await turns()
  t.equal(writes.length, 1)
  const later = [behind.now(), behind.now(), behind.now()]
  await turns()
  t.equal(writes.length, 1)
  writes[0]!.resolve()
  await first
  await turns()
  t.equal(writes.length, 2)
  writes[1]!.resolve()
  await Promise.all(later)
  t.equal(writes.length, 2)
})

test('a write that nobody waits for begins at once, or when the pause after the write before is over', async (t) => {
  const { clock, writes, behind } = begin({ rest_ms: 50 })
  behind.soon()
  await turns()
  t.equal(writes.length, 1)
  behind.soon()
  writes[0]!.resolve()
  await turns()
  await clock.advance(49)
  t.equal(writes.length, 1)
  await clock.advance(1)
  t.equal(writes.length, 2)
  writes[1]!.resolve()
  await turns()
  behind.soon()
  const settled = behind.settled()
  await turns()
  t.equal(writes.length, 3, 'somebody who waits ends the pause')
  writes[2]!.resolve()
  await settled
  t.equal(clock.timers, 0)
})

test('a write that failed is tried again until it succeeds, and only the first failure is told', async (t) => {
  const { clock, writes, failures, again, behind } = begin()
  const first = behind.now()
  await turns()
  writes[0]!.reject(new Error('disk full'))
  await t.rejects(first, { message: 'disk full' })
  for (const attempt of [1, 2]) {
    await clock.advance(1000)
    t.equal(writes.length, attempt + 1)
    if (attempt === 1) writes[1]!.reject(new Error('disk full'))
    else writes[2]!.resolve()
    await turns()
  }
  t.same(failures, ['disk full'])
  t.same(again, [false, true, true])
  t.equal(clock.timers, 0)
})

test('nothing is written after the last write, also where that failed', async (t) => {
  const { clock, writes, behind } = begin()
  let isEnded = false
  const closed = behind.close(async () => {
    isEnded = true
  })
  await turns()
  t.notOk(isEnded)
  writes[0]!.reject(new Error('disk full'))
  await closed
  t.ok(isEnded)
  t.equal(clock.timers, 0)
  await behind.now()
  t.equal(writes.length, 1)
})
