// A process with the workflow runtime, the event log, a stream and the file of records, and with the state of the runs besides where it is told so.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { keptIn } from '../../../src/bench/persisted_runs.ts'
import type { RuntimeEvent } from '../../../src/events/event.ts'
import type { Hub } from '../../../src/events/hub.ts'
import { openEvents } from '../../../src/events/open.ts'
import type { Sink } from '../../../src/events/sinks.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { silent } from '../../../src/kit/log.ts'
import { begin, emptyBench, run } from '../../../src/testing/workflow.ts'
import { compileLibrary } from '../../../src/workflow/plans/library.ts'
import { RecordFile } from '../../../src/workflow/records/record_file.ts'
import { Runtime } from '../../../src/workflow/runtime.ts'
import type { RuntimeOptions } from '../../../src/workflow/runtime_options.ts'
import { findBeside } from '../../../src/workflow/search_worker.ts'
import type { RunStates } from '../../../src/workflow/state/entry.ts'
import { answerParent, ownFolder } from '../child.ts'
import { usage } from '../process.ts'
import { laneTopology, laneWorkflow } from './lanes.ts'
import { MeasuredDevices } from './measured_devices.ts'

/**
 * `run` so many groups of a labware for each lane. `fire` so many events in a plain loop: those of the run before, over and over. `pause` all labware of a
 * run that has just begun. `move` again and again in a run in LIVE, while runs in PURE_SIM of so many groups go on beside it; none of them with 0.
 */
export type Asked = { do: 'run' | 'pause' | 'move'; groups: number } | { do: 'fire'; events: number }
/** `logged` and `streamed` is what was found at the far ends. `rss_mib` is the most that the process ever had. */
export type Done = {
  events: number
  logged: number
  streamed: number
  incidents: number
  cpu_us: number
  seconds: number
  rss_mib: number
  lag_ms: { p50: number; p99: number; max: number }
}

/** How long each move waited until its state and its events were on the card, and how many events were written meanwhile. */
export type Moved = { ms: number[]; events: number[] }

const mostKept = 10_000
const movesAlone = 500
/** The number that is fired before others may have the event loop. */
const turn = 64

const [, , lanes = '200', how = 'full'] = process.argv

const folder = ownFolder()
const kept: RuntimeEvent[] = []
const none = { heard: 0, streamed: 0, incidents: 0 }
const counts = { ...none }
const counting: Sink = {
  name: 'bench',
  onEvent(event) {
    counts.heard++
    if (event.entity_type === 'INCIDENT') counts.incidents++
    if (kept.length < mostKept) kept.push(event)
  },
}
const hub = await openHub()
const options = await recorded(hub)
const runtime = new Runtime(options)
runtime.registerSink(counting)

answerParent({}, async (asked: Asked) => {
  if (asked.do === 'fire') return measured(() => fire(asked.events))
  if (asked.do === 'run') return measured(() => go(asked.groups))
  if (asked.do === 'move') return moves(hub, asked.groups)
  const execution = await begin(runtime, { workflow: 'to_and_fro', groups: groupsOf(asked.groups) })
  const done = await measured(async () => {
    execution.pause('manual')
    while (execution.live().some(({ status }) => status.current !== 'PAUSED')) await new Promise(setImmediate)
  })
  execution.abort('that was all')
  await runtime.over(execution)
  return done
})

async function openHub(): Promise<Hub> {
  const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 100, queue: 1000 }, limits: { subscribers: 8 } }
  const hub = await openEvents({ folder, config, log: silent })
  hub.streams.subscribe({ outlet: { write, onDrain() {}, end() {} } })
  return hub
}

function write(bytes: Buffer | string): boolean {
  if (typeof bytes !== 'string') counts.streamed += occurrences(bytes, frameEnd)
  return true
}

async function recorded(hub: Hub): Promise<RuntimeOptions> {
  const sources = [laneTopology(Number(lanes)), laneWorkflow(Number(lanes))]
  const documents = sources.map((input, i) => ({ origin: `document ${i}`, form: 'typescript' as const, input }))
  const library = compileLibrary(documents, emptyBench)
  if (library.faults[0]) throw new Error(library.faults[0].reason)
  const { records } = await RecordFile.open({ folder, clock: systemClock, report: () => {} })
  return {
    ...{ clock: systemClock, now: () => Date.now() / 1000, warn: () => {}, bench: emptyBench, library },
    search: findBeside,
    ...{ hub, records, backpressure: () => hub.log.backpressure() },
    ...(how !== 'full' && { keep: () => keptOf(hub) }),
    ...(how === 'record' && { simulate: (topology, clock) => new MeasuredDevices(topology, clock) }),
  }
}

/** With "record", the runs have a record beside their state. */
function keptOf(hub: Hub): RunStates {
  const { record, ...states } = keptIn(hub)('LIVE')!
  return how === 'record' && record ? { ...states, record } : states
}

async function measured(work: () => Promise<void>): Promise<Done> {
  Object.assign(counts, none)
  const before = { ...usage(), at: performance.now(), shown: hub.log.shown.seq }
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await work()
  await hub.log.until()
  delay.disable()
  const seconds = (performance.now() - before.at) / 1000
  const cpu_us = usage().cpu_us - before.cpu_us
  const rss_mib = process.resourceUsage().maxRSS / 1024
  const { heard: events, streamed, incidents } = counts
  const logged = await inLog(hub, before.shown)
  const ms = (nanoseconds: number) => nanoseconds / 1e6
  const lag_ms = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) }
  return { events, logged, streamed, incidents, cpu_us, seconds, rss_mib, lag_ms }
}

async function go(groups: number): Promise<void> {
  const { phase } = await run(runtime, { workflow: 'to_and_fro', groups: groupsOf(groups) })
  if (phase.current !== 'completed') throw new Error(`the run is ${phase.current}`)
}

/** Moves in a run in LIVE: each is told, and begins when its state is on the card. */
async function moves(hub: Hub, groups: number): Promise<Moved> {
  const { log, states } = hub
  const moved: Moved = { ms: [], events: [] }
  let count = 0
  const standing = new Map<string, string>()
  const changes = () => {
    standing.set('thread', JSON.stringify({ status: 'MOVING', count }))
    return standing
  }
  states.add('live', { standing, changes })
  const flood = { isOver: groups === 0, done: Promise.resolve() }
  if (groups > 0) flood.done = go(groups).finally(() => (flood.isOver = true))
  while (groups > 0 ? !flood.isOver : count < movesAlone) {
    await new Promise((resolve) => setTimeout(resolve, 2))
    const [began, before] = [performance.now(), log.shown.seq]
    hub.emit('THREAD.plate.MOVING', { count: ++count }, 'live')
    states.changed()
    await log.persist()
    moved.ms.push(performance.now() - began)
    moved.events.push(log.shown.seq - before)
  }
  states.drop('live')
  await flood.done
  return moved
}

function groupsOf(count: number) {
  return Array.from({ length: count }, (_, i) => ({ group_id: `g${i}`, members: {} }))
}

async function fire(events: number): Promise<void> {
  for (let n = 0; n < events; n++) {
    const { event_name, context, execution_id } = kept[n % kept.length]!
    options.hub.emit(event_name, { ...context }, execution_id)
    if (n % turn > 0) continue
    await new Promise(setImmediate)
    await options.backpressure?.()
  }
}

const frameEnd = Buffer.from('\n\n')
const eventBegin = Buffer.from('{"event_name":"')

/** Returns the events behind a sequence number. */
async function inLog({ log }: Hub, after_seq: number): Promise<number> {
  let count = 0
  for await (const { bytes } of log.read({ after_seq }, 'array')) count += occurrences(bytes, eventBegin)
  return count
}

function occurrences(bytes: Buffer, needle: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) count++
  return count
}
