// A person has put labware somewhere by hand, and says so.

import { LabError } from '../../../errors.ts'
import { didYouMeanAmong } from '../../../kit/did_you_mean.ts'
import type { Labware } from '../../state/labware.ts'
import { mayBe } from '../../state/move.ts'
import type { Mover } from '../lid_carrier.ts'
import type { RunEnvironment } from '../run_environment.ts'
import type { LabwareThread } from '../thread.ts'

/** Labware, and the thread that moves it if there is one. */
type Piece = { labware: Labware; environment: RunEnvironment; thread: Mover | null }

/**
 * Takes a person's word that they have put the labware of a thread somewhere instead of where their task said, also at a position that is reserved for
 * another thread, which loses the reservation. Returns why the thread must not go on by itself; undefined if it may. Throws as `putByHand` does, and
 * `conflict` while other labware is brought there, or may stand there.
 */
export function putElsewhere(thread: Mover, position: string): LabError | undefined {
  const { environment, labware } = thread
  const other = reservingThread(thread, position)
  if (other) {
    mustBeFree({ labware, environment, thread }, position, { isReserved: true })
    mustNotCome(other, position, labware.name)
    environment.scheduler.revoke(position)
  }
  putByHand(thread, position)
  // Elsewhere the thread keeps the reservation of its target, so the state is as safe as it was.
  if (!other) return undefined
  const what = `${labware.name} was put at ${position}, which was reserved for thread ${other.name}`
  return new LabError('conflict', `${what}; decide RETRY, and ${labware.name} is carried on from there`)
}

/** Returns the other thread for which the position is reserved. */
function reservingThread({ environment, execution, thread_id }: Mover, position: string): LabwareThread | undefined {
  const { scheduler } = environment
  const reserved_for = scheduler.graph.positions.has(position) ? scheduler.position(position).reserved_for : null
  return reserved_for === null || reserved_for === thread_id ? undefined : execution.find(reserved_for)
}

/** Throws `conflict` while the labware of a thread is brought to the position, or may stand there. */
function mustNotCome({ move, labware, state, environment }: LabwareThread, position: string, name: string): void {
  const isHere = (other: string) => environment.scheduler.graph.sameZone(position).some((station) => station.name === other)
  const refused = (why: string) => new LabError('conflict', `${name} cannot be at ${position}: ${why}`)
  const status = move?.status.current
  const arm = move?.hop.transporter
  if (move && isHere(move.hop.to) && (status === 'PICKING' || status === 'PLACING'))
    throw refused(`${arm} brings ${labware.name} there just now; stop ${arm}, or take ${name} away from there`)
  const { placing } = mayBe(state)
  if (placing !== undefined && isHere(placing)) throw refused(`${labware.name} may stand there; say first where that is`)
}

/** Takes a person's word that the labware of a thread stands at a position. Throws `not_found` and `conflict`. */
export function putByHand(thread: Mover, position: string): void {
  const { environment, labware, thread_id } = thread
  const device = mustBeFree({ labware, environment, thread }, position)
  environment.scheduler.put(labware.labware_id, position, thread_id)
  const { held_by } = labware
  thread.setLabware({ held_by: null, placing: undefined })
  if (held_by !== null) environment.scheduler.transporters.giveBack(held_by, thread_id)
  endUncertainty(thread)
  // An action for which the labware had come, and that has not begun, waits for it anew.
  const action = thread.action ?? thread.joining?.action
  if (action && action.device !== device) action.takenAway(thread)
}

/** Ends the uncertainty about a move that the end of the service cut off, after somebody has said where the labware is, or it was put back. */
export function endUncertainty(thread: Mover): void {
  const { environment, execution, thread_id } = thread
  const { placing } = thread.state
  thread.set({ placing: null, picking: false, asked: null })
  thread.isWitnessed = false
  thread.move?.set({ is_placing: false, has_failed_pick: false })
  execution.operator.forget(thread_id)
  if (placing !== null) environment.scheduler.holds.letGo(thread_id, placing)
}

/** Returns the device whose nest the position is. With `isReserved`, the position may be reserved for another thread. Throws `not_found` and `conflict`. */
export function mustBeFree({ labware, environment, thread }: Piece, position: string, { isReserved = false } = {}): string | null {
  const { scheduler } = environment
  const { positions } = scheduler.graph
  if (!positions.has(position))
    throw new LabError('not_found', `the topology has no place ${position}${didYouMeanAmong(position, [...positions.keys()])}`)
  const { reserved_for, device } = scheduler.position(position)
  const refused = (why: string) => new LabError('conflict', `${labware.name} cannot be at ${position}: ${why}`)
  // The stations of a shuttle are one place.
  for (const { name } of scheduler.graph.sameZone(position)) {
    const { labware_id } = scheduler.position(name)
    if (labware_id !== null && labware_id !== labware.labware_id && !scheduler.lids.mayStandOn(labware.labware_id, labware_id))
      throw refused(`${environment.labware.get(labware_id)?.name ?? labware_id} stands ${name === position ? 'there' : `at ${name}`}`)
  }
  if (!isReserved && reserved_for !== null && reserved_for !== (thread?.thread_id ?? labware.labware_id))
    throw refused(`it is reserved for thread ${reserved_for}`)
  // A lid comes back to its plate, wherever that stands.
  const isLid = scheduler.lids.isLid(labware.labware_id)
  if (isLid && scheduler.lids.mayStandOn(labware.labware_id, scheduler.position(position).labware_id)) return device
  if (isLid && device !== null) throw refused(`it is the nest of ${device}; a lid lies at a position of the deck, or on its plate`)
  const holder = device === null ? undefined : scheduler.holds.holder(device)
  const isOurs = holder === undefined || holder === thread?.thread_id || holder === thread?.joining?.owner.thread_id
  if (!isOurs) throw refused(`thread ${holder} holds ${device}`)
  return device
}
