// The environments that runs share: one for LIVE and one for DEVICE_SIM on the topology that is loaded, and one of its own for each run in PURE_SIM.

import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { StepQueue } from '../kit/steps.ts'
import { VirtualTime } from '../kit/virtual_time.ts'
import type { DeviceCondition, Equipment } from './equipment/equipment.ts'
import { PureEquipment } from './equipment/pure_equipment.ts'
import { scannersOf } from './plans/check_scanners.ts'
import { Durations } from './plans/durations.ts'
import type { Workflow } from './plans/plan.ts'
import { Hops, movesOf } from './plans/timing.ts'
import type { Topology } from './plans/topology.ts'
import type { Execution } from './runs/execution.ts'
import { Forecaster, type Foretell } from './runs/forecaster.ts'
import { Planner } from './runs/planner.ts'
import { foretell as foretellAtOnce } from './schedule/foretell.ts'
import type { FindSchedule } from './schedule/problem.ts'
import type { SafetyOptions } from './scheduler/deadlock_avoidance.ts'
import { type Decision, DecisionLog } from './scheduler/decision_log.ts'
import { Scheduler } from './scheduler/scheduler.ts'
import { SharedSpace } from './scheduler/shared_space.ts'
import { LabwareOnDeck } from './state/labware.ts'
import type { RunMode } from './state/modes.ts'
import type { RunVersions } from './state/run.ts'
import type { RunEnvironment, Trial } from './threads/run_environment.ts'
import type { LabwareThread } from './threads/thread.ts'

export type RunEnvironmentOptions = {
  clock: Clock
  /** The devices as they are configured; none, where only PURE_SIM is wanted. */
  live?: Equipment
  /** Each driver over its own simulator, for as long as it is needed. */
  openSimulated?(): Promise<{ equipment: Equipment; close(): Promise<void> }>
  /** Makes the instruments of PURE_SIM runs. By default they do nothing but take time. */
  simulate?(topology: Topology, clock: Clock, known?: Known): Equipment
  /** Finds plans. Without it the benches go by the rule alone. */
  search?: FindSchedule
  /** Foretells the ends of runs beside the event loop. Without it nothing is foretold. */
  foretell?: Foretell
  /** Resolves when there is room for more events; undefined while there is. */
  backpressure?(): Promise<unknown> | undefined
  /** The durations that were learned, where something is driven. */
  durations?: Partial<Record<RunMode, Durations>>
  /** How much the safe-state check of the scheduler may cost, and who answers where that is not enough. */
  safety?: SafetyOptions
  /** Takes the decisions of the scheduler about deadlocks, outside PURE_SIM, as sentences for the log. */
  note?(sentence: string): void
  /** Returns the versions of a workflow and its topology, which the run names; none by default. Does not reject. */
  versionsOf?(workflow: Workflow, run_mode: RunMode): Promise<RunVersions>
  newId(): string
}

/** The knowledge of a forecast: learned durations, and the condition of the devices. */
type Known = { durations?: Durations | undefined; conditions?: ReadonlyMap<string, DeviceCondition> | undefined }

/** An environment that publishes to nobody else, and how its time goes on. */
export type Rehearsal = {
  environment: RunEnvironment
  /** Resolves when nothing is left to do in it. */
  idle: Promise<void>
  /** `call` hears when time has gone on. */
  onMoment(call: () => void): void
}

type Pure = Known & { idle?(): void; moment?(): void; trial?: Trial }

/** The conditions of the devices, the ids of labware that counts as gone, and the kind of trial. */
type Trying = Pick<Known, 'conditions'> & { gone?: ReadonlySet<string> | undefined; trial?: Trial }

export class RunEnvironments {
  readonly #options: RunEnvironmentOptions
  /** Runs that have not ended. */
  readonly #open: () => Execution[]
  readonly #durations: Partial<Record<RunMode, Durations>>
  #topology: Topology | null = null
  #live: RunEnvironment | null = null
  #simulated: { environment: RunEnvironment; close(): Promise<void> } | null = null

  constructor(options: RunEnvironmentOptions, open: () => Execution[]) {
    this.#options = options
    this.#open = open
    this.#durations = options.durations ?? { LIVE: new Durations(), DEVICE_SIM: new Durations() }
  }

  /** The topology that is loaded. */
  get topology(): Topology | null {
    return this.#topology
  }

  /** The places of the loaded topology as they are, for LIVE runs. */
  get live(): RunEnvironment | null {
    return this.#live
  }

  /**
   * Notes a motion of a transporter of the bench that is no move of labware, such as homing, until the returned function is called. Throws `interlock`
   * while a person has a task within its reach.
   */
  beginMotion(transporter: string): () => void {
    if (!this.#live) return () => {}
    const { space, scheduler } = this.#live
    const leave = space.begin(transporter)
    if (leave) return leave
    const task = space.taskWithin(transporter)!
    const reach = scheduler.graph.reach.get(transporter)
    const near = task.hands!.filter((position) => reach?.has(position))
    const what = `${transporter} reaches ${near.join(' and ')}, where ${task.transporter} has a task`
    throw new LabError('interlock', `${what}: answer it (GET /api/operator/steps), then try again`)
  }

  /** Lets people begin with their tasks who waited until a transporter stands. */
  stood(): void {
    this.#live?.space.look()
  }

  /** The environments in which labware stands around between runs. */
  shared(): RunEnvironment[] {
    return [this.#live, this.#simulated?.environment].flatMap((environment) => environment ?? [])
  }

  load(topology: Topology): void {
    this.#topology = topology
    this.#live = this.#options.live ? this.#driven('LIVE', topology, this.#options.live) : null
  }

  unload(): void {
    this.#topology = null
    this.#live?.forecaster?.close()
    this.#live = null
  }

  /**
   * The places and instruments for a run: DEVICE_SIM has its own labware and reservations, so a rehearsal is never in the way of the bench. Rejects
   * with `conflict` where its topology is not loaded, or there are no such devices.
   */
  async of(workflow: Workflow, mode: RunMode): Promise<RunEnvironment> {
    if (mode === 'PURE_SIM') return this.#pure(workflow.topology)
    this.mustBePossible(workflow, mode)
    if (mode === 'LIVE') return this.#live!
    if (!this.#simulated) {
      const { equipment, close } = await this.#options.openSimulated!()
      this.mustBePossible(workflow, mode)
      this.#simulated = { environment: this.#driven('DEVICE_SIM', workflow.topology, equipment), close }
    }
    return this.#simulated.environment
  }

  /** Resolves with the environment for a new run, as `of`, and the versions that the run names. */
  begin(workflow: Workflow, mode: RunMode): Promise<[RunEnvironment, RunVersions | undefined]> {
    return Promise.all([this.of(workflow, mode), this.#options.versionsOf?.(workflow, mode)])
  }

  /** The condition in which a run of this mode would find the devices of a topology; undefined where nothing is driven. */
  async conditions({ devices, document }: Topology, mode: RunMode): Promise<ReadonlyMap<string, DeviceCondition> | undefined> {
    const { live, openSimulated } = this.#options
    if (mode === 'PURE_SIM' || (mode === 'DEVICE_SIM' && !openSimulated) || !live) return undefined
    // The simulated bench of a rehearsal has the drivers of the live one. While no run uses it, it does not exist.
    const now = mode === 'LIVE' ? live : this.#simulated?.environment.equipment
    const found = new Map<string, DeviceCondition>()
    const look = async (name: string) => {
      const condition = await (now ? now.conditionOf?.(name) : live.conditionWhenNew?.(name))
      if (condition) found.set(name, condition)
    }
    await Promise.allSettled([...devices.keys(), ...Object.keys(document.transporters), ...scannersOf(document)].map(look))
    return found
  }

  /**
   * Makes an environment on simulated time, which jumps to the next event. For a LIVE run it begins with the labware that stands on the bench, except
   * the labware with the ids in `gone`.
   */
  rehearsal(topology: Topology, mode: RunMode, { conditions, gone = new Set(), trial = 'dry_run' }: Trying = {}): Rehearsal {
    let isIdle = () => {}
    const idle = new Promise<void>((resolve) => {
      isIdle = resolve
    })
    let moment = () => {}
    const environment = this.#pure(topology, { idle: isIdle, moment: () => moment(), durations: this.#durations[mode], conditions, trial })
    // A library that was compiled anew has another graph of the same positions.
    if (mode === 'LIVE' && this.#live && this.#topology?.name === topology.name) copyStanding(this.#live, environment, gone)
    return {
      environment,
      idle,
      onMoment(call) {
        moment = call
      },
    }
  }

  /** A run has ended: closes the simulated bench when nobody is on it any more. */
  async tidy(): Promise<void> {
    const simulated = this.#simulated
    if (!simulated || this.#open().some(({ environment }) => environment === simulated.environment)) return
    await this.#closeSimulated()
  }

  /** Leaves no timer behind, and closes the simulated bench. */
  async close(): Promise<void> {
    this.#live?.forecaster?.close()
    await this.#closeSimulated()
  }

  async #closeSimulated(): Promise<void> {
    const simulated = this.#simulated
    this.#simulated = null
    simulated?.environment.forecaster?.close()
    await simulated?.close()
  }

  /** Throws `conflict` where the topology of the workflow is not loaded, or there are no devices for the mode. PURE_SIM needs neither. */
  mustBePossible({ name, topology }: Workflow, mode: RunMode): void {
    if (mode === 'PURE_SIM') return
    const loaded = this.#topology
    if (!loaded) throw new LabError('conflict', `no topology is loaded; ${name} runs on ${topology.name}: load that first`)
    if (loaded.name !== topology.name) {
      throw new LabError(
        'conflict',
        `topology ${loaded.name} is loaded, and ${name} runs on ${topology.name}; unload the one and load the other first`,
      )
    }
    if (mode === 'LIVE' ? !this.#options.live : !this.#options.openSimulated)
      throw new LabError('conflict', `there are no devices for ${mode} here`)
  }

  #driven(mode: RunMode, topology: Topology, equipment: Equipment): RunEnvironment {
    const { clock, backpressure } = this.#options
    const steps = new StepQueue(backpressure ? { backpressure } : {})
    return this.#environment({ mode, clock, steps, equipment, durations: this.#durations[mode] }, topology)
  }

  /** `idle` is called each time nothing is left to do in it, `moment` when time has gone on. It goes by `durations` where nothing is declared. */
  #pure(topology: Topology, { idle, moment, durations, conditions, trial }: Pure = {}): RunEnvironment {
    const clock = new VirtualTime()
    const { backpressure, simulate = onTheClockAlone } = this.#options
    let planner: Planner | undefined
    const onIdle = () => {
      if (planner?.isDue) {
        void planner.make()
        return true
      }
      const goesOn = clock.ringNext()
      if (goesOn) moment?.()
      else idle?.()
      return goesOn
    }
    const steps = new StepQueue({ ...(backpressure && { backpressure }), onIdle })
    clock.drive(steps)
    const environment = this.#environment(
      { mode: 'PURE_SIM', trial, clock, steps, equipment: simulate(topology, clock, { durations, conditions }), durations },
      topology,
    )
    planner = environment.planner
    return environment
  }

  #thread(thread_id: string): LabwareThread | undefined {
    for (const { threads } of this.#open()) if (threads.has(thread_id)) return threads.get(thread_id)
    return undefined
  }

  #nameOf(thread_id: string): string {
    return this.#thread(thread_id)?.name ?? thread_id
  }

  #reportDeadlock(thread_ids: readonly string[], victim_id: string): void {
    const victim = this.#thread(victim_id)
    const isHeld = (thread_id: string) => this.#thread(thread_id)?.control.waiting?.kind === 'operator'
    const namesOf = (ids: readonly string[]) => ids.map((thread_id) => this.#nameOf(thread_id)).join(', ')
    const held = thread_ids.filter(isHeld)
    const waiting = thread_ids.filter((thread_id) => !isHeld(thread_id))
    const forPerson = held.length > 0 ? `for ${namesOf(held)}, which a person has to let go on` : ''
    const forWhom = [forPerson, waiting.length > 1 ? 'for each other' : ''].filter(Boolean).join(', or ')
    const what = `${namesOf(waiting)} ${waiting.length > 1 ? 'wait' : 'waits'} ${forWhom}; ${victim?.name} is put out of the way`
    victim?.execution.events.incident('RESERVATION_DEADLOCK', what, victim, { severity: 'INFO' })
  }

  /** The options of the safe-state check. Simulated time stands still while an answer is awaited. */
  #safety(steps: StepQueue): SafetyOptions {
    const { safety = {} } = this.#options
    const { decideUnbounded } = safety
    if (!decideUnbounded) return safety
    return {
      ...safety,
      decideUnbounded(configuration) {
        const release = steps.hold()
        const answer = decideUnbounded(configuration)
        if (!answer) release()
        return answer?.finally(release)
      },
    }
  }

  #environment(
    parts: Omit<RunEnvironment, 'forecaster' | 'scheduler' | 'planner' | 'space' | 'decisions' | 'labware' | 'failedPicks' | 'newId'>,
    { graph, document }: Topology,
  ): RunEnvironment & { planner: Planner } {
    const { clock, durations, mode } = parts
    const isDriven = mode !== 'PURE_SIM'
    const nameOf = (thread_id: string) => this.#nameOf(thread_id)
    const decisions = new DecisionLog({ clock, nameOf, note: isDriven ? this.#options.note : undefined })
    const onDecision = (decision: Decision) => {
      decisions.add(decision)
      // An arm moves because of this decision, and a person may wonder why.
      if (isDriven && decision.kind === 'parked') this.#reportDeadlock(decision.thread_ids, decision.thread_id)
    }
    const hops = new Hops(document, durations)
    const scheduler = new Scheduler(graph, { ahead: { clock, hops }, onDecision, safety: this.#safety(parts.steps) })
    const planner = new Planner({
      scheduler,
      clock,
      steps: parts.steps,
      hops,
      isVirtual: !isDriven,
      equipment: parts.equipment,
      find: this.#options.search,
    })
    const { equipment } = parts
    const environment: RunEnvironment & { planner: Planner } = {
      ...parts,
      scheduler,
      planner,
      space: new SharedSpace(graph, (transporter) => equipment.mayMove?.(transporter) ?? false),
      decisions,
      labware: new LabwareOnDeck(),
      failedPicks: new Map(),
      newId: this.#options.newId,
    }
    const { foretell } = this.#options
    if (!isDriven || !foretell) return environment
    const open = () => this.#open().filter((execution) => execution.environment.scheduler === scheduler)
    const bench = { scheduler, hops, equipment }
    const forecaster = new Forecaster({ scheduler, clock, steps: parts.steps, bench, open, foretell, foretellAtOnce })
    return { ...environment, forecaster }
  }
}

/** Labware that no thread moves. */
function copyStanding(from: RunEnvironment, to: RunEnvironment, gone: ReadonlySet<string>): void {
  for (const { position, labware_id } of from.scheduler.positions()) {
    const labware = labware_id === null ? undefined : from.labware.get(labware_id)
    if (labware?.state !== 'ENDED' || gone.has(labware.labware_id)) continue
    to.labware.set(labware.labware_id, { ...labware })
    to.scheduler.put(labware.labware_id, position, null)
  }
}

function onTheClockAlone({ document }: Topology, clock: Clock, { durations, conditions }: Known = {}): Equipment {
  return new PureEquipment({ clock, transporters: movesOf(document, durations), durations, conditions })
}
