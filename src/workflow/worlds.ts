// The worlds that runs share: one for LIVE and one for DEVICE_SIM on the topology that is loaded, and one of its own for each run in PURE_SIM.

import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { StepQueue } from '../kit/steps.ts'
import { VirtualTime } from '../kit/virtual_time.ts'
import type { Equipment } from './equipment/equipment.ts'
import { PureEquipment } from './equipment/pure_equipment.ts'
import { Durations } from './plans/durations.ts'
import type { Workflow } from './plans/plan.ts'
import { Hops, movesOf } from './plans/timing.ts'
import type { Topology } from './plans/topology.ts'
import type { Execution } from './runs/execution.ts'
import { Scheduler } from './scheduler/scheduler.ts'
import type { RunMode, World } from './threads/world.ts'

export type WorldOptions = {
  clock: Clock
  /** The devices as they are configured; none, where only PURE_SIM is wanted. */
  live?: Equipment
  /** Each driver over its own simulator, for as long as it is needed. */
  openSimulated?(): Promise<{ equipment: Equipment; close(): Promise<void> }>
  /** What PURE_SIM runs have for instruments; unless said, nothing but the time they take. */
  simulate?(topology: Topology, clock: Clock, durations?: Durations): Equipment
  /** Resolves when there is room for more events; undefined while there is. */
  backpressure?(): Promise<unknown> | undefined
  /** What was learned of how long things take, where something is driven. */
  durations?: Partial<Record<RunMode, Durations>>
  newId(): string
}

/** A world that nobody else is told of, and how its time goes on. */
export type Rehearsal = {
  world: World
  /** Resolves when nothing is left to do in it. */
  idle: Promise<void>
  /** `call` hears when time has gone on. */
  onMoment(call: () => void): void
}

type Pure = { idle?(): void; moment?(): void; durations?: Durations | undefined }

export class Worlds {
  readonly #options: WorldOptions
  /** Runs that have not ended. */
  readonly #open: () => Execution[]
  readonly #durations: Partial<Record<RunMode, Durations>>
  #topology: Topology | null = null
  #live: World | null = null
  #simulated: { world: World; close(): Promise<void> } | null = null

  constructor(options: WorldOptions, open: () => Execution[]) {
    this.#options = options
    this.#open = open
    this.#durations = options.durations ?? { LIVE: new Durations(), DEVICE_SIM: new Durations() }
  }

  /** The topology that is loaded. */
  get topology(): Topology | null {
    return this.#topology
  }

  /** The places of the loaded topology as they are, for LIVE runs. */
  get live(): World | null {
    return this.#live
  }

  /** Those in which labware stands around between runs. */
  shared(): World[] {
    return [this.#live, this.#simulated?.world].flatMap((world) => world ?? [])
  }

  load(topology: Topology): void {
    this.#topology = topology
    this.#live = this.#options.live ? this.#driven('LIVE', topology, this.#options.live) : null
  }

  unload(): void {
    this.#topology = null
    this.#live = null
  }

  /** The places and instruments for a run. Rejects with `conflict`: LIVE and DEVICE_SIM never run side by side. */
  async of(workflow: Workflow, mode: RunMode): Promise<World> {
    if (mode === 'PURE_SIM') return this.#pure(workflow.topology)
    this.#mustBeAlone(workflow, mode)
    if (mode === 'LIVE') return this.#live!
    if (!this.#simulated) {
      const { equipment, close } = await this.#options.openSimulated!()
      this.#mustBeAlone(workflow, mode)
      this.#simulated = { world: this.#driven('DEVICE_SIM', workflow.topology, equipment), close }
    }
    return this.#simulated.world
  }

  /** A world on time that jumps; what stands around in LIVE stands there too, if it is for a LIVE run. */
  rehearsal(topology: Topology, mode: RunMode): Rehearsal {
    let isIdle = () => {}
    const idle = new Promise<void>((resolve) => {
      isIdle = resolve
    })
    let moment = () => {}
    const world = this.#pure(topology, { idle: isIdle, moment: () => moment(), durations: this.#durations[mode] })
    if (mode === 'LIVE' && this.#live?.scheduler.graph === topology.graph) copyStanding(this.#live, world)
    return {
      world,
      idle,
      onMoment(call) {
        moment = call
      },
    }
  }

  /** A run has ended: closes the simulated bench when nobody is on it any more. */
  async tidy(): Promise<void> {
    const simulated = this.#simulated
    if (!simulated || this.#open().some(({ world }) => world === simulated.world)) return
    await this.close()
  }

  async close(): Promise<void> {
    const simulated = this.#simulated
    this.#simulated = null
    await simulated?.close()
  }

  #mustBeAlone({ name, topology }: Workflow, mode: RunMode): void {
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
    const other = this.#open().find(({ world }) => world.mode !== 'PURE_SIM' && world.mode !== mode)
    if (other)
      throw new LabError('conflict', `a ${other.world.mode} run of ${other.workflow.name} is open; ${mode} has to wait until it has ended`)
  }

  #driven(mode: RunMode, topology: Topology, equipment: Equipment): World {
    const { clock, backpressure } = this.#options
    const steps = new StepQueue(backpressure ? { backpressure } : {})
    return this.#world({ mode, clock, steps, equipment, durations: this.#durations[mode] }, topology)
  }

  /** `idle` is called each time nothing is left to do in it, `moment` when time has gone on. It goes by `durations` where nothing is declared. */
  #pure(topology: Topology, { idle, moment, durations }: Pure = {}): World {
    const clock = new VirtualTime()
    const { backpressure, simulate = onTheClockAlone } = this.#options
    const onIdle = () => {
      const goesOn = clock.ringNext()
      if (goesOn) moment?.()
      else idle?.()
      return goesOn
    }
    const steps = new StepQueue({ ...(backpressure && { backpressure }), onIdle })
    clock.drive(steps)
    return this.#world({ mode: 'PURE_SIM', clock, steps, equipment: simulate(topology, clock, durations), durations }, topology)
  }

  #reportDeadlock(thread_ids: readonly string[], victim_id: string): void {
    const threads = new Map(this.#open().flatMap(({ threads }) => [...threads]))
    const victim = threads.get(victim_id)
    const isHeld = (thread_id: string) => threads.get(thread_id)?.waiting?.kind === 'operator'
    const namesOf = (ids: readonly string[]) => ids.map((thread_id) => threads.get(thread_id)?.name ?? thread_id).join(', ')
    const held = thread_ids.filter(isHeld)
    const waiting = namesOf(thread_ids.filter((thread_id) => !isHeld(thread_id)))
    const forWhom = held.length > 0 ? `for ${namesOf(held)}, which a person has to let go on, or for each other` : 'for each other'
    const what = `${waiting} wait ${forWhom}; ${victim?.name} is put out of the way`
    victim?.execution.incident('RESERVATION_DEADLOCK', what, victim, { severity: 'INFO' })
  }

  #world(parts: Omit<World, 'scheduler' | 'labware' | 'newId'>, { graph, document }: Topology): World {
    const { clock, durations, mode } = parts
    // Where an arm moves for it somebody may wonder why.
    const onDeadlock =
      mode === 'PURE_SIM' ? undefined : (thread_ids: readonly string[], victim: string) => this.#reportDeadlock(thread_ids, victim)
    const scheduler = new Scheduler(graph, { ahead: { clock, hops: new Hops(document, durations) }, ...(onDeadlock && { onDeadlock }) })
    return { ...parts, scheduler, labware: new Map(), newId: this.#options.newId }
  }
}

/** Labware that no thread moves. */
function copyStanding(from: World, to: World): void {
  for (const { seat, labware_id } of from.scheduler.seats()) {
    const labware = labware_id === null ? undefined : from.labware.get(labware_id)
    if (labware?.state !== 'ENDED') continue
    to.labware.set(labware.labware_id, { ...labware })
    to.scheduler.put(labware.labware_id, seat, null)
  }
}

function onTheClockAlone({ document }: Topology, clock: Clock, durations?: Durations): Equipment {
  return new PureEquipment({ clock, transporters: movesOf(document, durations) })
}
