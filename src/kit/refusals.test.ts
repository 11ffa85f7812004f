import t from 'tap'
import { VirtualClock } from './clock.ts'
import { silent } from './log.ts'
import { Refusals } from './refusals.ts'

t.test('Refusals are counted one by one and told once a minute', async (t) => {
  const told: string[] = []
  const clock = new VirtualClock()
  const refusals = new Refusals({ log: { ...silent, warn: (message) => void told.push(message) }, clock })
  const times = () => refusals.counts.find(({ bound }) => bound === 'bodies_mib')?.times
  t.equal(times(), 0, 'a bound that refused nothing is there too')

  for (let i = 0; i < 5; i++) refusals.count('bodies_mib', 'a body was refused')
  refusals.count('answer_s', 'an answer was not taken')
  t.equal(times(), 5)
  t.same(told, ['a body was refused', 'an answer was not taken'], 'each bound is told for itself')

  await clock.advance(59_999)
  refusals.count('bodies_mib', 'a body was refused')
  t.equal(told.length, 2)
  await clock.advance(1)
  refusals.count('bodies_mib', 'a body was refused')
  t.same(told.slice(2), ['a body was refused (5 more like it before)'])
  t.equal(times(), 7)
})
