// One process with the event log, three sinks and, if asked, a subscriber that takes everything: the way of an event, without HTTP.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Context, runtimeEvent } from '../../../src/events/event.ts'
import type { Hub } from '../../../src/events/hub.ts'
import { openEvents } from '../../../src/events/open.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { silent } from '../../../src/kit/log.ts'
import { answerParent } from '../child.ts'
import { type Sample, sample } from './sample.ts'
import { usage } from './usage.ts'

/** `streamed`: with a subscriber. */
export type Asked = { do: 'stringify' | 'floor' | 'promised' | 'emit' | 'named' | 'count' | 'flood'; count: number; streamed?: boolean }
/** `rss_mib` is the most it was in between. `calls` counts how often an event was handed to JSON.stringify. */
export type Done = { cpu_us: number; seconds: number; rss_mib: number; bytes: number; lost: number; calls: number }

/** The number that is fired before others may have the event loop. */
const turn = 64
/** The number of events waiting for the card at which a caller that fires at will waits. */
const mostWaiting = 1000
/** Fired one after the other, without the log at work. */
const burst = 500

const folder = mkdtempSync(join(tmpdir(), 'benchd-events-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 100, queue: 1000 }, limits: { subscribers: 8 } }
const hub = await openEvents({ folder, config, log: silent })
const statuses = new Map<unknown, string>()
let heard = 0
for (const onEvent of sinksOf()) hub.registerSink({ name: 'bench', onEvent })

answerParent({}, (asked: Asked) => measured(asked))

async function measured({ do: what, count, streamed = false }: Asked): Promise<Done> {
  const sent = { bytes: 0 }
  const stream = streamed ? subscribe(hub, sent) : undefined
  try {
    if (what === 'stringify') return measure(() => stringify(count))
    if (what === 'floor') return await inBursts(count, floor, emit)
    if (what === 'promised') return await inBursts(count, promised, emit)
    if (what === 'emit') return await inBursts(count, emit)
    if (what === 'named') return await inBursts(count, emitNamed)
    const calls = what === 'count' ? countCalls() : undefined
    const done = await measureAsync(() => flood(count))
    return { ...done, bytes: sent.bytes, lost: hub.log.lost + (stream?.dropped ?? 0), calls: calls?.() ?? 0 }
  } finally {
    stream?.close()
  }
}

/** The work of a tracking sink, and of two that only look. */
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

const direct = sinksOf()

/** An event made by hand, with its time, frozen to its depth and told to three sinks. */
function floor(n: number): void {
  const { event_name, execution_id, context } = sample(n)
  const entity_id = context.method_id as string
  Object.freeze(context.participating_thread_ids)
  Object.freeze(context)
  const timestamp = Date.now() / 1000
  const event = Object.freeze({ event_name, execution_id, timestamp, entity_type: 'METHOD', entity_id, status: 'IN_PROGRESS', context })
  for (const tell of direct) tell(event)
}

const counts = new Map<string, number>()
const queue: { us: number; event: object }[] = []
const began_us = Date.now() * 1000 - systemClock.now() * 1000
let last_us = 0
const seen = { failures: 0, slow: 0 }

/**
 * The least that keeps the promises of the hub: times that only grow, a context frozen whatever is in it, a queue for the log, a sink that
 * throws disturbs no other, a sink that is slow is seen, and events are counted by type.
 */
function promised(n: number): void {
  const { event_name, execution_id, context } = sample(n)
  const now_ms = systemClock.now()
  const us = Math.max(last_us + 1, Math.floor(began_us + now_ms * 1000))
  last_us = us
  for (const name in context) if (typeof context[name] === 'object') Object.freeze(context[name])
  Object.freeze(context)
  const entity_id = context.method_id as string
  const event = { event_name, execution_id, timestamp: us / 1e6, entity_type: 'METHOD', entity_id, status: 'IN_PROGRESS', context }
  Object.freeze(event)
  if (queue.length === burst) queue.length = 0
  queue.push({ us, event })
  for (const tell of direct) {
    try {
      tell(event)
    } catch {
      seen.failures++
    }
  }
  if (systemClock.now() - now_ms > 20) seen.slow++
  counts.set(event.entity_type, (counts.get(event.entity_type) ?? 0) + 1)
}

/** As the runtime does, which has the parts of the name. */
function emit(n: number): void {
  const { event_name, context, execution_id } = sample(n)
  hub.emit(event_name, context, execution_id, { entity_type: 'METHOD', entity_id: context.method_id as string, status: 'IN_PROGRESS' })
}

/** As somebody does who has only the name. */
function emitNamed(n: number): void {
  const { event_name, context, execution_id } = sample(n)
  hub.emit(event_name, context, execution_id)
}

/** Only the calls themselves are measured: the log works in between, on what they or those of `before` have fired. */
async function inBursts(count: number, call: (n: number) => void, before?: (n: number) => void): Promise<Done> {
  let cpu_us = 0
  let seconds = 0
  for (let n = 0; n < count; n += burst) {
    for (let i = n; before && i < n + burst; i++) before(i)
    if (before) await hub.log.until()
    const done = measure(() => {
      for (let i = n; i < n + burst; i++) call(i)
      return 0
    })
    cpu_us += done.cpu_us
    seconds += done.seconds
    await hub.log.until()
  }
  return { ...measure(() => 0), cpu_us, seconds }
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
