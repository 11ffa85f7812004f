// The routes of events: pages and streams.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { RuntimeEvent } from '../events/event.ts'
import { type Hub, microseconds } from '../events/hub.ts'
import type { Query } from '../events/log_reader.ts'
import { usualHeartbeat_s } from '../events/streams.ts'
import type { LongRequests } from '../keys/long_requests.ts'
import { deferred } from '../kit/deferred.ts'
import { described } from '../kit/described.ts'
import { type Exchange, type Route, routesOf } from './contract.ts'
import { answerEvents } from './event_answer.ts'
import { decimal, Numeral, whole } from './numeral.ts'
import { answerHeaders, keyOf, openStream } from './open_stream.ts'
import type { Pacing } from './paced_body.ts'

type Rooms = { hub: Hub; long_requests: LongRequests } & Pacing

const route = routesOf<Rooms>('events')

const ExecutionId = described(
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)),
  'Only events of this execution; there are none of an id that is not known, as of an execution that was deleted',
)

const EventParameters = v.object({
  since: v.optional(
    described(
      v.pipe(
        Numeral(decimal, 'it is Unix time in seconds, 0 or more'),
        v.maxValue(9e9, 'it is too large for Unix time in seconds; these may be milliseconds'),
      ),
      'Unix time in seconds, itself included',
      's',
    ),
  ),
  execution_id: v.optional(ExecutionId),
  limit: v.optional(
    described(v.pipe(Numeral(whole, 'it must be a whole number'), v.minValue(1), v.maxValue(100_000)), 'At most so many, the oldest first'),
  ),
  newest: v.optional(
    described(
      v.pipe(Numeral(whole, 'it must be a whole number'), v.minValue(1), v.maxValue(1000)),
      'Only the newest events, at most so many, in the order of time; events of deleted executions count. Takes no other parameter beside it',
    ),
  ),
  envelope: v.optional(
    described(
      v.pipe(
        v.picklist(['true', 'false'], 'it must be true or false'),
        v.transform((word) => word === 'true'),
      ),
      'With false the answer is the array of events alone; ask next with the `timestamp` of the last one, which comes again',
    ),
  ),
  wait: v.optional(
    described(
      v.pipe(Numeral(decimal, 'it must be a number of seconds'), v.maxValue(60, 'it is at most 60')),
      'Seconds to wait for an event when there is none yet',
      's',
    ),
  ),
})

const Streamed = v.object({
  execution_id: v.optional(ExecutionId),
  last_event_id: v.optional(described(v.string(), 'Goes on behind that event; as the header Last-Event-ID, which comes first')),
  heartbeat: v.optional(
    described(
      v.pipe(Numeral(whole, 'it must be a whole number of seconds'), v.minValue(1), v.maxValue(60)),
      `Seconds between pings; ${usualHeartbeat_s} by default`,
      's',
    ),
  ),
})

export const eventRoutes: Route<Rooms>[] = [
  route('GET', '/events', {
    operation_id: 'getEvents',
    summary: 'Events recorded at or after a time',
    description: 'In the order they were fired. Ask next with `since` = `next_since`: nothing is missed and nothing comes twice.',
    scope: 'read',
    query: EventParameters,
    success: {
      description: 'The events, and the `since` of the next question; with `envelope=false` the array of events alone',
      schema: v.strictObject({ events: v.array(RuntimeEvent), next_since: v.pipe(v.number(), v.metadata({ unit: 's' })) }),
    },
    errors: [400, 503],
    async handle({ rooms, c, query }) {
      const { envelope: isEnveloped = true, ...asked } = query()
      if (asked.newest && Object.keys(asked).length > 1)
        throw new LabError('invalid', 'newest goes with no other parameter; leave the others out')
      const wanted = { since_us: microseconds(asked.since ?? 0), execution_id: asked.execution_id, limit: asked.limit }
      if (c.req.method === 'HEAD') return new Response(null, { headers: answerHeaders('application/json') })
      const ended = new AbortController()
      const leave = rooms.long_requests.enter(keyOf(c), () => ended.abort(keyEnded()))
      const reading = { gone: goneSignal(c), ended: ended.signal, response: c.env?.outgoing, onEnd: leave }
      try {
        if (asked.wait) await somethingThere(rooms, wanted, asked.wait * 1000, reading)
        // A client that has learned of an end elsewhere must find its event here.
        await rooms.hub.log.until()
        const asking = asked.newest ? { after_seq: rooms.hub.log.beforeNewest(asked.newest) } : wanted
        const body = await answerEvents(rooms, { ...asking, isEnveloped }, reading)
        return new Response(body, { headers: answerHeaders('application/json') })
      } catch (error) {
        leave()
        throw error
      }
    },
  }),
  route('GET', '/events/stream', {
    operation_id: 'streamEvents',
    summary: 'Live events, as Server-Sent Events',
    description:
      'Each frame is `event: runtime_event`, `data:` with one RuntimeEvent, and `id:`. A new stream begins with an `id:` alone, behind which its events come. ' +
      'After a break, ask with the last id: what came in between follows. ' +
      'A reader that falls 1000 events behind loses the oldest, and receives the comment `: dropped N`. ' +
      'Ids rise, with holes; none is given twice, also after a power cut. The comment `: gap` says that events behind the last id are lost: ' +
      'a power cut or a full disk took them, or the id is not in this log. What follows is all there is; read the state anew.',
    scope: 'read',
    query: Streamed,
    success: { description: 'The stream', media_type: 'text/event-stream' },
    errors: [400, 503],
    handle({ rooms, c, query }) {
      const { execution_id, last_event_id, heartbeat } = query()
      const after_seq = sequenceNumber(c.req.header('last-event-id') || last_event_id)
      return openStream(rooms, c, (outlet) => rooms.hub.streams.subscribe({ outlet, after_seq, execution_id, heartbeat_s: heartbeat }))
    },
  }),
]

/** Aborted when the client has hung up. */
export function goneSignal({ req, env }: Exchange): AbortSignal {
  if (req.raw) return req.raw.signal
  const gone = new AbortController()
  env?.outgoing?.once('close', () => gone.abort())
  return gone.signal
}

function keyEnded(): LabError {
  return new LabError('unauthorized', 'the key of this request was revoked or has expired meanwhile; ask again with a valid key')
}

function sequenceNumber(text: string | undefined): number | undefined {
  if (!text) return undefined
  if (/^\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  throw new LabError('invalid', `the last event id ${JSON.stringify(text.slice(0, 40))} is not one of ours; send the digits of an id: line`)
}

type Ends = { gone: AbortSignal; ended: AbortSignal }

/** Resolves when there is an event to answer, when the time is up, or when the client is gone. Rejects with the reason of `ended`. */
async function somethingThere(rooms: Rooms, query: Query, wait_ms: number, { gone, ended }: Ends): Promise<void> {
  const { log, closing } = rooms.hub
  const { promise, resolve } = deferred<void>()
  const ends = [
    log.onShown((entries) => {
      if (entries.some(({ us, event }) => us >= query.since_us! && event.execution_id === (query.execution_id ?? event.execution_id)))
        resolve()
    }),
    rooms.clock.after(wait_ms, resolve),
    ...[gone, closing, ended].map((signal) => heard(signal, resolve)),
  ]
  try {
    if (!(await isThere(rooms, query))) await promise
    ended.throwIfAborted()
  } finally {
    for (const end of ends) end()
  }
}

async function isThere(rooms: Rooms, query: Query): Promise<boolean> {
  // Fast path: most waiting clients have seen all events, so the disk is not read.
  if (rooms.hub.log.shown.us < query.since_us!) return false
  for await (const { count } of rooms.hub.log.read({ ...query, limit: 1 }, 'array')) if (count > 0) return true
  return false
}

function heard(signal: AbortSignal, call: () => void): () => void {
  if (signal.aborted) call()
  signal.addEventListener('abort', call)
  return () => signal.removeEventListener('abort', call)
}
