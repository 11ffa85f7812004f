// Runs the event log, three sinks and a subscriber that takes everything in one process: the path of an event without HTTP.

import { type Context, runtimeEvent } from '../../../src/events/event.ts'
import { openEvents } from '../../../src/events/open.ts'
import { silent } from '../../../src/kit/log.ts'
import { answerParent, ownFolder } from '../child.ts'
import { usage } from '../process.ts'
import { sample } from './sample.ts'

export type Asked = { do: 'stringify' | 'count' | 'flood'; count: number }
/** `rss_mib` is the most that it ever was. `calls` counts how often an event was handed to JSON.stringify. */
export type Done = { cpu_us: number; seconds: number; rss_mib: number; lost: number; calls: number }

/** The number that is fired before others may have the event loop. */
const turn = 64
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 100, queue: 1000 }, limits: { subscribers: 8 } }
const hub = await openEvents({ folder: ownFolder(), config, log: silent })
const statuses = new Map<unknown, string>()
let heard = 0
/** Three sinks: one that tracks a status, as the runtime does, and two that only count. */
const track = ({ context, status }: { context: Context; status: string }) => void statuses.set(context.method_id, status)
for (const onEvent of [track, () => void heard++, () => void heard++]) hub.registerSink({ name: 'bench', onEvent })

answerParent({}, (asked: Asked) => measured(asked))

async function measured({ do: what, count }: Asked): Promise<Done> {
  const stream = hub.streams.subscribe({ outlet: { write: () => true, onDrain() {}, end() {} } })
  const calls = what === 'count' ? countCalls() : undefined
  const [before, began] = [usage(), performance.now()]
  try {
    if (what === 'stringify') stringify(count)
    else await flood(count)
    const seconds = (performance.now() - began) / 1000
    const [rss_mib, lost] = [process.resourceUsage().maxRSS / 1024, hub.log.lost + stream.dropped]
    return { cpu_us: usage().cpu_us - before.cpu_us, seconds, rss_mib, lost, calls: calls?.() ?? 0 }
  } finally {
    stream.close()
  }
}

const events = Array.from({ length: 1000 }, (_, n) => {
  const { event_name, execution_id, context } = sample(n)
  return runtimeEvent(event_name, execution_id, (1_767_225_600_000_000 + n * 37) / 1e6, context)
})

function stringify(count: number): void {
  for (let n = 0; n < count; n++) JSON.stringify(events[n % events.length])
}

/** As the runtime does, which has the parts of the name. */
function emit(n: number): void {
  const { event_name, context, execution_id } = sample(n)
  hub.emit(event_name, context, execution_id, { entity_type: 'METHOD', entity_id: context.method_id as string, status: 'IN_PROGRESS' })
}

/** Resolves when all are in the file. */
async function flood(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    emit(n)
    if (n % turn > 0) continue
    await new Promise(setImmediate)
    await hub.log.backpressure()
  }
  await hub.log.until()
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
