import { t as tap, test } from 'tap'
import { killRounds } from './kills.test.rounds.ts'

// A slow machine is not a failure.
tap.setTimeout(0)

test('a service that is killed under load takes nothing back that a subscriber, a poller or a poster was told', async (t) => {
  t.setTimeout(0)
  const { problems, events, seen, acknowledged, kills } = await killRounds(t.testdir({}), { rounds: 5, seed: 20_26 })
  t.same(problems.slice(0, 10), [])
  t.equal(kills, 7)
  t.ok(events > 1000 && seen > 2 * events && acknowledged > 20, `${events} events, ${seen} seen, ${acknowledged} acknowledged`)
})
