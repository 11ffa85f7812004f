// The messages for the broker: the newest value wins, and memory is bounded while the broker is slow or away.

import { test } from 'tap'
import { Outbox } from './outbox.ts'

/** An outbox whose messages are taken one by one. */
function slow() {
  const taken: string[] = []
  let take = () => {}
  const outbox = new Outbox((topic, payload, isRetained) => {
    taken.push(`${topic}=${payload}${isRetained ? '' : '!'}`)
    return new Promise((resolve) => {
      take = resolve
    })
  })
  /** Has the broker take the message that is under way. */
  const next = async () => {
    take()
    await new Promise(setImmediate)
  }
  return { outbox, taken, next }
}

test('a slow broker gets the newest value of each topic, one message at a time', async (t) => {
  const { outbox, taken, next } = slow()
  outbox.connected()
  for (let i = 0; i < 100; i++) for (const topic of ['a', 'b']) outbox.set(topic, String(i))
  t.same(taken, ['a=0'])
  for (let i = 0; i < 5; i++) await next()
  t.same(taken, ['a=0', 'b=99', 'a=99'])
  t.equal(outbox.sent, 3)
})

test('after a break all values come anew, and removed ones are removed', async (t) => {
  const { outbox, taken, next } = slow()
  outbox.set('a', '1')
  outbox.set('b', '2')
  t.same(taken, [], 'nothing is sent without a connection')
  outbox.connected()
  outbox.away()
  outbox.set('b', undefined)
  outbox.tell('event', 'lost')
  taken.length = 0
  outbox.connected()
  await next()
  await next()
  t.same(taken, ['b=', 'a=1'])
  t.equal(outbox.dropped, 1)
  outbox.sweep('a')
  outbox.sweep('stale')
  await next()
  t.same(taken.slice(2), ['stale='])
})

test('the broker that is slow loses the oldest events, and values go first', async (t) => {
  const { outbox, taken, next } = slow()
  outbox.connected()
  for (let i = 0; i < 1101; i++) outbox.tell('event', String(i))
  t.equal(outbox.dropped, 100)
  outbox.set('a', '1')
  await next()
  await next()
  t.same(taken, ['event=0!', 'a=1', 'event=101!'])
})
