// A transfer between a slot of a storage and its transfer station that a person has ordered, and no run. The labware moves with it: before the storage
// moves, the disk has both places where it may be; afterwards the one where it is.

import type { Transfer, TransferEnd, TransferOrder } from '../devices/transfer.ts'
import { LabError } from '../errors.ts'
import { mustBeStorage, newLabware, positionIn, type Storage } from './inventory.ts'
import { type Labware, placeOf, storedIn } from './state/labware.ts'
import type { RunEnvironment } from './threads/run_environment.ts'

type Around = {
  /** Returns the places of LIVE runs; null while no topology is loaded. */
  environment(): RunEnvironment | null
  newId(): string
  now(): number
  /** Resolves when it is on the disk where labware stands. Rejects with `storage`. */
  persisted(): Promise<void>
  /** Tells people about labware that may be in two places. */
  lost(message: string): void
}

type Move = { labware: Labware; from: string; to: string; isNew: boolean }

/**
 * Begins a transfer. On a bench whose topology does not have the storage nothing is known of its slots, and the transfer is not followed. Rejects with
 * `conflict` and `exists`, naming what stands in the way; with `not_found` for a slot that is not there; with `invalid` for a slot that has to be named.
 */
export async function beginTransfer(order: TransferOrder, around: Around): Promise<Transfer> {
  const environment = around.environment()
  if (!environment?.scheduler.graph.reach.has(order.device_id)) return { slot: slotNamed(order), ended: async () => {} }
  const { storage } = mustBeStorage(environment, order.device_id)
  const move = order.operation === 'store' ? storing(order, storage, environment, around) : retrieving(order, storage, environment, around)
  const slot = storage.slots.find(({ name }) => name === move.from || name === move.to)!.slot!
  begun(move, order.device_id, environment)
  try {
    await around.persisted()
  } catch (error) {
    end(move, 'refused', environment, around.now)
    throw error
  }
  return {
    slot,
    async ended(how) {
      environment.labware.inTransfer.delete(move.labware.labware_id)
      // The topology may have been loaded anew meanwhile.
      const now = around.environment()
      const isKnown = now !== null && end(move, how, now, around.now)
      await around.persisted()
      if (!isKnown) around.lost(cutOff({ ...move.labware, place: placeOf({ held_by: order.device_id, placing: move.to }, move.from) }))
    },
  }
}

function slotNamed({ device_id, operation, slot }: TransferOrder): number {
  if (slot !== undefined) return slot
  throw new LabError(
    'invalid',
    `slot of ${operation} has to be named, because the inventory of ${device_id} is not kept: load a topology that has its slots`,
  )
}

/** The labware at the station goes into a slot; labware of which nobody knows counts as unknown labware. */
function storing(order: TransferOrder, storage: Storage, environment: RunEnvironment, { newId }: Around): Move {
  const { device_id } = order
  const from = stationOf(storage, environment, true)
  const to = order.slot === undefined ? firstFree(storage, environment) : positionIn(storage, order.slot)
  mustBeFree(environment, to)
  const there = standsAt(environment, from)
  if (there) mustBeAtRest(environment, there, from)
  const isKept = environment.scheduler.position(from).reserved_for !== null
  if (!there && isKept)
    throw new LabError('conflict', `${from} is reserved for a run that brings labware there; wait until ${device_id} has stored that`)
  return { labware: there ?? unknownLabware(newId()), from, to, isNew: there === undefined }
}

/** The labware in the slot goes to the station; a slot that counts as empty may have labware all the same, which counts as unknown labware. */
function retrieving({ slot }: TransferOrder, storage: Storage, environment: RunEnvironment, { newId }: Around): Move {
  const from = positionIn(storage, slot!)
  const to = stationOf(storage, environment, false)
  mustBeFree(environment, to)
  const there = standsAt(environment, from)
  if (there) mustBeAtRest(environment, there, from)
  else mustBeFree(environment, from)
  return { labware: there ?? unknownLabware(newId()), from, to, isNew: there === undefined }
}

function unknownLabware(labware_id: string): Labware {
  return { ...newLabware('unknown', 'unknown'), labware_id }
}

/** Returns the station with labware to store, or one that is free to retrieve to; the first if there is none. */
function stationOf({ stations, device_id }: Storage, environment: RunEnvironment, isTaken: boolean): string {
  const [first] = stations
  if (!first) throw new LabError('conflict', `${device_id} has no transfer station on the loaded topology`)
  return (stations.find(({ name }) => (standsAt(environment, name) !== undefined) === isTaken) ?? first).name
}

function firstFree({ slots, device_id }: Storage, { scheduler }: RunEnvironment): string {
  const free = slots.find(({ name }) => {
    const { labware_id, reserved_for } = scheduler.position(name)
    return labware_id === null && reserved_for === null
  })
  if (free) return free.name
  throw new LabError('conflict', `${device_id} is full: all of its ${slots.length} slots are taken or reserved; retrieve labware first`)
}

function standsAt({ labware, scheduler }: RunEnvironment, position: string): Labware | undefined {
  return labware.get(scheduler.position(position).labware_id ?? '')
}

/** Throws `exists` if labware stands at the position, or it is reserved. */
function mustBeFree(environment: RunEnvironment, position: string): void {
  const there = standsAt(environment, position)
  if (there) throw new LabError('exists', `${there.name} stands at ${position}; take it away and say so, or use another slot`)
  const { reserved_for } = environment.scheduler.position(position)
  if (reserved_for === null) return
  const its = environment.labware.get(reserved_for)
  throw new LabError(
    'exists',
    its ? `${its.name} may be at ${position}; say first where it is` : `${position} is reserved for thread ${reserved_for} of a run`,
  )
}

/** Throws `conflict` if a run moves the labware, or it may be elsewhere. */
function mustBeAtRest({ scheduler }: RunEnvironment, labware: Labware, position: string): void {
  const thread_id = scheduler.whose(labware.labware_id)
  if (thread_id !== null)
    throw new LabError('conflict', `thread ${thread_id} of a run has ${labware.name}; let the run move it, or stop the run`)
  if (labware.held_by !== null)
    throw new LabError('conflict', `${labware.name} is ${placeOf(labware, position)}; look, and say where it is first`)
}

/** Notes both places where the labware may be from now on. */
function begun({ labware, from, to }: Move, device_id: string, environment: RunEnvironment): void {
  const { scheduler } = environment
  environment.labware.inTransfer.set(labware.labware_id, device_id)
  environment.labware.set(labware.labware_id, { ...labware, held_by: device_id, placing: to })
  if (scheduler.whereIs(labware.labware_id) !== from) scheduler.put(labware.labware_id, from, null)
  scheduler.holds.keep(labware.labware_id, to)
}

/** Notes where the labware is now. Returns false if nobody can say that. */
function end({ labware, to, isNew }: Move, how: TransferEnd, environment: RunEnvironment, now: () => number): boolean {
  const { scheduler } = environment
  const { labware_id } = labware
  environment.labware.inTransfer.delete(labware_id)
  if (how === 'cut off' || environment.labware.get(labware_id)?.placing !== to || !scheduler.graph.positions.has(to)) return false
  // Nobody who waits for the position gets it before the labware stands there.
  scheduler.together(() => {
    scheduler.forget(labware_id)
    if (how === 'done') scheduler.put(labware_id, to, null)
  })
  if (how === 'refused' && isNew) {
    scheduler.remove(labware_id)
    environment.labware.delete(labware_id)
    return true
  }
  const stored = how === 'done' ? storedIn(to, labware, now) : {}
  environment.labware.set(labware_id, { ...labware, held_by: null, placing: undefined, ...stored })
  return true
}

/** Says where labware may be whose transfer was cut off, and what to do. */
export function cutOff({ labware_id, name, place }: { labware_id: string; name: string; place: string }): string {
  return `the transfer of ${name} was cut off: it is ${place}; look, and say where it is (PUT /api/labware/${labware_id}/location)`
}
