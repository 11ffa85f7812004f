import { test } from 'tap'
import { graphOf, resources, Stage, smc } from '../../testing/scheduler.ts'
import type { Again } from './request.ts'

const two = () => new Stage(graphOf({ arm: 'd1 d2 d3 p1 s1' }))
const without = () => new Stage(graphOf({ arm: 'd1 d2 d3 s1 s2' }))

test('a position holds one labware, and only who it is reserved for comes to it', (t) => {
  const { scheduler } = two().stand(['a', 'd1'])
  t.throws(() => scheduler.put('b', 'd1', 'b'), { code: 'exists', message: 'labware a stands at d1; take it away before b is put at d1' })
  scheduler.request({ thread_id: 'b', priority: 1, candidates: resources('s1'), granted: () => undefined })
  t.throws(() => scheduler.put('c', 's1', 'c'), { code: 'exists', message: 's1 is reserved for thread b; put c elsewhere' })
  scheduler.put('b', 's1', 'b')
  t.throws(() => scheduler.arrive('a', 's1'), { code: 'exists' })
  t.same(scheduler.position('s1'), { position: 's1', device: null, labware_id: 'b', reserved_for: null })
  scheduler.put('a', 'd2', null)
  t.same(
    scheduler.positions().flatMap(({ position, labware_id }) => (labware_id ? [`${labware_id} ${position}`] : [])),
    ['a d2', 'b s1'],
  )
  scheduler.remove('b')
  t.equal(scheduler.whereIs('b'), undefined)
  t.throws(() => scheduler.put('c', 'nowhere', 'c'), { code: 'not_found' })
  t.end()
})

test('a device is granted when nobody holds it and nothing foreign stands there, which may be at once', (t) => {
  const stage = two().stand(['a', 's1'])
  stage.wish('a', 'd1')
  t.same(stage.news, ['a gets d1'])
  t.equal(stage.scheduler.holds.holder('d1'), 'a')
  stage.stand(['b', 'd2']).wish('b', 'd1')
  t.same(stage.reasons('b'), ['d1 held a null'])
  stage.visit('a')
  t.same(stage.reasons('b'), ['d1 occupied a a'])
  stage.wish('a', 'd3')
  stage.go('a')
  t.same(stage.news, ['a gets d3', 'b gets d1'])
  t.end()
})

test('labware of those who take part may stand at the device already', (t) => {
  const stage = new Stage(graphOf({ arm: 'd1*2 s1' })).stand(['a', 's1'], ['b', 'd1/site-1'])
  stage.wish('a', 'd1', { inputs: ['b'] })
  t.same(stage.news, ['a gets d1'])
  t.end()
})

test('who stands in a device has it for its next action before all others', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('b', 'd1')
  stage.wish('a', 'd1')
  stage.visit('a')
  stage.wish('a', 'd1')
  t.same(stage.news, ['a gets d1', 'a gets d1'])
  t.end()
})

test('the nearest of several is granted, of those equally near the first', (t) => {
  const stage = new Stage(graphOf({ left: 'd1 h1 s1', right: 'h1 d2 d3' })).stand(['a', 's1'], ['b', 'd1'])
  stage.wish('a', 'd3 d2 d1')
  stage.visit('a')
  stage.stand(['c', 's1'])
  stage.scheduler.remove('b')
  stage.wish('c', 'd2 d1')
  t.same(stage.news, ['a gets d3', 'c gets d1'])
  t.end()
})

test('the higher priority goes first, then the one that asked first', (t) => {
  const stage = two().stand(['a', 'd1'])
  stage.wish('b', 'd1', { priority: 0 })
  stage.wish('c', 'd1')
  stage.wish('d', 'd1')
  stage.scheduler.remove('a')
  stage.scheduler.holds.release('c', 'd1')
  stage.scheduler.holds.release('d', 'd1')
  t.same(stage.news, ['c gets d1', 'd gets d1', 'b gets d1'])
  t.end()
})

test('an ask that is taken back gets nothing, and gives back what it got', (t) => {
  const stage = two().stand(['a', 's1'], ['b', 'd2'])
  const asked = stage.wish('a', 'd1')
  const waiting = stage.wish('b', 'd1')
  waiting.withdraw()
  asked.withdraw()
  t.same([asked.state, waiting.state, stage.scheduler.holds.holder('d1')], ['withdrawn', 'withdrawn', undefined])
  t.same(stage.news, ['a gets d1'])
  t.end()
})

test('what was granted before is not taken from who has got it anew', (t) => {
  const stage = two().stand(['a', 's1'])
  const first = stage.wish('a', 'd1')
  stage.scheduler.holds.release('a', 'd1')
  stage.wish('a', 'd1')
  first.withdraw()
  t.equal(stage.scheduler.holds.holder('d1'), 'a')
  t.end()
})

test('the same place named twice is asked for once', (t) => {
  const stage = new Stage(smc()).stand(['a', 'stacker_1'], ['b', 'translator_1_start'])
  const asked = stage.wish('a', 'translator_1_start translator_1_end')
  stage.scheduler.remove('b')
  t.same(stage.news, ['a gets translator_1_end'])
  asked.withdraw()
  t.same(
    stage.scheduler.positions().filter(({ reserved_for }) => reserved_for),
    [],
  )
  t.end()
})

test('labware travels only to what is reserved for it', (t) => {
  const stage = two().stand(['a', 's1'])
  const asked = stage.wish('a', 'p1')
  asked.withdraw()
  t.throws(() => stage.go('a'), { code: 'internal', message: 'p1 is not reserved for thread a; request it before a travels there' })
  t.throws(() => stage.scheduler.requestRoute('b', 'a', 'p1', () => undefined), { code: 'internal' })
  t.end()
})

test('those who take part come to the device that the owner holds without asking for it', (t) => {
  const stage = new Stage(graphOf({ arm: 'd1*2 d2 s1 s2' })).stand(['a', 's1'], ['b', 's2'])
  t.equal(stage.scheduler.holds.reserveSite('d1', 'b'), undefined)
  stage.wish('a', 'd1')
  t.equal(stage.scheduler.holds.reserveSite('d1', 'b', 1), 'd1/site-1')
  t.equal(stage.scheduler.holds.reserveSite('d1', 'b', 2), 'd1/site-2', 'which frees the other')
  t.equal(stage.scheduler.holds.reserveSite('d1', 'b', 2, 'c'), undefined, 'c does not hold it')
  t.equal(stage.scheduler.holds.reserveSite('d1', 'a'), 'd1/site-1')
  t.equal(stage.scheduler.holds.reserveSite('d1', 'c'), undefined, 'all are taken')
  stage.go('b', 'd1/site-2')
  t.equal(stage.scheduler.holds.reserveSite('d1', 'b'), 'd1/site-2', 'where it stands')
  stage.visit('a')
  stage.wish('c', 'd1')
  stage.scheduler.remove('a')
  t.same(stage.news, ['a gets d1'])
  stage.scheduler.remove('b')
  t.same(stage.news, ['c gets d1'])
  t.end()
})

test('who was to come when the device was held needs not, once it is not', (t) => {
  const stage = new Stage(graphOf({ arm: 'd1*2 s1 s2' })).stand(['a', 's1'], ['b', 's2'])
  stage.wish('a', 'd1')
  stage.scheduler.holds.reserveSite('d1', 'b')
  stage.scheduler.holds.release('a', 'd1')
  stage.wish('b', 'd1')
  t.same(stage.news, ['a gets d1', 'b gets d1'])
  t.end()
})

test('the whole way is granted at once, and freed behind the labware', (t) => {
  const stage = new Stage(graphOf({ left: 'd1 d3 h1', right: 'h1 d2 d4' })).stand(['a', 'd1'], ['b', 'd3'])
  for (const [thread, to] of [
    ['a', 'd2'],
    ['b', 'd4'],
  ] as const)
    stage.wish(thread, to)
  const routes: string[] = []
  const go = (thread: string, to: string) =>
    stage.scheduler.requestRoute(thread, thread, stage.scheduler.holds.reserveSite(to, thread)!, (route) =>
      routes.push(`${thread} by ${route.map((hop) => hop.to)}`),
    )
  go('a', 'd2')
  const second = go('b', 'd4')
  t.same(routes, ['a by h1,d2'])
  t.same(second.explain(), [{ wanted: 'd4', reason: 'corridor', thread_id: 'a', labware_id: null }])
  stage.scheduler.arrive('a', 'h1')
  t.same(second.explain(), [{ wanted: 'h1', reason: 'corridor', thread_id: 'a', labware_id: 'a' }])
  stage.scheduler.arrive('a', 'd2')
  t.same(routes, ['a by h1,d2', 'b by h1,d4'])
  t.end()
})

test('the place that labware comes from is taken until it has arrived', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  stage.scheduler.requestRoute('a', 'a', stage.scheduler.holds.reserveSite('d2', 'a')!, () => undefined)
  t.same(stage.news, ['a gets d2'])
  stage.scheduler.arrive('a', 'd2')
  t.same(stage.news, ['b gets d1'])
  t.end()
})

test('both stations of a shuttle are one corridor', (t) => {
  const stage = new Stage(smc()).stand(['a', 'stacker_1'], ['b', 'bravo_96/site-1'])
  stage.wish('a', 'pad_1')
  stage.wish('b', 'pad_4')
  const routes: string[] = []
  for (const [thread, to] of [
    ['a', 'pad_1'],
    ['b', 'pad_4'],
  ] as const)
    stage.scheduler.requestRoute(thread, thread, to, () => routes.push(thread))
  stage.scheduler.arrive('a', 'translator_1_end')
  stage.scheduler.arrive('a', 'translator_1_start')
  t.same(routes, ['a'])
  stage.scheduler.arrive('a', 'pad_1')
  t.same(routes, ['a', 'b'])
  t.end()
})

test('nobody overtakes in a corridor: who waits for two of them gets both in its turn', (t) => {
  const stage = new Stage(graphOf({ left: 'p1 p2 h1', middle: 'h1 h2 p3 p4', right: 'h2 p5 p6' }))
  stage.stand(['a', 'p1'], ['b', 'p2'], ['c', 'p3'])
  for (const [thread, to] of [
    ['a', 'p4'],
    ['b', 'p5'],
    ['c', 'p6'],
  ] as const)
    stage.wish(thread, to)
  const going: string[] = []
  const routeGrant = (thread: string, to: string) => stage.scheduler.requestRoute(thread, thread, to, () => going.push(thread))
  routeGrant('a', 'p4')
  routeGrant('b', 'p5')
  const last = routeGrant('c', 'p6')
  t.same(going, ['a'], 'h2 is free, but b was first')
  t.same(last.explain(), [{ wanted: 'p6', reason: 'corridor', thread_id: 'b', labware_id: null }])
  stage.scheduler.arrive('a', 'h1')
  stage.scheduler.arrive('a', 'p4')
  t.same(going, ['a', 'b'])
  stage.ride('b', stage.scheduler.graph.route('p2', 'p5')!)
  t.same(going, ['a', 'b', 'c'])
  t.end()
})

test('a way that is given back is free for the next', (t) => {
  const stage = new Stage(graphOf({ left: 'p1 p2 h1', right: 'h1 p3 p4' })).stand(['a', 'p1'], ['b', 'p2'])
  stage.wish('a', 'p3')
  stage.wish('b', 'p4')
  const { withdraw } = stage.scheduler.requestRoute('a', 'a', 'p3', () => undefined)
  const going: string[] = []
  stage.scheduler.requestRoute('b', 'b', 'p4', () => going.push('b'))
  withdraw()
  t.same(going, ['b'])
  t.end()
})

test('labware that rests in a corridor is gone round, and holds up none who need not pass it', (t) => {
  const stage = new Stage(graphOf({ left: 'p1 h1 h2', right: 'h1 h2 p3' })).stand(['a', 'p1'])
  stage.scheduler.put('x', 'h1', null)
  stage.wish('a', 'p3')
  stage.go('a')
  t.equal(stage.scheduler.whereIs('a'), 'p3')
  const single = new Stage(graphOf({ left: 'p1 p2 h1', middle: 'h1 h2 p5', right: 'h2 p3 p4' })).stand(['a', 'p1'], ['b', 'p5'])
  single.scheduler.put('x', 'h1', null)
  single.wish('a', 'p3')
  single.wish('b', 'p4')
  single.go('a')
  single.go('b')
  t.equal(single.scheduler.whereIs('b'), 'p4')
  t.equal(single.scheduler.whereIs('a'), 'p1')
  single.scheduler.remove('x')
  t.equal(single.scheduler.whereIs('a'), 'p3')
  t.end()
})

test('labware that is left in a corridor is gone round', (t) => {
  const stage = new Stage(graphOf({ left: 'p1 p2 h1 h2', right: 'h1 h2 p3 p4' })).stand(['a', 'p1'], ['b', 'p2'])
  stage.wish('a', 'p3')
  stage.wish('b', 'p4')
  const { withdraw } = stage.scheduler.requestRoute('a', 'a', 'p3', () => undefined)
  stage.go('b')
  stage.scheduler.arrive('a', 'h1')
  t.equal(stage.scheduler.whereIs('b'), 'p2', 'a will be gone soon')
  withdraw()
  t.equal(stage.scheduler.whereIs('b'), 'p4')
  t.end()
})

/** Two want each other's devices. The way to `p1` leads over `h1`, where `x` stands; that to `p2` is longer. */
function crossed() {
  const deck = { a: 'd1 d2 h1 h2', b: 'h1 p1', c: 'h2 h3', d: 'h3 p2' }
  return new Stage(graphOf(deck)).stand(['x', 'h1'], ['a', 'd1'], ['b', 'd2'])
}

test('labware is parked where no held thread cuts off the way, though that is farther', (t) => {
  for (const [isHeld, position] of [
    [false, 'p1'],
    [true, 'p2'],
  ] as const) {
    const stage = crossed()
    stage.scheduler.setHeld('x', isHeld)
    stage.wish('a', 'd2')
    stage.wish('b', 'd1')
    t.same(stage.news.at(-1), `b is to park at ${position}`)
  }
  t.end()
})

test('labware that waits for the way to its parking position is called back when that is cut off, if there is another', (t) => {
  for (const isOtherFree of [true, false]) {
    const stage = crossed()
    if (!isOtherFree) stage.stand(['y', 'p2'])
    stage.wish('a', 'd2')
    stage.wish('b', 'd1')
    t.same(stage.news.at(-1), 'b is to park at p1')
    let calls = 0
    stage.scheduler.requestRoute(
      'b',
      'b',
      'p1',
      () => t.fail('x stands there'),
      () => calls++,
    )
    t.equal(calls, 0, 'x may go')
    stage.scheduler.setHeld('x', true)
    t.equal(calls > 0, isOtherFree)
  }
  t.end()
})

test('a transporter is had in turn, and nothing is granted to who has left the queue', (t) => {
  const { scheduler } = two()
  const log: string[] = []
  for (const thread of ['a', 'b', 'c', 'd']) {
    const turn = scheduler.take('arm', thread, () => log.push(thread))
    if (thread === 'b') turn.withdraw()
  }
  scheduler.transporters.giveBack('arm', 'd')
  t.same(log, ['a'], 'it is not theirs to give back')
  scheduler.forget('c')
  scheduler.transporters.giveBack('arm', 'a')
  t.same(log, ['a', 'd'])
  t.end()
})

test('a chain of turns is no tower of calls', (t) => {
  const { scheduler } = two()
  let count = 0
  for (let i = 0; i < 5_000; i++) {
    scheduler.take('arm', `t${i}`, () => {
      count++
      if (i > 0) scheduler.transporters.giveBack('arm', `t${i}`)
    })
  }
  scheduler.transporters.giveBack('arm', 't0')
  t.equal(count, 5_000)
  t.end()
})

test('what a callback asks for is looked at when it has returned', (t) => {
  const stage = two().stand(['a', 's1'])
  let inside: string | undefined
  stage.wish('a', 'd1', {
    granted: () => {
      inside = stage.wish('b', 'd2').state
      stage.log.push('a has returned')
    },
  })
  t.equal(inside, 'waiting')
  t.same(stage.news, ['a has returned', 'b gets d2'])
  t.end()
})

test('a thread has one ask that waits', (t) => {
  const stage = two().stand(['a', 'd1'])
  stage.wish('b', 'd1')
  t.throws(() => stage.wish('b', 'd2'), { code: 'internal' })
  t.end()
})

test('who is forgotten while it waits is granted nothing, and what it had is free', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('b', 'd1')
  stage.wish('c', 'd2')
  stage.wish('d', 'd2')
  stage.scheduler.forget('b')
  stage.scheduler.remove('a')
  t.same(stage.news, ['c gets d2'])
  stage.scheduler.forget('c')
  t.same(stage.news, ['d gets d2'])
  t.same(stage.scheduler.position('s1').labware_id, 'b', 'its labware stays')
  stage.scheduler.assign('b', 'e')
  stage.wish('e', 's1')
  t.same(stage.news, ['e gets s1'])
  t.end()
})

test('who is forgotten on its way leaves the corridor to others', (t) => {
  const stage = new Stage(graphOf({ left: 'p1 p2 h1', right: 'h1 p3 p4' })).stand(['a', 'p1'], ['b', 'p2'])
  stage.wish('a', 'p3')
  stage.wish('b', 'p4')
  stage.scheduler.requestRoute('a', 'a', 'p3', () => undefined)
  stage.go('b')
  stage.scheduler.forget('a')
  t.equal(stage.scheduler.whereIs('b'), 'p4')
  t.same(stage.scheduler.position('p3').reserved_for, null)
  t.end()
})

// Room

test('two that want each other’s places are parted by parking the younger', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'])
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  t.same(stage.news, ['deadlock of a b: b', 'b is to park at p1'])
  stage.park('b')
  t.same(stage.news, ['a gets d2'])
  stage.visit('a')
  t.same(stage.news, ['b gets d1'])
  stage.visit('b')
  t.same(stage.scheduler.position('p1').labware_id, null)
  t.end()
})

test('one place to park parts a ring of three', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'], ['c', 'd3'])
  for (const [thread, to] of [
    ['a', 'd2'],
    ['b', 'd3'],
    ['c', 'd1'],
  ] as const)
    stage.wish(thread, to)
  t.same(stage.news, ['deadlock of a b c: c', 'c is to park at p1'])
  stage.park('c')
  stage.visit('b')
  stage.visit('a')
  stage.visit('c')
  t.same(stage.news, ['b gets d3', 'a gets d2', 'c gets d1'])
  t.end()
})

test('nobody steps into a ring while it is let round, however long it has waited', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'])
  stage.wish('x', 'd1')
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  stage.park('b')
  stage.visit('a')
  t.same(stage.news, ['deadlock of a b: b', 'b is to park at p1', 'a gets d2', 'b gets d1'])
  t.end()
})

test('without a place to park somebody is told, once', (t) => {
  const stage = without().stand(['a', 'd1'], ['b', 'd2'])
  let why = ''
  stage.wish('a', 'd2')
  stage.wish('b', 'd1', { stuck: (reason) => (why = reason) })
  t.equal(why, 'd1 cannot be had: labware a stands there, they wait for each other, and no parking place is free to make room')
  t.same(stage.decisions, ['stuck b'])
  stage.stand(['c', 's1']).wish('c', 'd3')
  stage.visit('c')
  t.same(stage.news, ['c gets d3'])
  stage.scheduler.remove('a')
  t.same(stage.news, ['b gets d1'], 'it waits on')
  t.end()
})

test('labware that must stay is not parked; another is, or somebody is told', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'])
  stage.wish('a', 'd2', { stays: true })
  stage.wish('b', 'd1')
  t.same(stage.news, ['deadlock of a b: b', 'b is to park at p1'])
  t.same(stage.decisions, ['parked b'])
  const both = two().stand(['a', 'd1'], ['b', 'd2'])
  both.wish('a', 'd2', { stays: true })
  both.wish('b', 'd1', { stays: true })
  t.same(both.news, ['a is stuck'])
  t.end()
})

test('while a place to park may become free nobody is told', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'], ['c', 'p1'])
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  t.same(stage.news, [])
  stage.wish('c', 'd3')
  stage.visit('c')
  t.same(stage.news, ['c gets d3', 'deadlock of a b: b', 'b is to park at p1'])
  t.end()
})

test('labware of nobody on the only place to park gives no hope', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'])
  stage.scheduler.put('x', 'p1', null)
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  t.same(stage.news, ['b is stuck'])
  t.end()
})

test('whoever has another way on is in no deadlock', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'], ['c', 'd3'])
  stage.wish('a', 'd2 d3')
  stage.wish('b', 'd1')
  t.same(stage.news, [], 'c may leave d3')
  stage.wish('c', 'd1')
  t.match(stage.news, [/^deadlock of a b c/, /is to park at p1$/])
  t.end()
})

test('one that only waits for a ring is not parked in its stead', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'], ['c', 'd3'])
  stage.wish('c', 'd1')
  stage.wish('x', 'd3')
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  t.same(stage.news, ['deadlock of a b: b', 'b is to park at p1'])
  t.end()
})

test('one that was parked keeps its place in the order, and what it wanted', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'])
  stage.wish('b', 'd1')
  stage.wish('young', 'd1')
  stage.wish('a', 'd2')
  const [, parked] = stage.news
  t.equal(parked, 'a is to park at p1')
  stage.wish('younger', 'd2')
  stage.park('a')
  stage.visit('b')
  t.same(stage.news, ['b gets d1', 'a gets d2'])
  t.end()
})

test('parks are counted until what was wanted is reached, not until the parking place is', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'])
  const parked: number[] = []
  const park = (_position: string, again: Again) => {
    parked.push(again.parked)
    // It does not go; asked anew from where it stands, it is told again: round and round.
    if (parked.length < 20) stage.wish('b', 'd1', { park }, again)
  }
  stage.wish('a', 'd2', { stays: true })
  stage.wish('b', 'd1', { park })
  t.same(parked, [1, 2, 3, 4])
  t.match(stage.news.at(-1), /is stuck$/)
  t.end()
})

test('one that idles in a nest is parked as soon as another wants it, whoever comes first', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('a', '')
  t.same(stage.news, [])
  stage.wish('b', 'd1')
  t.same(stage.news, ['a is to park at p1'])
  const other = two().stand(['a', 'd1'], ['b', 's1'])
  other.wish('b', 'd1')
  other.wish('a', '')
  t.same(other.news, ['a is to park at p1'])
  other.park('a')
  t.same(other.news, ['b gets d1'])
  t.end()
})

test('one that idles in a nest is parked later, if there is no room yet', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 's1'], ['c', 'p1'])
  stage.scheduler.setAwaitedThreads('a', ['c'])
  stage.wish('a', '')
  stage.wish('b', 'd1')
  t.same(stage.news, [])
  stage.scheduler.remove('c')
  t.same(stage.news, ['a is to park at p1'])
  t.end()
})

test('one that idles for an event is no deadlock as long as others go on; when nothing does, somebody is told', (t) => {
  const stage = without().stand(['a', 'd1'], ['b', 's1'], ['c', 'd2'])
  stage.wish('a', '')
  stage.wish('b', 'd1')
  t.same(stage.news, [])
  stage.wish('c', 'd1')
  t.match(stage.news, [/is stuck$/])
  t.end()
})

test('when the last that could have helped has ended, somebody is told', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 'd2'], ['c', 'p1'], ['x', 's1'])
  stage.wish('b', '')
  stage.wish('a', 'd2')
  stage.wish('c', 'd1')
  stage.scheduler.remove('x')
  t.same(stage.news, [])
  stage.scheduler.forget('x')
  t.match(stage.news, [/is stuck$/])
  t.end()
})

test('parking is on no corridor, unless there is a way round', (t) => {
  const stage = new Stage(graphOf({ left: 'd1 d2 p1', right: 'p1 d3' })).stand(['a', 'd1'], ['b', 'd2'])
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  t.same(stage.news, ['b is stuck'])
  const round = new Stage(graphOf({ left: 'd1 d2 p1 p2', right: 'p1 p2 d3' })).stand(['a', 'd1'], ['b', 'd2'])
  round.wish('a', 'd2')
  round.wish('b', 'd1')
  t.same(round.news, ['deadlock of a b: b', 'b is to park at p1'])
  const other = new Stage(graphOf({ left: 'd1 d2 p1 p2', right: 'p1 d3' })).stand(['a', 'd1'], ['b', 'd2'])
  other.wish('a', 'd2')
  other.wish('b', 'd1')
  t.same(other.news, ['deadlock of a b: b', 'b is to park at p2'])
  t.end()
})

test('an owner and those who come to it are one deadlock with who stands in their way', (t) => {
  const stage = new Stage(graphOf({ arm: 'd1*2 s1 p1' })).stand(['owner', 'd1/site-1'], ['x', 's1'])
  stage.wish('owner', 'd1')
  stage.wish('x', 'd1')
  stage.wish('guest', 's1')
  stage.scheduler.setAwaitedThreads('owner', ['guest'])
  t.same(stage.news, ['owner gets d1', 'deadlock of guest owner x: x', 'x is to park at p1'])
  stage.park('x')
  t.same(stage.news, ['guest gets s1'])
  t.end()
})

test('an owner and a guest that wait for each other and for no place are no deadlock', (t) => {
  const stage = new Stage(graphOf({ arm: 'd1*2 s1 s2' })).stand(['owner', 'd1/site-1'], ['guest', 's2'], ['x', 's1'])
  stage.wish('owner', 'd1')
  stage.scheduler.setAwaitedThreads('guest', ['owner'])
  stage.wish('guest', '')
  stage.scheduler.setAwaitedThreads('owner', ['guest'])
  stage.wish('x', 'd1')
  t.same(stage.news, ['owner gets d1'])
  t.end()
})

test('a parking place that is not gone to is free again with the next ask, or when it is let go', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('a', '')
  stage.wish('b', 'd1')
  t.equal(stage.scheduler.position('p1').reserved_for, 'a')
  stage.scheduler.holds.letGo('a', 'p1')
  t.equal(stage.scheduler.position('p1').reserved_for, null)
  const other = two().stand(['a', 'd1'], ['b', 's1'])
  other.wish('a', '')
  other.wish('b', 'd1')
  other.wish('a', 'd2')
  t.equal(other.scheduler.position('p1').reserved_for, null)
  t.end()
})

test('a place to which no way leads is never had, and that is told', (t) => {
  const stage = new Stage(graphOf({ left: 'd1 d2', right: 'd2 d3' })).stand(['a', 'd1'])
  let why = ''
  stage.wish('a', 'd3', { stuck: (reason) => (why = reason) })
  t.equal(why, 'there is no way to d3 from where the labware stands')
  t.same(stage.reasons('a'), ['d3 unreachable null null'])
  t.end()
})

// Looking ahead

test('without room to park nobody goes where it could not leave again', (t) => {
  const stage = without().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('a', 'd1', { after: ['d2', 's2'] })
  stage.wish('b', 'd2', { after: ['d1', 's2'] })
  t.same(stage.news, ['a gets d1'])
  t.same(stage.reasons('b'), ['d2 unsafe a null'])
  stage.visit('a')
  stage.wish('a', 'd2', { after: ['s2'] })
  stage.visit('a')
  stage.wish('a', 's2')
  stage.visit('a')
  t.same(stage.news, ['a gets d2', 'a gets s2', 'b gets d2'])
  t.end()
})

test('labware that was carried away is looked out for where it stands now, and where it holds a device', (t) => {
  const islands = () => new Stage(graphOf({ left: 'd1 d2 s1 s2', right: 's8 s9' }))
  const reserving = islands().stand(['a', 's8'], ['b', 's1'])
  reserving.wish('a', 's9', { after: ['d2', 's2'] })
  reserving.scheduler.put('a', 'd1', 'a')
  t.equal(reserving.scheduler.position('s9').reserved_for, 'a')
  const holding = islands().stand(['a', 's2'], ['b', 's1'])
  holding.wish('a', 'd1', { after: ['d2', 's2'] })
  holding.go('a')
  holding.scheduler.put('a', 's8', 'a')
  t.equal(holding.scheduler.holds.holder('d1'), 'a')
  for (const stage of [reserving, holding]) {
    stage.wish('b', 'd2', { after: ['d1', 's2'] })
    t.same(stage.reasons('b'), ['d2 unsafe a null'])
  }
  t.end()
})

test('a request that is unsafe is granted where nothing else could move, and the decision is reported', (t) => {
  const stage = without().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('a', 'd1', { after: ['d2', 's2'] })
  stage.wish('b', 'd2', { after: ['d1', 's2'] })
  t.same(stage.news, ['a gets d1'])
  t.same(stage.decisions, [])
  stage.scheduler.setAwaitedThreads('a', ['b'])
  t.same(stage.news, ['b gets d2'])
  t.same(stage.decisions, ['granted_unsafe b d2'])
  t.end()
})

test('with room to park it goes', (t) => {
  const stage = two().stand(['a', 'd1'], ['b', 's1'])
  stage.wish('a', 'd1', { after: ['d2', 's1'] })
  stage.wish('b', 'd2', { after: ['d1', 's1'] })
  t.same(stage.news, ['a gets d1', 'b gets d2'])
  t.end()
})
