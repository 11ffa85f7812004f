// For tests: a simulated bench that survives the service, with its own record of where labware really is, what grippers hold, and which devices work.

import type { Person } from '../../../drivers/person/person.ts'
import { LabError } from '../../errors.ts'
import { type Clock, sleep } from '../../kit/clock.ts'
import type { BeforeMotion, Equipment, Performing } from '../../workflow/equipment/equipment.ts'
import type { Runtime } from '../../workflow/runtime.ts'
import type { Scheduler } from '../../workflow/scheduler/scheduler.ts'
import type { PlacedLabware } from '../../workflow/whereabouts.ts'
import type { Dice } from './scene.ts'

type Carrying = { verb: 'pick' | 'place'; position: string; labware_id: string }

/** The real places of all labware, independent of the service. */
export class Truth {
  readonly #positions = new Map<string, string>()
  readonly #gripped = new Map<string, string>()
  readonly #underWay = new Map<string, Carrying>()

  at(position: string): string | undefined {
    for (const [labware_id, where] of this.#positions) if (where === position) return labware_id
    return undefined
  }

  /** Returns the position or the gripper of labware. */
  whereIs(labware_id: string): { position: string } | { gripper: string } | undefined {
    const position = this.#positions.get(labware_id)
    if (position !== undefined) return { position }
    for (const [gripper, held] of this.#gripped) if (held === labware_id) return { gripper }
    return undefined
  }

  gripped(transporter_id: string): string | undefined {
    return this.#gripped.get(transporter_id)
  }

  isMoving(transporter_id: string): boolean {
    return this.#underWay.has(transporter_id)
  }

  began(transporter_id: string, carrying: Carrying): void {
    this.#underWay.set(transporter_id, carrying)
  }

  ended(transporter_id: string, { isDone }: { isDone: boolean }): void {
    const carrying = this.#underWay.get(transporter_id)
    this.#underWay.delete(transporter_id)
    if (!carrying || !isDone) return
    if (carrying.verb === 'place') this.put(carrying.labware_id, carrying.position)
    else {
      this.#positions.delete(carrying.labware_id)
      this.#gripped.set(transporter_id, carrying.labware_id)
    }
  }

  /** A person has the labware in the hands. */
  grip(person: string, labware_id: string): void {
    this.put(labware_id, undefined)
    this.#gripped.set(person, labware_id)
  }

  /** Carries labware by hand to a position; undefined takes it off the bench. */
  put(labware_id: string, position: string | undefined): void {
    for (const [gripper, held] of this.#gripped) if (held === labware_id) this.#gripped.delete(gripper)
    if (position === undefined) this.#positions.delete(labware_id)
    else this.#positions.set(labware_id, position)
  }

  /** Follows labware that came onto the deck or left it, through a storage or by hand. */
  follow(scheduler: Scheduler): void {
    for (const { position, labware_id } of scheduler.positions())
      if (labware_id !== null && !this.whereIs(labware_id)) this.#positions.set(labware_id, position)
    for (const labware_id of this.#positions.keys()) if (scheduler.whereIs(labware_id) === undefined) this.#positions.delete(labware_id)
  }

  /** Empties grippers of labware that the scheduler no longer knows. */
  emptyGrippers(scheduler: Scheduler): void {
    for (const [gripper, held] of this.#gripped) if (scheduler.whereIs(held) === undefined) this.#gripped.delete(gripper)
  }

  /** After the end of the service: completes each motion in progress, or not, at random and unobserved. */
  settle(dice: Dice): void {
    for (const transporter_id of [...this.#underWay.keys()]) this.ended(transporter_id, { isDone: dice.oneIn(2) })
  }
}

type LedgerOptions = {
  equipment: Equipment
  truth: Truth
  clock: Clock
  /** The numbers of the operation calls that take far too long. */
  slow: readonly number[]
  /** Keyed by the transporters that are people. */
  persons: ReadonlyMap<string, Person>
  isDead(): boolean
  fault(what: string): void
  /** Is called when a transporter begins to move. */
  onMotion(transporter_id: string): void
}

/** The bench as equipment of one service. It reports a fault for each impossible or unsafe command. */
export class Ledger implements Equipment {
  scheduler: Scheduler | undefined
  readonly truth: Truth
  held = 0
  readonly #options: LedgerOptions
  /** The number of operations in progress at each device. */
  readonly #busy = new Map<string, number>()
  /** The device into which each transporter reaches. */
  readonly #reaching = new Map<string, string>()
  /** The devices that have been made ready. */
  readonly #ready = new Set<string>()
  #calls = 0
  #scans = 0
  /** The barcode of the labware before each scanner. */
  readonly #shown = new Map<string, string | null>()

  constructor(options: LedgerOptions) {
    this.#options = options
    this.truth = options.truth
  }

  async ready(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void> {
    const isWaited = this.#ready.has(device_id) ? undefined : beforeMotion?.()
    this.#ready.add(device_id)
    if (isWaited) await isWaited
    await this.#options.equipment.ready(device_id, signal)
    if (this.#options.isDead()) await forEver()
  }

  async open(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void> {
    const isWaited = beforeMotion?.()
    if (isWaited) await isWaited
    await this.#options.equipment.open(device_id, signal)
    if (this.#options.isDead()) await forEver()
  }

  person(transporter_id: string) {
    return this.#options.persons.get(transporter_id)?.person
  }

  hold(): () => void {
    this.held++
    let isHeld = true
    return () => {
      if (isHeld) this.held--
      isHeld = false
    }
  }

  async perform(device_id: string, operation: string, params: Readonly<Record<string, unknown>>, how: Performing): Promise<unknown> {
    const { equipment, slow, clock, isDead, fault } = this.#options
    if (isDead()) return forEver()
    const busy = this.#busy.get(device_id) ?? 0
    if (busy > 0) fault(`${device_id} is told to ${operation} while it is at work`)
    for (const [transporter_id, device] of this.#reaching)
      if (device === device_id) fault(`${device_id} is told to ${operation} while ${transporter_id} reaches in`)
    this.#busy.set(device_id, busy + 1)
    try {
      if (slow.includes(++this.#calls)) await sleep(clock, late_ms, how.signal)
      const done = await equipment.perform(device_id, operation, params, how)
      return operation === 'scan' ? { success: true, message: 'scanned', data: { barcode: this.#read(device_id) } } : done
    } finally {
      this.#busy.set(device_id, this.#busy.get(device_id)! - 1)
      if (isDead()) await forEver()
    }
  }

  show(scanner_id: string, barcode: string | null): boolean {
    this.#shown.set(scanner_id, barcode)
    return true
  }

  /** Reads the labware that was shown; each seventh scan reads another code, or none. */
  #read(scanner_id: string): string | null {
    const count = ++this.#scans
    if (count % 7 === 0) return count % 2 === 0 ? null : `W${count}`
    return this.#shown.get(scanner_id) ?? `B${count}`
  }

  async carry(...[transporter_id, verb, on]: Parameters<Equipment['carry']>): Promise<void> {
    const { equipment, isDead } = this.#options
    const { position } = on
    if (isDead()) return forEver()
    this.#options.onMotion(transporter_id)
    this.truth.follow(this.scheduler!)
    const labware_id = this.#checked(transporter_id, verb, position)
    this.truth.began(transporter_id, { verb, position, labware_id })
    const { device } = this.scheduler!.graph.positions.get(position)!
    if (device !== null) this.#reaching.set(transporter_id, device)
    let isDone = false
    try {
      await equipment.carry(transporter_id, verb, on)
      isDone = true
    } finally {
      if (isDead()) await forEver()
      this.#reaching.delete(transporter_id)
      this.truth.ended(transporter_id, { isDone })
    }
  }

  /** Checks a pick or place, and returns the labware that it moves. */
  #checked(transporter_id: string, verb: 'pick' | 'place', position: string): string {
    const { fault } = this.#options
    const { truth } = this
    const scheduler = this.scheduler!
    const { device } = scheduler.graph.positions.get(position)!
    const there = truth.at(position)
    const known = scheduler.position(position).labware_id ?? undefined
    const gripped = truth.gripped(transporter_id)
    if (device && this.#busy.get(device)) fault(`${transporter_id} reaches into ${device} to ${verb} while it is at work`)
    if (truth.isMoving(transporter_id)) fault(`${transporter_id} is told to ${verb} while it moves`)
    if (verb === 'pick' && gripped) fault(`${transporter_id} is to pick at ${position} with ${gripped} in its gripper`)
    if (verb === 'pick' && !there) fault(`${transporter_id} is to pick ${known} at ${position}, where nothing stands`)
    if (verb === 'pick' && there !== known) fault(`${transporter_id} is to pick ${known} at ${position}, where ${there} stands`)
    if (verb === 'place' && !gripped) fault(`${transporter_id} is to place at ${position} with nothing in its gripper`)
    if (verb === 'place' && there && there !== gripped) fault(`${transporter_id} is to place at ${position}, where ${there} stands`)
    return (verb === 'pick' ? there : gripped) ?? 'nothing'
  }
}

/** Longer than any call of a scene may take. */
const late_ms = 2_000_000

function forEver(): Promise<never> {
  return new Promise(() => {})
}

/** Reconciles the service with the real places, as an operator does: tells the service, or carries labware back. Returns what could not be reconciled. */
export function putRight(runtime: Runtime, dice: Dice): string[] {
  const wrong: string[] = []
  const pieces = runtime.labware()
  for (const { environment } of pieces) {
    const { truth } = environment.equipment as Ledger
    truth.follow(environment.scheduler)
    truth.emptyGrippers(environment.scheduler)
  }
  for (const piece of pieces) if (!isSo(piece) && !putPieceRight(runtime, piece, dice)) wrong.push(pictureOf(piece))
  return wrong
}

function isSo({ labware: { labware_id, held_by }, environment }: PlacedLabware): boolean {
  const where = (environment.equipment as Ledger).truth.whereIs(labware_id)
  const position = environment.scheduler.whereIs(labware_id)
  if (where === undefined || position === undefined) return true
  return 'gripper' in where ? where.gripper === held_by : held_by === null && where.position === position
}

function putPieceRight(runtime: Runtime, { labware: { labware_id }, environment }: PlacedLabware, dice: Dice): boolean {
  const { truth } = environment.equipment as Ledger
  const where = truth.whereIs(labware_id)!
  const known = environment.scheduler.whereIs(labware_id)!
  const positions = [...environment.scheduler.graph.positions.keys()].filter(
    (position) => !truth.at(position) || truth.at(position) === labware_id,
  )
  const some = Array.from({ length: 2 * positions.length }, () => dice.pick(positions))
  const wishes = [...('position' in where ? [where.position] : []), ...(positions.includes(known) ? [known] : []), ...some, ...positions]
  for (const position of dice.oneIn(2) ? wishes : [...wishes].sort((a, b) => Number(b === known) - Number(a === known))) {
    try {
      runtime.relocate(labware_id, { position })
      // The labware may be gone, because a storage takes labware that no thread moves.
      truth.put(labware_id, environment.scheduler.whereIs(labware_id))
      return true
    } catch (error) {
      if (!(error instanceof LabError)) throw error
    }
  }
  return false
}

function pictureOf({ labware: { labware_id, held_by }, environment, thread }: PlacedLabware): string {
  const where = (environment.equipment as Ledger).truth.whereIs(labware_id)
  const is = where && ('position' in where ? where.position : where.gripper)
  return `${labware_id} of ${thread?.name} is at ${is}, and is thought to be at ${environment.scheduler.whereIs(labware_id)}, in ${held_by}`
}
