// The route of the live state: one stream for the page, `benchd top` and other displays.

import * as v from 'valibot'
import type { Readings } from '../devices/readings.ts'
import { allows, type Scope } from '../keys/keys.ts'
import type { Clock } from '../kit/clock.ts'
import { described } from '../kit/described.ts'
import type { Log } from '../kit/log.ts'
import { type Route, routesOf } from './contract.ts'
import { boardOf, type Source } from './live/board.ts'
import { confirmationsOf, type LiveRooms, sourcesOf, timelineOf } from './live/sources.ts'
import { openStream, type Streaming } from './open_stream.ts'

/** The rooms of the bench that this route uses. */
type Rooms = LiveRooms & Streaming & { clock: Clock; log: Log; readings: Readings }

const route = routesOf<Rooms>('system')

export const liveRoutes: Route<Rooms>[] = [
  route('GET', '/api/live', {
    operation_id: 'streamState',
    summary: 'The present state of the bench, and each change of it, as Server-Sent Events',
    description: [
      'Each frame is `event: state` with `data: {"kind", "id", "value"}`. A value is the body of the resource that GET answers, and `null` when it is',
      'gone: `service` (/health), `device` (/api/devices/{device_id}), `reading` (the newest of /api/devices/{device_id}/readings, by device), `incident` (those that nobody has acknowledged), `step`, `topology`, `labware`, `run` (those that are open,',
      'and the newest 20 of the others), `thread` (those of open runs that have not ended), with `run` in the query `timeline` (the rows of that run), and for',
      'keys of scope operate `confirmation`, and for those of scope admin `key_request`. The stream opens with every value, then comes `event: ready`. The latest value wins: a slow',
      'reader is shown fewer changes, and a key changes five times a second at most. There is nothing to resume; open it again. `event: beat` comes',
      'every second with the time of the server. Members that move by themselves (`seconds_left`, `uptime_s`, `since`) are no change alone.',
    ].join(' '),
    scope: 'read',
    query: v.object({
      run: v.optional(described(v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)), 'The execution whose timeline is shown too')),
    }),
    success: { description: 'The stream', media_type: 'text/event-stream' },
    errors: [400, 503],
    async handle({ rooms, c, query }) {
      const { run } = query()
      await Promise.all(rooms.registry.all().map((device) => device.operation.recall()))
      const { scope, key_id } = c.get('principal')
      const ofKey = [`confirmation ${key_id}`, confirmationsOf(rooms, key_id)] as const
      const shown = [
        ...sourcesOf(rooms).map(named),
        ofKey,
        ...(run === undefined ? [] : [[`timeline ${run}`, timelineOf(rooms, run)] as const]),
      ]
      return openStream(rooms, c, (outlet) => {
        const leaveStreams = rooms.hub.streams.enter()
        const unwatch = rooms.readings.watch()
        const leave = () => {
          leaveStreams()
          unwatch()
        }
        const subscription = boardOf(rooms).show(
          outlet,
          shown.filter(([, source]) => allows(scope as Scope, source.scope)),
        )
        return {
          close() {
            leave()
            subscription.close()
          },
          end() {
            leave()
            subscription.end()
          },
        }
      })
    },
  }),
]

function named(source: Source): readonly [string, Source] {
  return [source.kind, source]
}
