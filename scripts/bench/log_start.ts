import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scan } from '../../src/events/log_scan.ts'
import { emptySegment } from '../../src/events/log_segment.ts'
import { bench, median, type Row } from './bench.ts'
import { startChild } from './child.ts'
import { type Answer, askAll } from './events/asking.ts'
import { withLog } from './events/made_log.ts'
import type { Serving, Told } from './events/service.ts'
import { unitFlags } from './events/unit.ts'

/** From the call that starts the service, in a process that is up, to its listening. Node has the flags of the unit. */
export const logStart = bench({
  name: 'log-start',
  summary: 'start on a long log: as it was left, with a torn last write, without the sidecars',
  limit: 'an empty log',
  options: { events: 400_000, rounds: 3 },
  async run({ events, rounds }) {
    const nothing = mkdtempSync(join(tmpdir(), 'benchd-log-'))
    try {
      const empty = await started(nothing, rounds)
      return await withLog(events, async (data_dir) => {
        const folder = `${data_dir}/events`
        const clean = await started(data_dir, rounds)
        const all = await streamed(data_dir)
        const torn: Started[] = []
        for (let i = 0; i < rounds; i++) {
          tear(folder)
          torn.push(...(await started(data_dir, 1)))
        }
        for (const name of readdirSync(folder)) if (name.endsWith('.idx.json')) rmSync(join(folder, name))
        const readWhole_ms = await readWhole(folder)
        const scanned = await started(data_dir, 1)
        const most = { of: 'value', most: 110 } as const
        return [
          row('ready', clean, empty, { of: 'value', most: 300, wall: true }),
          row('ready, torn', torn, empty, { of: 'value', most: 300, wall: true }),
          row('ready, without sidecars', scanned, empty, { of: 'value', most: 300, wall: true }),
          besideReading(scanned, empty, readWhole_ms),
          { what: 'RSS when ready', unit: 'MiB', value: rss(clean), limit: rss(empty), ratio: rss(clean) / rss(empty), target: most },
          { what: 'RSS, streaming everything', unit: 'MiB', value: all.rss_mib, target: most },
          { what: 'events missing', unit: '', value: events - all.events, target: { of: 'value', least: 0, most: 0 } },
        ]
      })
    } finally {
      rmSync(nothing, { recursive: true, force: true })
    }
  },
})

type Started = { ready_ms: number; rss_mib: number }

async function started(data_dir: string, rounds: number): Promise<Started[]> {
  const done: Started[] = []
  for (let i = 0; i < rounds; i++) {
    const service = await startChild<Serving>('./events/service.js', { args: [data_dir], flags: unitFlags })
    const { rss_mib } = await service.ask<Told>({})
    done.push({ ready_ms: service.ready.ready_ms, rss_mib })
    await service.end()
  }
  return done
}

async function streamed(data_dir: string): Promise<Answer & { rss_mib: number }> {
  const service = await startChild<Serving>('./events/service.js', { args: [data_dir], flags: unitFlags })
  try {
    return await askAll(service)
  } finally {
    await service.end()
  }
}

/** How long the service would take to read every segment before it listens, as it once did. */
async function readWhole(folder: string): Promise<number> {
  const began = performance.now()
  const numbers = readdirSync(folder).flatMap((name) => /^events-(\d+)\.jsonl$/.exec(name)?.[1] ?? [])
  for (const number of numbers) {
    const segment = emptySegment(folder, Number(number))
    const file = await open(segment.path, 'r')
    await scan(file, segment, (await file.stat()).size)
    await file.close()
  }
  return performance.now() - began
}

/** The start on an empty log is taken off: so the ratio of a short log tells of a long one. */
function besideReading(scanned: readonly Started[], empty: readonly Started[], limit: number): Row {
  const value = Math.max(0, readyOf(scanned) - readyOf(empty))
  const target = { of: 'ratio', most: 0.25, wall: true } as const
  return { what: 'the log without sidecars adds, beside reading all of it first', unit: 'ms', value, limit, ratio: value / limit, target }
}

/** The last line stops in its middle, and the card has put zeros behind it. */
function tear(folder: string): void {
  const name = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .at(-1)!
  const path = join(folder, name)
  truncateSync(path, readFileSync(path).length - 300)
  appendFileSync(path, Buffer.alloc(4096))
}

function rss(done: readonly Started[]): number {
  return Math.max(...done.map(({ rss_mib }) => rss_mib))
}

function readyOf(done: readonly Started[]): number {
  return median(done.map(({ ready_ms }) => ready_ms))
}

function row(what: string, done: readonly Started[], empty: readonly Started[], target?: Row['target']): Row {
  const [value, limit] = [readyOf(done), readyOf(empty)]
  return { what, unit: 'ms', value, limit, ratio: value / limit, target }
}
