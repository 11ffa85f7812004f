import { test } from 'tap'
import { Ring } from './ring.ts'

test('a ring keeps the newest frames up to its bound', async (t) => {
  const ring = new Ring(3, 0)
  for (let seq = 1; seq <= 5; seq++) ring.push(`${seq} `, seq)
  t.equal(ring.oldest(0), 2)
  t.equal(ring.join(ring.oldest(0)).bytes.toString(), '3 4 5 ')
})

test('readers at the same place share one buffer', async (t) => {
  const ring = new Ring(10, 0)
  ring.push('a', 1)
  t.equal(ring.join(0).bytes, ring.join(0).bytes)
  ring.push('b', 2)
  t.equal(ring.join(0).bytes.toString(), 'ab')
})

test('frames of any characters are joined whole', async (t) => {
  for (const last of ['\u00b5', '\u20ac', '\u{1f9ea}', '\u00b5m', 'm\u00b5']) {
    const ring = new Ring(10, 0)
    for (const [i, frame] of ['a', last, 'b', last].entries()) ring.push(frame, i + 1)
    t.equal(ring.join(0).bytes.toString(), `a${last}b${last}`)
    t.equal(ring.join(3).bytes.toString(), last)
  }
})

test('one write takes no more than 256 KiB and the frame that reaches it', async (t) => {
  const ring = new Ring(10, 0)
  for (let seq = 1; seq <= 5; seq++) ring.push('x'.repeat(100_000), seq)
  t.same([ring.join(0).next, ring.join(0).bytes.length], [3, 300_000])
})

test('the place behind a sequence number is known as long as nothing behind it is gone', async (t) => {
  const ring = new Ring(3, 10)
  t.same([ring.placeAfter(9), ring.placeAfter(10)], [undefined, 0])
  for (const seq of [12, 15, 17]) ring.push('x', seq)
  t.same(
    [11, 12, 13, 17].map((seq) => ring.placeAfter(seq)),
    [0, 1, 1, 3],
  )
  ring.push('x', 20)
  t.same(
    [11, 12].map((seq) => ring.placeAfter(seq)),
    [undefined, 1],
  )
})

test('frames that all have are let go', async (t) => {
  const ring = new Ring(3, 0)
  for (let seq = 1; seq <= 3; seq++) ring.push('x', seq)
  ring.release(2)
  t.same([ring.oldest(0), ring.placeAfter(1), ring.placeAfter(2)], [2, undefined, 2])
})
