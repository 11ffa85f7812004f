// Floods of events beside JSON.stringify of the same events, round by round in one process.

import { bench, none, row, rowOfRounds, type Target } from './bench.ts'
import { startChild } from './child.ts'
import type { Asked, Done } from './events/path.ts'

/** Each event becomes exactly one text, however many readers get it. */
export const eventFull = bench({
  name: 'event-full',
  summary: 'emit, sinks, log and a stream, at flood; an event has 522 bytes',
  limit: 'JSON.stringify',
  options: { events: 40_000, rounds: 5 },
  async run({ events, rounds }) {
    const child = await startChild('./events/path.js')
    try {
      const ask = (what: Asked['do'], count = events) => child.ask<Done>({ do: what, count } satisfies Asked)
      const counted = 10_000
      const { calls } = await ask('count', counted)
      await ask('flood')
      const done: { full: Done; alone: Done }[] = []
      for (let i = 0; i < rounds; i++) done.push({ alone: await ask('stringify'), full: await ask('flood') })
      const beside = (what: string, unit: string, target: Target, of: (done: Done) => number) => {
        const rounds = done.map(({ full, alone }) => ({ value: of(full), limit: of(alone) }))
        return rowOfRounds(what, unit, rounds, target)
      }
      const lost = done.reduce((sum, { full }) => sum + full.lost, 0)
      return [
        beside('CPU', 'us/event', { of: 'ratio', most: 2 }, ({ cpu_us }) => cpu_us / events),
        beside('events a second', '1/s', { of: 'ratio', least: 0.5, wall: true }, ({ seconds }) => events / seconds),
        row('lost', '', lost, none),
        row('times that JSON.stringify gets an event', '', calls / counted, { target: { of: 'value', least: 1, most: 1 } }),
        row('RSS at most', 'MiB', Math.max(...done.map(({ full }) => full.rss_mib)), { target: { of: 'value', most: 150 } }),
      ]
    } finally {
      await child.end()
    }
  },
})
