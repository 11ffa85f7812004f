import { test } from 'tap'
import { SharedSpace, type Use } from './shared_space.ts'

/** Two arms that share the position x, and a third one away from both. */
const reach = new Map(Object.entries({ left: ['a', 'x'], right: ['x', 'b'], away: ['z'] }).map(([arm, its]) => [arm, new Set(its)]))
const space = () => new SharedSpace({ reach })

let count = 0
const arm = (transporter: string): Use => ({ thread_id: `thread ${++count}`, transporter, hands: null })
const hands = (...positions: string[]): Use => ({ thread_id: `thread ${++count}`, transporter: 'hands', hands: positions })

/** Waits, and returns whether it is inside. */
function waits(shared: SharedSpace, use: Use, then = () => {}): () => boolean {
  let calls = 0
  shared.await(use, () => {
    calls++
    then()
  })
  return () => {
    if (calls > 1) throw new Error('it was told twice')
    return calls === 1
  }
}

test('hands and an arm that reaches them are never inside together; all others are', (t) => {
  const pairs: [Use, Use, boolean][] = [
    [hands('a', 'c'), arm('left'), false],
    [hands('c', 'x'), arm('right'), false],
    [hands('x'), arm('left'), false],
    [hands('a', 'c'), arm('right'), true],
    [hands('a', 'x'), arm('away'), true],
    [hands('c', 'd'), arm('left'), true],
    [hands('a', 'b'), hands('a', 'x'), true],
    [arm('left'), arm('right'), true],
    [hands('a'), arm('unknown'), true],
  ]
  for (const [one, other, together] of pairs) {
    for (const [first, second] of [
      [one, other],
      [other, one],
    ] as const) {
      const shared = space()
      t.ok(shared.enter(first))
      t.equal(shared.enter(second), together, `${JSON.stringify(first)} ${JSON.stringify(second)}`)
      t.same(shared.obstacles(second), together ? [] : [first])
      shared.leave(first)
      t.ok(shared.enter(second))
    }
  }
  t.end()
})

test('a use that is inside may enter again, and leaves once', (t) => {
  const shared = space()
  const task = hands('a')
  const move = arm('left')
  t.ok(shared.enter(task) && shared.enter(task))
  shared.leave(task)
  shared.leave(task)
  t.ok(shared.enter(move))
  t.end()
})

test('a use that waits is inside in the turn in which nothing is in its way any more', (t) => {
  const shared = space()
  const [move, task, later] = [arm('left'), hands('a'), arm('left')]
  shared.enter(move)
  const isIn = waits(shared, task)
  t.notOk(isIn())
  shared.leave(move)
  t.ok(isIn())
  t.notOk(shared.enter(later))
  t.match(shared.taskWithin('left'), task)
  t.equal(shared.taskWithin('right'), undefined)
  shared.leave(task)
  t.equal(shared.taskWithin('left'), undefined)
  t.ok(waits(shared, later)(), 'at once where nothing is in the way')
  t.end()
})

test('a use that waits goes before later ones that it keeps out, however many come', (t) => {
  const shared = space()
  const [first, task] = [arm('left'), hands('a', 'x')]
  shared.enter(first)
  const isIn = waits(shared, task)
  const later = [arm('left'), arm('right'), arm('left')]
  for (const move of later) t.notOk(shared.enter(move))
  const areIn = later.map((move) => waits(shared, move))
  t.ok(shared.enter(arm('away')), 'one that it does not keep out passes')
  t.ok(shared.enter(hands('c')))
  shared.leave(first)
  t.same([isIn(), ...areIn.map((is) => is())], [true, false, false, false])
  shared.leave(task)
  t.same(
    areIn.map((is) => is()),
    [true, true, true],
  )
  t.end()
})

test('two that wait for the same go together, and one behind them does not come between', (t) => {
  const shared = space()
  const move = arm('left')
  shared.enter(move)
  const told: string[] = []
  waits(shared, hands('a'), () => {
    told.push('one')
    // What is told may try at once what others do.
    if (shared.enter(arm('left'))) told.push('an arm came between')
  })
  waits(shared, hands('x'), () => void told.push('other'))
  shared.leave(move)
  t.same(told, ['one', 'other'])
  t.end()
})

test('one that waits no longer keeps nobody out', (t) => {
  const shared = space()
  const [move, task, later] = [arm('left'), hands('a', 'x'), arm('right')]
  shared.enter(move)
  const isIn = waits(shared, task)
  const laterIsIn = waits(shared, later)
  t.notOk(laterIsIn())
  shared.leave(task)
  t.ok(laterIsIn())
  shared.leave(move)
  t.notOk(isIn())
  t.end()
})

test('two hundred tasks and moves at random are never together where they must not be, and each comes in', (t) => {
  let seed = 7
  const below = (n: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return Math.floor((seed / 2147483648) * n)
  }
  const shared = space()
  const inside = new Set<Use>()
  const mustBeApart = (use: Use) => {
    for (const other of inside) {
      if ((use.hands === null) === (other.hands === null)) continue
      const [person, machine] = use.hands === null ? [other, use] : [use, other]
      if (person.hands!.some((position) => reach.get(machine.transporter)!.has(position))) t.fail('hands and an arm are together')
    }
  }
  let entered = 0
  for (let i = 0; i < 200; i++) {
    const use = below(2) ? arm(['left', 'right', 'away'][below(3)]!) : hands(['a', 'x', 'b', 'z'][below(4)]!, ['a', 'x', 'c'][below(3)]!)
    shared.await(use, () => {
      mustBeApart(use)
      inside.add(use)
      entered++
    })
    const all = [...inside]
    const leaving = all[below(all.length * 2 + 1)]
    if (!leaving) continue
    inside.delete(leaving)
    shared.leave(leaving)
  }
  while (inside.size > 0) {
    const [oldest] = inside
    inside.delete(oldest!)
    shared.leave(oldest!)
  }
  t.equal(entered, 200)
  t.end()
})

test('hands stay out while a transporter within their reach may still move, until it stands or its power is off by a word, which counts until it enters', (t) => {
  let mayMove = true
  const shared = new SharedSpace({ reach }, (transporter) => transporter === 'left' && mayMove)
  const task = hands('x')
  t.notOk(shared.enter(task))
  t.match(shared.obstacles(task), [{ transporter: 'left', mayMove: true }])
  t.ok(shared.enter(hands('b')), 'out of its reach')
  t.ok(shared.enter(arm('away')), 'arms wait for no such arm')
  const isInside = waits(shared, task)
  shared.look()
  t.notOk(isInside())
  shared.saidOff('left')
  t.ok(isInside())
  shared.leave(task)
  const motion = arm('left')
  t.ok(shared.enter(motion))
  shared.leave(motion)
  t.notOk(shared.enter(task), 'it has moved since')
  mayMove = false
  t.ok(shared.enter(task))
  t.end()
})

test('hands that share the space keep one transporter still, and a person who may be there already is inside', (t) => {
  const shared = space()
  const motion = arm('left')
  t.ok(shared.enter(motion))
  const takeover: Use = { ...hands('x'), only: 'left' }
  t.notOk(shared.enter(takeover))
  t.ok(shared.enter(arm('right')))
  shared.stay(takeover)
  shared.leave(motion)
  t.equal(shared.begin('left'), undefined)
  t.type(shared.begin('right'), 'function')
  t.end()
})
