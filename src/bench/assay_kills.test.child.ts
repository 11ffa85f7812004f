// The workflows of a service, with all their files, on a bench that only takes time. It runs one assay, reports on stdout what its instruments do and
// how far it is, and stops at the ordered moment, where it is killed.
//
//   assay_kills.test.child.js ORDERS

import { writeSync } from 'node:fs'
import { checkConfig } from '../config.ts'
import { Readings } from '../devices/readings.ts'
import type { RuntimeEvent } from '../events/event.ts'
import { openEvents } from '../events/open.ts'
import { systemClock } from '../kit/clock.ts'
import { Refusals } from '../kit/refusals.ts'
import { Teachpoints } from '../teachpoints/store.ts'
import { until } from '../testing/workflow.ts'
import type { Carrying, Performing } from '../workflow/equipment/equipment.ts'
import { PureEquipment } from '../workflow/equipment/pure_equipment.ts'
import { movesOf } from '../workflow/plans/timing.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import type { RunStates } from '../workflow/state/entry.ts'
import type { LabwareThread } from '../workflow/threads/thread.ts'
import type { Deed, EndedThread, Said } from './assay_kills.test.bench.ts'
import type { Orders } from './assay_kills.test.chain.ts'
import { simulatedBench } from './devices.ts'
import { keptIn } from './persisted_runs.ts'
import { openRuns } from './runs.ts'

const orders = JSON.parse(process.argv[2]!) as Orders
const { data_dir } = orders
const passed = new Set(orders.passed)
const parent = process.ppid
let toPass = orders.pass
let stopsAtDeed = false

/** Reports the begin and end of each operation, as an observer would see them. */
class Watched extends PureEquipment {
  override async perform(
    device_id: string,
    operation: string,
    params: Readonly<Record<string, unknown>>,
    how: Performing,
  ): Promise<unknown> {
    const owner = [...running()!.threads.values()].find(({ action }) => action?.device === device_id)!
    const { action_id, plan } = owner.action!
    begins({ performs: operation, device_id, action_id, name: actionOf(owner, plan.name) })
    const answer = await super.perform(device_id, operation, params, how)
    say({ performed: action_id })
    return answer
  }

  override async carry(arm: string, verb: 'pick' | 'place', on: Carrying): Promise<void> {
    const { scheduler, labware } = running()!.environment
    const gripped = [...labware.values()].find(({ held_by }) => held_by === arm)?.labware_id ?? null
    const { position } = on
    begins({ arm, verb, position, labware_id: verb === 'pick' ? scheduler.position(position).labware_id : gripped })
    await super.carry(arm, verb, on)
    say({ arm, isDone: true })
  }
}

const log = { info() {}, warn() {}, error: fail }
const report = ({ message }: { message: string }) => fail(message)
const clock = systemClock
const config = await checkConfig({ format: 1, devices: [] }, 'no bench')
const hub = await openEvents({ folder: data_dir, config, clock, log })
const registry = simulatedBench(config, { clock, log, hub })
const readings = new Readings({ devices: () => registry.all(), clock })
const teachpoints = await Teachpoints.open({ folder: data_dir, report })
const refusals = new Refusals({ log, clock })
const runs = await openRuns(
  {
    config,
    data_dir,
    topologies: undefined,
    clock,
    hub,
    registry,
    readings,
    teachpoints,
    descriptions: { get: () => undefined },
    refusals,
    log,
    report,
  },
  { keep, simulate: ({ document }, clock) => new Watched({ clock, transporters: movesOf(document) }) },
)
const { runtime } = runs
hub.registerSink({ name: 'boundaries', onEvent })
const taken = running()
if (taken) await takeUp(taken)
else {
  const groups = Array.from({ length: orders.groups }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))
  await runtime.submit({ workflow: 'smc_assay', run_mode: 'PURE_SIM', groups, batch_mode: 'STANDALONE', variables: {}, operator_id: null })
}
const execution = running()!
await runtime.over(execution)
await runs.close()
await hub.close()
readings.close()
await registry.close()
say({ over: execution.execution_id, slots: backlogsOf(execution), threads: threadsOf(execution) })

/** Writes synchronously, because the reader may kill this process at once. */
function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`)
}

function begins(deed: Deed): void {
  say(deed)
  if (stopsAtDeed) stopInItsTracks()
}

function fail(message: string): void {
  say({ fault: message })
}

function running(): Execution | undefined {
  return runs.runtime.runs.all()[0]
}

/** Keeps the states as the service does for LIVE runs, although the assay runs in PURE_SIM. Time stands still while the disk writes. */
function keep(): RunStates {
  const states = keptIn(hub)('LIVE')!
  return {
    ...states,
    async persist() {
      const release = running()?.environment.steps.hold()
      await states.persist()
      release?.()
    },
  }
}

/** Does the operator's part: waits until all threads are paused, corrects positions, declares done what was done, and resumes the rest. */
async function takeUp(execution: Execution): Promise<void> {
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'), 'that all stand')
  const live = execution.live()
  const stands = live.map((thread) => ({
    thread: nameOf(thread),
    interrupted: thread.state.interrupted,
    why: thread.control.waiting?.what,
  }))
  say({ stands, reason: execution.paused?.reason })
  for (const { labware } of live) putRight(execution, labware)
  for (const thread of live) {
    const { interrupted } = thread.state
    if (!interrupted || !orders.done.includes(interrupted.action_id)) continue
    say({ continues: actionOf(thread, interrupted.name) })
    thread.control.recover('CONTINUE')
  }
  execution.resume()
}

/** Corrects the place of one labware: puts it there by hand, or tells the service where it is. */
function putRight({ environment }: Execution, { labware_id, name, held_by }: LabwareThread['labware']): void {
  const is = orders.places[labware_id]
  const position = environment.scheduler.whereIs(labware_id)
  // The labware never left its storage, because the pick did not happen.
  const isStill = !is && held_by !== null && position !== undefined
  if (isStill) runtime.relocate(labware_id, { position })
  if (!is) return
  if ('arm' in is && held_by === null && position !== undefined) say({ by_hand: position, labware_id })
  else if ('position' in is && held_by !== null) runtime.relocate(labware_id, { position: is.position })
  else if ('arm' in is ? held_by !== is.arm : position !== is.position)
    fail(`${name} is ${JSON.stringify(is)}, and is said to be at ${position}, held by ${held_by}`)
}

function onEvent(event: RuntimeEvent): void {
  // CLOCK is expected: a service that is killed more often than once a second is ahead of the clock.
  if (event.entity_type === 'INCIDENT' && !['ACTION_CONTINUED', 'CLOCK'].includes(event.status)) {
    fail(`${event.context.message}`)
    process.exit(1)
  }
  const boundary = boundaryIn(event)
  if (boundary === undefined || passed.has(boundary)) return
  passed.add(boundary)
  say({ boundary })
  if (orders.instant === null || toPass-- > 0) return
  if (orders.instant === 'told') stopInItsTracks()
  if (orders.instant === 'begun') stopsAtDeed = true
  else {
    // This holds virtual time.
    running()!.environment.steps.hold()
    // The end of the run is on the disk together with its last move, so there would be nothing to restore.
    void hub.stored(event).then(() => (running()!.isOver ? undefined : stopInItsTracks()))
  }
}

/** Returns the boundary in an event: an action begins or ends, or a move advances. */
function boundaryIn({ entity_type, status, context }: RuntimeEvent): string | undefined {
  const { thread_id, action_name } = context as { thread_id: string; action_name: string | null }
  const thread = entity_type === 'ACTION' ? running()!.threads.get(thread_id) : undefined
  if (!thread) return undefined
  if (action_name !== null) return /^(EXECUTING_ACTION|COMPLETED)$/.test(status) ? `${actionOf(thread, action_name)} ${status}` : undefined
  if (!orders.moves || !/^(PICKING|PLACING|COMPLETED)$/.test(status)) return undefined
  return `${nameOf(thread)}: ${thread.move?.hop.from} to ${thread.move?.hop.to} ${status}`
}

/** Blocks for ever, or until the parent process is gone. */
function stopInItsTracks(): void {
  say({ stops: true })
  while (process.ppid === parent) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  process.exit(1)
}

/** Returns a name that does not depend on other groups: the second rack of a group is `g1 tips_96 2`. */
function nameOf({ execution, plan, origin, thread_id }: LabwareThread): string {
  const alike = [...runs.runtime.runs.get(execution.execution_id)!.threads.values()].filter(
    (other) => other.plan === plan && other.origin.group_id === origin.group_id,
  )
  const at = alike.findIndex((other) => other.thread_id === thread_id)
  return `${origin.group_id ?? 'all'} ${plan.name}${at > 0 ? ` ${at + 1}` : ''}`
}

function actionOf(thread: LabwareThread, action_name: string): string {
  return `${nameOf(thread)}: ${thread.method?.plan.name}/${action_name}`
}

function backlogsOf({ backlogs }: Execution): object[] {
  return backlogs.list().map(({ labware, group_id, queue, pending, contributions, is_closed, is_orphaned }) => {
    return { labware, group_id, queue: queue.length, pending: pending.length, contributions, is_closed, is_orphaned }
  })
}

function threadsOf({ threads }: Execution): EndedThread[] {
  return [...threads.values()].map((thread) => {
    const { labware_id, state, tips_left } = thread.labware
    return { thread: nameOf(thread), thread_id: thread.thread_id, labware_id, state, tips_left }
  })
}
