// Many benches and one broker: what each event costs the bench, whether all arrive over kills of the broker, and what a broker that is away costs
// a stop, a step of a run and the refusal of an interlock.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TestBroker, testBroker } from '../../src/testing/broker.ts'
import { linesOf } from '../../src/testing/fleet.ts'
import { bench, median, percentile, type Row } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { farEnd } from './estop.ts'
import type { Asked, Figures } from './fleet/sender.ts'
import type { Worked } from './servers/working.ts'

const kills = 3
/** Nobody listens there. */
const deadBroker = 'nats://127.0.0.1:9'

/** The limit is the same without a fleet. */
export const fleet = bench({
  name: 'fleet',
  summary: 'events of many benches to one NATS broker that is killed three times; stops, runs and interlocks while the broker is away',
  limit: 'without',
  options: { benches: 8, rate: 1000, seconds: 8, stops: 200, runs: 100, only: '' },
  async run({ benches, rate, seconds, stops, runs, only }) {
    const ends: (() => unknown)[] = []
    const lifetime = { teardown: (end: () => unknown) => void ends.unshift(end) }
    try {
      const silent = await silentServer(lifetime)
      const parts: Record<string, () => Promise<Row[]>> = {
        flood: async () => flooded(await testBroker(lifetime), { benches, rate, seconds }),
        'stop refuses': () => stopped('refuses', deadBroker, stops),
        'stop silent': () => stopped('says nothing', silent, stops),
        'work refuses': () => worked('refuses', deadBroker, runs),
        'work silent': () => worked('says nothing', silent, runs),
      }
      const rows: Row[] = []
      for (const [name, part] of Object.entries(parts)) if (name.includes(only)) rows.push(...(await part()))
      return rows
    } finally {
      for (const end of ends) await end()
    }
  },
})

type Size = { benches: number; rate: number; seconds: number }
type Sender = Child<object>

async function flooded(broker: TestBroker, { benches, rate, seconds }: Size): Promise<Row[]> {
  const senders = async (server: string) =>
    Promise.all(
      Array.from({ length: benches }, (_, i) =>
        startChild<object>('./fleet/sender.js', { args: [`bench-${i}`, server], flags: ['--expose-gc'] }),
      ),
    )
  const ask = (all: readonly Sender[], asked: Asked) => Promise.all(all.map((one) => one.ask<Figures>(asked)))
  /** Both kinds at once, so that whatever else the computer does is the same for both. */
  const [withFleet, without] = [await senders(broker.url), await senders('')]
  try {
    await ask(withFleet, { do: 'fire', rate: 10, seconds: 1 })
    await ask(without, { do: 'fire', rate: 10, seconds: 1 })
    const cost: { ours: Figures[]; theirs: Figures[] } = { ours: [], theirs: [] }
    for (let turn = 0; turn < 2; turn++) {
      cost.theirs.push(...(await ask(without, { do: 'fire', rate, seconds: seconds / 2 })))
      cost.ours.push(...(await ask(withFleet, { do: 'fire', rate, seconds: seconds / 2 })))
    }
    const perEvent = (figures: readonly Figures[]) => median(figures.map(({ cpu_us }) => cpu_us / ((rate * seconds) / 2)))
    const rss = { ours: await ask(withFleet, { do: 'rest' }), theirs: await ask(without, { do: 'rest' }) }
    const killing = killAgain(broker, seconds)
    await ask(withFleet, { do: 'fire', rate, seconds })
    await killing
    const ends = await ask(withFleet, { do: 'drain' })
    const arrived = await verdict(broker, ends)
    const [cpu, bare] = [perEvent(cost.ours), perEvent(cost.theirs)]
    const [mib, bareMib] = [median(rss.ours.map(mibOf)), median(rss.theirs.map(mibOf))]
    return [
      { what: 'CPU of an event, log included', unit: 'µs', value: cpu, limit: bare, ratio: cpu / bare },
      { what: 'CPU of sending an event', unit: 'µs', value: cpu - bare, target: { of: 'value', most: 60 } },
      { what: 'RSS of a bench', unit: 'MiB', value: mib, limit: bareMib, ratio: mib / bareMib },
      { what: 'RSS for the fleet', unit: 'MiB', value: mib - bareMib, target: { of: 'value', most: 15 } },
      { what: `events over ${kills} kills`, unit: '', value: arrived.events },
      ...(['missing', 'twice', 'out of order'] as const).map(
        (what): Row => ({ what: `events that are ${what}`, unit: '', value: arrived[what], target: { of: 'value', most: 0 } }),
      ),
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

function mibOf({ rss }: Figures): number {
  return rss / 1024 / 1024
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
    return [0.5, 0.99].map((part): Row => {
      const [value, limit] = [percentile(times.ours, part), percentile(times.theirs, part)]
      const target = part === 0.5 ? ({ of: 'ratio', most: 1.2, wall: true } as const) : undefined
      return { what: `stop while the broker ${how}, p${part * 100}`, unit: 'ms', value, limit, ratio: value / limit, target }
    })
  } finally {
    for (const { end } of [ours, theirs]) await end()
  }
}

/** Two services take turns at a run and at a request that an interlock refuses. */
async function worked(how: string, server: string, runs: number): Promise<Row[]> {
  const ours = await startChild<object>('./servers/working.js', { args: [server] })
  const theirs = await startChild<object>('./servers/working.js')
  try {
    for (let i = 0; i < 10; i++) for (const one of [theirs, ours]) await one.ask({})
    const found: { ours: Worked[]; theirs: Worked[] } = { ours: [], theirs: [] }
    while (found.ours.length < runs) {
      found.theirs.push(await theirs.ask<Worked>({}))
      found.ours.push(await ours.ask<Worked>({}))
    }
    const figures = { 'a step of a run': 'step_ms', 'a refusal by an interlock': 'refusal_ms' } as const
    return Object.entries(figures).map(([what, name]): Row => {
      const [value, limit] = [median(found.ours.map((one) => one[name])), median(found.theirs.map((one) => one[name]))]
      const target = { of: 'ratio', most: 1.2, wall: true } as const
      return { what: `${what} while the broker ${how}, p50`, unit: 'ms', value, limit, ratio: value / limit, target }
    })
  } finally {
    for (const one of [ours, theirs]) await one.end()
  }
}

/** Takes connections and never says a word. */
async function silentServer(lifetime: { teardown(end: () => unknown): void }): Promise<string> {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  lifetime.teardown(() => server.close())
  const address = server.address()
  return `nats://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}
