// One hop of labware with a transporter, and where the labware may be when the hop was cut off.

import type { Person } from '../../../devices/device.ts'
import { isHarmless } from '../../../devices/failure.ts'
import { LabError, messageOf } from '../../../errors.ts'
import type { Hop } from '../../plans/graph.ts'
import { otherDevices } from '../../plans/plan.ts'
import { type Labware, placeOf } from '../../state/labware.ts'
import { isUncertain, type MoveState, mayBe, mayBePicked, uncertainty } from '../../state/move.ts'
import { categoryOf } from '../action/causes.ts'
import { enterSpace, reachIn, take } from '../clearance.ts'
import { getReady, openUp } from '../preparation.ts'
import { Interrupt } from '../recovery.ts'
import { secondsAt } from '../run_environment.ts'
import type { LabwareThread } from '../thread.ts'
import { endUncertainty } from './by_hand.ts'
import { MotionSync } from './motion_sync.ts'
import { MoveRun } from './move.ts'
import { PersonTask, PutElsewhere, showAgain } from './person_task.ts'

/**
 * After a restart: sets labware in a gripper back where it was picked; that position is still reserved for it. Its route is lost, and a full
 * gripper would block the thread that must move first.
 */
export async function setBack(thread: LabwareThread): Promise<void> {
  const { labware, environment } = thread
  const position = environment.scheduler.whereIs(labware.labware_id)
  if (labware.held_by === null || position === undefined) return
  await thread.control.safePoint()
  thread.become('AWAITING_MOVE_RESERVATION')
  thread.become('AWAITING_MOVE_TARGET_AVAILABILITY')
  thread.become('MOVING')
  // A person may have taken the labware out meanwhile.
  if (labware.held_by !== null) await ride(thread, { from: position, to: position, transporter: labware.held_by })
  endUncertainty(thread)
  environment.scheduler.access.reachedIn(thread.thread_id)
}

/** Makes one hop, as often as it takes: each attempt is a new move. */
export async function ride(thread: LabwareThread, hop: Hop): Promise<void> {
  const { scheduler } = thread.environment
  const { labware } = thread
  const isSetBack = hop.from === hop.to
  const isThere = () => (isSetBack ? labware.held_by === null : scheduler.whereIs(labware.labware_id) === hop.to)
  let isAsked = false
  let before: MoveRun | undefined
  for (;;) {
    const move = new MoveRun(thread, hop, before?.state)
    before = move
    thread.move = move
    try {
      if (isSetBack && !isAsked) mayGoBack(thread, hop)
      thread.carrying = carry(thread, move, isThere)
      await thread.carrying
      move.status.become('COMPLETED')
      return
    } catch (error) {
      const isCutOff = error instanceof Interrupt || thread.control.signal.aborted
      move.status.become(isCutOff ? 'ABORTED' : 'ERRORED')
      if (isCutOff) throw new Interrupt('abort')
      isAsked = true
      try {
        if (!(error instanceof PutElsewhere)) await decide(thread, hop, { error, isThere })
      } catch (interrupt) {
        mayStandThere(thread, move)
        if (interrupt instanceof Interrupt) mayBeInGripper(thread, move)
        throw interrupt
      }
      // A person who put the labware elsewhere took it out of the gripper.
      if (scheduler.whereIs(labware.labware_id) !== hop.from) outOfGripper(thread)
      if (!isThere() && scheduler.whereIs(labware.labware_id) === hop.from) continue
      scheduler.access.reachedIn(thread.thread_id)
      return
    } finally {
      thread.move = null
      thread.carrying = null
    }
  }
}

/** Throws `conflict` where a person must look first: a real storage may have brought up its next labware, and one would be put upon the other. */
function mayGoBack(thread: LabwareThread, { to, transporter }: Hop): void {
  const { labware, environment } = thread
  if (thread.control.isLost) throw new LabError('conflict', uncertainty(thread.state))
  if (!environment.scheduler.graph.positions.get(to)?.storage || !environment.equipment.isReal?.(transporter)) return
  throw new LabError(
    'conflict',
    `${to} may have brought up its next one since ${labware.name} was taken out of it; look, and RETRY where it can be put back, or take it out of the gripper and say where it is`,
  )
}

/** Marks labware whose move is given up while it is being put down: it may stand there already. */
function mayStandThere(thread: LabwareThread, { hop, state }: MoveRun): void {
  if (thread.labware.held_by === null || !state.is_placing || hop.to === hop.from) return
  thread.setLabware({ placing: hop.to })
}

/** Marks labware whose pick failed, and about which nobody has said where it is: it may be in the gripper. */
function mayBeInGripper(thread: LabwareThread, { hop: { transporter } }: MoveRun): void {
  const { environment, thread_id } = thread
  if (!mayBePicked(thread.state) || environment.scheduler.transporters.holder(transporter) !== undefined) return
  environment.scheduler.take(transporter, thread_id, () => {})
  thread.setLabware({ held_by: transporter })
}

/**
 * Tells whether the arm refused the pick before it moved. An arm that is stopped now was ready a moment before, so the stop may have come in the midst
 * of the motion.
 */
function isRefusedPick(error: unknown): boolean {
  return error instanceof PutElsewhere || (isHarmless(error) && error.code !== 'stopped')
}

/** Notes that a pick failed in the midst of the motion, until a pick of another thread begins with the transporter. */
function failedToPick(thread: LabwareThread, move: MoveRun): void {
  // Without drivers there is no gripper that could be full.
  if (thread.environment.mode === 'PURE_SIM') return
  move.set({ has_failed_pick: true })
  const { hop } = move
  thread.environment.failedPicks.set(hop.transporter, (has_failed_pick) => {
    // Another attempt at the hop may have been refused since.
    if (thread.move?.hop === hop) thread.move.set({ has_failed_pick })
  })
}

/**
 * Begins to pick. The gripper is empty then: labware that another thread failed to pick with it stands where it stood. The returned function takes that
 * back, for a pick that is not commanded.
 */
function beginsToPick({ environment }: LabwareThread, { hop, status }: MoveRun): () => void {
  const { failedPicks } = environment
  const failed = failedPicks.get(hop.transporter)
  failed?.(false)
  failedPicks.delete(hop.transporter)
  status.become('PICKING')
  return () => {
    if (failed) failedPicks.set(hop.transporter, failed)
    failed?.(true)
  }
}

/**
 * After a restart: keeps arms and devices apart where labware may be whose move was cut off, and reports it, or asks the person who carried it. `cut` is
 * the move under way when the service ended: a move that an earlier end cut off was reported at the start after that.
 */
export function reportUncertain(thread: LabwareThread, cut: MoveState | null): void {
  const { execution, labware, state, thread_id, environment } = thread
  const { placing } = state
  const position = environment.scheduler.whereIs(labware.labware_id)
  if (position === undefined || !isUncertain(state)) return
  environment.scheduler.access.reachIn(thread_id, [position, ...(placing === null ? [] : [placing])])
  if (environment.mode === 'PURE_SIM' || (cut?.status !== 'PICKING' && cut?.status !== 'PLACING')) return
  const person = environment.equipment.person?.(cut.transporter)
  if (person) return showAgain(thread, cut, person)
  thread.isWitnessed = true
  execution.events.incident('LEDGER_CONTRADICTED', uncertainty(state), thread)
}

/** Reports labware that its thread leaves in a gripper, perhaps, and keeps each place where it may be until somebody says where it is. */
export function leaveUncertain(thread: LabwareThread): void {
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

async function decide(thread: LabwareThread, { from, to, transporter }: Hop, { error, isThere }: Failed): Promise<void> {
  const { execution, labware, state } = thread
  const already = state.placing === null ? '' : `, or it stands at ${state.placing} already`
  const where =
    labware.held_by && !state.picking
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
  // The action is to be done at another device.
  if (state.retry_on !== before) throw thread.control.leaves('again')
  if (going === 'on')
    execution.events.incident('MOVE_CONTINUED', `an operator says that ${labware.name} is at ${to}`, thread, { severity: 'INFO' })
  thread.control.recovered('MOVING')
}

async function carry(thread: LabwareThread, move: MoveRun, isThere: () => boolean): Promise<void> {
  const { labware, environment } = thread
  const { signal } = thread.control
  const { from, to, transporter } = move.hop
  const { scheduler, equipment } = environment
  if (isThere()) return
  const person = equipment.person?.(transporter)
  const leaveSpace = await comeNear(thread, move.hop, person)
  const carrier = person ? new PersonTask(thread, move, person) : byMachine(thread, move.hop)
  const sync = new MotionSync(thread)
  const wasPlacing = move.state.is_placing
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
    if (labware.held_by === transporter) await open(to)
    else {
      mustBeEmpty(transporter, thread)
      move.status.become('PREPARING_TO_MOVE')
      await getReady(environment, transporter, preparing)
      // Labware that is in the gripper already can go nowhere where the arm cannot put it down.
      equipment.mustReach?.(transporter, [from, to])
      for (const position of [from, to]) await open(position)
      takeBack = beginsToPick(thread, move)
      await sync.beforeMotion()
      move.picked_ms = environment.clock.now()
      await carrier.pick()
      thread.setLabware({ held_by: transporter })
      move.set({ is_placing: false, has_failed_pick: false })
    }
    move.status.become('PLACING')
    move.set({ is_placing: true })
    await sync.beforeMotion()
    await carrier.place()
    // In one turn: a run that is persisted in between would have the labware stand where it was picked.
    thread.setLabware({ held_by: null })
    if (!isThere()) scheduler.arrive(labware.labware_id, to)
    if (environment.mode !== 'PURE_SIM' && move.picked_ms !== null)
      environment.durations?.carried(transporter, secondsAt(transporter, move.picked_ms, environment))
  } catch (error) {
    if (!sync.isBegun) move.set({ is_placing: wasPlacing })
    // This comes before the transporter is given back: no other thread may have it while its gripper may be full.
    if (signal.aborted && move.picked_ms !== null && scheduler.whereIs(labware.labware_id) === from)
      thread.setLabware({ held_by: labware.held_by ?? transporter })
    if (signal.aborted) mayStandThere(thread, move)
    if (move.status.current === 'PICKING') {
      if (!sync.isBegun || isRefusedPick(error)) takeBack?.()
      else if (!signal.aborted) failedToPick(thread, move)
    }
    throw error
  } finally {
    carrier.close()
    leaveSpace()
    letGo?.()
    // An arm that broke off in a motion may still be in the device.
    if ((move.picked_ms === null && !move.state.is_placing) || isThere()) scheduler.access.reachedIn(thread.thread_id)
    // A thread keeps the transporter while its labware is in the gripper.
    if (labware.held_by !== transporter) scheduler.transporters.giveBack(transporter, thread.thread_id)
  }
}

/**
 * Takes the transporter, and waits until it may move: the devices that it reaches into are at rest, and no person and transporter are in each other's way.
 * The returned function says that the move has ended.
 */
async function comeNear(thread: LabwareThread, hop: Hop, person: Person | undefined): Promise<() => void> {
  const { space } = thread.environment
  const { from, to, transporter } = hop
  const hands = person && !person.settings.shared_space ? [from, to] : null
  const use = { thread_id: thread.thread_id, transporter, hands }
  // A person who shares the space keeps nobody out, and is kept out by nobody.
  const isApart = !person || hands !== null
  for (;;) {
    await take(thread, transporter)
    const rest = reachIn(thread, hop) ?? (isApart ? enterSpace(thread, use) : undefined)
    if (!rest) return () => space.leave(use)
    await rest
  }
}

/** Picks and places with an arm. */
function byMachine({ environment, labware, control }: LabwareThread, { from, to, transporter }: Hop) {
  const carry = (verb: 'pick' | 'place', position: string) => {
    const { name, type, barcode } = labware
    return environment.equipment.carry(transporter, verb, { position, labware: { name, type, barcode }, signal: control.signal })
  }
  return { pick: () => carry('pick', from), place: () => carry('place', to), close: () => {} }
}

/** Leases the transporter, and the devices into which it reaches, to the execution. The returned function ends the leases. Throws `locked`. */
function holdAll({ environment, execution }: LabwareThread, { from, to, transporter }: Hop): () => void {
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

/** Throws `conflict` when another gripper has the labware, or a thread that has ended left something in this one. */
function mustBeEmpty(transporter: string, { environment, labware }: LabwareThread): void {
  const held = labware.held_by ? labware : heldBy(transporter, environment.labware.values())
  if (!held) return
  throw new LabError(
    'conflict',
    `${held.name} is held by ${held.held_by}; take it out by hand, and say where it is (PUT /api/labware/${held.labware_id}/location)`,
  )
}

function heldBy(transporter: string, labware: Iterable<Labware>): Labware | undefined {
  for (const one of labware) if (one.held_by === transporter) return one
  return undefined
}

/** The labware is in no gripper: somebody has taken it out. */
function outOfGripper(thread: LabwareThread): void {
  const { held_by } = thread.labware
  if (held_by === null) return
  thread.setLabware({ held_by: null })
  thread.environment.scheduler.transporters.giveBack(held_by, thread.thread_id)
}
