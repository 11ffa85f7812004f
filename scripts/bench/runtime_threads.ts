import { bench, median, none, type Row, row, rowOfRounds, type Target } from './bench.ts'
import { startChild } from './child.ts'
import { unitFlags } from './events/unit.ts'
import type { Asked, Done } from './workflow/runs.ts'

/**
 * Each thread does ten methods, at two instruments by turns, with others in its way; nothing takes time but the work itself. All events
 * are counted in the log and at the stream afterwards. Node has the flags of the unit.
 */
export const runtimeThreads = bench({
  name: 'runtime-threads',
  summary: 'labware threads flat out, with the event log, the records and a stream',
  limit: 'fired in a loop',
  options: { lanes: 200, groups: 5, many: 25, rounds: 3 },
  async run({ lanes, groups, many, rounds }) {
    const few = await inOne({ lanes, groups, rounds })
    const lots = await inOne({ lanes, groups: many, rounds: 1 })
    const [name, nameOfMany] = [`${lanes * groups} threads`, `${lanes * many} threads`]
    const cpuOfMany = beside(`${nameOfMany}: CPU`, 'us/event', lots, perEvent)
    const limit = median(few.map(({ run }) => perEvent(run)))
    return [
      // Not a goal, but so that it gets no worse: 2.1 to 2.4 were measured.
      beside(`${name}: CPU`, 'us/event', few, perEvent, { of: 'ratio', most: 3 }),
      beside(`${name}: events a second`, '1/s', few, perSecond, { of: 'ratio', least: 0.6, wall: true }),
      row('lag of the event loop, p50', 'ms', median(few.map(({ run }) => run.lag_ms.p50))),
      beside('lag of the event loop, p99', 'ms', few, ({ lag_ms }) => lag_ms.p99, { of: 'ratio', most: 1.5, wall: true }),
      row('lag of the event loop, at most', 'ms', Math.max(...few.map(({ run }) => run.lag_ms.max))),
      // Of the first round: later ones have the runs before them in memory, whose threads can still be asked for.
      row(`${name}: RSS at most`, 'MiB', few[0]!.run.rss_mib, { target: { of: 'value', most: 150 } }),
      cpuOfMany,
      row(`${nameOfMany}: CPU, over that of ${name}`, 'us/event', cpuOfMany.value, { limit, target: { of: 'ratio', most: 1.5 } }),
      beside(`${nameOfMany}: events a second`, '1/s', lots, perSecond),
      row(`${nameOfMany}: RSS at most`, 'MiB', lots[0]!.run.rss_mib),
      row('events not in the log or not streamed', '', missing([...few, ...lots]), none),
    ]
  },
})

type Round = { run: Done; fire: Done }

/** A small run before the others is for V8 to compile it. */
async function inOne({ lanes, groups, rounds }: { lanes: number; groups: number; rounds: number }): Promise<Round[]> {
  const child = await startChild('./workflow/runs.js', { args: [String(lanes), 'full'], flags: unitFlags })
  const ask = (asked: Asked) => child.ask<Done>(asked)
  try {
    await ask({ do: 'run', groups: 1 })
    const done: Round[] = []
    for (let i = 0; i < rounds; i++) {
      const run = await ask({ do: 'run', groups })
      if (run.incidents) throw new Error(`${run.incidents} incidents where nothing goes wrong`)
      done.push({ run, fire: await ask({ do: 'fire', events: 200_000 }) })
    }
    return done
  } finally {
    await child.end()
  }
}

function beside(what: string, unit: string, rounds: readonly Round[], of: (done: Done) => number, target?: Target): Row {
  const figures = rounds.map(({ run, fire }) => ({ value: of(run), limit: of(fire) }))
  return rowOfRounds(what, unit, figures, target)
}

function perEvent({ cpu_us, events }: Done): number {
  return cpu_us / events
}

function perSecond({ seconds, events }: Done): number {
  return events / seconds
}

function missing(rounds: readonly Round[]): number {
  return rounds.reduce((sum, { run: { events, logged, streamed } }) => sum + 2 * events - logged - streamed, 0)
}
