import { test } from 'tap'
import { Semaphore } from './semaphore.ts'

test('so many are inside at once, so many wait in their order, and one more is refused', async (t) => {
  const semaphore = new Semaphore(2, 2)
  const leaves = [await semaphore.acquire(), await semaphore.acquire()]
  const came: string[] = []
  const waiting = ['third', 'fourth'].map((name) =>
    semaphore.acquire().then((leave) => {
      came.push(name)
      return leave
    }),
  )
  await t.rejects(semaphore.acquire(), { code: 'overloaded' })
  leaves[0]!()
  leaves[0]!()
  await waiting[0]
  t.same(came, ['third'])
  leaves[1]!()
  const [third, fourth] = await Promise.all(waiting)
  t.same(came, ['third', 'fourth'])
  third!()
  fourth!()
  t.type(await semaphore.acquire(), 'function')
})

test('one who has gone away waits no longer, and takes no place', async (t) => {
  const semaphore = new Semaphore(1, 1)
  const leave = await semaphore.acquire()
  const gone = new AbortController()
  const waiting = semaphore.acquire(gone.signal)
  gone.abort(new Error('gone'))
  await t.rejects(waiting, { message: 'gone' })
  t.equal(semaphore.waiting, 0)
  const next = semaphore.acquire()
  leave()
  t.type(await next, 'function')
})
