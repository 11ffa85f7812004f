// Floods of events beside JSON.stringify of the same events, round by round in one process.

import { bench, median, type Row } from './bench.ts'
import { startChild } from './child.ts'
import type { Asked, Done } from './events/path.ts'

/** Each event becomes exactly one text, however many readers get it. */
export const eventFull = bench({
  name: 'event-full',
  summary: 'emit, sinks, log and a stream, at flood; an event has 522 bytes',
  limit: 'JSON.stringify',
  options: { events: 40_000, rounds: 5, profile: '' },
  async run({ events, rounds, profile }) {
    const child = await startChild('./events/path.js', { profile })
    try {
      const ask = (what: Asked['do'], count = events) => child.ask<Done>({ do: what, count } satisfies Asked)
      const counted = 10_000
      const { calls } = await ask('count', counted)
      await ask('flood')
      const done: { full: Done; alone: Done }[] = []
      for (let i = 0; i < rounds; i++) done.push({ alone: await ask('stringify'), full: await ask('flood') })
      const row = (what: string, unit: string, target: Row['target'], of: (done: Done) => number): Row => {
        const [value, limit] = [median(done.map(({ full }) => of(full))), median(done.map(({ alone }) => of(alone)))]
        return { what, unit, value, limit, ratio: median(done.map(({ full, alone }) => of(full) / of(alone))), target }
      }
      const lost = done.reduce((sum, { full }) => sum + full.lost, 0)
      return [
        row('CPU', 'us/event', { of: 'ratio', most: 2 }, ({ cpu_us }) => cpu_us / events),
        row('events a second', '1/s', { of: 'ratio', least: 0.5, wall: true }, ({ seconds }) => events / seconds),
        { what: 'lost', unit: '', value: lost, target: { of: 'value', most: 0 } },
        { what: 'times that JSON.stringify gets an event', unit: '', value: calls / counted, target: { of: 'value', least: 1, most: 1 } },
        { what: 'RSS at most', unit: 'MiB', value: Math.max(...done.map(({ full }) => full.rss_mib)), target: { of: 'value', most: 150 } },
      ]
    } finally {
      await child.end()
    }
  },
})
