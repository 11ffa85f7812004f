// Opens the log, the streams, the incidents, and the hub in front of them.

import { type Clock, systemClock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { Hub } from './hub.ts'
import { Incidents } from './incidents.ts'
import { EventLog } from './log.ts'
import type { OpenFile } from './log_segment.ts'
import { States } from './states.ts'
import { Streams } from './streams.ts'
import { systemWall, Timestamps, type Wall } from './timestamps.ts'

type EventsOptions = {
  /** The data folder; the log is in its `events`. */
  folder: string
  config: {
    system_id: string
    events: { segment_mib: number; commit_ms: number; queue: number }
    limits: { subscribers: number }
  }
  /** The log for operators, on stdout. */
  log: Log
  clock?: Clock
  wall?: Wall
  /** Replaces the file system's `open` in tests of a failing disk. */
  open?: OpenFile
}

const mostAtOnce = 500
const margin_us = 1_000_000

/** Opens them also if the log cannot be written: events are kept in memory until it can. */
export async function openEvents({
  folder,
  config,
  log: words,
  clock = systemClock,
  wall = systemWall,
  open,
}: EventsOptions): Promise<Hub> {
  const { system_id, events, limits } = config
  const warn = (message: string) => words.warn(message)
  const troubles: string[] = []
  let report: Report = ({ message }) => void troubles.push(message)
  // The incidents of a run are on the disk before its state says that they were reported.
  const before = () => (incidents.isWritten ? undefined : incidents.written().catch(() => undefined))
  const states = new States({ folder: `${folder}/executions`, before, ...(open && { open }) })
  const log = await EventLog.open({
    folder: `${folder}/events`,
    // Beside the log, so that no number is given twice after somebody moves the log away or restores an older one.
    numbers: `${folder}/event_ids.json`,
    segment_bytes: events.segment_mib * 1024 * 1024,
    commit_ms: events.commit_ms,
    // A reader who keeps up never has more than two such bursts queued.
    burst: Math.max(1, Math.min(mostAtOnce, events.queue >> 1)),
    clock,
    wall,
    report: (trouble) => report(trouble),
    say: (message) => words.info(message),
    states,
    ...(open && { open }),
  })
  const incidents: Incidents = await Incidents.open({
    path: `${folder}/incidents.jsonl`,
    clock,
    emit: (context) =>
      hub.emit(`INCIDENT.${context.incident_id}.${context.category}`, context, context.execution_id ?? system_id).timestamp,
    now: () => wall.now() / 1e6,
    warn,
    report: (trouble) => report(trouble),
  })
  const streams = new Streams({ log, clock, queue: events.queue, subscribers: limits.subscribers, warn })
  // Lost events may have been shown with later times, and the clock of a board without a battery begins in the past.
  const timestamps = new Timestamps(wall, log.isAfterOrderlyEnd ? log.newest_us : log.newest_us + margin_us)
  const hub: Hub = new Hub({ system_id, clock, log, states, streams, incidents, timestamps, warn })
  report = ({ message }) => {
    words.warn(message)
    hub.incident('STORAGE', message)
  }
  for (const message of troubles) report({ kind: 'storage', message })
  return hub
}
