// Whether the service stays as small as it is: all kinds of clients at once, for as long as is asked for. What it is to find, a leak, can be
// put in: `--leak 4` has the service keep four more MiB each hour.

import { setTimeout as wait } from 'node:timers/promises'
import { bench, none, type Row, row } from './bench.ts'
import { startChild } from './child.ts'
import { type Client, clientOf } from './demo_client.ts'
import { unitFlags } from './events/unit.ts'
import { descriptorsOf, memoryOf } from './process.ts'
import type { Demo, DemoQuestion, DemoUsage } from './servers/demo.ts'
import { type Point, slope } from './slope.ts'

/**
 * In the first minutes, `warm`, the same is done without pauses, and not counted: what has a bound, such as the list of the last operations,
 * is full then, and what is called often has been compiled.
 */
export const soak = bench({
  name: 'soak',
  summary: 'growth under a mixed load; its true form: --minutes 10',
  limit: 'before',
  options: { minutes: 0.33, scale: 20, warm: 3, leak: 0 },
  async run({ minutes, scale, warm, leak }) {
    const isTrue = minutes > warm
    const service = await startChild<Demo>('servers/demo.js', { args: [String(scale)], flags: unitFlags })
    const usage = async (question: DemoQuestion = {}): Promise<Look> => {
      const { pid } = service.ready
      const its = await service.ask<DemoUsage>(question)
      return { at_h: performance.now() / 3.6e6, rss: memoryOf(pid), descriptors: descriptorsOf(pid), ...its }
    }
    try {
      await loaded(service.ready, { minutes: isTrue ? warm : 0.1, pauses: 'none' })
      // What was in the middle of something when all went on without pauses.
      if (isTrue) await loaded(service.ready, { minutes: 0.5, pauses: 'usual' })
      const looks = [await settled(usage)]
      await service.ask<DemoUsage>({ leak_bytes: Math.round((leak * 2 ** 20) / 3600) })
      const left = isTrue ? minutes - warm : minutes
      const parts: Done[] = []
      for (let part = 0; part < left; part += part_min) {
        parts.push(await loaded(service.ready, { minutes: Math.min(part_min, left - part), pauses: 'usual' }))
        looks.push(await settled(usage))
      }
      return rows({ looks, parts, isTrue })
    } finally {
      await service.end()
    }
  },
})

type Look = DemoUsage & { at_h: number; rss: number; descriptors: number }
type Usage = (question?: DemoQuestion) => Promise<Look>

/**
 * At rest, once connections that were kept alive are closed and nothing waits to be collected: what is under way takes up to 4 MiB. Of what
 * is there for a moment only, some timers and buffers of which V8 has yet to hear that they are gone, the least of several looks.
 */
async function settled(usage: Usage): Promise<Look> {
  await wait(7000)
  const looks = [await usage({ collect: true })]
  for (let more = 0; more < 10; more++) {
    await wait(200)
    looks.push(await usage())
  }
  const last = await usage({ collect: true })
  const least = (value: (look: Look) => number) => Math.min(...[...looks, last].map(value))
  return {
    ...last,
    outside_mib: least(({ outside_mib }) => outside_mib),
    handles: least(({ handles }) => handles),
    descriptors: least(({ descriptors }) => descriptors),
  }
}

/** How often each was done, and not answered as it should be. */
type Done = Record<keyof typeof loads | 'refused', number>
type Loading = { minutes: number; pauses: 'usual' | 'none' }

/** So long between two looks. */
const part_min = 1
/**
 * V8 takes pages and gives them back in waves of minutes, of up to 6 MiB: in less than that many hours they are taken for growth, or hide it.
 * And it still compiles what has only now been called often.
 */
const tells_h = 1
/** As long as it does, in MiB an hour: whoever compiles something at each request makes ten times as much. */
const compiles = 10

async function loaded(demo: Demo, { minutes, pauses }: Loading): Promise<Done> {
  const client = clientOf(demo)
  const end = performance.now() + minutes * 60_000
  const done: Done = { reads: 0, operations: 0, streams: 0, runs: 0, rehearsals: 0, 'wrong keys': 0, refused: 0 }
  const loop = async (name: keyof typeof loads) => {
    const { each_ms, act } = loads[name]
    while (performance.now() < end) {
      const [status] = await Promise.all([act(client, demo, done[name]++), wait(pauses === 'usual' ? each_ms : 0)])
      if (!(name === 'wrong keys' ? [401, 429] : [200]).includes(status)) done.refused++
    }
  }
  const names = Object.keys(loads) as (keyof typeof loads)[]
  await Promise.all([...names.map(loop), loop('streams'), loop('streams')])
  return done
}

/** Answers the status that it came to. */
type Load = { each_ms: number; act(client: Client, demo: Demo, n: number): Promise<number> }

const ofSpare = ['', '/wire'].map((what) => `/api/devices/spare-1${what}`)
const read = ['/health', '/metrics', '/api/devices', ...ofSpare, '/api/executions?limit=5', '/api/labware', '/events?limit=100']

/** Does the demo's workflow, and deletes its run. */
const runOf = (run_mode: 'LIVE' | 'PURE_SIM') => async (client: Client) =>
  (await client.ask('DELETE', `/api/executions/${await client.run(run_mode)}`)).status

/** The work of each kind of client, and at least how long it takes. */
const loads = {
  reads: { each_ms: 20, act: async (client, _, n) => (await client.ask('GET', read[n % read.length]!)).status },
  operations: {
    each_ms: 80,
    async act(client, _, n) {
      const doing = ['lock_plate', 'shake', 'unlock_plate'][n % 3]
      return (await client.ask('POST', `/api/devices/spare-1/${doing}`, doing === 'shake' ? { speed: 300, duration: 1 } : {})).status
    },
  },
  streams: {
    each_ms: 0,
    async act(client, _, n) {
      const stream = await client.open('/events/stream?heartbeat=1')
      await wait(200 + (n % 10) * 100)
      await stream.body?.cancel()
      return stream.status
    },
  },
  runs: { each_ms: 0, act: runOf('LIVE') },
  rehearsals: { each_ms: 2000, act: runOf('PURE_SIM') },
  'wrong keys': {
    each_ms: 500,
    act: async (_, demo, n) => (await clientOf({ ...demo, key: `bk_stranger_${n}` }).ask('POST', '/api/stop')).status,
  },
} as const satisfies Record<string, Load>

type Seen = { looks: readonly Look[]; parts: readonly Done[]; isTrue: boolean }

function rows({ looks, parts, isTrue }: Seen): Row[] {
  const [before, after] = [looks[0]!, looks.at(-1)!]
  const upTo = (most: number) => (isTrue ? { target: { of: 'value', most } as const } : {})
  const isLong = after.at_h - before.at_h >= tells_h
  const growth = (value: (look: Look) => number) => slope(looks.map((look): Point => [look.at_h, value(look)]))
  const times = (name: keyof Done) => parts.reduce((sum, done) => sum + done[name], 0)
  return [
    row(
      'growth of the live heap',
      'MiB/h',
      growth(({ heap_mib }) => heap_mib),
      upTo(2),
    ),
    row(
      'growth of compiled code',
      'MiB/h',
      growth(({ code_mib }) => code_mib),
      upTo(isLong ? 2 : compiles),
    ),
    row(
      'growth of buffers outside the heap',
      'MiB/h',
      growth(({ outside_mib }) => outside_mib),
      upTo(2),
    ),
    row(
      'growth of RSS',
      'MiB/h',
      growth(({ rss }) => rss),
      isLong ? upTo(2) : {},
    ),
    row('live heap, afterwards', 'MiB', after.heap_mib, { limit: before.heap_mib }),
    row('RSS, afterwards', 'MiB', after.rss, { limit: before.rss }),
    row('descriptors more than before', '', after.descriptors - before.descriptors, none),
    row('handles more than before', '', after.handles - before.handles, none),
    row('not answered as they should be', '', times('refused'), none),
    ...(Object.keys(loads) as (keyof typeof loads)[]).map((what) => row(what, '', times(what))),
  ]
}
