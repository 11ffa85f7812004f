// The assay on the card of a service that is killed with SIGKILL, and taken up again. `BENCHD_TRIALS=all` kills it at every boundary there is.

import { test } from 'tap'
import { Dice } from '../testing/simulation/scene.ts'
import { trials } from '../testing/trials.ts'
import { chain } from './assay_kills.test.chain.ts'

test('an assay whose service is killed where its actions begin and where they have ended comes to the same end', async (t) => {
  const folder = t.testdir({ whole: {}, killed: {} })
  const dice = new Dice(2026)
  const whole = await chain(`${folder}/whole`, { dice, groups: 1, every: null })
  const killed = await chain(`${folder}/killed`, { dice, groups: 1, every: trials(1, 3) })
  t.same([whole.problems, killed.problems], [[], []])
  t.equal(whole.boundaries.length, 2 * 22)
  t.same(killed.boundaries, whole.boundaries)
  t.ok(killed.kills >= trials(44, 14), `${killed.kills} kills`)
  t.same(killed.end, whole.end)
  t.ok(killed.continued > 0 && killed.amid.work > 0, `${killed.continued} continued, ${JSON.stringify(killed.amid)}`)
})

test('so does one of two groups whose service is killed in the midst of moves too, while what is under way goes on', async (t) => {
  const folder = t.testdir({ whole: {}, killed: {} })
  const dice = new Dice(20_26)
  const whole = await chain(`${folder}/whole`, { dice, groups: 2, every: null })
  const killed = await chain(`${folder}/killed`, { dice, groups: 2, moves: true, every: trials(1, 70), goesOn: true })
  t.same([whole.problems, killed.problems], [[], []])
  t.same(killed.end, whole.end)
  t.ok(killed.kills >= 5 && killed.amid.work > 0 && killed.amid.move > 0, `${killed.kills} kills, ${JSON.stringify(killed.amid)}`)
})
