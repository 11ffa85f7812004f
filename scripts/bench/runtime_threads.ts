import { bench, median, type Row, type Target } from './bench.ts'
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
  options: { lanes: 200, groups: 5, many: 25, rounds: 3, profile: '' },
  async run({ lanes, groups, many, rounds, profile }) {
    const few = await inOne('full', { lanes, groups, rounds, profile })
    const bare = await inOne('bare', { lanes, groups, rounds, profile })
    const lots = await inOne('full', { lanes, groups: many, rounds: 1, profile })
    const cpu = median(few.map(({ run }) => perEvent(run)))
    const cpuOfMany = beside(`${lanes * many} threads: CPU`, 'us/event', lots, perEvent)
    return [
      // Not a goal, but so that it gets no worse: 2.1 to 2.4 were measured.
      beside(`${lanes * groups} threads: CPU`, 'us/event', few, perEvent, { of: 'ratio', most: 3 }),
      { what: 'without log, records and stream', unit: 'us/event', value: median(bare.map(({ run }) => perEvent(run))) },
      beside('events a second', '1/s', few, perSecond, { of: 'ratio', least: 0.6, wall: true }),
      beside('threads that only wait for their arm and fire: CPU', 'us/event', leastOf(few), perEvent),
      beside('threads that only wait for their arm and fire: events a second', '1/s', leastOf(few), perSecond),
      { what: 'lag of the event loop, p50', unit: 'ms', value: median(few.map(({ run }) => run.lag_ms.p50)) },
      beside('lag of the event loop, p99', 'ms', few, ({ lag_ms }) => lag_ms.p99, { of: 'ratio', most: 1.5, wall: true }),
      { what: 'lag of the event loop, at most', unit: 'ms', value: Math.max(...few.map(({ run }) => run.lag_ms.max)) },
      // Of the first round: later ones have the runs before them in memory, whose threads can still be asked for.
      { what: 'RSS at most', unit: 'MiB', value: rss(few.slice(0, 1)), target: { of: 'value', most: 150 } },
      cpuOfMany,
      {
        what: `over that of ${lanes * groups}`,
        unit: 'us/event',
        value: cpuOfMany.value,
        limit: cpu,
        ratio: cpuOfMany.value / cpu,
        target: { of: 'ratio', most: 1.5 },
      },
      beside('events a second', '1/s', lots, perSecond),
      { what: 'RSS at most', unit: 'MiB', value: rss(lots) },
      { what: 'events not in the log or not streamed', unit: '', value: missing([...few, ...lots]), target: { of: 'value', most: 0 } },
    ]
  },
})

type Round = { run: Done; fire: Done; least: Done }
type How = { lanes: number; groups: number; rounds: number; profile: string }

/** A small run before the others is for V8 to compile it. */
async function inOne(how: 'full' | 'bare', { lanes, groups, rounds, profile }: How): Promise<Round[]> {
  const child = await startChild('./workflow/runs.js', { args: [String(lanes), how], flags: unitFlags, profile })
  const ask = (asked: Asked) => child.ask<Done>(asked)
  try {
    await ask({ do: 'run', groups: 1 })
    const done: Round[] = []
    for (let i = 0; i < rounds; i++) {
      const run = await ask({ do: 'run', groups })
      if (run.incidents) throw new Error(`${run.incidents} incidents where nothing goes wrong`)
      const least = await ask({ do: 'threads', groups })
      done.push({ run, least, fire: await ask({ do: 'fire', events: 200_000 }) })
    }
    return done
  } finally {
    await child.end()
  }
}

function beside(what: string, unit: string, rounds: readonly Round[], of: (done: Done) => number, target?: Target): Row {
  const [value, limit] = [median(rounds.map(({ run }) => of(run))), median(rounds.map(({ fire }) => of(fire)))]
  return { what, unit, value, limit, ratio: median(rounds.map(({ run, fire }) => of(run) / of(fire))), target }
}

/** The rounds with the least program in the place of the run. */
function leastOf(rounds: readonly Round[]): Round[] {
  return rounds.map((round) => ({ ...round, run: round.least }))
}

function perEvent({ cpu_us, events }: Done): number {
  return cpu_us / events
}

function perSecond({ seconds, events }: Done): number {
  return events / seconds
}

function rss(rounds: readonly Round[]): number {
  return Math.max(...rounds.map(({ run }) => run.rss_mib))
}

function missing(rounds: readonly Round[]): number {
  return rounds.reduce((sum, { run: { events, logged, streamed } }) => sum + 2 * events - logged - streamed, 0)
}
