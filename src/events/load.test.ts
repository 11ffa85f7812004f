import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import type { Hub } from './hub.ts'
import { Load } from './load.ts'

function counted() {
  const seen: { n: unknown; execution_id: string | undefined }[] = []
  const log = { waiting: 0 }
  const hub: Pick<Hub, 'emit'> & { log: typeof log } = {
    log,
    emit(_name, context, execution_id) {
      seen.push({ n: context.n, execution_id })
      return {} as never
    },
  }
  const clock = new VirtualClock()
  return { seen, clock, log, load: new Load(hub, clock) }
}

test('a flow has its rate, counts from nothing, and ends by itself', async (t) => {
  const { seen, clock, load } = counted()
  load.start({ rate: 1000, seconds: 2, execution_id: 'x' })
  await clock.advance(1000)
  t.equal(seen.length, 1000)
  await clock.advance(5000)
  t.equal(seen.length, 2000)
  t.same(
    seen.map(({ n }) => n),
    [...seen.keys()],
  )
  t.ok(seen.every(({ execution_id }) => execution_id === 'x'))
  t.equal(clock.timers, 0)
})

test('a flow ends when it is stopped, or another takes its place', async (t) => {
  const { seen, clock, load } = counted()
  load.start({ rate: 100, seconds: 60 })
  await clock.advance(1000)
  load.start({ rate: 10, seconds: 60 })
  await clock.advance(1000)
  t.equal(seen.length, 110)
  load.stop()
  await clock.advance(1000)
  t.equal(seen.length, 110)
})

test('nothing more is fired while too much waits for the card', async (t) => {
  const { seen, clock, log, load } = counted()
  load.start({ rate: 1000, seconds: 1 })
  log.waiting = 20_000
  await clock.advance(2000)
  t.equal(seen.length, 0)
  log.waiting = 0
  await clock.advance(100)
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  t.equal(seen.length, 1000, 'and all of it comes when there is room')
})
