// Where each labware is, and how an operator says that it is elsewhere: it was carried there by hand, or taken away.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import { remedyOf } from './runs/in_the_way.ts'
import { ShownLabware } from './snapshot.ts'
import { type StandingLabware, standingLabwareOf } from './standing_labware.ts'
import { type Labware, placeOf } from './state/labware.ts'
import { runModes } from './state/modes.ts'
import { mayBe, provenBy, uncertainty } from './state/move.ts'
import { endUncertainty } from './threads/move/hop.ts'
import type { RunEnvironment } from './threads/run_environment.ts'
import type { LabwareThread } from './threads/thread.ts'

const MaybeText = v.nullable(v.string())

export const Whereabouts = v.strictObject({
  ...ShownLabware.entries,
  run_mode: v.picklist(runModes),
  position: described(MaybeText, 'null for what is not there yet'),
  held_by: described(MaybeText, 'The transporter that may have it in its gripper; its position is where it was taken up'),
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
export type PlacedLabware = { labware: Labware; environment: RunEnvironment; thread: LabwareThread | null }

export function whereaboutsOf({ labware, environment, thread }: PlacedLabware): Whereabouts {
  const { labware_id, name, template, type, kind, barcode, tips_left, held_by } = labware
  const position = environment.scheduler.whereIs(labware_id) ?? null
  return {
    ...{ labware_id, name, template, type, kind, barcode, tips_left },
    run_mode: environment.mode,
    position,
    held_by,
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
  const { labware_id, name, template, type, kind, barcode, tips_left, placing, held_by = null, last_run: left_by = null } = known
  const what = { labware_id, name, template, type, kind, barcode, tips_left, left_by, remedy: remedyOf(known) }
  return { ...what, run_mode: 'LIVE', position, held_by, place: placeOf({ held_by, placing }, position), ...nobody }
}

type Known = Omit<Labware, 'state' | 'held_by'> & { held_by?: string | undefined }
const nobody = { execution_id: null, thread_id: null, thread_name: null }

/** All that stands somewhere, and what threads are yet to bring. */
export function placedLabware(environments: Iterable<RunEnvironment>, threads: readonly LabwareThread[]): PlacedLabware[] {
  const moved = threads.map((thread) => ({ labware: thread.labware, environment: thread.environment, thread }))
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
export function relocate(piece: PlacedLabware, position: string | null): void {
  const { labware, environment, thread } = piece
  const { scheduler } = environment
  if (thread) mustRest(thread)
  const device = position === null ? null : mustBeFree(piece, position)
  if (position !== null && (thread || !scheduler.graph.positions.get(position)!.storage))
    scheduler.put(labware.labware_id, position, thread?.thread_id ?? labware.labware_id)
  else takeOff(piece)
  // Where it may have been was kept in its own name.
  if (!thread) scheduler.forget(labware.labware_id)
  letGo(piece)
  if (thread) endUncertainty(thread)
  if (thread) takeAway(thread, device)
  // Whether that can be is said before the next thing moves.
  thread?.execution.state.persisted()?.catch(() => undefined)
}

/**
 * Takes an arm's word for where labware is whose move the last end of the service cut off, as far as what it says of its gripper proves that. Rejects
 * with `interlock` while the arm moves.
 */
export async function askArm(thread: LabwareThread): Promise<void> {
  const { environment, execution, labware } = thread
  const { held_by: arm } = labware
  if (!thread.control.isLost || !thread.isWitnessed || arm === null) return
  const gripper = await environment.equipment.gripper?.(arm)
  // Somebody may have said it meanwhile.
  if (!gripper || !thread.control.isLost || labware.held_by !== arm) return
  const proven = provenBy(gripper, thread.state)
  if (!proven) return
  if (proven === 'held') endUncertainty(thread)
  else relocate({ labware, environment, thread }, proven.position)
  const place = proven === 'held' ? `in the gripper of ${arm}` : `at ${proven.position}`
  const message = `${arm} stands, and says that its gripper is ${gripper}: ${labware.name} is ${place}`
  execution.events.incident('MOVE_CONTINUED', message, thread, { severity: 'INFO' })
}

/** Throws `conflict` while something happens to its labware. */
function mustRest(thread: LabwareThread): void {
  const { name, environment, labware } = thread
  const why = underWay(thread)
  if (why) throw new LabError('conflict', `${labware.name} is under way: ${why}; pause thread ${name}, and try again when it stands`)
  if (environment.scheduler.whereIs(labware.labware_id) === undefined)
    throw new LabError('conflict', `${labware.name} is not on the bench: thread ${name} is ${thread.status.current}`)
}

function underWay(thread: LabwareThread): string | undefined {
  const { move, status, joining, action, execution } = thread
  const { pausedAt, waiting } = thread.control
  const owner = (joining && execution.find(joining.owner.thread_id)) ?? thread
  if (owner.control.pausedAt === 'DEVICE_TIMEOUT') return `${owner.device.name} may still work on it`
  if (pausedAt === 'MOVE') return undefined
  if (move) return `${move.hop.transporter} brings it from ${move.hop.from} to ${move.hop.to}`
  // What begins this very moment begins with it.
  if (joining && owner.status.current === 'EXECUTING_ACTION' && owner.action?.arrived.get(thread.labware.template) === thread)
    return `${owner.device.name ?? owner.name} works on it`
  // The body of its own action may wait for a person who has it in hand.
  const isInHand = action && (waiting?.kind === 'operator' || waiting?.kind === 'event')
  if (status.current === 'EXECUTING_ACTION' && !isInHand) return `${owner.device.name ?? owner.name} works on it`
  return waiting ? undefined : `its thread is ${status.current}`
}

/** Throws `not_found` and `conflict`. Returns the device whose nest it is. */
function mustBeFree({ labware, environment, thread }: PlacedLabware, position: string): string | null {
  const { scheduler } = environment
  const { positions } = scheduler.graph
  if (!positions.has(position))
    throw new LabError('not_found', `the topology has no place ${position}${didYouMeanAmong(position, [...positions.keys()])}`)
  const { reserved_for, device } = scheduler.position(position)
  const refused = (why: string) => new LabError('conflict', `${labware.name} cannot be at ${position}: ${why}`)
  // The stations of a shuttle are one place.
  for (const { name } of scheduler.graph.sameZone(position)) {
    const { labware_id } = scheduler.position(name)
    if (labware_id !== null && labware_id !== labware.labware_id)
      throw refused(`${environment.labware.get(labware_id)?.name ?? labware_id} stands ${name === position ? 'there' : `at ${name}`}`)
  }
  if (reserved_for !== null && reserved_for !== (thread?.thread_id ?? labware.labware_id))
    throw refused(`it is reserved for thread ${reserved_for}`)
  const holder = device === null ? undefined : scheduler.holds.holder(device)
  const isOurs = holder === undefined || holder === thread?.thread_id || holder === thread?.joining?.owner.thread_id
  if (!isOurs) throw refused(`thread ${holder} holds ${device}`)
  return device
}

function takeOff({ labware, environment, thread }: PlacedLabware): void {
  if (thread) throw new LabError('conflict', `thread ${thread.name} still has ${labware.name}; stop it before its labware is taken away`)
  environment.scheduler.remove(labware.labware_id)
  environment.labware.delete(labware.labware_id)
}

/** Takes the labware out of the gripper: a person has put it elsewhere. */
function letGo({ labware, environment, thread }: PlacedLabware): void {
  const { held_by } = labware
  const nowhereElse = { held_by: null, placing: undefined }
  if (thread) thread.setLabware(nowhereElse)
  else if (environment.labware.has(labware.labware_id)) environment.labware.set(labware.labware_id, { ...labware, ...nowhereElse })
  if (held_by !== null && thread) environment.scheduler.transporters.giveBack(held_by, thread.thread_id)
}

/** An action for which it had come, and that has not begun, waits for it anew. */
function takeAway(thread: LabwareThread, device: string | null): void {
  const action = thread.action ?? thread.joining?.action
  if (action && action.device !== device) action.takenAway(thread)
}
