// Where each labware is, and how an operator says that it is elsewhere: it was carried there by hand, or taken away.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { remedyOf } from './runs/in_the_way.ts'
import { ShownLabware } from './snapshot.ts'
import { type StandingLabware, standingLabwareOf } from './standing_labware.ts'
import { isLabware, type Labware, placeOf, storedIn } from './state/labware.ts'
import { runModes } from './state/modes.ts'
import { mayBe, provenBy, uncertainty } from './state/move.ts'
import { slotOf } from './state/slots.ts'
import { LidCarrier, lidCarrierOf, type Mover, takeLidOff } from './threads/lid_carrier.ts'
import { endUncertainty, mustBeFree, putByHand } from './threads/move/by_hand.ts'
import { carriedBy } from './threads/move/carried_labware.ts'
import { onItsWay } from './threads/recovery.ts'
import type { RunEnvironment } from './threads/run_environment.ts'
import type { LabwareThread } from './threads/thread.ts'

const MaybeText = v.nullable(v.string())

export const Whereabouts = v.strictObject({
  ...ShownLabware.entries,
  run_mode: v.picklist(runModes),
  position: described(MaybeText, 'null for what is not there yet'),
  stored_at: described(
    v.nullable(v.number()),
    'When it came into its slot of a storage; null elsewhere, and where that is not known',
    'Unix s',
  ),
  held_by: described(MaybeText, 'The transporter that may have it in its gripper; its position is where it was taken up'),
  on: described(MaybeText, 'The id of the plate on which this lid is; null for a lid that lies apart, and for other labware'),
  place: described(v.string(), 'In words: each place where it may be'),
  execution_id: described(MaybeText, 'Of the thread that moves it'),
  thread_id: described(MaybeText, 'null for what just stands there'),
  thread_name: MaybeText,
  left_by: described(MaybeText, 'The run that moved it last; null while a thread moves it, and where that is not known'),
  remedy: described(
    MaybeText,
    'The remedy, with the command, for labware that no thread moves, or whose move the end of the service cut off; null for other labware',
  ),
})
export type Whereabouts = v.InferOutput<typeof Whereabouts>

/** `thread` is the one that moves it, if there is one. */
export type PlacedLabware = { labware: Labware; environment: RunEnvironment; thread: Mover | null }

export function whereaboutsOf({ labware, environment, thread }: PlacedLabware): Whereabouts {
  const { labware_id, name, template, type, kind, barcode, tips_left, held_by, stored_at = null, on = null } = labware
  const position = environment.scheduler.whereIs(labware_id) ?? null
  return {
    ...{ labware_id, name, template, type, kind, barcode, tips_left },
    run_mode: environment.mode,
    position,
    stored_at,
    held_by,
    on,
    place: thread
      ? placeOf(mayBe(thread.state), position, `not there yet: it begins at ${thread.state.starts_at}`)
      : placeOf(labware, position),
    execution_id: thread?.execution.execution_id ?? null,
    thread_id: thread?.thread_id ?? null,
    thread_name: thread?.name ?? null,
    left_by: (!thread && labware.last_run) || null,
    remedy: !thread ? remedyOf(labware) : thread.control.isLost ? uncertainty(thread.state) : null,
  }
}

/** Shows labware that stood there when its topology was unloaded. */
export function rememberedAt(known: Known, position: string | null): Whereabouts {
  const {
    labware_id,
    name,
    template,
    type,
    kind,
    barcode,
    tips_left,
    placing,
    taken_by,
    held_by = null,
    last_run: left_by = null,
    stored_at = null,
    on = null,
  } = known
  const what = { labware_id, name, template, type, kind, barcode, tips_left, left_by, remedy: remedyOf(known) }
  return {
    ...what,
    run_mode: 'LIVE',
    position,
    stored_at,
    held_by,
    on,
    place: placeOf({ held_by, placing, taken_by }, position),
    ...nobody,
  }
}

type Known = Omit<Labware, 'state' | 'held_by'> & { held_by?: string | undefined }
const nobody = { execution_id: null, thread_id: null, thread_name: null }

/** All that stands somewhere, and what threads are yet to bring. */
export function placedLabware(environments: Iterable<RunEnvironment>, threads: readonly LabwareThread[]): PlacedLabware[] {
  const movers = threads
    .filter(({ labware }) => isLabware(labware))
    .flatMap((thread): Mover[] => [thread, lidCarrierOf(thread)].filter((mover) => mover !== undefined))
  const moved = movers.map((thread) => ({ labware: thread.labware, environment: thread.environment, thread }))
  const ids = new Set(moved.map(({ labware }) => labware.labware_id))
  const standing = [...environments].flatMap((environment) =>
    [...environment.labware.values()].map((labware) => ({ labware, environment, thread: null })),
  )
  return [...moved, ...standing.filter(({ labware }) => !ids.has(labware.labware_id))]
}

/** Lists all labware on a deck as it is when no thread moves it any more. */
export function leftOn(environment: RunEnvironment, placed: readonly PlacedLabware[]): StandingLabware[] {
  const { labware: deck, scheduler } = environment
  return placed.flatMap(({ labware, environment: its, thread }) => {
    const { labware_id } = labware
    if (its !== environment || !deck.has(labware_id)) return []
    return standingLabwareOf({ ...labware, ...(thread && mayBe(thread.state)) }, scheduler.whereIs(labware_id) ?? null)
  })
}

/**
 * Takes an operator's word that it stands at `position` now, or was taken off the bench: null. Throws `not_found` for a place there
 * is not; `conflict` while it is under way, and for a place that is not free.
 */
export function relocate(piece: PlacedLabware, position: string | null, now: () => number): void {
  const { labware, environment, thread } = piece
  const { scheduler } = environment
  environment.labware.mustNotBeInTransfer(labware.labware_id)
  if (thread) mustRest(thread)
  if (thread && position !== null) {
    putByHand(thread, position)
    thread.setLabware(storedIn(position, thread.labware, now))
    // Whether that can be is said before the next thing moves.
    thread.execution.state.persisted()?.catch(() => undefined)
    return
  }
  if (position !== null) mustBeFree(piece, position)
  if (position !== null && !scheduler.graph.positions.get(position)!.storage)
    scheduler.put(labware.labware_id, position, labware.labware_id)
  else takeOff(piece)
  // The positions where it may have been were reserved in its own name.
  scheduler.forget(labware.labware_id)
  letGo(piece, storedIn(position, labware, now))
}

/**
 * Takes an arm's word for where labware is whose move the last end of the service cut off, as far as what it says of its gripper proves that. Rejects
 * with `interlock` while the arm moves.
 */
export async function askArm(thread: LabwareThread): Promise<void> {
  await askAbout(thread)
  const lid = lidCarrierOf(thread)
  if (lid) await askAbout(lid)
}

async function askAbout(thread: Mover): Promise<void> {
  const { environment, execution, labware } = thread
  const { held_by: arm } = labware
  if (!thread.control.isLost || !thread.isWitnessed || arm === null) return
  const storage = transferOf(thread)
  if (storage) return askStorage(thread, arm, storage)
  const gripper = await environment.equipment.gripper?.(arm, carriedBy(thread))
  // Somebody may have said it meanwhile.
  if (!gripper || !thread.control.isLost || labware.held_by !== arm) return
  const proven = provenBy(gripper, thread.state)
  if (!proven) return
  if (proven === 'held') endUncertainty(thread)
  else relocate({ labware, environment, thread }, proven.position, () => execution.now())
  const place = proven === 'held' ? `held by ${arm}` : `at ${proven.position}`
  const message = `${arm} stands, and says that its gripper is ${gripper}: ${labware.name} is ${place}`
  execution.events.incident('MOVE_CONTINUED', message, thread, { severity: 'INFO' })
}

/** Returns the slot and the transfer station between which labware was moved when the service ended; undefined for a move of an arm. */
function transferOf({ state: { seat, placing } }: Mover): { slot: string; station: string } | undefined {
  if (seat === null || placing === null) return undefined
  if (slotOf(seat) !== null) return { slot: seat, station: placing }
  return slotOf(placing) === null ? undefined : { slot: placing, station: seat }
}

/** Takes a storage's word for where a plate is that it moved when the service ended. */
async function askStorage(thread: Mover, device_id: string, { slot, station }: { slot: string; station: string }): Promise<void> {
  const { environment, execution, labware } = thread
  const seen = await environment.equipment.whereIsPlate?.(device_id)
  // Somebody may have said it meanwhile.
  if (!seen || !thread.control.isLost || labware.held_by !== device_id) return
  const position = seen.station ? station : seen.station === false && seen.handler === false ? slot : undefined
  if (position === undefined) return
  relocate({ labware, environment, thread }, position, () => execution.now())
  const message = `${device_id} says that ${seen.station ? 'a plate stands' : 'no plate stands'} at its transfer station: ${labware.name} is at ${position}`
  execution.events.incident('MOVE_CONTINUED', message, thread, { severity: 'INFO' })
}

/** Throws `conflict` while something happens to its labware. */
function mustRest(thread: Mover): void {
  const { name, environment, labware } = thread
  const why = underWay(thread)
  const task = thread.move?.state
  if (why && task?.step_id)
    throw new LabError(
      'conflict',
      `${labware.name} is under way: ${task.transporter} has the task to take it from ${task.from} to ${task.to}; answer it (POST /api/operator/steps/${task.step_id}/confirm)`,
    )
  if (why) throw new LabError('conflict', `${labware.name} is under way: ${why}; pause thread ${name}, and try again when it stands`)
  if (environment.scheduler.whereIs(labware.labware_id) === undefined)
    throw new LabError('conflict', `${labware.name} is not on the bench: thread ${name} is ${thread.status.current}`)
}

function underWay(thread: Mover): string | undefined {
  const { move, status, joining, action, execution } = thread
  const { pausedAt, waiting } = thread.control
  const owner = (joining && execution.find(joining.owner.thread_id)) ?? thread
  if (owner.control.pausedAt === 'DEVICE_TIMEOUT') return `${owner.device.name} may still work on it`
  if (pausedAt !== null && onItsWay.has(pausedAt)) return undefined
  const its = thread instanceof LidCarrier ? thread.thread : lidCarrierOf(thread)
  if (its?.move) return `${its.move.hop.transporter} moves ${its.labware.name}`
  if (move) return `${move.hop.transporter} brings it from ${move.hop.from} to ${move.hop.to}`
  // What begins this very moment begins with it.
  if (joining && owner.status.current === 'EXECUTING_ACTION' && owner.action?.arrived.get(thread.labware.template) === thread)
    return `${owner.device.name ?? owner.name} works on it`
  // The body of its own action may wait for a person who has it in hand.
  const isInHand = action && (waiting?.kind === 'operator' || waiting?.kind === 'event')
  if (status.current === 'EXECUTING_ACTION' && !isInHand) return `${owner.device.name ?? owner.name} works on it`
  return waiting ? undefined : `its thread is ${status.current}`
}

function takeOff({ labware, environment, thread }: PlacedLabware): void {
  if (thread) throw new LabError('conflict', `thread ${thread.name} still has ${labware.name}; stop it before its labware is taken away`)
  takeLidOff({ environment }, labware.labware_id)
  environment.scheduler.remove(labware.labware_id)
  environment.labware.delete(labware.labware_id)
}

/** Takes the labware out of the gripper: a person has put it elsewhere. */
function letGo({ labware, environment }: PlacedLabware, stored: Pick<Labware, 'stored_at'>): void {
  if (!environment.labware.has(labware.labware_id)) return
  environment.labware.set(labware.labware_id, { ...labware, held_by: null, placing: undefined, taken_by: undefined, ...stored })
}
