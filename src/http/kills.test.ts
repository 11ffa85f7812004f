import { test } from 'tap'
import { trials } from '../testing/trials.ts'
import { killRounds } from './kills.test.rounds.ts'

test('a service that is killed under load takes nothing back that a subscriber, a poller or a poster was told', async (t) => {
  const rounds = trials(10, 5)
  const { problems, events, seen, acknowledged, kills } = await killRounds(t.testdir({}), { rounds, seed: 20_26 })
  t.same(problems.slice(0, 10), [])
  t.equal(kills, rounds === 10 ? 13 : 7)
  t.ok(events > 100 * rounds && seen > 2 * events && acknowledged > rounds, `${events} events, ${seen} seen, ${acknowledged} acknowledged`)
})
