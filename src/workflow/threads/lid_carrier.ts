// The lid of a thread's plate, as moves see it: it has labware and a move of its own, and everything else is its thread's. So a lid is picked and placed,
// recovered after an error, and restored after a restart in the same way as a plate.

import { LabError } from '../../errors.ts'
import { lidOf, type ThreadPlan } from '../plans/plan.ts'
import type { Fixed } from '../state/entry.ts'
import type { Labware } from '../state/labware.ts'
import type { LidState, ThreadState } from '../state/run.ts'
import type { Carrier, Window } from './carrier.ts'
import type { MoveRun } from './move/move.ts'
import type { LabwareThread } from './thread.ts'

/** A thread that moves its labware, or the lid of that. */
export type Mover = LabwareThread | LidCarrier

export class LidCarrier implements Carrier {
  readonly thread: LabwareThread
  /** Whether the last end of the service cut off a move of the lid. */
  isWitnessed = false
  readonly following = null
  readonly joining = null
  #move: MoveRun | null = null

  constructor(thread: LabwareThread) {
    this.thread = thread
  }

  get #lid(): Fixed<LidState> {
    return this.thread.state.lid!
  }

  get thread_id(): string {
    return this.thread.thread_id
  }

  get name(): string {
    return this.thread.name
  }

  get labware(): Labware {
    return this.#lid.labware
  }

  /** Whether the lid is on its plate, as far as is known. */
  get isOn(): boolean {
    return this.#lid.is_on
  }

  /** The state of the thread, in which the members about the place of the labware are those of the lid. */
  get state(): Fixed<ThreadState> {
    const { labware, seat, move, placing, picking, asked } = this.#lid
    return { ...this.thread.state, labware, seat, move, placing, picking, asked, scan: null, scanned: null, retry_on: null }
  }

  /** Changes those members. The lid is on its plate when it stands nowhere else. */
  set(members: Partial<Fixed<ThreadState>>): void {
    const { seat, move, placing, picking, asked } = { ...this.#lid, ...members }
    this.thread.setIn('lid', this.#lid as LidState, { seat, move, placing, picking, asked } as Partial<LidState>)
    if (!('seat' in members)) return
    const { scheduler } = this.environment
    const is_on = scheduler.lids.isOn(this.labware.labware_id)
    if (is_on === this.isOn) return
    this.thread.setIn('lid', this.#lid as LidState, { is_on })
    this.setLabware({ on: is_on ? this.thread.labware.labware_id : undefined })
  }

  setIn<Part extends object>(_name: string, part: Part, members: Partial<Part>): void {
    this.thread.setIn('lid', part, members)
  }

  setLabware(members: Partial<Labware>): void {
    const isHeldAnew = members.held_by !== undefined && members.held_by !== this.labware.held_by
    this.thread.setIn(
      'lid',
      this.labware,
      isHeldAnew && this.labware.taken_by !== undefined ? { taken_by: undefined, ...members } : members,
    )
  }

  /** The attempt at moving the lid that is under way. */
  get move(): MoveRun | null {
    return this.#move
  }

  set move(move: MoveRun | null) {
    this.#move = move
    const { scheduler } = this.environment
    const seat = scheduler.whereIs(this.labware.labware_id) ?? null
    this.thread.setIn('lid', this.#lid as LidState, { move: move?.state ?? null, ...(move && { seat }) })
  }

  get carrying(): Promise<void> | null {
    return this.thread.carrying
  }

  set carrying(carrying: Promise<void> | null) {
    this.thread.carrying = carrying
  }

  get plan(): ThreadPlan {
    return { ...this.thread.plan, labware: this.labware.template }
  }

  get window(): Window | null {
    return this.thread.window
  }

  get origin() {
    return this.thread.origin
  }

  get status() {
    return this.thread.status
  }

  get isOver(): boolean {
    return this.thread.isOver
  }

  get environment() {
    return this.thread.environment
  }

  get execution() {
    return this.thread.execution
  }

  get last_error(): string | null {
    return this.thread.last_error
  }

  get control() {
    return this.thread.control
  }

  get action() {
    return this.thread.action
  }

  get device() {
    return this.thread.device
  }

  context() {
    return this.thread.context()
  }

  become(...status: Parameters<LabwareThread['become']>): void {
    this.thread.become(...status)
  }
}

const carriers = new WeakMap<LabwareThread, LidCarrier>()

/** Returns the lid of the thread's plate; undefined for labware without one. */
export function lidCarrierOf(thread: LabwareThread): LidCarrier | undefined {
  if (!thread.state.lid) return undefined
  const carrier = carriers.get(thread) ?? new LidCarrier(thread)
  carriers.set(thread, carrier)
  return carrier
}

/** Returns the lid with this name of the thread's plate. Throws `conflict` if the plate has none. */
export function lidNamed(thread: LabwareThread, name: string): LidCarrier {
  const carrier = lidCarrierOf(thread)
  if (carrier && lidOf(thread.execution.workflow.document, thread.plan.labware) === name) return carrier
  throw new LabError('conflict', `${thread.labware.name} has no ${name} in this run; skip this action`)
}

/** Returns what the thread moves just now: the lid of its plate, or its labware. */
export function moverOf(thread: LabwareThread): Mover {
  const lid = lidCarrierOf(thread)
  return lid?.move ? lid : thread
}

/** Notes a lid that has come onto the deck on its plate. */
export function knowLid(thread: LabwareThread): void {
  const lid = lidCarrierOf(thread)
  if (!lid) return
  const { labware, environment } = lid
  environment.labware.set(labware.labware_id, labware)
  environment.scheduler.lids.belong(labware.labware_id, thread.labware.labware_id)
}

/** Takes the lid of labware that leaves the deck off it too, if the lid is on. */
export function takeLidOff({ environment: { scheduler, labware } }: Pick<LabwareThread, 'environment'>, plate_id: string): void {
  for (const { labware_id, on } of [...labware.values()]) {
    if (on !== plate_id) continue
    scheduler.lids.forget(labware_id)
    labware.delete(labware_id)
  }
}

/** Leaves the lid of a thread that has ended where it is: on its plate, or apart. */
export function leaveLid(thread: LabwareThread): void {
  const lid = lidCarrierOf(thread)
  if (!lid) return
  lid.setLabware({ state: 'ENDED' })
  // It is kept with the labware that no thread moves from now on.
  if (lid.environment.labware.has(lid.labware.labware_id)) lid.environment.labware.set(lid.labware.labware_id, lid.labware)
}
