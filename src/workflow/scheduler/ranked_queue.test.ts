import { test } from 'tap'
import { randomFrom } from '../../testing/scheduler_runs.ts'
import { compare, type Ranked, RankedQueue } from './ranked_queue.ts'

const rank = (priority: number, urgency: number, sequence: number): Ranked => ({ priority, urgency, sequence })

test('the higher priority goes first, then the greater urgency, then the older', (t) => {
  const order = [rank(2, 0, 9), rank(1, 50, 8), rank(1, 20, 3), rank(1, 20, 4), rank(1, -5, 1), rank(0, 900, 0)]
  const queue = new RankedQueue<Ranked>()
  for (const index of [3, 0, 5, 2, 4, 1]) queue.add(order[index]!)
  t.same([...queue], order)
  t.equal(queue.first, order[0])
  t.equal(queue.after(order[1]), order[2])
  t.equal(queue.after(rank(1, 30, 0)), order[2], 'also after a rank that is not in the queue')
  t.equal(queue.after(order[5]), undefined)
  queue.delete(order[2]!)
  queue.delete(order[2]!)
  t.same([...queue], [...order.slice(0, 2), ...order.slice(3)])
  t.end()
})

test('without an urgency only the priority and the order count', (t) => {
  t.ok(compare({ priority: 1, sequence: 1 }, { priority: 1, sequence: 2 }) < 0)
  t.ok(compare({ priority: 1, sequence: 1 }, { priority: 1, urgency: 0.5, sequence: 2 }) > 0)
  t.ok(compare({ priority: 1, sequence: 1 }, { priority: 1, urgency: -0.5, sequence: 2 }) < 0)
  t.end()
})

test('a queue stays in order, whatever comes and goes', (t) => {
  const below = randomFrom(5)
  const queue = new RankedQueue<Ranked>()
  const there: Ranked[] = []
  for (let step = 0; step < 500; step++) {
    if (below(3) > 0 || there.length === 0) {
      const item = rank(below(3), below(4) - 2, step)
      queue.add(item)
      there.push(item)
    } else queue.delete(there.splice(below(there.length), 1)[0]!)
  }
  t.equal(queue.size, there.length)
  t.same([...queue], [...there].sort(compare))
  t.end()
})
