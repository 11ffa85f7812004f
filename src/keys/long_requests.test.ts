import { type Test, test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import { Refusals } from '../kit/refusals.ts'
import { LongRequests } from './long_requests.ts'

function opened(_t: Test, limits: { connections: number; long_requests_per_key: number }) {
  const clock = new VirtualClock()
  const ended = new Set<string>()
  const refusals = new Refusals({ log: silent, clock })
  const requests = new LongRequests({ keys: { opens: (key_id) => !ended.has(key_id) }, limits: () => limits, refusals, clock })
  const refused = () => refusals.counts.find(({ bound }) => bound === 'long_requests_per_key')!.times
  return { clock, ended, requests, refused }
}

test('a key has so many open, others have theirs, and one that has left makes room', async (t) => {
  const { requests, refused } = opened(t, { connections: 100, long_requests_per_key: 2 })
  const nothing = () => undefined
  const leave = requests.enter('a', nothing)
  requests.enter('a', nothing)
  t.throws(() => requests.enter('a', nothing), { code: 'overloaded', message: /this key has 2/, retry_after_s: 5 })
  t.equal(refused(), 1)
  requests.enter('b', nothing)
  t.equal(requests.size, 3)
  leave()
  leave()
  t.equal(requests.size, 2, 'leaving twice counts once')
  requests.enter('a', nothing)
  t.throws(() => requests.enter('a', nothing), { code: 'overloaded' })
})

test('all keys together leave a quarter of the connections to short requests', async (t) => {
  const { requests, refused } = opened(t, { connections: 8, long_requests_per_key: 100 })
  for (let i = 0; i < 6; i++) requests.enter(`key-${i}`, () => undefined)
  t.throws(() => requests.enter('another', () => undefined), { code: 'overloaded', message: /all keys together have 6/ })
  t.equal(refused(), 1)
})

test('they end within a second after their key, and nobody looks while none is open', async (t) => {
  const { requests, ended, clock } = opened(t, { connections: 100, long_requests_per_key: 10 })
  const heard: string[] = []
  const enter = (key_id: string | undefined, name: string) => {
    const leave = requests.enter(key_id, () => {
      heard.push(name)
      leave()
    })
    return leave
  }
  enter('a', 'first')
  enter('a', 'second')
  const others = [enter('b', 'other'), enter(undefined, 'local')]
  await clock.advance(10_000)
  t.same(heard, [])
  ended.add('a')
  await clock.advance(999)
  t.same(heard, ['first', 'second'])
  await clock.advance(10_000)
  t.same(heard, ['first', 'second'], 'each is told once')
  for (const leave of others) leave()
  t.equal(clock.timers, 0)
})
