// Takes a thread from its start position through its steps to its end position.

import { LabError, messageOf } from '../../errors.ts'
import { inSeconds } from '../../kit/seconds.ts'
import { type EventWait, itemKey, type StepList, type StepPlan, takes } from '../plans/plan.ts'
import type { Candidate } from '../scheduler/request.ts'
import { once } from '../scheduler/signal.ts'
import { isLabware } from '../state/labware.ts'
import { join } from './action/joined_action.ts'
import { act } from './action/owned_action.ts'
import { closeWindow } from './action/windows.ts'
import { caseAhead, countsAsEmitted } from './branches_ahead.ts'
import { scopeOf } from './channels.ts'
import { nextRound, pass, reachTemperature, sideOf, tookCase } from './conditional.ts'
import type { Frame } from './frame.ts'
import { leaveLid, lidCarrierOf, takeLidOff } from './lid_carrier.ts'
import { MethodRun } from './method.ts'
import { emitOf } from './method_events.ts'
import { leaveUncertain, setBack } from './move/hop.ts'
import { identifyAtStart } from './move/identify.ts'
import { appear, goTo, idle, request, storageOf } from './move/route.ts'
import { stopsOnItsWay } from './next_stops.ts'
import { Fatal, Interrupt } from './recovery.ts'
import { timer } from './run_environment.ts'
import { operate, untilBeforeHasEnded } from './run_operations.ts'
import type { LabwareThread } from './thread.ts'

/** Resolves when the thread is terminal; never rejects. */
export async function travel(thread: LabwareThread): Promise<void> {
  try {
    await begin(thread)
    for (let frame = current(thread); frame; frame = current(thread)) await thread.insist('THREAD_STEP', () => goOn(thread, frame))
    await finish(thread)
    end(thread, 'COMPLETED')
  } catch (error) {
    if (error instanceof Interrupt) end(thread, error.kind === 'stop' ? 'STOPPED' : 'ABORTED')
    else die(thread, error instanceof Fatal ? error.cause : error)
  }
}

/** Ends the thread, and releases all its reservations before it publishes the status. */
function end(thread: LabwareThread, status: 'COMPLETED' | 'STOPPED' | 'ABORTED' | 'FAILED'): void {
  const { labware, environment } = thread
  const position = environment.scheduler.whereIs(labware.labware_id)
  thread.setLabware({ state: 'ENDED' })
  closeWindow(thread)
  // Labware in a storage leaves the deck, because a storage always has room for more.
  if (position !== undefined && labware.held_by === null && isStorage(thread, position)) takeOff(thread)
  // A thread restored after a restart may end before it has entered its method again.
  thread.method?.end(false)
  thread.joining?.leave(thread)
  thread.execution.operator.forget(thread.thread_id)
  leaveUncertain(thread)
  const lid = lidCarrierOf(thread)
  if (lid) leaveUncertain(lid)
  environment.scheduler.forget(thread.thread_id)
  leaveLid(thread)
  thread.become(status)
}

function die(thread: LabwareThread, error: unknown): void {
  const { execution, labware, environment } = thread
  thread.set({ last_error: messageOf(error) })
  const place = labware.held_by ?? environment.scheduler.whereIs(labware.labware_id) ?? 'nowhere'
  const where = isLabware(labware) ? `; ${labware.name} is at ${place}` : ''
  execution.events.incident('THREAD_DIED', `thread ${thread.name} died: ${messageOf(error)}${where}`, thread, {
    severity: 'CRITICAL',
    recovery_action: 'RESTART_EXECUTION',
    error,
  })
  end(thread, 'FAILED')
}

/** Brings the labware onto the deck. */
async function begin(thread: LabwareThread): Promise<void> {
  if (thread.plan.part) return
  const gate = untilBeforeHasEnded(thread)
  if (gate) await gate
  const { plan, environment, labware, execution } = thread
  const { mode } = plan.template.start
  const isByHand = environment.mode === 'LIVE' && (mode === 'MANUAL_PLACE' || (mode === 'REUSE_EXISTING' && mustBeSeen(thread)))
  // Labware in a storage comes out of it when its first device is granted.
  if (!isByHand && storageOf(thread) && beginsAtDevice(thread)) return
  // The labware already stands on the deck: the thread was restored after a restart.
  if (environment.scheduler.whereIs(labware.labware_id) !== undefined) {
    await setBack(thread)
    const lid = lidCarrierOf(thread)
    if (lid) await setBack(lid)
    return identifyAtStart(thread)
  }
  const wish = {
    what: thread.state.starts_at,
    candidates: positions([thread.state.starts_at]),
    // Labware blocks nobody until it comes onto the deck, so it does not come while others could not get past it.
    ...stopsOnItsWay(thread),
    stands: mode === 'REUSE_EXISTING' && !isStorage(thread, thread.state.starts_at),
    priority: isByHand ? 0 : 1,
  } as const
  const { position } = isWaitingByHand(thread)
    ? { position: thread.state.starts_at }
    : ((await thread.control.pausable(() => request(thread, wish))) as { position: string })
  if (isByHand) await execution.operator.placed(thread)
  await appear(thread, position)
  await identifyAtStart(thread)
}

/** Whether the next step takes the labware to a device. */
function beginsAtDevice(thread: LabwareThread): boolean {
  const step = current(thread)?.steps[thread.frames.at(-1)!.next]
  const action = step?.kind === 'method' ? step.method.actions[thread.method?.next ?? 0] : step?.kind === 'action' ? step.action : undefined
  const { template } = thread.labware
  return action !== undefined && action.devices.length > 0 && takes(action, template, template)
}

/**
 * Whether the service restarted while the thread waited for a person to bring labware. The person may have it in hand, so the thread waits on
 * even while its run is paused, and keeps the position reserved.
 */
function isWaitingByHand({ thread_id, status, state, environment }: LabwareThread): boolean {
  return status.current === 'AWAITING_MANUAL_PLACE' && environment.scheduler.holds.keep(thread_id, state.starts_at)
}

/** Whether a person must confirm labware that nobody has reported: a real arm would reach for it, or its barcode must be read. */
function mustBeSeen({ labware, state, environment, execution }: LabwareThread): boolean {
  if (labware.barcode !== null) return true
  const { document, graph } = execution.workflow.topology
  const { entry } = graph.positions.get(state.starts_at)!
  const reaching = Object.entries(document.transporters).filter(([, { positions }]) => positions.includes(entry))
  return reaching.some(([transporter]) => environment.equipment.isReal?.(transporter))
}

/** Leaves the frames that are done, and returns the innermost frame with steps left. */
function current(thread: LabwareThread): Frame | undefined {
  const { frames, execution } = thread
  for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
    if (frame.next < frame.steps.length) return frame
    if (frame.isLoop && execution.backlogs.hasMore(thread)) {
      frame.goTo(0)
      return frame
    }
    leave(thread)
  }
  return undefined
}

/** Leaves a frame that is done, which completes the step that it belongs to. */
function leave(thread: LabwareThread): void {
  const { frames, execution, name } = thread
  const { isLoop, inserted } = thread.leaveSteps()
  for (const step of isLoop ? inserted : []) {
    const what = `${step.name} was inserted into a loop of ${name}, which does not run again: the step is not done`
    execution.events.incident('UNRESOLVED_ANCHOR_INSERT', what, thread, { severity: 'WARNING' })
  }
  const frame = frames.at(-1)
  // A repeat decides itself, when it is taken again, whether another round comes.
  if (frame?.steps[frame.next]?.kind !== 'repeat') frame?.advance()
}

async function goOn(thread: LabwareThread, frame: Frame): Promise<void> {
  await thread.control.safePoint()
  const step = frame.steps[frame.next]!
  try {
    const steps = await takeUnlessSkipped(thread, step)
    if (steps) thread.enterSteps(steps)
    else if (thread.frames.at(-1) === frame) frame.advance()
    if (steps) thread.execution.inserts.opened(thread)
  } finally {
    // In the same turn in which the thread advances, so that no step can be inserted in between.
    thread.step = null
  }
}

async function takeUnlessSkipped(thread: LabwareThread, step: StepPlan): Promise<Inner | undefined> {
  // Methods and actions handle their skips themselves, because they publish them.
  if (step.kind !== 'method' && step.kind !== 'action' && thread.forgetSkip(itemKey(step))) {
    forgetProgress(thread, step.path)
    return undefined
  }
  thread.step = step
  try {
    return await take(thread, step)
  } catch (error) {
    if (!(error instanceof Interrupt) || error.kind !== 'skip') throw error
    thread.forgetSkip(itemKey(step))
    return undefined
  }
}

/** Forgets the rounds and the waits of a step, so that it begins anew if the thread comes to it again. */
function forgetProgress(thread: LabwareThread, path: string): void {
  const { rounds, delay, warming } = thread.state
  const others = <Part extends { readonly path: string }>(part: Part | null) => (part?.path.startsWith(path) ? null : part)
  thread.set({ rounds: rounds.filter((one) => !one.path.startsWith(path)), delay: others(delay), warming: others(warming) })
}

/** The steps inside a step, which come first. */
type Inner = StepList & { isLoop?: boolean }

/** Takes a step. Returns the steps inside it, if the thread must go through those first. */
async function take(thread: LabwareThread, step: StepPlan): Promise<Inner | undefined> {
  switch (step.kind) {
    case 'method':
      await own(thread, step)
      return undefined
    case 'action':
      if (thread.plan.part) await operate(thread, step)
      else await act(thread, step.action, { method: null, key: itemKey(step) })
      return undefined
    case 'join':
      if (!(await join(thread, step.methods, itemKey(step)))) leaveLoop(thread)
      return undefined
    case 'park':
      await park(thread, step)
      return undefined
    case 'wait_for':
      if (countsAsEmitted(thread, step.event)) return undefined
      await thread.control.skippable(itemKey(step), () => awaitEvent(thread, step, thread.seen(step.event)))
      return undefined
    case 'branch': {
      const assumed = countsAsEmitted(thread, step.event) ? caseAhead(thread, step).list : undefined
      if (assumed) return assumed
      const { value } = await thread.control.skippable(itemKey(step), () => awaitEvent(thread, step, 0))
      const chosen = (value !== null && step.cases.get(value)) || step.otherwise
      if (!chosen) throw noCaseFor(value, step)
      tookCase(thread, step, { value, isOther: chosen === step.otherwise })
      return chosen
    }
    case 'while_more_work': {
      return thread.execution.backlogs.hasMore(thread) ? { ...step.body, isLoop: true } : undefined
    }
    case 'if':
      return sideOf(thread, step)
    case 'repeat':
      return nextRound(thread, step)
    case 'delay':
      await thread.control.skippable(itemKey(step), () => pass(thread, step))
      return undefined
    case 'until_temperature':
      await thread.control.skippable(itemKey(step), () => reachTemperature(thread, step))
      thread.forgetSkip(itemKey(step))
      return undefined
  }
}

/** Leaves the innermost loop in the middle, because no more work will come. */
function leaveLoop(thread: LabwareThread): void {
  const { frames } = thread
  const loop = frames.findLast(({ isLoop }) => isLoop)
  if (!loop) return
  while (frames.at(-1) !== loop) thread.leaveSteps()
  forgetProgress(thread, loop.path)
  loop.goTo(loop.steps.length)
}

/** Owns a method: goes through its actions. */
async function own(thread: LabwareThread, step: StepPlan & { kind: 'method' }): Promise<void> {
  const method = thread.method ?? new MethodRun(thread, step.method)
  thread.method = method
  thread.execution.inserts.opened(thread)
  const isSkipped = () => method.status.current === 'CREATED' && thread.forgetSkip(itemKey(step))
  try {
    // A method restored after a restart may be over.
    if (method.isOver || isSkipped()) return
    while (method.next < method.actions.length) {
      await thread.control.safePoint()
      if (isSkipped() || method.state.is_abandoned) return
      if (method.status.current === 'CREATED') {
        method.status.become('IN_PROGRESS')
        await emitOf(thread, method, 'on_start')
      }
      method.isTaken = true
      const action = method.actions[method.next]!
      const outcome = await act(thread, action, { method, key: itemKey(step, action) })
      if (outcome === 'method') break
    }
    if (method.state.is_whole && method.status.current === 'IN_PROGRESS') await emitOf(thread, method, 'on_end')
    method.end(true)
  } finally {
    method.end(false)
    thread.method = null
    thread.execution.backlogs.settle()
  }
}

/** Parks the labware at one of the positions, unless work is waiting or will never come. */
async function park(thread: LabwareThread, step: StepPlan & { kind: 'park' }): Promise<void> {
  const { backlogs } = thread.execution
  const isInLoop = thread.frames.some(({ isLoop }) => isLoop)
  const isUnneeded = () => backlogs.hasWork(thread) || (isInLoop && !backlogs.hasMore(thread)) || undefined
  const wish = { what: step.places.join(' or '), candidates: positions(step.positions), unless: once(backlogs.changed, isUnneeded) }
  const found = await thread.control.pausable(() => {
    thread.become('AWAITING_MOVE_RESERVATION')
    return request(thread, wish)
  })
  if (found) {
    await goTo(thread, (found as { position: string }).position)
    thread.setLabware({ state: 'PARKED' })
  }
  // The labware may already stand at the parking position.
  if (thread.status.current === 'AWAITING_MOVE_RESERVATION') thread.become('AWAITING_CO_THREADS')
}

/** Waits until a custom event was published more often than `seen`. */
async function awaitEvent(thread: LabwareThread, { event, timeout, across_groups }: EventWait, seen: number) {
  const { execution, environment } = thread
  const scope = scopeOf(thread.origin, across_groups)
  return thread.insist('WAIT_EVENT_TIMEOUT', () =>
    thread.control.pausable(async () => {
      thread.become('AWAITING_EVENT')
      let cancelTimeout = () => {}
      const latest = await idle<{ value: string | null; count: number }>(
        thread,
        execution.channels.describeWait(event, scope),
        (resolve, reject) => {
          const late = () => reject(new LabError('no_reply', `${event} was not emitted within ${inSeconds(timeout)}`))
          cancelTimeout = timer(environment.clock, timeout, late)
          const callOff = execution.channels.wait(event, { seen, scope }, resolve)
          return () => {
            cancelTimeout()
            callOff()
          }
        },
      ).finally(() => cancelTimeout())
      thread.sees(event, latest.count)
      thread.become('RESOLVING_ACTION_LOCATION')
      return latest
    }),
  )
}

function noCaseFor(value: string | null, { event, cases }: Extract<StepPlan, { kind: 'branch' }>): LabError {
  const what = value === null ? `${event} was emitted without a value` : `${event} was emitted with the value ${JSON.stringify(value)}`
  return new LabError(
    'conflict',
    `${what}, for which the branch has no case (${[...cases.keys()].join(', ')}) and no else; emit it with another value, or skip the step, then recover the thread with RETRY`,
  )
}

/** Brings the labware to its end position, and takes it off the deck unless it stays there. */
async function finish(thread: LabwareThread): Promise<void> {
  const { plan, environment, labware, execution } = thread
  if (plan.part) return
  const { mode } = plan.template.end
  const wish = {
    what: plan.template.end.at.join(' or '),
    candidates: thread.ends,
    onWait: () => thread.become('AWAITING_MOVE_RESERVATION'),
  }
  // After a restart, a person may already be about to remove the labware at its end, even while the run is paused.
  const isAwaited = thread.status.current === 'AWAITING_MANUAL_REMOVE'
  const goToEnd = async () => {
    const { position } = (await thread.control.pausable(() => request(thread, wish))) as { position: string }
    await goTo(thread, position)
    return position
  }
  const position = isAwaited ? thread.state.seat! : await thread.insist('MOVE_RESOLUTION', goToEnd)
  if (!isAwaited) await thread.control.safePoint()
  thread.setLabware({ state: 'ENDED' })
  const isStored = isStorage(thread, position)
  if (mode === 'LEAVE_IN_PLACE' && !isStored) {
    environment.scheduler.assign(labware.labware_id, null)
    return
  }
  if (mode === 'MANUAL_REMOVE' && environment.mode === 'LIVE' && !isStored) await execution.operator.removed(thread)
  takeOff(thread)
}

function takeOff({ environment, labware }: LabwareThread): void {
  takeLidOff({ environment }, labware.labware_id)
  environment.scheduler.remove(labware.labware_id)
  environment.labware.delete(labware.labware_id)
}

function isStorage({ environment }: LabwareThread, position: string): boolean {
  return environment.scheduler.graph.positions.get(position)?.storage === true
}

function positions(names: readonly string[]): Candidate[] {
  return names.map((position) => ({ position }))
}
