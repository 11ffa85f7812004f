// The workflows of a service, with all that they keep on the card, on a bench that is nothing but the time it takes. It runs one assay, says
// on stdout what its instruments do and how far it is, and stops in its tracks where it is told to: there it is killed.
//
//   assay_kills.test.child.js ORDERS

import { writeSync } from 'node:fs'
import { checkConfig } from '../config.ts'
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

/** Says what it does when it begins and when it has ended, as one who stands beside it would see it. */
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
await registry.close()
say({ over: execution.execution_id, slots: slotsOf(execution), threads: threadsOf(execution) })

/** Not a turn later: whoever reads it may kill us at once. */
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

/** As the service keeps runs in other modes: the assay has no other bench than time. That stands still while the card is waited for. */
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

/** What an operator does: sees that all stand and where everything is, takes what was done for done, and lets the rest go on. */
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

/** What is in a gripper and should stand somewhere is put there by hand; where something stands and nobody knows, that is told. */
function putRight({ environment }: Execution, { labware_id, name, held_by }: LabwareThread['labware']): void {
  const is = orders.places[labware_id]
  const position = environment.scheduler.whereIs(labware_id)
  // It has never left its storage: whatever was picking it up has not.
  const isStill = !is && held_by !== null && position !== undefined
  if (isStill) runtime.relocate(labware_id, { position })
  if (!is) return
  if ('arm' in is && held_by === null && position !== undefined) say({ by_hand: position, labware_id })
  else if ('position' in is && held_by !== null) runtime.relocate(labware_id, { position: is.position })
  else if ('arm' in is ? held_by !== is.arm : position !== is.position)
    fail(`${name} is ${JSON.stringify(is)}, and is said to be at ${position}, held by ${held_by}`)
}

function onEvent(event: RuntimeEvent): void {
  // A service that is killed more often than once a second is ahead of the clock.
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
    // Time goes no further.
    running()!.environment.steps.hold()
    // With the last move of a run its end is on the card: there is nothing to take up.
    void hub.stored(event).then(() => (running()!.isOver ? undefined : stopInItsTracks()))
  }
}

/** An action begins, or it is done. */
function boundaryIn({ entity_type, status, context }: RuntimeEvent): string | undefined {
  const { thread_id, action_name } = context as { thread_id: string; action_name: string | null }
  const thread = entity_type === 'ACTION' ? running()!.threads.get(thread_id) : undefined
  if (!thread) return undefined
  if (action_name !== null) return /^(EXECUTING_ACTION|COMPLETED)$/.test(status) ? `${actionOf(thread, action_name)} ${status}` : undefined
  if (!orders.moves || !/^(PICKING|PLACING|COMPLETED)$/.test(status)) return undefined
  return `${nameOf(thread)}: ${thread.move?.hop.from} to ${thread.move?.hop.to} ${status}`
}

/** For ever, as long as there is somebody to kill it. */
function stopInItsTracks(): void {
  say({ stops: true })
  while (process.ppid === parent) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  process.exit(1)
}

/** The second rack of a group is `g1 tips_96 2`: which number the run gave it depends on the other groups. */
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

function slotsOf({ slots }: Execution): object[] {
  return slots.list().map(({ labware, group_id, queue, pending, contributions, is_closed, is_orphaned }) => {
    return { labware, group_id, queue: queue.length, pending: pending.length, contributions, is_closed, is_orphaned }
  })
}

function threadsOf({ threads }: Execution): EndedThread[] {
  return [...threads.values()].map((thread) => {
    const { labware_id, state, tips_left } = thread.labware
    return { thread: nameOf(thread), thread_id: thread.thread_id, labware_id, state, tips_left }
  })
}
