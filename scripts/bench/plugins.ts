// Plug-ins that misbehave in their own process: a stop, and the lag of events at another plug-in, beside a service whose plug-ins behave.

import { setTimeout as sleep } from 'node:timers/promises'
import { bench, median, percentile, type Row, row } from './bench.ts'
import { farEnd } from './estop.ts'
import { abuseNames, type Lag } from './servers/plugged.ts'
import type { Beside } from './servers/stoppable.ts'

const perTurn = 5
const settle_ms = 300
const pause_ms = 40
/** For the plug-ins to be started. */
const starting_ms = 3000

type Served = Awaited<ReturnType<typeof farEnd>>

/** The limit is the same service with the plug-in that behaves alone; the two take turns. */
export const plugins = bench({
  name: 'plugins',
  summary: 'plug-ins that misbehave: a stop, from the request to the first byte, and the lag of events at a plug-in that behaves',
  limit: 'without it',
  options: { stops: 60, rate: 200, only: '' },
  async run({ stops, rate, only }) {
    const rows: Row[] = []
    for (const abuse of abuseNames.filter((name) => name.includes(only))) {
      const [ours, theirs] = [await farEnd('stoppable', 'bioshake', ['', abuse]), await farEnd('stoppable', 'bioshake', ['', 'none'])]
      try {
        await sleep(starting_ms)
        rows.push(...(await measured(abuse, { ours, theirs }, { stops, rate })))
      } finally {
        for (const { end } of [ours, theirs]) await end()
      }
    }
    return rows
  },
})

async function measured(abuse: string, ends: { ours: Served; theirs: Served }, { stops, rate }: { stops: number; rate: number }) {
  const times: Record<keyof typeof ends, number[]> = { ours: [], theirs: [] }
  const lags: Record<keyof typeof ends, number[]> = { ours: [], theirs: [] }
  let dropped = 0
  let isNamed = false
  for (let i = 0; i < stops / perTurn; i++) {
    for (const who of i % 2 ? (['theirs', 'ours'] as const) : (['ours', 'theirs'] as const)) {
      const { server, stopped } = ends[who]
      await server.ask({ lag: true } satisfies Beside)
      await server.ask({ port_busy: true, events: rate } satisfies Beside)
      await sleep(settle_ms)
      for (let stop = 0; stop < perTurn; stop++) {
        times[who].push(await stopped())
        await sleep(pause_ms * (0.5 + Math.random()))
      }
      const lag = await server.ask<Lag>({ lag: true } satisfies Beside)
      await server.ask({} satisfies Beside)
      lags[who].push(...lag.lags_ms)
      if (who === 'ours') {
        dropped += lag.dropped
        isNamed ||= lag.named
      }
    }
  }
  const beside = (what: string, its: typeof times, of: (values: number[]) => number) =>
    row(`${abuse}, ${what}`, 'ms', of(its.ours), { limit: of(its.theirs), target: { of: 'ratio', most: 1.5, wall: true } })
  return [
    beside('stop, p50', times, median),
    beside('stop, p99', times, (values) => percentile(values, 0.99)),
    beside('lag of events elsewhere, p50', lags, median),
    beside('lag of events elsewhere, p99', lags, (values) => percentile(values, 0.99)),
    row(`${abuse}, events lost elsewhere`, '', dropped, { target: { of: 'value', most: 0 } }),
    row(`${abuse}, is named`, '', Number(isNamed), { target: { of: 'value', least: 1 } }),
  ]
}
