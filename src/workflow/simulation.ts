// For tests: a random workflow with faults in it and a restless operator beside it, and all that must hold of it all the while.

import { LabError, messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Clock } from '../kit/clock.ts'
import { VirtualTime } from '../kit/virtual_time.ts'
import type { Equipment, Performing } from './equipment/equipment.ts'
import { PureEquipment } from './equipment/pure_equipment.ts'
import type { Floor } from './floor/floor.ts'
import type { Bench } from './plans/bench.ts'
import type { Execution } from './runs/execution.ts'
import type { Runtime } from './runtime.ts'
import { Dice, type Scene, sceneOf } from './simulation_scene.ts'
import { Watch } from './simulation_watch.ts'
import { testRuntime } from './testing.ts'
import { decisions, honours } from './threads/recovery.ts'
import type { LabwareThread } from './threads/thread.ts'

/** How often an operator looks before he gives a run up: he interferes at first, and then he helps. */
const mostRounds = 60

/** Of the event loop: one that needs more does so for ever. */
const mostTurns = 20_000

const mostSubmissions = 3

export type Verdict = {
  /** What must not be. */
  faults: string[]
  /** Each event by name, in their order. */
  trace: string[]
  /** The document was refused. */
  refused?: string
  /** It could not go on, and said why. */
  stuck: boolean
}

/** One seed, from the first event to the last. */
export async function simulate(seed: number, mode: Scene['mode']): Promise<Verdict> {
  const dice = new Dice(seed)
  const scene = sceneOf(dice, mode)
  let simulation: Simulation
  try {
    simulation = new Simulation(scene, dice)
  } catch (error) {
    if (error instanceof LabError || !/^(topology|workflow) /.test(messageOf(error))) throw error
    return { faults: [], trace: [], refused: messageOf(error), stuck: false }
  }
  return simulation.toTheEnd()
}

class Simulation {
  readonly #scene: Scene
  readonly #dice: Dice
  readonly #runtime: Runtime
  readonly #watch: Watch
  readonly #ledgers: Ledger[] = []
  readonly #told: readonly RuntimeEvent[]
  readonly #liveClock = new VirtualTime()
  #rounds = 0
  #isStuck = false

  constructor(scene: Scene, dice: Dice) {
    this.#scene = scene
    this.#dice = dice
    const equipment = (clock: Clock) => this.#equipment(clock)
    const { runtime, told } = testRuntime([scene.topology, scene.workflow], {
      simulate: (_, clock) => equipment(clock),
      onTold: (event) => this.#onTold(event),
      ...(scene.mode === 'LIVE' && { clock: this.#liveClock, live: equipment(this.#liveClock), bench: benchOf(scene) }),
    })
    this.#runtime = runtime
    this.#told = told
    this.#watch = new Watch((execution_id) => runtime.execution(execution_id))
    if (scene.mode === 'LIVE') runtime.load('floor')
  }

  #equipment(clock: Clock): Ledger {
    const transporters = this.#scene.topology.transporters as ConstructorParameters<typeof PureEquipment>[0]['transporters']
    const ledger = new Ledger(new PureEquipment({ clock, transporters, faults: this.#scene.faults }), (what) => this.#watch.fault(what))
    this.#ledgers.push(ledger)
    return ledger
  }

  async toTheEnd(): Promise<Verdict> {
    for (let i = this.#scene.mode === 'LIVE' ? this.#dice.below(2) : 0; i >= 0; i--) await this.#submit()
    const clock = this.#executions()[0]?.world.clock
    if (clock) this.#lookLater(clock)
    await this.#untilOver()
    this.#checkEnd()
    return { faults: this.#watch.faults, trace: this.#told.map(({ event_name }) => event_name), stuck: this.#isStuck }
  }

  #executions(): Execution[] {
    return this.#runtime.executions()
  }

  #open(): Execution[] {
    return this.#executions().filter(({ isOver }) => !isOver)
  }

  async #submit(): Promise<void> {
    const { groups, batch_mode, mode } = this.#scene
    const ids = groups.map((group_id) => ({ group_id: `${group_id}_${this.#dice.below(1e6)}`, members: {} }))
    const asked = { workflow: 'work', run_mode: mode, groups: ids, batch_mode, variables: {}, operator_id: null }
    try {
      await this.#runtime.submit(asked)
      for (const { world } of this.#executions()) (world.equipment as Ledger).floor = world.floor
    } catch (error) {
      this.#mayRefuse(error)
    }
  }

  /** Each world of PURE_SIM has a time of its own: what is submitted there must come into the run that is open. */
  #isShared(): boolean {
    const { mode, batch_mode, groups } = this.#scene
    if (this.#runtime.submissions().length > mostSubmissions) return false
    return mode === 'LIVE' || (batch_mode === 'JOIN_EXISTING' && groups.length > 0 && this.#open().length > 0)
  }

  /** Where time does not jump by itself, it is made to as soon as nothing happens any more. */
  async #untilOver(): Promise<void> {
    for (let quiet = 0, turns = 0; this.#open().length > 0 && this.#watch.faults.length === 0; turns++) {
      if (turns > mostTurns) this.#watch.fault(`it goes round in circles: ${this.#picture()}`)
      const before = this.#told.length
      await new Promise(setImmediate)
      quiet = this.#told.length === before ? quiet + 1 : 0
      if (this.#scene.mode === 'PURE_SIM' || quiet < 6) continue
      quiet = 0
      this.#liveClock.ringNext()
    }
  }

  #onTold(event: RuntimeEvent): void {
    this.#watch.see(event)
    // Whoever listens may do something at once.
    if (this.#scene.unrest === 3 && this.#told.length > 2 && this.#dice.oneIn(60)) this.#interfere()
  }

  // The operator

  #lookLater(clock: Clock): void {
    clock.after(1000 * (1 + this.#dice.below(this.#rounds < 12 ? 200 : 2000)), () => {
      if (this.#open().length === 0) return
      this.#look()
      this.#lookLater(clock)
    })
  }

  #look(): void {
    this.#rounds++
    if (this.#rounds < 12) for (let i = this.#dice.below(1 + this.#scene.unrest); i > 0; i--) this.#interfere()
    else if (this.#rounds < mostRounds) for (const execution of this.#open()) this.#help(execution)
    if (this.#rounds === mostRounds) for (const execution of this.#open()) this.#giveUp(execution)
    if (this.#rounds === 2 * mostRounds) this.#watch.fault(`it does not end when it is aborted: ${this.#picture()}`)
  }

  #interfere(): void {
    const execution = this.#open()[0]
    const thread = execution?.live()[this.#dice.below(execution.live().length || 1)]
    if (!execution || !thread) return
    const dice = this.#dice
    const verbs = [
      () => thread.pause('manual'),
      () => thread.resume(),
      () => dice.oneIn(3) && thread.stop(),
      () => this.#recover(thread),
      () => this.#recover(thread),
      () => execution.pause('manual'),
      () => execution.resume(),
      () => execution.resume(),
      () => dice.oneIn(3) && execution.stop(dice.oneIn(2)),
      () => dice.oneIn(20) && execution.abort('somebody wanted it so'),
      () => execution.emitCustom(dice.pick(this.#scene.events), { value: dice.pick(['yes', 'no', null]), data: {} }, null),
      () => dice.oneIn(5) && execution.close(),
      () => dice.oneIn(3) && this.#isShared() && void this.#submit(),
      () => this.#byHand(thread),
    ]
    this.#try(dice.pick(verbs))
  }

  /** All that a run can need of a person. */
  #help(execution: Execution): void {
    this.#try(() => execution.resume())
    this.#clearAway(execution)
    for (const thread of execution.live()) {
      if (thread.pausedAt) this.#try(() => this.#recover(thread))
      else if (thread.status.current === 'PAUSED' && !thread.following) this.#try(() => thread.resume())
      this.#try(() => this.#byHand(thread))
    }
    for (const { step_id } of this.#runtime.operator.steps()) this.#try(() => this.#runtime.operator.confirm(step_id))
    if (execution.live().some(({ waiting }) => waiting?.kind === 'event'))
      for (const event of this.#scene.events) execution.emitCustom(event, { value: 'yes', data: {} }, null)
  }

  /** Takes away what threads that have ended left standing, and what they left in a gripper. */
  #clearAway({ world }: Execution): void {
    const live = new Set(this.#open().flatMap((execution) => execution.live().map(({ labware }) => labware.labware_id)))
    for (const { labware_id, held_by } of world.labware.values()) {
      if (live.has(labware_id)) continue
      world.floor.remove(labware_id)
      world.labware.delete(labware_id)
      if (held_by) (world.equipment as Ledger).empty(held_by)
    }
  }

  #byHand(thread: LabwareThread): void {
    const status = thread.status.current
    if (status === 'AWAITING_MANUAL_PLACE') this.#runtime.operator.done(thread, 'place', null)
    if (status === 'AWAITING_MANUAL_REMOVE') this.#runtime.operator.done(thread, 'remove', null)
  }

  #recover(thread: LabwareThread): void {
    const site = thread.pausedAt
    if (!site) return
    const honoured = decisions.filter((decision) => honours(site, decision))
    // Nobody tries for ever.
    thread.recover(this.#rounds > mostRounds / 2 ? 'ABORT_THREAD' : this.#dice.pick(honoured))
  }

  #try(verb: () => unknown): void {
    try {
      verb()
    } catch (error) {
      this.#mayRefuse(error)
    }
  }

  #mayRefuse(error: unknown): void {
    if (error instanceof LabError && ['conflict', 'invalid', 'not_found'].includes(error.code)) return
    this.#watch.fault(`a verb: ${error instanceof Error ? error.stack : error}`)
  }

  // The end

  /** It had its chances: now it says what it waits for, and is aborted. */
  #giveUp(execution: Execution): void {
    this.#isStuck = true
    const isHanging = this.#scene.faults.some(({ does }) => does === 'hang')
    const silent = execution.live().filter(({ waiting }) => !waiting)
    if (silent.length > 0 && !isHanging) this.#watch.fault(`${silent.map(({ name }) => name)} wait for nothing: ${this.#picture()}`)
    const isTold = this.#told.some(({ event_name }) => /SYSTEM_STALL|UNRESOLVABLE_DEADLOCK/.test(event_name))
    if (!isTold && !isHanging) this.#watch.fault(`it stalls, and no incident says so: ${this.#picture()}`)
    execution.abort('it goes nowhere')
  }

  #picture(): string {
    const threads = this.#open().flatMap((execution) => execution.live())
    return threads.map(({ name, status, waiting }) => `${name} ${status.current} waits for ${waiting?.what}`).join('; ')
  }

  #checkEnd(): void {
    if (this.#open().length > 0) return
    for (const { world } of this.#executions()) checkGivenBack(world.floor, this.#scene, (what) => this.#watch.fault(what))
    for (const { held } of this.#ledgers) if (held > 0) this.#watch.fault(`${held} devices are still kept from others`)
    for (const { phase, execution_id } of this.#executions()) {
      const last = this.#told.findLast((event) => event.execution_id === execution_id)?.event_name
      if (last !== `EXECUTION.${execution_id}.${phase.current.toUpperCase()}`) this.#watch.fault(`its last event is ${last}`)
    }
  }
}

/** Nothing is kept for threads that are no more. */
function checkGivenBack(floor: Floor, { topology }: Scene, fault: (what: string) => void): void {
  for (const device of floor.graph.devices) if (floor.holder(device)) fault(`${device} is held by ${floor.holder(device)} after the end`)
  for (const { seat, reserved_for } of floor.seats()) if (reserved_for) fault(`${seat} is reserved for ${reserved_for} after the end`)
  const { transporters, translators } = topology as { transporters: object; translators: object }
  for (const transporter of [...Object.keys(transporters), ...Object.keys(translators)]) {
    let isFree = false
    floor.take(transporter, 'whoever comes next', () => {
      isFree = true
    })
    floor.forget('whoever comes next')
    if (!isFree) fault(`${transporter} is still taken after the end`)
  }
}

function benchOf({ topology }: Scene): Bench {
  const { devices, transporters } = topology as { devices: object; transporters: object }
  const driven = (device_id: string, type: 'shaker' | 'transporter') =>
    ({ device_id, type, driven: true, simulated: true, operations: ['work'], limits: {} }) as const
  return {
    devices: [
      ...Object.keys(devices).map((id) => driven(id, 'shaker')),
      ...Object.keys(transporters).map((id) => driven(id, 'transporter')),
    ],
    hasTeachpoint: () => true,
  }
}

/** A bench that keeps its own books: what each gripper has, and which devices are at work. */
class Ledger implements Equipment {
  floor: Floor | undefined
  held = 0
  readonly #equipment: Equipment
  readonly #fault: (what: string) => void
  readonly #gripped = new Map<string, string>()
  /** How many operations each device is in. */
  readonly #busy = new Map<string, number>()
  readonly #moving = new Set<string>()

  constructor(equipment: Equipment, fault: (what: string) => void) {
    this.#equipment = equipment
    this.#fault = fault
  }

  /** Somebody takes out what is in its gripper. */
  empty(transporter_id: string): void {
    this.#gripped.delete(transporter_id)
  }

  async ready(device_id: string, signal: AbortSignal): Promise<void> {
    await this.#equipment.ready(device_id, signal)
  }

  async open(device_id: string, signal: AbortSignal): Promise<void> {
    await this.#equipment.open(device_id, signal)
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
    const busy = this.#busy.get(device_id) ?? 0
    if (busy > 0) this.#fault(`${device_id} is told to ${operation} while it is at work`)
    this.#busy.set(device_id, busy + 1)
    try {
      return await this.#equipment.perform(device_id, operation, params, how)
    } finally {
      this.#busy.set(device_id, this.#busy.get(device_id)! - 1)
    }
  }

  async carry(transporter_id: string, verb: 'pick' | 'place', seat: string, signal: AbortSignal): Promise<void> {
    const floor = this.floor!
    const device = floor.graph.seats.get(seat)!.device
    const there = floor.seat(seat).labware_id
    const gripped = this.#gripped.get(transporter_id)
    if (device && this.#busy.get(device))
      this.#fault(`${transporter_id} reaches into ${device} to ${verb} ${there ?? gripped} while it is at work`)
    if (this.#moving.has(transporter_id)) this.#fault(`${transporter_id} is told to ${verb} while it moves`)
    if (verb === 'pick' && gripped) this.#fault(`${transporter_id} is to pick at ${seat} with ${gripped} in its gripper`)
    if (verb === 'pick' && !there) this.#fault(`${transporter_id} is to pick at ${seat}, where nothing stands`)
    if (verb === 'place' && !gripped) this.#fault(`${transporter_id} is to place at ${seat} with nothing in its gripper`)
    if (verb === 'place' && there && there !== gripped) this.#fault(`${transporter_id} is to place at ${seat}, where ${there} stands`)
    this.#moving.add(transporter_id)
    try {
      await this.#equipment.carry(transporter_id, verb, seat, signal)
    } finally {
      this.#moving.delete(transporter_id)
    }
    if (verb === 'pick') this.#gripped.set(transporter_id, there!)
    else this.#gripped.delete(transporter_id)
  }
}
