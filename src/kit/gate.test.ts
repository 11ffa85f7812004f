import { test } from 'tap'
import { Gate } from './gate.ts'

test('so many are inside at once, so many wait in their order, and one more is refused', async (t) => {
  const gate = new Gate(2, 2)
  const leaves = [await gate.enter(), await gate.enter()]
  const came: string[] = []
  const waiting = ['third', 'fourth'].map((name) =>
    gate.enter().then((leave) => {
      came.push(name)
      return leave
    }),
  )
  await t.rejects(gate.enter(), { code: 'overloaded' })
  leaves[0]!()
  leaves[0]!()
  await waiting[0]
  t.same(came, ['third'])
  leaves[1]!()
  const [third, fourth] = await Promise.all(waiting)
  t.same(came, ['third', 'fourth'])
  third!()
  fourth!()
  t.type(await gate.enter(), 'function')
})

test('one who has gone away waits no longer, and takes no place', async (t) => {
  const gate = new Gate(1, 1)
  const leave = await gate.enter()
  const gone = new AbortController()
  const waiting = gate.enter(gone.signal)
  gone.abort(new Error('gone'))
  await t.rejects(waiting, { message: 'gone' })
  t.equal(gate.waiting, 0)
  const next = gate.enter()
  leave()
  t.type(await next, 'function')
})
