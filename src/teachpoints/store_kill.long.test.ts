import { test } from 'tap'
import { killedAfter } from '../testing/killed_writer.ts'
import { seeded } from '../testing/seeded.ts'
import { roundsOf } from '../testing/teachpoints.ts'
import { trials } from '../testing/trials.ts'
import { Teachpoints } from './store.ts'

/** At random moments; `BENCHD_TRIALS=all` for many more. */
const kills = trials(100, 15)
const writers = 4

const program = new URL('store_kill.test.writer.js', import.meta.url)

test('a process that is killed at any moment loses nothing that it acknowledged, and starts again', async (t) => {
  const folder = `${t.testdir({})}/state`
  const random = seeded(20_26)
  const rounds: number[] = Array(writers).fill(0)
  let acknowledged = 0
  for (let kill = 1; kill <= kills; kill++) {
    const said = await killedAfter(program, [folder, ...rounds.map(String)], {
      lines: 1 + Math.floor(random() * 12),
      turns: Math.floor(random() * 1000),
    })
    for (const line of said.slice(1)) {
      const [writer, round] = line.split(' ').map(Number) as [number, number]
      if (round !== rounds[writer]! + 1) t.fail(`kill ${kill}: it said ${line} after round ${rounds[writer]}`)
      rounds[writer] = round
      acknowledged++
    }
    const store = await Teachpoints.open({ folder, report: ({ message }) => t.fail(`kill ${kill}: ${message}`) })
    for (let writer = 0; writer < writers; writer++) {
      const isOf = roundsOf(store, writer)
      // What was under way may be there: then the writer goes on after it.
      if (isOf(rounds[writer]!)) continue
      if (isOf(rounds[writer]! + 1)) rounds[writer]!++
      else t.fail(`kill ${kill}: round ${rounds[writer]} of writer ${writer} was acknowledged and is lost`)
    }
  }
  t.ok(acknowledged > kills, `${acknowledged} writes were acknowledged over ${kills} kills`)
})
