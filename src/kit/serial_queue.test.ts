import { test } from 'tap'
import { SerialQueue } from './serial_queue.ts'

test('work is done one at a time and in order, also after a failure', async (t) => {
  const queue = new SerialQueue(10)
  const done: number[] = []
  let running = 0
  const work = (n: number) => async () => {
    t.equal(++running, 1)
    await new Promise(setImmediate)
    running--
    done.push(n)
    if (n === 1) throw new Error('one')
    return n
  }
  const all = await Promise.allSettled([0, 1, 2].map((n) => queue.run(work(n))))
  t.same(
    all.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.same(done, [0, 1, 2])
})

test('a lane that is full refuses, and takes again when there is room', async (t) => {
  const queue = new SerialQueue(1)
  let finish = () => {}
  const first = queue.run(() => new Promise<void>((resolve) => (finish = resolve)))
  await t.rejects(
    queue.run(async () => {}),
    { code: 'overloaded' },
  )
  await Promise.resolve()
  finish()
  await first
  t.equal(await queue.run(async () => 'again'), 'again')
})
