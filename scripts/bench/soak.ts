// Whether the service stays as small as it is: all kinds of clients at once, for as long as is asked for.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bench, median, type Row } from './bench.ts'
import { startChild } from './child.ts'
import { type Client, clientOf, descriptorsOf, rssOf, unitFlags } from './demo_client.ts'
import type { Demo, DemoQuestion, DemoUsage } from './servers/demo.ts'

/** The first minutes, `warm`, are left out: what has a bound, such as the list of the last operations, fills up in them. */
export const soak = bench({
  name: 'soak',
  summary: 'growth under a mixed load; its true form: --minutes 10',
  limit: 'before',
  options: { minutes: 0.33, scale: 20, warm: 3 },
  async run({ minutes, scale, warm }) {
    const data_dir = mkdtempSync(join(tmpdir(), 'benchd-soak-'))
    const service = await startChild<Demo>('servers/demo.js', { args: [String(scale), data_dir], flags: unitFlags })
    const usage = async (question: DemoQuestion = {}): Promise<Sample> => {
      const { pid } = service.ready
      const its = await service.ask<DemoUsage>(question)
      return { at_h: performance.now() / 3.6e6, rss: rssOf(pid), descriptors: descriptorsOf(pid), ...its }
    }
    try {
      // What is opened once, the first time.
      await loaded(service.ready, 0.1, usage)
      const before = await settled(usage)
      const { samples, done } = await loaded(service.ready, minutes, usage)
      return rows({ before, samples, after: await settled(usage), done, warm: minutes > warm ? warm : undefined })
    } finally {
      await service.end()
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
})

type Sample = DemoUsage & { at_h: number; rss: number; descriptors: number }

/** Once connections that were kept alive are closed. */
async function settled(usage: (question: DemoQuestion) => Promise<Sample>): Promise<Sample> {
  await wait(7000)
  return usage({ collect: true })
}

/** How often each was done. */
type Done = Record<keyof typeof loads, number>

async function loaded(demo: Demo, minutes: number, usage: () => Promise<Sample>): Promise<{ samples: Sample[]; done: Done }> {
  const client = clientOf(demo)
  const end = performance.now() + minutes * 60_000
  const goesOn = () => performance.now() < end
  const done: Done = { reads: 0, shakes: 0, streams: 0, runs: 0, rehearsals: 0, 'wrong keys': 0 }
  const loop = async (name: keyof Done) => {
    const { each_ms, act } = loads[name]
    while (goesOn()) {
      await Promise.all([act(client, demo, done[name]++), wait(each_ms)])
    }
  }
  const samples: Sample[] = []
  const look = async () => {
    while (goesOn()) {
      await wait(1000)
      samples.push(await usage())
    }
  }
  try {
    const names = Object.keys(loads) as (keyof Done)[]
    await Promise.all([look(), ...names.map(loop), loop('streams'), loop('streams')])
    return { samples, done }
  } finally {
    client.close()
  }
}

type Load = { each_ms: number; act(client: Client, demo: Demo, n: number): Promise<unknown> }

const read = [
  '/health',
  '/metrics',
  '/api/devices',
  '/api/devices/spare-1',
  '/api/devices/spare-1/wire',
  '/api/executions?limit=5',
  '/api/labware',
  '/events?limit=100',
]

/** What each kind of client does, and at least how long that takes. */
const loads = {
  reads: { each_ms: 20, act: (client, _, n) => client.ask('GET', read[n % read.length]!) },
  shakes: {
    each_ms: 80,
    async act(client, _, n) {
      const doing = ['lock_plate', 'shake', 'unlock_plate'][n % 3]
      await client.ask('POST', `/api/devices/spare-1/${doing}`, doing === 'shake' ? { speed: 300, duration: 1 } : {})
    },
  },
  streams: {
    each_ms: 0,
    async act(client, _, n) {
      const stream = await client.open('/events/stream?heartbeat=1')
      stream.resume()
      await wait(200 + (n % 10) * 100)
      stream.destroy()
    },
  },
  runs: {
    each_ms: 0,
    async act(client) {
      await client.ask('DELETE', `/api/executions/${await client.run()}`)
    },
  },
  rehearsals: {
    each_ms: 2000,
    async act(client) {
      const { body } = await client.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'PURE_SIM' })
      await wait(1000)
      await client.ask('DELETE', `/api/executions/${(body as { execution_id: string }).execution_id}`)
    },
  },
  'wrong keys': {
    each_ms: 500,
    async act(_, demo, n) {
      const stranger = clientOf({ ...demo, key: `bk_stranger_${n}` })
      await stranger.ask('POST', '/api/stop')
      stranger.close()
    },
  },
} as const satisfies Record<string, Load>

type Seen = { before: Sample; samples: readonly Sample[]; after: Sample; done: Done; warm: number | undefined }

function rows({ before, samples, after, done, warm }: Seen): Row[] {
  const counted = samples.filter(({ at_h }) => (at_h - before.at_h) * 60 > (warm ?? 0))
  const most = (value: number) => (warm === undefined ? {} : { target: { of: 'value', most: value } as const })
  return [
    { what: 'growth of RSS', unit: 'MiB/h', value: slope(counted.map(({ at_h, rss }) => [at_h, rss])), ...most(2) },
    { what: 'growth of the heap', unit: 'MiB/h', value: slope(counted.map(({ at_h, heap_mib }) => [at_h, heap_mib])) },
    { what: 'live heap, afterwards', unit: 'MiB', value: after.heap_mib, limit: before.heap_mib },
    { what: 'RSS, in the middle of it', unit: 'MiB', value: median(counted.map(({ rss }) => rss)), limit: before.rss },
    { what: 'descriptors more than before', unit: '', value: after.descriptors - before.descriptors, target: { of: 'value', most: 0 } },
    { what: 'handles more than before', unit: '', value: after.handles - before.handles, target: { of: 'value', most: 0 } },
    ...Object.entries(done).map(([what, value]) => ({ what, unit: '', value })),
  ]
}

/** Of the line that has the least squares. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const moment = (of: (dx: number, dy: number) => number) => points.reduce((sum, [px, py]) => sum + of(px - x, py - y), 0)
  return moment((dx, dy) => dx * dy) / moment((dx) => dx * dx)
}
