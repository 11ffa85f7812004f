// The sources of the live stream, one for each kind. The values equal the bodies of the GET resources.

import type { Bench, Health } from '../../bench/bench.ts'
import type { Links } from '../../bench/links.ts'
import type { Runs } from '../../bench/runs.ts'
import type { Readings } from '../../devices/readings.ts'
import type { Registry } from '../../devices/registry.ts'
import type { Hub } from '../../events/hub.ts'
import type { Pairing } from '../../keys/pairing.ts'
import type { Execution } from '../../workflow/runs/execution.ts'
import { shownThread, summaryOf, topologyOf, withSample } from '../../workflow/snapshot.ts'
import type { LabwareThread } from '../../workflow/threads/thread.ts'
import type { TimelineRow } from '../../workflow/threads/timeline.ts'
import type { Source } from './board.ts'

/** The rooms of the bench whose state is shown. */
export type LiveRooms = {
  registry: Registry
  readings: Pick<Readings, 'newest'>
  hub: Hub
  runs: Runs
  pairing: Pairing
  links: Pick<Links, 'confirmations'>
  config: Pick<Bench['config'], 'system_id'>
  health(): Health
}

/** Returns the source of confirmations for the holder of a key, who does not see the codes of its own requests. */
export function confirmationsOf({ links }: Pick<LiveRooms, 'links'>, key_id: string): Source {
  return shown('confirmation', () => byId('confirmation_id', links.confirmations.list(key_id)), { scope: 'operate', looks: 'always' })
}

const mostEndedRuns = 20

/** Returns the sources for all keys that may read them. */
export function sourcesOf(rooms: LiveRooms): Source[] {
  const { registry, hub, pairing } = rooms
  const { catalog, runtime } = rooms.runs
  const devices = () => registry.all().map((device) => device.info())
  const openIncidents = () => hub.incidents.list().filter(({ acknowledged }) => acknowledged === null)
  const openThreads = () => openRuns(rooms).flatMap(({ threads }) => [...threads.values()].flatMap((thread) => rowOf(rooms, thread) ?? []))
  const topologies = (): [string, object][] => {
    const { topology, live } = runtime.environments
    return topology ? [[topology.name, topologyOf(topology, live)]] : []
  }
  return [
    shown('service', () => [[rooms.config.system_id, rooms.health()]], { looks: 'always' }),
    shown('device', () => byId('device_id', devices()), { looks: 'always' }),
    shown('reading', () => rooms.readings.newest(), { looks: 'always' }),
    shown('incident', () => byId('incident_id', openIncidents())),
    shown('step', () => byId('step_id', runtime.operator.steps())),
    shown('topology', topologies),
    shown('labware', () => byId('labware_id', catalog.labware())),
    shown('run', () => byId('execution_id', runsOf(rooms))),
    shown('thread', () => byId('thread_id', openThreads()), {
      touched: ({ entity_type, entity_id, context }) => (entity_type === 'THREAD' ? entity_id : textOf(context['thread_id'])),
      one: (thread_id) => rowOf(rooms, runtime.runs.thread(thread_id)),
    }),
    shown('key_request', () => byId('request_id', pairing.list()), { scope: 'admin' }),
  ]
}

/** Returns a source for every key that may read, updated after events, unless `more` says otherwise. */
function shown(kind: string, all: Source['all'], more: Partial<Source> = {}): Source {
  return { kind, scope: 'read', looks: 'after events', all, ...more }
}

/** Returns the source of a run's timeline, for clients that request it. */
export function timelineOf({ runs }: Pick<LiveRooms, 'runs'>, execution_id: string): Source {
  const { records } = runs.runtime
  const run = () => runs.runtime.runs.get(execution_id)
  const shownRow = (row: TimelineRow) => withSample(row, execution_id, { execution: run(), records })
  return shown('timeline', () => byId('action_id', run()?.timeline.rows().map(shownRow) ?? []), {
    looks: 'once',
    touched: (event) => (event.execution_id === execution_id && event.entity_type === 'ACTION' ? event.entity_id : undefined),
    one(action_id) {
      const row = run()?.timeline.row(action_id)
      return row && shownRow(row)
    },
  })
}

/** Returns the open runs, and the newest of the others. */
function runsOf({ runs }: LiveRooms) {
  const { records } = runs.runtime
  let ended = 0
  const rows = records.executions().filter(({ ended_at }) => ended_at === null || ended++ < mostEndedRuns)
  return rows.map((row) => summaryOf({ row, records, execution: runs.runtime.runs.get(row.execution_id) }))
}

function openRuns({ runs }: LiveRooms): Execution[] {
  return runs.runtime.runs.all().filter(({ isOver }) => !isOver)
}

/** Returns the row of a thread; nothing for an ended one. */
function rowOf({ runs }: LiveRooms, thread: LabwareThread | undefined) {
  if (!thread || thread.isOver) return undefined
  const record = runs.runtime.records.threadRow(thread.execution.execution_id, thread.thread_id)
  return record && shownThread(record, thread, Date.now() / 1000)
}

function byId<Id extends string>(id: Id, values: readonly (Record<Id, string> & object)[]): [string, object][] {
  return values.map((value) => [value[id], value])
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
