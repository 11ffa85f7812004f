// For tests: a bench that keeps its own books and outlasts the service: where labware really is, what each gripper has, what is at work.

import { LabError } from '../errors.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import type { Equipment, Performing } from './equipment/equipment.ts'
import type { Runtime } from './runtime.ts'
import type { Scheduler } from './scheduler/scheduler.ts'
import type { Dice } from './simulation_scene.ts'
import type { Piece } from './whereabouts.ts'

type Carrying = { verb: 'pick' | 'place'; seat: string; labware_id: string }

/** Where everything really is, whatever a service thinks. */
export class Truth {
  readonly #seats = new Map<string, string>()
  readonly #gripped = new Map<string, string>()
  readonly #underWay = new Map<string, Carrying>()

  at(seat: string): string | undefined {
    for (const [labware_id, where] of this.#seats) if (where === seat) return labware_id
    return undefined
  }

  /** A seat, or a transporter. */
  whereIs(labware_id: string): { seat: string } | { gripper: string } | undefined {
    const seat = this.#seats.get(labware_id)
    if (seat !== undefined) return { seat }
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
    if (carrying.verb === 'place') this.put(carrying.labware_id, carrying.seat)
    else {
      this.#seats.delete(carrying.labware_id)
      this.#gripped.set(transporter_id, carrying.labware_id)
    }
  }

  /** By hand; undefined: off the bench. */
  put(labware_id: string, seat: string | undefined): void {
    for (const [gripper, held] of this.#gripped) if (held === labware_id) this.#gripped.delete(gripper)
    if (seat === undefined) this.#seats.delete(labware_id)
    else this.#seats.set(labware_id, seat)
  }

  /** What came onto the deck, out of a storage or by hand, is there now; what left it is not. */
  follow(scheduler: Scheduler): void {
    for (const { seat, labware_id } of scheduler.seats())
      if (labware_id !== null && !this.whereIs(labware_id)) this.#seats.set(labware_id, seat)
    for (const labware_id of this.#seats.keys()) if (scheduler.whereIs(labware_id) === undefined) this.#seats.delete(labware_id)
  }

  /** Whatever is in a gripper and is not known to be there is taken out. */
  emptyGrippers(scheduler: Scheduler): void {
    for (const [gripper, held] of this.#gripped) if (scheduler.whereIs(held) === undefined) this.#gripped.delete(gripper)
  }

  /** The service has ended: what was under way comes to its end or not, and nobody hears of it. */
  settle(dice: Dice): void {
    for (const transporter_id of [...this.#underWay.keys()]) this.ended(transporter_id, { isDone: dice.oneIn(2) })
  }
}

type LedgerOptions = {
  equipment: Equipment
  truth: Truth
  clock: Clock
  /** Of all calls of an operation these take far too long. */
  slow: readonly number[]
  isDead(): boolean
  fault(what: string): void
}

/** What a service has of the bench as long as it lives. */
export class Ledger implements Equipment {
  scheduler: Scheduler | undefined
  readonly truth: Truth
  held = 0
  readonly #options: LedgerOptions
  /** How many operations each device is in. */
  readonly #busy = new Map<string, number>()
  #calls = 0

  constructor(options: LedgerOptions) {
    this.#options = options
    this.truth = options.truth
  }

  async ready(device_id: string, signal: AbortSignal): Promise<void> {
    await this.#options.equipment.ready(device_id, signal)
    if (this.#options.isDead()) await forEver()
  }

  async open(device_id: string, signal: AbortSignal): Promise<void> {
    await this.#options.equipment.open(device_id, signal)
    if (this.#options.isDead()) await forEver()
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
    this.#busy.set(device_id, busy + 1)
    try {
      if (slow.includes(++this.#calls)) await sleep(clock, late_ms, how.signal)
      return await equipment.perform(device_id, operation, params, how)
    } finally {
      this.#busy.set(device_id, this.#busy.get(device_id)! - 1)
      if (isDead()) await forEver()
    }
  }

  async carry(transporter_id: string, verb: 'pick' | 'place', seat: string, signal: AbortSignal): Promise<void> {
    const { equipment, isDead } = this.#options
    if (isDead()) return forEver()
    this.truth.follow(this.scheduler!)
    const labware_id = this.#checked(transporter_id, verb, seat)
    this.truth.began(transporter_id, { verb, seat, labware_id })
    let isDone = false
    try {
      await equipment.carry(transporter_id, verb, seat, signal)
      isDone = true
    } finally {
      if (isDead()) await forEver()
      this.truth.ended(transporter_id, { isDone })
    }
  }

  /** Answers what is carried. */
  #checked(transporter_id: string, verb: 'pick' | 'place', seat: string): string {
    const { fault } = this.#options
    const { truth } = this
    const scheduler = this.scheduler!
    const { device } = scheduler.graph.seats.get(seat)!
    const there = truth.at(seat)
    const known = scheduler.seat(seat).labware_id ?? undefined
    const gripped = truth.gripped(transporter_id)
    if (device && this.#busy.get(device)) fault(`${transporter_id} reaches into ${device} to ${verb} while it is at work`)
    if (truth.isMoving(transporter_id)) fault(`${transporter_id} is told to ${verb} while it moves`)
    if (verb === 'pick' && gripped) fault(`${transporter_id} is to pick at ${seat} with ${gripped} in its gripper`)
    if (verb === 'pick' && !there) fault(`${transporter_id} is to pick ${known} at ${seat}, where nothing stands`)
    if (verb === 'pick' && there !== known) fault(`${transporter_id} is to pick ${known} at ${seat}, where ${there} stands`)
    if (verb === 'place' && !gripped) fault(`${transporter_id} is to place at ${seat} with nothing in its gripper`)
    if (verb === 'place' && there && there !== gripped) fault(`${transporter_id} is to place at ${seat}, where ${there} stands`)
    return (verb === 'pick' ? there : gripped) ?? 'nothing'
  }
}

/** Longer than any call of a scene may take. */
const late_ms = 2_000_000

function forEver(): Promise<never> {
  return new Promise(() => {})
}

/**
 * An operator looks where everything stands, and makes it one with what the service knows: tells it, or carries it back by hand.
 * Answers what could not be put right.
 */
export function putRight(runtime: Runtime, dice: Dice): string[] {
  const wrong: string[] = []
  const pieces = runtime.labware()
  for (const { world } of pieces) {
    const { truth } = world.equipment as Ledger
    truth.follow(world.scheduler)
    truth.emptyGrippers(world.scheduler)
  }
  for (const piece of pieces) if (!isSo(piece) && !putPieceRight(runtime, piece, dice)) wrong.push(pictureOf(piece))
  return wrong
}

function isSo({ labware: { labware_id, held_by }, world }: Piece): boolean {
  const where = (world.equipment as Ledger).truth.whereIs(labware_id)
  const seat = world.scheduler.whereIs(labware_id)
  if (where === undefined || seat === undefined) return true
  return 'gripper' in where ? where.gripper === held_by : held_by === null && where.seat === seat
}

function putPieceRight(runtime: Runtime, { labware: { labware_id }, world }: Piece, dice: Dice): boolean {
  const { truth } = world.equipment as Ledger
  const where = truth.whereIs(labware_id)!
  const known = world.scheduler.whereIs(labware_id)!
  const seats = [...world.scheduler.graph.seats.keys()].filter((seat) => !truth.at(seat) || truth.at(seat) === labware_id)
  const some = Array.from({ length: 2 * seats.length }, () => dice.pick(seats))
  const wishes = [...('seat' in where ? [where.seat] : []), ...(seats.includes(known) ? [known] : []), ...some, ...seats]
  for (const seat of dice.oneIn(2) ? wishes : [...wishes].sort((a, b) => Number(b === known) - Number(a === known))) {
    try {
      runtime.relocate(labware_id, { position: seat })
      // It may be gone: a storage takes what no thread moves.
      truth.put(labware_id, world.scheduler.whereIs(labware_id))
      return true
    } catch (error) {
      if (!(error instanceof LabError)) throw error
    }
  }
  return false
}

function pictureOf({ labware: { labware_id, held_by }, world, thread }: Piece): string {
  const where = (world.equipment as Ledger).truth.whereIs(labware_id)
  const is = where && ('seat' in where ? where.seat : where.gripper)
  return `${labware_id} of ${thread?.name} is at ${is}, and is thought to be at ${world.scheduler.whereIs(labware_id)}, in ${held_by}`
}
