// For tests: a random workflow with faults, an operator who interferes, and a service that dies now and then. Checks that all invariants hold.

import { LabError, messageOf } from '../../errors.ts'
import type { RuntimeEvent } from '../../events/event.ts'
import type { Clock } from '../../kit/clock.ts'
import { restarted } from '../../workflow/recovery/restore.ts'
import type { Execution } from '../../workflow/runs/execution.ts'
import { blockers } from '../../workflow/runs/explanation.ts'
import type { RunEnvironment } from '../../workflow/threads/run_environment.ts'
import type { LabwareThread } from '../../workflow/threads/thread.ts'
import { RestlessOperator } from './operator.ts'
import { SimulatedPeople } from './people.ts'
import { Dice, type Scene, sceneOf, withScanners } from './scene.ts'
import { Service } from './service.ts'
import { Watch } from './watch.ts'

/** How often the operator looks before a run is given up. At first the operator interferes, and then helps. */
const mostRounds = 60
/** Longer than any action of a scene. */
const longest_s = 3600

/** The most turns of the event loop. A run that needs more does not end. */
const mostTurns = 20_000

/** The most turns after a restart until all threads are paused. */
const mostTurnsToStand = 100

type Verdict = {
  /** The faults that were found. */
  faults: string[]
  /** The names of all events, in order. */
  trace: string[]
  /** The reason why the document was refused. */
  refused?: string
  /** The explanation of a run that could not go on; null for others. */
  stuck: string | null
  /** How often the service died. */
  restarts: number
  /** How often people did what. */
  people: Readonly<Record<string, number>>
  /** The number of plans that were made. */
  plans: number
}

/** Simulates one seed, from the first event to the last. The benches of every other seed follow plans. */
export async function simulate(seed: number, mode: Scene['mode'], hasPeople = false, hasScanners = false): Promise<Verdict> {
  const dice = new Dice(seed)
  const bare = { ...sceneOf(dice, mode, hasPeople), isPlanned: seed % 2 === 0 }
  const scene = hasScanners ? withScanners(dice, bare) : bare
  let simulation: Simulation
  try {
    simulation = new Simulation(scene, dice)
  } catch (error) {
    if (error instanceof LabError || !/^(topology|workflow) /.test(messageOf(error))) throw error
    return { faults: [], trace: [], refused: messageOf(error), stuck: null, restarts: 0, people: {}, plans: 0 }
  }
  return simulation.toTheEnd()
}

class Simulation {
  readonly #scene: Scene
  readonly #dice: Dice
  readonly #service: Service
  readonly #watch: Watch
  readonly #operator: RestlessOperator
  readonly #people: SimulatedPeople
  #rounds = 0
  #restarts = 0
  #isBeginning = false
  #stuck: string | null = null

  constructor(scene: Scene, dice: Dice) {
    this.#scene = scene
    this.#dice = dice
    this.#watch = new Watch((execution_id) => this.#service?.runtime.runs.get(execution_id))
    this.#service = new Service({
      scene,
      dice,
      onTold: (event) => this.#onTold(event),
      onLost: (told) => this.#watch.rewind(told),
      fault: (what) => this.#watch.fault(what),
      onMotion: (transporter) => this.#people.mustBeApart(transporter),
      onOutlived: (tasks) => this.#people.outlive(tasks),
    })
    this.#people = new SimulatedPeople({ people: scene.people, dice, service: this.#service, watch: this.#watch })
    this.#operator = new RestlessOperator({ scene, dice, service: this.#service, watch: this.#watch })
  }

  async toTheEnd(): Promise<Verdict> {
    this.#mayDie()
    for (let i = this.#scene.mode === 'LIVE' ? this.#dice.below(2) : 0; i >= 0; i--) await this.#operator.submit()
    this.#beginToLook()
    await this.#untilOver()
    this.#checkEnd()
    const trace = this.#service.told.map(({ event_name }) => event_name)
    const { plans } = this.#service
    return { faults: this.#watch.faults, trace, stuck: this.#stuck, restarts: this.#restarts, people: this.#people.counts, plans }
  }

  #executions(): Execution[] {
    return this.#service.runtime.runs.all()
  }

  #mayDie(): void {
    if (this.#restarts >= this.#scene.restarts) return
    if (this.#scene.isKept && this.#dice.oneIn(2)) this.#service.diesIn = 1 + this.#dice.below(this.#dice.oneIn(3) ? 4 : 150)
    else this.#service.diesAfter = 1 + this.#dice.below(this.#dice.oneIn(3) ? 20 : 600)
  }

  /** Goes on until all runs are over. Makes time jump when nothing happens any more, if it does not jump by itself. */
  async #untilOver(): Promise<void> {
    for (let quiet = 0, turns = 0; this.#watch.faults.length === 0; turns++) {
      if (this.#service.isDead) await this.#beginAnew()
      if (this.#service.isDead) continue
      if (this.#operator.open().length === 0) return
      if (turns > mostTurns) this.#watch.fault(`it goes round in circles: ${this.#picture()}`)
      const before = this.#service.told.length
      await new Promise(setImmediate)
      quiet = this.#service.told.length === before ? quiet + 1 : 0
      if (this.#scene.mode === 'PURE_SIM' || quiet < 6) continue
      quiet = 0
      this.#service.clock.ringNext()
    }
  }

  #onTold(event: RuntimeEvent): void {
    this.#watch.see(event)
    this.#people?.see(event)
    // A listener may act at once.
    if (this.#isBeginning) return
    if (this.#scene.unrest === 3 && this.#service.told.length > 2 && this.#dice.oneIn(60)) this.#operator.interfere()
  }

  // Restarts

  async #beginAnew(): Promise<void> {
    this.#restarts++
    this.#watch.restarts++
    this.#watch.standing.clear()
    // Runs that wait since the restart get more rounds.
    this.#rounds = Math.min(this.#rounds, mostRounds / 2)
    this.#mayDie()
    const open = () => this.#executions().filter(({ isOver }) => !isOver)
    this.#isBeginning = true
    for (const execution_id of await this.#service.beginAnew()) this.#watch.standing.add(execution_id)
    const mustStand = open()
    const threads = new Set(mustStand.flatMap((execution) => execution.live()))
    for (let turns = 0; !mustStand.every(isStanding) && turns < mostTurnsToStand; turns++) await new Promise(setImmediate)
    this.#isBeginning = false
    if (this.#service.isDead) return
    for (const execution of mustStand) if (!execution.isOver) this.#checkStanding(execution, threads)
    this.#beginToLook()
  }

  /** Checks that each restored run is paused, and its threads held. */
  #checkStanding(execution: Execution, threads: ReadonlySet<LabwareThread>): void {
    if (execution.phase.current === 'stopping' || !this.#watch.standing.has(execution.execution_id)) return
    if (execution.paused?.reason !== 'system') this.#watch.fault(`after the restart it is not paused: ${this.#picture()}`)
    // Labware is placed and removed by hand also while its run is paused.
    for (const thread of execution.live().filter((thread) => threads.has(thread) && !awaitsHands(thread)))
      if (!isHeld(thread) && !thread.control.isStopping)
        this.#watch.fault(
          `after the restart ${thread.name} is ${thread.status.current}, ${thread.control.pause_reason}: ${thread.last_error}`,
        )
      else if (!thread.control.isStopping) this.#checkRecord(thread)
  }

  /** Checks that the record says why the thread is paused. */
  #checkRecord({ thread_id, execution, name }: LabwareThread): void {
    const record = this.#service.records.threads(execution.execution_id).find((one) => one.thread_id === thread_id)
    if (record?.status !== 'PAUSED' || record.pause_reason !== 'system' || record.last_error !== restarted)
      this.#watch.fault(`after the restart the record of ${name} says ${JSON.stringify(record)}`)
  }

  // The operator

  /** Schedules the operator's first look, on the clock of the first run. */
  #beginToLook(): void {
    const clock = this.#executions()[0]?.environment.clock
    if (clock) this.#lookLater(clock)
  }

  #lookLater(clock: Clock): void {
    const { runtime } = this.#service
    clock.after(1000 * (1 + this.#dice.below(this.#rounds < 12 ? 200 : 2000)), () => {
      if (this.#service.isDead || runtime !== this.#service.runtime || this.#operator.open().length === 0) return
      this.#look()
      this.#lookLater(clock)
    })
  }

  #look(): void {
    this.#rounds++
    this.#operator.isWeary = this.#rounds > mostRounds / 2
    const open = this.#operator.open()
    if (this.#rounds < 12) for (let i = this.#dice.below(1 + this.#scene.unrest); i > 0; i--) this.#operator.interfere()
    else if (this.#stuck === null) {
      for (const execution of open) this.#operator.help(execution)
      this.#people.help()
    }
    const isAtWork = open.some((execution) => execution.live().some(({ control: { waiting } }) => !waiting || waiting.kind === 'device'))
    if (this.#rounds === 2 * mostRounds || (this.#rounds >= mostRounds && !isAtWork)) this.#giveUp(open)
    if (this.#rounds === 3 * mostRounds) this.#watch.fault(`it does not end when it is aborted: ${this.#picture()}`)
  }

  // The end

  /** Gives up: checks that the runs explain what they wait for, and aborts them. */
  #giveUp(open: readonly Execution[]): void {
    if (this.#stuck === null) for (const execution of open) this.#checkExplained(execution)
    this.#stuck ??= this.#picture()
    // This includes runs that were submitted meanwhile.
    for (const execution of open) execution.abort('it goes nowhere')
  }

  #checkExplained(execution: Execution): void {
    const isHanging = this.#scene.faults.some(({ does }) => does === 'hang')
    // A run that is given up while it works may have a thread in the middle of an operation.
    const before = execution.now() - longest_s
    const silent = execution.live().filter(({ control: { waiting }, carrying, state }) => !waiting && !carrying && state.since < before)
    if (silent.length > 0 && !isHanging) this.#watch.fault(`${silent.map(({ name }) => name)} wait for nothing: ${this.#picture()}`)
    const named = new Set(blockers(execution).map(({ thread_id }) => thread_id))
    for (const {
      thread_id,
      name,
      control: { waiting },
    } of execution.live())
      if (!named.has(thread_id) && waiting && waiting.kind !== 'device')
        this.#watch.fault(`nobody says why ${name} stands: ${this.#picture()}`)
    // An error that holds a thread has an incident of its own, and so has labware of which nobody has said where it is.
    const isHeld = execution.live().some(({ control: { pausedAt, isLost } }) => pausedAt !== null || isLost)
    const isTold =
      isHeld || this.#service.incidents.some(({ category }) => /SYSTEM_STALL|UNRESOLVABLE_DEADLOCK|LEDGER_CONTRADICTED/.test(category))
    if (!isTold && !isHanging) this.#watch.fault(`it stalls, and no incident says so: ${this.#picture()}`)
  }

  #picture(): string {
    const threads = this.#operator.open().flatMap((execution) => execution.live())
    return threads
      .map(({ execution, thread_id, name, status, control: { waiting }, environment, labware }) => {
        const obstacles = waiting
          ?.obstacles()
          .map(({ wanted, reason, thread_id, labware_id }) => `${wanted} ${reason} ${thread_id ?? ''} ${labware_id ?? ''}`)
        return `${execution.execution_id.slice(-3)}/${thread_id.slice(-3)} ${name} ${status.current} at ${environment.scheduler.whereIs(labware.labware_id)} waits for ${waiting?.what} (${obstacles?.join(', ')})`
      })
      .join('; ')
  }

  #checkEnd(): void {
    if (this.#operator.open().length > 0) return
    const fault = (what: string) => this.#watch.fault(what)
    for (const { environment } of this.#executions()) checkGivenBack(environment, this.#scene, fault)
    if (this.#service.held > 0) fault(`${this.#service.held} devices are still kept from others`)
    const steps = this.#service.runtime.operator.steps()
    if (steps.length > 0) fault(`${steps.map(({ step_id }) => step_id)} still wait to be confirmed`)
    this.#checkRecords(fault)
  }

  /** Checks that the records agree with the events. */
  #checkRecords(fault: (what: string) => void): void {
    const { records, told } = this.#service
    for (const { execution_id, status } of records.executions()) {
      const last = told.findLast((event) => event.execution_id === execution_id)?.event_name
      if (last !== `EXECUTION.${execution_id}.${status}`) fault(`its last event is ${last}, and its record says ${status}`)
      for (const { submission_id, status } of records.submissionsOf(execution_id)) {
        const said = this.#watch.statusOf(`SUBMISSION.${submission_id}`)
        if (said !== status) fault(`the record of submission ${submission_id} says ${status}, it was told ${said}`)
      }
      for (const { thread_id, status } of records.threads(execution_id)) {
        const said = this.#watch.statusOf(`THREAD.${thread_id}`)
        if (said !== status) fault(`the record of thread ${thread_id} says ${status}, it was told ${said}`)
      }
      for (const { group_id, open, ended, submission_id } of records.groups(execution_id)) {
        if (open > 0) fault(`group ${group_id} has ${open} open threads`)
        const isBegun = Object.keys(ended).length > 0
        if (isBegun && !this.#watch.isComplete(submission_id, group_id)) fault(`group ${group_id} is over, and nobody was told`)
      }
    }
  }
}

function isHeld({ status, control: { pause_reason }, last_error }: LabwareThread): boolean {
  return status.current === 'PAUSED' && pause_reason === 'system' && last_error === restarted
}

function isStanding(execution: Execution): boolean {
  return execution.isOver || execution.live().every((thread) => isHeld(thread))
}

/** Checks that nothing is reserved for ended threads, except where labware of a cut-off move may stand, so that the next thread gets all that is free. */
function checkGivenBack({ scheduler, space, labware }: RunEnvironment, { topology }: Scene, fault: (what: string) => void): void {
  for (const device of scheduler.graph.devices)
    if (scheduler.holds.holder(device)) fault(`${device} is held by ${scheduler.holds.holder(device)} after the end`)
  const positions = scheduler.positions()
  const mayStandAt = new Set(
    [...labware.values()].flatMap(({ held_by, placing }) =>
      held_by !== null && placing ? scheduler.graph.sameZone(placing).map(({ name }) => name) : [],
    ),
  )
  for (const { position, reserved_for } of positions)
    if (reserved_for && !(labware.has(reserved_for) && mayStandAt.has(position)))
      fault(`${position} is reserved for ${reserved_for} after the end`)
  const isTaken = ({ position, labware_id }: (typeof positions)[number]) => labware_id !== null || mayStandAt.has(position)
  const taken = new Set(positions.flatMap((state) => (isTaken(state) && state.device !== null ? [state.device] : [])))
  for (const device of scheduler.graph.devices) {
    if (taken.has(device)) continue
    const asked = scheduler.request({ thread_id: 'whoever comes next', priority: 1, candidates: [{ device }], granted: () => {} })
    if (asked.state !== 'granted') fault(`${device} cannot be had after the end: ${JSON.stringify(asked.explain())}`)
    scheduler.forget('whoever comes next')
  }
  for (const transporter of scheduler.graph.reach.keys())
    if (space.taskWithin(transporter)) fault(`a task within reach of ${transporter} is open after the end`)
  const { transporters, translators } = topology as { transporters: object; translators: object }
  for (const transporter of [...Object.keys(transporters), ...Object.keys(translators)]) {
    let isFree = false
    scheduler.take(transporter, 'whoever comes next', () => {
      isFree = true
    })
    scheduler.forget('whoever comes next')
    if (!isFree) fault(`${transporter} is still taken after the end`)
  }
}

function awaitsHands({ status }: LabwareThread): boolean {
  return status.current === 'AWAITING_MANUAL_PLACE' || status.current === 'AWAITING_MANUAL_REMOVE'
}
