// Many benches and one broker: what each event costs the bench, whether all arrive over kills of the broker, and what a broker that is away costs
// a stop.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TestBroker, testBroker } from '../../src/testing/broker.ts'
import { linesOf } from '../../src/testing/fleet.ts'
import { bench, median, none, percentile, type Row, row } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { farEnd } from './estop.ts'
import type { Flow } from './events/flow.ts'
import type { Asked, Figures } from './fleet/sender.ts'

const kills = 3
/** Nobody listens there. */
const deadBroker = 'nats://127.0.0.1:9'

/** The limit is the same without a fleet. */
export const fleet = bench({
  name: 'fleet',
  summary: 'events of many benches to one NATS broker that is killed three times; stops while the broker is away',
  limit: 'without',
  options: { benches: 8, rate: 1000, seconds: 8, stops: 200, only: '' },
  async run({ benches, rate, seconds, stops, only }) {
    const ends: (() => unknown)[] = []
    const lifetime = { teardown: (end: () => unknown) => void ends.unshift(end) }
    /** Takes connections and never says a word. */
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    try {
      await once(silent, 'listening')
      const parts: Record<string, () => Promise<Row[]>> = {
        flood: async () => flooded(await testBroker(lifetime), { benches, rate, seconds }),
        'stop refuses': () => stopped('refuses', deadBroker, stops),
        'stop silent': () => stopped('says nothing', `nats://127.0.0.1:${(silent.address() as AddressInfo).port}`, stops),
      }
      const rows: Row[] = []
      for (const [name, part] of Object.entries(parts)) if (name.includes(only)) rows.push(...(await part()))
      return rows
    } finally {
      silent.close()
      for (const end of ends) await end()
    }
  },
})

type Size = { benches: number; rate: number; seconds: number }

async function flooded(broker: TestBroker, { benches, rate, seconds }: Size): Promise<Row[]> {
  const names = Array.from({ length: benches }, (_, i) => `bench-${i}`)
  const senders = (server: string) => Promise.all(names.map((name) => startChild('./fleet/sender.js', { args: [name, server] })))
  const ask = (all: readonly Child<object>[], asked: Asked) => Promise.all(all.map((one) => one.ask<Figures>(asked)))
  /** Both kinds at once, so that whatever else the computer does is the same for both. */
  const [withFleet, without] = [await senders(broker.url), await senders('')]
  const fire = (all: readonly Child<object>[], flow: Flow) => ask(all, { do: 'fire', flow: { ...flow, every_ms: 10 } })
  try {
    for (const all of [withFleet, without]) await fire(all, { rate: 10, seconds: 1 })
    const cost: { ours: Figures[]; theirs: Figures[] } = { ours: [], theirs: [] }
    for (let turn = 0; turn < 2; turn++) {
      cost.theirs.push(...(await fire(without, { rate, seconds: seconds / 2 })))
      cost.ours.push(...(await fire(withFleet, { rate, seconds: seconds / 2 })))
    }
    const cpuOf = (figures: readonly Figures[]) => median(figures.map(({ cpu_us }) => cpu_us / ((rate * seconds) / 2)))
    const rssOf = async (all: readonly Child<object>[]) => median((await ask(all, { do: 'rest' })).map(({ rss_mib }) => rss_mib))
    const [cpu, bare, mib, bareMib] = [cpuOf(cost.ours), cpuOf(cost.theirs), await rssOf(withFleet), await rssOf(without)]
    const killing = killAgain(broker, seconds)
    await fire(withFleet, { rate, seconds })
    await killing
    const { events, ...faults } = await verdict(broker, await ask(withFleet, { do: 'drain' }))
    return [
      row('CPU of an event, log included', 'µs', cpu, { limit: bare }),
      row('CPU of sending an event', 'µs', cpu - bare, { target: { of: 'value', most: 60 } }),
      row('RSS of a bench', 'MiB', mib, { limit: bareMib }),
      row('RSS for the fleet', 'MiB', mib - bareMib, { target: { of: 'value', most: 15 } }),
      row(`events over ${kills} kills`, '', events),
      ...Object.entries(faults).map(([what, count]) => row(`events that are ${what}`, '', count, none)),
    ]
  } finally {
    for (const one of [...withFleet, ...without]) await one.end()
  }
}

async function killAgain(broker: TestBroker, seconds: number): Promise<void> {
  for (let i = 0; i < kills; i++) {
    await sleep((seconds * 1000) / (kills + 1))
    await broker.kill()
    await sleep(300)
    await broker.start()
  }
}

async function verdict(broker: TestBroker, ends: readonly Figures[]) {
  const found = { events: 0, missing: 0, twice: 0, 'out of order': 0 }
  const last = new Map<string, number>()
  const seen = new Set<string>()
  for (const { bench, epoch, event } of linesOf(await broker.messages())) {
    const n = event?.context.n
    if (typeof n !== 'number') continue
    const id = `${bench}/${epoch}/${n}`
    if (seen.has(id)) found.twice++
    if (n < (last.get(bench) ?? -1)) found['out of order']++
    last.set(bench, n)
    seen.add(id)
  }
  found.events = seen.size
  found.missing = ends.reduce((sum, { events }) => sum + events, 0) - seen.size
  return found
}

/** Two services take turns at each stop: one whose broker is away, and one without a fleet. Both fire events meanwhile. */
async function stopped(how: string, server: string, stops: number): Promise<Row[]> {
  const [ours, theirs] = [await farEnd('stoppable', 'bioshake', [server]), await farEnd('stoppable')]
  try {
    for (const { server } of [ours, theirs]) await server.ask({ events: 100 })
    const times = { ours: [] as number[], theirs: [] as number[] }
    while (times.ours.length < stops) {
      for (const [end, its] of [[theirs, times.theirs] as const, [ours, times.ours] as const]) {
        its.push(await end.stopped())
        await sleep(20 * (0.5 + Math.random()))
      }
    }
    return [0.5, 0.99].map((part) => {
      const target = part === 0.5 ? ({ of: 'ratio', most: 1.2, wall: true } as const) : undefined
      const limit = percentile(times.theirs, part)
      return row(`stop while the broker ${how}, p${part * 100}`, 'ms', percentile(times.ours, part), { limit, target })
    })
  } finally {
    for (const { end } of [ours, theirs]) await end()
  }
}
