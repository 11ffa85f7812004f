// Bringing labware from where it stands to a seat that is reserved for it, hop by hop.

import { LabError, messageOf } from '../../errors.ts'
import type { Hop } from '../plans/graph.ts'
import type { Candidate, Obstacle } from '../scheduler/request.ts'
import { type ActionStatus, actionTransitions, Status } from '../statuses.ts'
import { categoryOf } from './causes.ts'
import { placeOf } from './labware.ts'
import { Unwind } from './recovery.ts'
import type { LabwareThread } from './thread.ts'
import { secondsAt } from './world.ts'

/**
 * The whole way is granted at once, so that nothing ever waits where it blocks others. A stop waits for the arrival. `reserve` answers the
 * seat to go to, each time anew. Throws `conflict` when that is not kept for it any more.
 */
export async function goTo(thread: LabwareThread, reserve: string | (() => string)): Promise<void> {
  const { scheduler } = thread.world
  const { labware, thread_id } = thread
  const { labware_id } = labware
  for (;;) {
    const seat = typeof reserve === 'string' ? reserve : reserve()
    if (scheduler.whereIs(labware_id) === seat) return
    // Somebody put it there by hand, and then elsewhere: that used the reservation up.
    if (scheduler.seat(seat).reserved_for !== thread_id)
      throw new LabError('conflict', `${seat} is kept for ${labware.name} no longer, which was put elsewhere by hand; try again`)
    mustLead(thread, seat, [{ seat }])
    thread.become('AWAITING_MOVE_RESERVATION')
    let travel: ReturnType<typeof scheduler.requestRoute> | undefined
    const route = await thread.wait<readonly Hop[]>(
      { kind: 'reservation', what: `the way to ${seat}`, interruptedBy: 'abort', obstacles: () => travel?.explain() ?? [] },
      (resolve) => {
        travel = scheduler.requestRoute(thread.thread_id, labware_id, seat, resolve)
        return travel.withdraw
      },
    )
    for (const hop of route) {
      if (scheduler.whereIs(labware_id) !== hop.from) break
      thread.become('AWAITING_MOVE_RESERVATION')
      thread.become('AWAITING_MOVE_TARGET_AVAILABILITY')
      thread.become('MOVING')
      thread.labware.state = 'IN_JOURNEY'
      await ride(thread, hop)
    }
    // Over already, unless somebody put the labware elsewhere, or there.
    travel?.withdraw()
  }
}

/**
 * After a restart: what is in a gripper goes back to where it was picked, which is its own still. The way that it had is lost, and with
 * a full gripper whoever is wanted first could not come by.
 */
export async function setBack(thread: LabwareThread): Promise<void> {
  const { labware, world } = thread
  const seat = world.scheduler.whereIs(labware.labware_id)
  if (labware.held_by === null || seat === undefined) return
  await thread.safePoint()
  thread.become('AWAITING_MOVE_RESERVATION')
  thread.become('AWAITING_MOVE_TARGET_AVAILABILITY')
  thread.become('MOVING')
  // By hand, meanwhile.
  if (labware.held_by !== null) await ride(thread, { from: seat, to: seat, transporter: labware.held_by })
  knowsBetter(thread)
}

/** Where it was being put down when the service ended it does not stand, or it is known to. */
export function knowsBetter(thread: LabwareThread): void {
  const { placing, world, thread_id } = thread
  thread.placing = null
  thread.picking = false
  thread.touch()
  if (placing !== null) world.scheduler.letGo(thread_id, placing)
}

/** Throws `conflict` where somebody has carried it to a place from which there is no way to any of these. */
export function mustLead({ thread_id, labware, world }: LabwareThread, what: string, candidates: readonly Candidate[]): void {
  if (world.scheduler.canReach(thread_id, candidates)) return
  const from = world.scheduler.whereIs(labware.labware_id)
  throw new LabError(
    'conflict',
    `there is no way from ${from} to ${what}; carry ${labware.name} to where there is one, and say that it stands there`,
  )
}

/** One hop, as often as it takes: each attempt is a new move. */
async function ride(thread: LabwareThread, hop: Hop): Promise<void> {
  const { scheduler } = thread.world
  const { labware } = thread
  const isSetBack = hop.from === hop.to
  const isThere = () => (isSetBack ? labware.held_by === null : scheduler.whereIs(labware.labware_id) === hop.to)
  let isAsked = false
  for (;;) {
    const move = new MoveRun(thread, hop)
    thread.move = move
    try {
      if (isSetBack && !isAsked) mayGoBack(thread, hop)
      thread.carrying = carry(thread, move, isThere)
      await thread.carrying
      move.status.become('COMPLETED')
      return
    } catch (error) {
      const isCutOff = error instanceof Unwind || thread.signal.aborted
      move.status.become(isCutOff ? 'ABORTED' : 'ERRORED')
      if (isCutOff) throw new Unwind('abort')
      isAsked = true
      try {
        await decide(thread, hop, { error, isThere })
      } catch (unwind) {
        mayStandThere(thread, move)
        throw unwind
      }
      // Whoever put it elsewhere took it out of the gripper.
      if (scheduler.whereIs(labware.labware_id) !== hop.from) letGo(thread)
      if (isThere() || scheduler.whereIs(labware.labware_id) !== hop.from) return
    } finally {
      thread.move = null
      thread.carrying = null
    }
  }
}

/** Throws `conflict`, for somebody to look: a real storage may have brought up its next one, and one would be put upon the other. */
function mayGoBack({ labware, world, picking }: LabwareThread, { to, transporter }: Hop): void {
  // Without drivers there is no gripper to look at.
  if (picking && world.mode !== 'PURE_SIM')
    throw new LabError(
      'conflict',
      `the service ended while ${transporter} picked ${labware.name} up; look, and say where it is (benchd labware put ${labware.labware_id} PLACE)`,
    )
  if (!world.scheduler.graph.seats.get(to)?.storage || !world.equipment.isReal?.(transporter)) return
  throw new LabError(
    'conflict',
    `${to} may have brought up its next one since ${labware.name} was taken out of it; look, and RETRY where it can be put back, or take it out of the gripper and say where it is`,
  )
}

/** Marks labware whose move is given up while it is being put down: it may stand there already. */
function mayStandThere({ labware }: LabwareThread, { hop, isPlacing }: MoveRun): void {
  if (labware.held_by !== null && isPlacing && hop.to !== hop.from) labware.placing = hop.to
}

/** Reports labware that its thread leaves in a gripper, perhaps, and keeps each place where it may be until somebody says where it is. */
export function leaveUncertain(thread: LabwareThread): void {
  const { execution, labware, placing, thread_id, world } = thread
  const { labware_id, name } = labware
  if (labware.held_by === null) return
  if (placing !== null) labware.placing ??= placing
  if (labware.placing !== undefined) world.scheduler.transferReservation(thread_id, labware_id, labware.placing)
  const place = placeOf(labware, world.scheduler.whereIs(labware_id) ?? null)
  const message = `the move of ${name} was cut off: it is ${place}; look, and say where it is (benchd labware put ${labware_id} PLACE)`
  execution.incident('LEDGER_CONTRADICTED', message, thread)
}

type Failed = { error: unknown; isThere: () => boolean }

async function decide(thread: LabwareThread, { from, to, transporter }: Hop, { error, isThere }: Failed): Promise<void> {
  const { execution, labware } = thread
  const already = thread.placing === null ? '' : `, or it stands at ${thread.placing} already`
  const where =
    labware.held_by && !thread.picking
      ? `as far as is known it is in the gripper of ${labware.held_by}${already}`
      : thread.picking
        ? `it is ${placeOf(labware, from)}`
        : `it should stand at ${from}`
  const what = from === to ? `set back at ${to}` : `brought from ${from} to ${to}`
  execution.incident(
    thread.picking ? 'LEDGER_CONTRADICTED' : categoryOf(error, 'MOVE_FAILED'),
    `${labware.name} was not ${what} by ${transporter}: ${messageOf(error)}; ${where}`,
    thread,
    {
      recovery_action: 'THREAD_RECOVER_RETRY',
      error,
    },
  )
  const decision = await thread.decisionAt('MOVE', error, {
    refuses: (decision) =>
      decision === 'RETRY' && thread.picking && thread.world.mode !== 'PURE_SIM'
        ? `nobody has said where ${labware.name} is; look, and say it: benchd labware put ${labware.labware_id} PLACE`
        : decision === 'CONTINUE' && !isThere()
          ? `${labware.name} is not known to be at ${to}; put it there and edit its position first`
          : undefined,
  })
  if (decision === 'ABORT_THREAD') throw new Unwind('abort')
  if (decision === 'CONTINUE')
    execution.incident('MOVE_CONTINUED', `an operator says that ${labware.name} is at ${to}`, thread, { severity: 'INFO' })
  thread.recovered('MOVING')
}

async function carry(thread: LabwareThread, move: MoveRun, isThere: () => boolean): Promise<void> {
  const { labware, signal, world } = thread
  const { from, to, transporter } = move.hop
  const { scheduler, equipment } = world
  if (isThere()) return
  await take(thread, transporter)
  let letGo: (() => void) | undefined
  try {
    await thread.execution.beforeMotion()
    letGo = equipment.hold?.(transporter, thread.execution.execution_id)
    const open = async (seat: string) => {
      const device = scheduler.graph.seats.get(seat)?.device
      if (device) await equipment.open(device, signal)
    }
    if (labware.held_by === transporter) await open(to)
    else {
      mustBeEmpty(transporter, thread)
      move.status.become('PREPARING_TO_MOVE')
      await equipment.ready(transporter, signal)
      for (const seat of [from, to]) await open(seat)
      move.status.become('PICKING')
      move.picked_ms = world.clock.now()
      await kept(thread)
      await equipment.carry(transporter, 'pick', from, signal)
      labware.held_by = transporter
    }
    move.status.become('PLACING')
    move.isPlacing = true
    await kept(thread)
    await equipment.carry(transporter, 'place', to, signal)
    // In one go: whoever is kept in between would have it stand where it was picked.
    labware.held_by = null
    if (!isThere()) scheduler.arrive(labware.labware_id, to)
    if (world.mode !== 'PURE_SIM' && move.picked_ms !== null)
      world.durations?.carried(transporter, secondsAt(transporter, move.picked_ms, world))
  } catch (error) {
    // Before the transporter is given back: nobody else may have it while its gripper may be full.
    if (signal.aborted && move.picked_ms !== null && scheduler.whereIs(labware.labware_id) === from) labware.held_by ??= transporter
    if (signal.aborted) mayStandThere(thread, move)
    throw error
  } finally {
    letGo?.()
    // What is in its gripper is nobody else's to carry on.
    if (labware.held_by !== transporter) scheduler.giveBack(transporter, thread.thread_id)
  }
}

/** Should the power fail from here on, the card knows where it may be; where that cannot be written, nothing else would be better. */
async function kept({ execution }: LabwareThread): Promise<void> {
  await execution.memory?.kept().catch(() => undefined)
}

/** Waits for a turn with the transporter, unless it is ours because of what is in its gripper. */
async function take(thread: LabwareThread, transporter: string): Promise<void> {
  const { scheduler } = thread.world
  if (scheduler.userOf(transporter) === thread.thread_id) return
  const obstacles = (): Obstacle[] => [
    { wanted: transporter, reason: 'held', thread_id: scheduler.userOf(transporter) ?? null, labware_id: null },
  ]
  const waiting = { kind: 'reservation', what: `transporter ${transporter}`, interruptedBy: 'abort', obstacles } as const
  await thread.wait<void>(waiting, (resolve) => scheduler.take(transporter, thread.thread_id, () => resolve()).withdraw)
}

/** Throws `conflict` when another gripper has the labware, or a thread that has ended left something in this one. */
function mustBeEmpty(transporter: string, { world, labware }: LabwareThread): void {
  const others = [...world.labware.values()].filter(({ held_by }) => held_by === transporter)
  const held = labware.held_by ? labware : others[0]
  if (!held) return
  throw new LabError(
    'conflict',
    `${held.name} is in the gripper of ${held.held_by}; take it out by hand, and say where it is (PUT /api/labware/${held.labware_id}/location)`,
  )
}

function letGo({ labware, world, thread_id }: LabwareThread): void {
  if (labware.held_by === null) return
  const transporter = labware.held_by
  labware.held_by = null
  world.scheduler.giveBack(transporter, thread_id)
}

/** One attempt at a hop. */
export class MoveRun {
  readonly action_id: string
  readonly thread: LabwareThread
  readonly hop: Hop
  /** When the pick was commanded, on the clock of the world. */
  picked_ms: number | null = null
  /** Whether the place was commanded. */
  isPlacing = false
  readonly status: Status<ActionStatus>

  constructor(thread: LabwareThread, hop: Hop) {
    this.action_id = thread.world.newId()
    this.thread = thread
    this.hop = hop
    this.status = new Status<ActionStatus>(actionTransitions, 'CREATED', (status) => this.#publish(status))
    this.status.become('AWAITING_MOVE_RESERVATION')
  }

  #publish(action_status: ActionStatus): void {
    const { thread, action_id } = this
    const { execution } = thread
    execution.emit('ACTION', action_id, action_status, Object.assign(thread.context(), { action_id, action_status, action_name: null }))
    execution.timeline.move(this, action_status)
  }
}
