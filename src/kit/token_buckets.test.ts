import { test } from 'tap'
import { TokenBuckets } from './token_buckets.ts'

function begin({ names }: { names?: number } = {}) {
  const clock = { ms: 0 }
  const buckets = new TokenBuckets({ burst: 3, perSecond: 2, now: () => clock.ms, ...(names && { names }) })
  const taken = (name: string, times: number) => Array.from({ length: times }, () => buckets.take(name)).filter(Boolean).length
  return { clock, taken }
}

test('so many are given at once, then so many a second, and never more than at first', async (t) => {
  const { clock, taken } = begin()
  t.equal(taken('a', 10), 3)
  clock.ms += 499
  t.equal(taken('a', 10), 0)
  clock.ms += 1
  t.equal(taken('a', 10), 1, 'asking in vain has cost nothing')
  clock.ms += 60_000
  t.equal(taken('a', 10), 3)
})

test('each name has a bucket of its own', async (t) => {
  const { taken } = begin()
  t.equal(taken('a', 10), 3)
  t.equal(taken('b', 10), 3)
  t.equal(taken('a', 10), 0)
})

test('of too many names the one that was used least recently is forgotten', async (t) => {
  const { taken } = begin({ names: 2 })
  taken('a', 10)
  taken('b', 10)
  taken('a', 10)
  taken('c', 10)
  t.equal(taken('a', 10), 0)
  t.equal(taken('b', 10), 3)
})
