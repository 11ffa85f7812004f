import { test } from 'tap'
import { Priorities } from './priorities.ts'

const hour = 3_600_000

function bench() {
  const clock = { now: 0 }
  const priorities = new Priorities(() => clock.now)
  return { clock, priorities }
}

test('a priority ages by one step for each hour in which a higher one is open, and only then', (t) => {
  const { clock, priorities } = bench()
  priorities.join('low', 'run', 0)
  clock.now = 5 * hour
  t.equal(priorities.of('low'), 0, 'nobody was ahead of it')
  priorities.join('urgent', 'first', 9)
  clock.now += hour
  t.same([priorities.of('low'), priorities.of('urgent')], [1, 9])
  priorities.leave('urgent')
  clock.now += hour
  t.equal(priorities.of('low'), 1)
  priorities.join('again', 'second', 9)
  clock.now += 9 * hour
  t.equal(priorities.of('low'), 10, 'then it goes before each urgent run')
  t.end()
})

test('all threads of a submission have its age, those that come later too', (t) => {
  const { clock, priorities } = bench()
  priorities.join('low', 'run', -2)
  priorities.join('urgent', 'other', 0)
  clock.now += 2 * hour
  priorities.join('late', 'run', -2)
  t.same([priorities.of('late'), priorities.of('nobody')], [0, 0])
  priorities.leave('low')
  clock.now += hour
  t.equal(priorities.of('late'), 1)
  priorities.leave('late')
  priorities.join('new', 'run', -2)
  t.equal(priorities.of('new'), -2, 'a submission that has ended is forgotten')
  t.end()
})

test('waiting requests are ranked anew when a priority changes, and for each tenth of a step', (t) => {
  const { clock, priorities } = bench()
  priorities.join('low', 'run', 0)
  priorities.mustRank()
  clock.now += hour
  t.notOk(priorities.mustRank(), 'one priority alone does not age')
  priorities.join('urgent', 'other', 1)
  t.same([priorities.differ, priorities.mustRank(), priorities.mustRank()], [true, true, false])
  clock.now += hour / 20
  t.notOk(priorities.mustRank())
  clock.now += hour / 20
  t.ok(priorities.mustRank())
  priorities.set('run', 3)
  t.same([priorities.mustRank(), Math.round(priorities.of('low') * 10)], [true, 31])
  priorities.set('unknown', 3)
  t.notOk(priorities.mustRank())
  t.end()
})
