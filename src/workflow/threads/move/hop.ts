// Moves labware one hop with a transporter, and tracks where it may be if the hop was cut off.

import type { Person } from '../../../devices/device.ts'
import { isHarmless } from '../../../devices/failure.ts'
import { LabError, messageOf } from '../../../errors.ts'
import type { Hop } from '../../plans/graph.ts'
import { otherDevices } from '../../plans/plan.ts'
import type { Use } from '../../scheduler/shared_space.ts'
import { placeOf, storedIn } from '../../state/labware.ts'
import { isUncertain, type MoveState, mayBe, mayBePicked, uncertainty } from '../../state/move.ts'
import { categoryOf } from '../action/causes.ts'
import { enterSpace, reachIn, take } from '../clearance.ts'
import { LidCarrier, type Mover } from '../lid_carrier.ts'
import { getReady, openUp } from '../preparation.ts'
import { Interrupt } from '../recovery.ts'
import { type RunEnvironment, secondsAt } from '../run_environment.ts'
import { endUncertainty } from './by_hand.ts'
import { carriedBy, mustReach } from './carried_labware.ts'
import { mustBeClear, mustBeEmpty, WayLost } from './free_way.ts'
import { decideIdentity, identifyHeld, Unidentified } from './identify.ts'
import { MotionSync } from './motion_sync.ts'
import { MoveRun } from './move.ts'
import { PersonTask, PutElsewhere, showAgain, useOf } from './person_task.ts'

/**
 * After a restart: puts labware in a gripper back where it was picked, because its route is lost, and a full gripper would block the thread that
 * must move first. The position is still reserved for the labware.
 */
export async function setBack(thread: Mover): Promise<void> {
  const { labware, environment } = thread
  const position = environment.scheduler.whereIs(labware.labware_id)
  if (labware.held_by === null || position === undefined) return
  await thread.control.safePoint()
  thread.become('AWAITING_MOVE_RESERVATION')
  thread.become('AWAITING_MOVE_TARGET_AVAILABILITY')
  thread.become('MOVING')
  // A person may have taken the labware out of the gripper meanwhile.
  if (labware.held_by !== null) await ride(thread, { from: position, to: position, transporter: labware.held_by })
  endUncertainty(thread)
  environment.scheduler.access.reachedIn(thread.thread_id)
}

/**
 * Makes one hop, in as many attempts as needed. Each attempt is a new move. Resolves with the reason if a person has put the labware where the thread must not
 * go on by itself.
 */
export async function ride(thread: Mover, route: Hop): Promise<LabError | undefined> {
  const { scheduler } = thread.environment
  const { labware } = thread
  let hop = route
  const isSetBack = hop.from === hop.to
  const isThere = () => (isSetBack ? labware.held_by === null : scheduler.whereIs(labware.labware_id) === hop.to)
  let isAsked = false
  let before: MoveRun | undefined
  for (;;) {
    const move = new MoveRun(thread, hop, before?.state, hop.transporter === route.transporter ? null : route.transporter)
    before = move
    thread.move = move
    try {
      if (isSetBack && !isAsked) mayGoBack(thread, hop)
      thread.carrying = carry(thread, move, isThere)
      await thread.carrying
      move.status.become('COMPLETED')
      return undefined
    } catch (error) {
      const isCutOff = error instanceof Interrupt || thread.control.signal.aborted
      move.status.become(isCutOff ? 'ABORTED' : 'ERRORED')
      if (isCutOff) throw new Interrupt('abort')
      if (error instanceof WayLost) return undefined
      isAsked = true
      try {
        if (error instanceof Unidentified && !(thread instanceof LidCarrier)) await decideIdentity(thread, error, 'MOVING')
        else if (!(error instanceof PutElsewhere)) await decide(thread, hop, { error, isThere })
      } catch (interrupt) {
        if (interrupt instanceof Interrupt) mayBeInGripper(thread, move)
        mayStandThere(thread, move)
        throw interrupt
      }
      // A person who moved the labware elsewhere has taken it out of the gripper.
      if (scheduler.whereIs(labware.labware_id) !== hop.from) outOfGripper(thread)
      hop = nextAttempt(thread, move, route)
      if (!isThere() && scheduler.whereIs(labware.labware_id) === hop.from) continue
      scheduler.access.reachedIn(thread.thread_id)
      return error instanceof PutElsewhere ? error.reason : undefined
    } finally {
      thread.move = null
      thread.carrying = null
    }
  }
}

/**
 * Returns the hop of the next attempt: a person makes one move in place of an arm, and keeps it only while the labware may be in their hands. Labware that may
 * be in the gripper of the arm counts as held by it from then on.
 */
function nextAttempt(thread: Mover, move: MoveRun, route: Hop): Hop {
  const { labware, state } = thread
  if (move.takeover !== null) {
    mayBeInGripper(thread, move)
    // Another thread uses the arm, so its gripper is empty.
    if (labware.held_by === null) move.set({ has_failed_pick: false })
    return { ...route, transporter: move.takeover }
  }
  const isInHands = [labware.held_by, labware.taken_by].includes(move.hop.transporter) || mayBePicked(state)
  return isInHands ? move.hop : route
}

function isPerson({ environment }: Mover, transporter: string): boolean {
  return environment.equipment.person?.(transporter) !== undefined
}

/** Throws `conflict` if a person must look first: a real storage may have presented its next labware, and the arm would put this one on top of it. */
function mayGoBack(thread: Mover, { to, transporter }: Hop): void {
  const { labware, environment } = thread
  if (thread.control.isLost) throw new LabError('conflict', uncertainty(thread.state))
  if (!environment.scheduler.graph.positions.get(to)?.storage || !environment.equipment.isReal?.(transporter)) return
  throw new LabError(
    'conflict',
    `${to} may have presented its next labware since ${labware.name} was taken out; look, and decide RETRY if ${labware.name} can be put back, or take it out of the gripper and say where it is`,
  )
}

/** Marks labware whose move is given up during the place: it may already stand at the target. */
function mayStandThere(thread: Mover, { hop, state }: MoveRun): void {
  if (thread.labware.held_by === null || !state.is_placing || hop.to === hop.from) return
  thread.setLabware({ placing: hop.to })
}

/** Marks labware as held by the gripper if its pick failed and nobody has said since where it is. */
function mayBeInGripper(thread: Mover, { hop: { transporter } }: MoveRun): void {
  const { environment, thread_id } = thread
  const isFree = environment.scheduler.transporters.holder(transporter) === undefined
  // An arm that another thread uses has an empty gripper. A person may still have the labware.
  if (!mayBePicked(thread.state) || !(isFree || isPerson(thread, transporter))) return
  if (isFree) environment.scheduler.take(transporter, thread_id, () => {})
  thread.setLabware({ held_by: transporter })
}

/** Whether the arm refused the pick before it moved. An arm that is stopped was ready a moment before, so the stop may have come during the motion. */
function isRefusedPick(error: unknown): boolean {
  return error instanceof PutElsewhere || (isHarmless(error) && error.code !== 'stopped')
}

/** Notes that a pick failed during the motion. The next pick with the transporter by another thread clears the note. */
function failedToPick(thread: Mover, move: MoveRun): void {
  // Without drivers there is no gripper that could be full.
  if (thread.environment.mode === 'PURE_SIM') return
  move.set({ has_failed_pick: true })
  const { hop } = move
  // A person who begins with other labware may have this one put down anywhere.
  if (isPerson(thread, hop.transporter)) return
  thread.environment.failedPicks.set(hop.transporter, (has_failed_pick) => {
    // A later attempt at the hop may have replaced the move.
    if (thread.move?.hop === hop) thread.move.set({ has_failed_pick })
  })
}

/**
 * Begins a pick. Its gripper must be empty, so labware that another thread failed to pick with it still stands where it stood. The returned function
 * undoes that conclusion if the pick is not commanded after all. `holder` is the gripper out of which a person is to take the labware.
 */
function beginsToPick(thread: Mover, { hop, status }: MoveRun, holder: string | null): () => void {
  const { failedPicks } = thread.environment
  const failed = failedPicks.get(hop.transporter)
  failed?.(false)
  failedPicks.delete(hop.transporter)
  if (holder !== null) thread.setLabware({ taken_by: hop.transporter })
  status.become('PICKING')
  return () => {
    if (holder !== null && thread.labware.held_by === holder) thread.setLabware({ taken_by: undefined })
    if (failed) failedPicks.set(hop.transporter, failed)
    failed?.(true)
  }
}

/**
 * After a restart: keeps arms and devices apart at each place where labware of a cut-off move may be, and reports the labware, or asks the person who
 * carried it. `cut` is the move under way when the service ended; a move that an earlier restart cut off was reported then.
 */
export function reportUncertain(thread: Mover, cut: MoveState | null): void {
  const { execution, labware, state, thread_id, environment } = thread
  const { placing } = state
  const position = environment.scheduler.whereIs(labware.labware_id)
  if (position === undefined || !isUncertain(state)) return
  environment.scheduler.access.reachIn(thread_id, [position, ...(placing === null ? [] : [placing])])
  const moving = cut?.status === 'PICKING' || cut?.status === 'PLACING' ? cut : null
  const asked = state.asked ?? (moving?.step_id ? moving : null)
  const person = asked ? environment.equipment.person?.(asked.transporter) : undefined
  if (asked && person) showAgain(thread, asked, person)
  if (person || environment.mode === 'PURE_SIM' || !moving) return
  thread.isWitnessed = true
  execution.events.incident('LEDGER_CONTRADICTED', uncertainty(state), thread)
}

/** Reports labware that an ending thread may leave in a gripper. Keeps each place where it may be, until somebody says where it is. */
export function leaveUncertain(thread: Mover): void {
  const { execution, labware, state, thread_id, environment } = thread
  const { labware_id, name } = labware
  if (labware.held_by === null) return
  if (state.placing !== null) thread.setLabware({ placing: labware.placing ?? state.placing })
  if (labware.placing !== undefined) environment.scheduler.holds.transfer(thread_id, labware_id, labware.placing)
  environment.scheduler.access.transferReach(thread_id, labware_id)
  const place = placeOf(labware, environment.scheduler.whereIs(labware_id) ?? null)
  const message = `the move of ${name} was cut off: it is ${place}; look, and say where it is (PUT /api/labware/${labware_id}/location)`
  execution.events.incident('LEDGER_CONTRADICTED', message, thread)
}

type Failed = { error: unknown; isThere: () => boolean }

async function decide(thread: Mover, { from, to, transporter }: Hop, { error, isThere }: Failed): Promise<void> {
  const { execution, labware, state } = thread
  const already = state.placing === null ? '' : `, or it stands at ${state.placing} already`
  const where = labware.taken_by
    ? `it is ${placeOf(mayBe(state), from)}`
    : labware.held_by && !state.picking
      ? `as far as is known it is held by ${labware.held_by}${already}`
      : state.picking || mayBePicked(state)
        ? `it is ${placeOf(mayBe(state), from)}`
        : `as far as is known it stands at ${from}`
  const what = from === to ? `set back at ${to}` : `brought from ${from} to ${to}`
  execution.events.incident(
    categoryOf(error, 'MOVE_FAILED'),
    `${labware.name} was not ${what} by ${transporter}: ${messageOf(error).replace(/\.$/, '')}; ${where}`,
    thread,
    {
      recovery_action: 'THREAD_RECOVER_RETRY',
      error,
      detail: { ...(thread.action && labware.held_by === null && otherDevices(thread.action.plan, thread.action.device)) },
    },
  )
  const before = state.retry_on
  const going = await thread.control.decisionAt('MOVE', error, {
    refuses: (decision) =>
      decision === 'RETRY' && thread.control.isLost
        ? uncertainty(state)
        : decision === 'CONTINUE' && !isThere()
          ? `${labware.name} is not known to be at ${to}; put it there and edit its position first`
          : undefined,
  })
  // The operator has chosen another device for the action.
  if (state.retry_on !== before) throw thread.control.leaves('again')
  if (going === 'on')
    execution.events.incident('MOVE_CONTINUED', `an operator says that ${labware.name} is at ${to}`, thread, { severity: 'INFO' })
  thread.control.recovered(thread instanceof LidCarrier && thread.action ? 'EXECUTING_ACTION' : 'MOVING')
}

async function carry(thread: Mover, move: MoveRun, isThere: () => boolean): Promise<void> {
  const { labware, environment } = thread
  const { signal } = thread.control
  const { from, to, transporter } = move.hop
  const { scheduler, equipment } = environment
  if (isThere()) return
  const person = equipment.person?.(transporter)
  const use = useOf(thread.thread_id, move.state, person)
  await take(thread, transporter)
  for (let wait = comeNear(thread, move.hop, use); wait; wait = comeNear(thread, move.hop, use)) {
    await wait
    await take(thread, transporter)
  }
  const wasPlacing = move.state.is_placing
  const carrier = person ? new PersonTask(thread, move, person) : byMachine(thread, move)
  const sync = new MotionSync(thread)
  let letGo: (() => void) | undefined
  let takeBack: (() => void) | undefined
  try {
    await thread.execution.gate.mayBegin()
    letGo = holdAll(thread, move.hop)
    const preparing = { signal, beforeMotion: () => sync.beforePreparing() }
    const open = (position: string) => {
      const device = scheduler.graph.positions.get(position)?.device
      return device ? openUp(environment, device, preparing) : undefined
    }
    if (labware.held_by === transporter) {
      // A person who was stopped is asked for nothing. An arm refuses by itself.
      if (person) await getReady(environment, transporter, preparing)
      await open(to)
      mustBeClear(thread, to)
    } else {
      const holder = person ? labware.held_by : null
      if (holder === null) mustBeEmpty(transporter, thread)
      move.status.become('PREPARING_TO_MOVE')
      await getReady(environment, transporter, preparing)
      // Checked before the pick: an arm must not hold labware that it cannot put down.
      mustReach(thread, move.hop)
      for (const position of [from, to]) await open(position)
      mustBeClear(thread, to)
      takeBack = beginsToPick(thread, move, holder)
      await sync.beforeMotion()
      move.picked_ms = environment.clock.now()
      await carrier.pick()
      // The person has taken it out of the gripper of another transporter.
      if (holder !== null) scheduler.transporters.giveBack(holder, thread.thread_id)
      thread.setLabware({ held_by: transporter })
      move.set({ is_placing: false, has_failed_pick: false })
    }
    await identifyHeld(thread, move)
    move.status.become('PLACING')
    move.set({ is_placing: true })
    // The labware of a person who has put it down already does not move any more.
    if (!carrier.isDone) await sync.beforeMotion()
    await carrier.place()
    // In one turn, or the disk could record that the labware still stands where it was picked.
    thread.setLabware({ held_by: null, ...storedIn(to, labware, () => thread.execution.now()) })
    if (!isThere()) scheduler.arrive(labware.labware_id, to)
    learn(environment, move, person)
  } catch (error) {
    if (!sync.isBegun) move.set({ is_placing: wasPlacing })
    // Before the transporter is given back: no other thread may get it while its gripper may be full.
    if (signal.aborted && move.picked_ms !== null && scheduler.whereIs(labware.labware_id) === from)
      thread.setLabware({ held_by: labware.held_by ?? transporter })
    if (signal.aborted) mayStandThere(thread, move)
    if (move.status.current === 'PICKING' && !move.state.is_picked) {
      if (!sync.isBegun || isRefusedPick(error)) takeBack?.()
      else if (!signal.aborted) failedToPick(thread, move)
    }
    throw error
  } finally {
    carrier.close()
    if (use) environment.space.leave(use)
    letGo?.()
    // An arm that stopped during a motion may still be inside the device.
    if ((move.picked_ms === null && !move.state.is_placing) || isThere()) scheduler.access.reachedIn(thread.thread_id)
    // A thread keeps the transporter while its labware is in the gripper.
    if (labware.held_by !== transporter) scheduler.transporters.giveBack(transporter, thread.thread_id)
  }
}

/**
 * Lets the transporter, which the thread has, come near: undefined when the devices that it reaches into are at rest, and no person and transporter are in
 * each other's way. Otherwise the promise resolves when it is to be tried anew.
 */
function comeNear(thread: Mover, hop: Hop, use: Use | null): Promise<void> | undefined {
  const { space } = thread.environment
  const rest = reachIn(thread, hop)
  // Others may move while the devices come to rest.
  if (rest && use) space.leave(use)
  return rest ?? (use ? enterSpace(thread, use) : undefined)
}

/** Learns how long a pick and a place took together. */
function learn(environment: RunEnvironment, { hop, picked_ms }: MoveRun, person: Person | undefined): void {
  if (environment.mode === 'PURE_SIM' || picked_ms === null) return
  const seconds = secondsAt(hop.transporter, picked_ms, environment)
  if (person) environment.durations?.carriedByPerson(hop, seconds)
  else environment.durations?.carried(hop.transporter, seconds)
}

/** Picks and places with an arm. */
function byMachine(thread: Mover, { hop: { from, to, transporter }, operations }: MoveRun) {
  const carry = (verb: 'pick' | 'place', position: string) => {
    return thread.environment.equipment.carry(transporter, verb, {
      position,
      from,
      to,
      labware: carriedBy(thread, position),
      signal: thread.control.signal,
      begun: (operation_id) => void operations.push({ operation: verb, operation_id, part: verb }),
    })
  }
  return { isDone: false, pick: () => carry('pick', from), place: () => carry('place', to), close: () => {} }
}

/** Leases the transporter and the devices that it reaches into to the run. The returned function ends the leases. Throws `locked`. */
function holdAll({ environment, execution }: Mover, { from, to, transporter }: Hop): () => void {
  const devices = [from, to].flatMap((position) => environment.scheduler.graph.positions.get(position)?.device ?? [])
  const held: (() => void)[] = []
  const letGo = () => {
    for (const one of held) one()
  }
  try {
    for (const device of [transporter, ...devices]) held.push(environment.equipment.hold?.(device, execution.execution_id) ?? (() => {}))
  } catch (error) {
    letGo()
    throw error
  }
  return letGo
}

/** Notes that somebody has taken the labware out of the gripper. */
function outOfGripper(thread: Mover): void {
  const { held_by } = thread.labware
  if (held_by === null) return
  thread.setLabware({ held_by: null })
  thread.environment.scheduler.transporters.giveBack(held_by, thread.thread_id)
}
