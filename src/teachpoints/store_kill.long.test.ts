import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { seeded } from '../testing/seeded.ts'
import { roundsOf } from '../testing/teachpoints.ts'
import { Teachpoints } from './store.ts'

/** At random moments; `BENCHD_KILLS=all` for many more. */
const kills = process.env.BENCHD_KILLS === 'all' ? 100 : 30
const writers = 4

test('a process that is killed at any moment loses nothing that it acknowledged, and starts again', async (t) => {
  const folder = `${t.testdir({})}/state`
  const random = seeded(20_26)
  const rounds: number[] = Array(writers).fill(0)
  let acknowledged = 0
  for (let kill = 1; kill <= kills; kill++) {
    const said = await killedAfter(folder, rounds, { lines: 1 + Math.floor(random() * 12), turns: Math.floor(random() * 1000) })
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

/** What the process had said when it was dead: `opening`, then what was acknowledged. */
async function killedAfter(folder: string, rounds: number[], when: { lines: number; turns: number }): Promise<string[]> {
  const program = fileURLToPath(new URL('store_kill.test.writer.js', import.meta.url))
  const child = spawn(process.execPath, [program, folder, ...rounds.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const lines: string[] = []
  const kill = async () => {
    for (let turn = 0; turn < when.turns; turn++) await new Promise(setImmediate)
    child.kill('SIGKILL')
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (lines.push(line) === when.lines) void kill()
  })
  const [code, signal] = await ended
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself with ${code ?? signal}`)
  return lines
}
