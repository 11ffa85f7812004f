// Runs the event log, three sinks and a subscriber that takes everything in one process: the path of an event without HTTP.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Context, runtimeEvent } from '../../../src/events/event.ts'
import type { Hub } from '../../../src/events/hub.ts'
import { openEvents } from '../../../src/events/open.ts'
import { silent } from '../../../src/kit/log.ts'
import { answerParent } from '../child.ts'
import { type Sample, sample } from './sample.ts'
import { usage } from './usage.ts'

export type Asked = { do: 'stringify' | 'count' | 'flood'; count: number }
/** `rss_mib` is the most it was in between. `calls` counts how often an event was handed to JSON.stringify. */
export type Done = { cpu_us: number; seconds: number; rss_mib: number; bytes: number; lost: number; calls: number }

/** The number that is fired before others may have the event loop. */
const turn = 64
/** The number of events waiting for the card at which a caller that fires at will waits. */
const mostWaiting = 1000

const folder = mkdtempSync(join(tmpdir(), 'benchd-events-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 100, queue: 1000 }, limits: { subscribers: 8 } }
const hub = await openEvents({ folder, config, log: silent })
const statuses = new Map<unknown, string>()
let heard = 0
for (const onEvent of sinksOf()) hub.registerSink({ name: 'bench', onEvent })

answerParent({}, (asked: Asked) => measured(asked))

async function measured({ do: what, count }: Asked): Promise<Done> {
  const sent = { bytes: 0 }
  const stream = subscribe(hub, sent)
  try {
    if (what === 'stringify') return measure(() => stringify(count))
    const calls = what === 'count' ? countCalls() : undefined
    const done = await measureAsync(() => flood(count))
    return { ...done, bytes: sent.bytes, lost: hub.log.lost + stream.dropped, calls: calls?.() ?? 0 }
  } finally {
    stream.close()
  }
}

/** Returns three sinks: one that tracks a status, as the runtime does, and two that only count. */
function sinksOf() {
  return [
    ({ context, status }: { context: Context; status: string }) => void statuses.set(context.method_id, status),
    () => void heard++,
    () => void heard++,
  ]
}

function subscribe(hub: Hub, sent: { bytes: number }) {
  const outlet = {
    write(bytes: Buffer | string) {
      sent.bytes += bytes.length
      return true
    },
    onDrain() {},
    end() {},
  }
  return hub.streams.subscribe({ outlet })
}

const events = Array.from({ length: 1000 }, (_, n) => eventOf(sample(n), (1_767_225_600_000_000 + n * 37) / 1e6))

function eventOf({ event_name, execution_id, context }: Sample, timestamp: number) {
  return runtimeEvent(event_name, execution_id, timestamp, context)
}

function stringify(count: number): number {
  let bytes = 0
  for (let n = 0; n < count; n++) bytes += JSON.stringify(events[n % events.length]).length
  return bytes
}

/** As the runtime does, which has the parts of the name. */
function emit(n: number): void {
  const { event_name, context, execution_id } = sample(n)
  hub.emit(event_name, context, execution_id, { entity_type: 'METHOD', entity_id: context.method_id as string, status: 'IN_PROGRESS' })
}

/** Resolves when all are in the file, with the most memory that it took. */
async function flood(count: number): Promise<number> {
  let most = 0
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 50)
  for (let n = 0; n < count; ) {
    for (let i = 0; i < turn && n < count && hub.log.waiting < mostWaiting; i++) emit(n++)
    await (hub.log.waiting < mostWaiting ? new Promise(setImmediate) : somethingWritten())
  }
  await hub.log.until()
  clearInterval(look)
  return most
}

function somethingWritten(): Promise<void> {
  return new Promise((resolve) => {
    const end = hub.log.onShown(() => {
      end()
      resolve()
    })
  })
}

function measure(work: () => number): Done {
  const [before, began] = [usage(), performance.now()]
  const bytes = work()
  const seconds = (performance.now() - began) / 1000
  const after = usage()
  return { cpu_us: after.cpu_us - before.cpu_us, seconds, rss_mib: after.rss_mib, bytes, lost: 0, calls: 0 }
}

async function measureAsync(work: () => Promise<number>): Promise<Done> {
  const [before, began] = [usage(), performance.now()]
  const most = await work()
  const seconds = (performance.now() - began) / 1000
  const after = usage()
  return { cpu_us: after.cpu_us - before.cpu_us, seconds, rss_mib: most / 2 ** 20, bytes: 0, lost: 0, calls: 0 }
}

/** Counts from now on; the answer ends it. */
function countCalls(): () => number {
  const real = JSON.stringify
  let calls = 0
  JSON.stringify = ((...given: Parameters<typeof real>) => {
    for (const one of [given[0]].flat()) if (typeof one === 'object' && one !== null && 'event_name' in one) calls++
    return real(...given)
  }) as typeof real
  return () => {
    JSON.stringify = real
    return calls
  }
}
