// Floods of events beside JSON.stringify of the same events, round by round in one process.

import { median, type Row } from '../bench.ts'
import { startChild } from '../child.ts'
import type { Asked, Done } from './path.ts'

type Options = { events: number; rounds: number; profile: string }
export type Beside = { rows: Row[]; calls: number; rss_mib: number }

export async function besideStringify({ events, rounds, profile }: Options, { streamed }: { streamed: boolean }): Promise<Beside> {
  const child = await startChild('./events/path.js', { profile })
  try {
    const ask = (what: Asked['do'], count = events) => child.ask<Done>({ do: what, count, streamed })
    const { calls } = await ask('count', 10_000)
    await ask('flood')
    const done: { full: Done; alone: Done }[] = []
    for (let i = 0; i < rounds; i++) done.push({ alone: await ask('stringify'), full: await ask('flood') })
    const rows = [
      row('CPU', 'us/event', { target: { of: 'ratio', most: 2 } }, ({ cpu_us }) => cpu_us / events),
      row('events a second', '1/s', { target: { of: 'ratio', least: 0.5, wall: true } }, ({ seconds }) => events / seconds),
      { what: 'lost', unit: '', value: done.reduce((sum, { full }) => sum + full.lost, 0), target: { of: 'value', most: 0 } } as const,
    ]
    return { rows, calls: calls / 10_000, rss_mib: Math.max(...done.map(({ full }) => full.rss_mib)) }

    function row(what: string, unit: string, more: Pick<Row, 'target'>, of: (done: Done) => number): Row {
      const [value, limit] = [median(done.map(({ full }) => of(full))), median(done.map(({ alone }) => of(alone)))]
      return { what, unit, value, limit, ratio: median(done.map(({ full, alone }) => of(full) / of(alone))), ...more }
    }
  } finally {
    await child.end()
  }
}
