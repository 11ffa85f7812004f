// The workflow runtime: the topology that is loaded, the executions on it, and what is asked of them.

import { randomUUID } from 'node:crypto'
import { LabError, messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import type { Sink } from '../events/sinks.ts'
import type { Clock } from '../kit/clock.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { StepQueue } from '../kit/steps.ts'
import { VirtualTime } from '../kit/virtual_time.ts'
import { type DryRun, dryRun } from './dry_run.ts'
import type { Equipment } from './equipment/equipment.ts'
import { PureEquipment } from './equipment/pure_equipment.ts'
import { Floor } from './floor/floor.ts'
import { Memory } from './kept/memory.ts'
import { type RecordStore, Records } from './kept/records.ts'
import { restore } from './kept/restoring.ts'
import type { Saved } from './kept/saved.ts'
import { ExecutionTrackingSink } from './kept/tracking_sink.ts'
import type { Bench } from './plans/bench.ts'
import { Durations } from './plans/durations.ts'
import type { Library } from './plans/library.ts'
import type { Workflow } from './plans/plan.ts'
import { refusalFor } from './plans/refusal.ts'
import { Hops, movesOf } from './plans/timing.ts'
import type { Topology } from './plans/topology.ts'
import { Execution, type Surroundings } from './runs/execution.ts'
import { Operator } from './runs/operator.ts'
import { Submission, type SubmissionRequest } from './runs/submission.ts'
import { type Piece, piecesOf, relocate } from './whereabouts.ts'
import type { SubmissionStatus } from './statuses.ts'
import type { LateCalls } from './threads/late_calls.ts'
import type { LabwareThread } from './threads/thread.ts'
import type { RunMode, World } from './threads/world.ts'

export type RuntimeOptions = {
  hub: Pick<Hub, 'emit' | 'incident' | 'registerSink' | 'unregisterSink' | 'getEventsSince' | 'getEventsForExecution' | 'events' | 'remove'>
  clock: Clock
  /** Unix time, s. */
  now(): number
  warn(message: string): void
  /** The devices and points there are. */
  bench: Bench
  library: Library
  /** The devices as they are configured; none, where only PURE_SIM is wanted. */
  live?: Equipment
  /** Each driver over its own simulator, for as long as it is needed. */
  openSimulated?(): Promise<{ equipment: Equipment; close(): Promise<void> }>
  /** What PURE_SIM runs have for instruments; unless said, nothing but the time they take. */
  simulate?(topology: Topology, clock: Clock, durations?: Durations): Equipment
  /** Where its sink mirrors what becomes of each run; unless said, in memory alone. */
  records?: Records
  /** Somebody else's, which is told the same. */
  recordService?: RecordStore
  /** Resolves when there is room for more events; undefined while there is. */
  backpressure?(): Promise<unknown> | undefined
  /** Where an execution of this mode is kept, so that it can be taken up again; undefined for one that is not. */
  keep?(execution_id: string, mode: RunMode): ConstructorParameters<typeof Memory>[1] | undefined
  /** What was learned of how long things take, where something is driven. */
  durations?: Partial<Record<RunMode, Durations>>
  /** What bound handlers see as the system. */
  system?: unknown
  newId?(): string
}

/** Executions that have ended and are still known to their depth; of older ones there are records. */
const mostEnded = 20

export class Runtime {
  readonly #options: RuntimeOptions
  readonly #around: Surroundings
  readonly operator: Operator
  readonly records: Records
  library: Library
  #topology: Topology | null = null
  #live: World | null = null
  #simulated: { world: World; close(): Promise<void> } | null = null
  readonly #durations: NonNullable<RuntimeOptions['durations']>
  readonly #executions = new Map<string, Execution>()
  readonly #submissions = new Map<string, Submission>()
  readonly #idle = new Map<string, () => void>()
  #isClosing = false

  constructor(options: RuntimeOptions) {
    this.#options = options
    this.library = options.library
    this.#durations = options.durations ?? { LIVE: new Durations(), DEVICE_SIM: new Durations() }
    this.operator = new Operator(options.now)
    this.records = options.records ?? new Records()
    const stores = options.recordService ? [this.records, options.recordService] : [this.records]
    this.registerSink(new ExecutionTrackingSink({ stores, find: (execution_id) => this.execution(execution_id) }))
    this.#around = {
      hub: options.hub,
      operator: this.operator,
      system: options.system ?? this,
      warn: options.warn,
      now: options.now,
      ended: (execution) => this.#ended(execution),
    }
  }

  registerSink(sink: Sink): void {
    this.#options.hub.registerSink(sink)
  }

  unregisterSink(sink: Sink): void {
    this.#options.hub.unregisterSink(sink)
  }

  /** Every event of that time and later (Unix time, s), with all that was emitted before the call. */
  getEventsSince(timestamp?: number): Promise<RuntimeEvent[]> {
    return this.#options.hub.getEventsSince(timestamp)
  }

  getEventsForExecution(execution_id: string): Promise<RuntimeEvent[]> {
    return this.#options.hub.getEventsForExecution(execution_id)
  }

  /** As the lists, for logs too long to be one. */
  events(asked: { since?: number; execution_id?: string } = {}): AsyncIterable<RuntimeEvent> {
    return this.#options.hub.events(asked)
  }

  /** The topology that is loaded. */
  get topology(): Topology | null {
    return this.#topology
  }

  /** The places of the loaded topology as they are, for LIVE runs. */
  get world(): World | null {
    return this.#live
  }

  /** Loads a topology. Throws `not_found`; `conflict` while another is loaded, or runs are open on it, unless `force`, which aborts them. */
  load(name: string, { force = false }: { force?: boolean } = {}): Topology {
    const topology = found(this.library.topologies, name, 'topology')
    if (this.#topology && !force) {
      throw new LabError('conflict', `topology ${this.#topology.name} is loaded; unload it first, or load ${name} with force`)
    }
    this.unload({ force })
    this.#topology = topology
    if (this.#options.live) this.#live = this.#worldOf('LIVE', topology, this.#options.live)
    return topology
  }

  /** Throws `conflict` while runs are open on it, unless `force`, which aborts them. Streams of events live on. */
  unload({ force = false }: { force?: boolean } = {}): void {
    const open = this.executions().filter((execution) => !execution.isOver && execution.world.mode !== 'PURE_SIM')
    if (open.length > 0 && !force) {
      throw new LabError(
        'conflict',
        `${open.length} runs are open on topology ${this.#topology?.name}; stop them first, or unload with force`,
      )
    }
    for (const execution of open) execution.abort('the topology was unloaded')
    this.#topology = null
    this.#live = null
  }

  /** Throws `not_found`. */
  workflow(name: string): Workflow {
    return found(this.library.workflows, name, 'workflow')
  }

  /** Executions that are open, and the newest of those that have ended; oldest first. */
  executions(): Execution[] {
    return [...this.#executions.values()]
  }

  execution(execution_id: string): Execution | undefined {
    return this.#executions.get(execution_id)
  }

  submissions(): Submission[] {
    return [...this.#submissions.values()]
  }

  submission(submission_id: string): Submission | undefined {
    return this.#submissions.get(submission_id)
  }

  thread(thread_id: string): LabwareThread | undefined {
    for (const { threads } of this.#executions.values()) {
      const thread = threads.get(thread_id)
      if (thread) return thread
    }
    return undefined
  }

  /**
   * Begins a run, or puts more groups into one that is open. What is wrong is said before anything happens: `not_found` for
   * a workflow that is not there, `invalid` for what can never be, `conflict` for what cannot be now.
   */
  async submit(request: SubmissionRequest): Promise<Submission> {
    const workflow = this.workflow(request.workflow)
    this.#check(workflow, request)
    if (this.#isClosing) throw new LabError('stopping', `the service stops; submit ${workflow.name} once it runs again`)
    const world = await this.#worldFor(workflow, request.run_mode)
    const execution = this.#joined(workflow, request) ?? this.#begin(workflow, world, request)
    const submission = this.#submission(execution, {
      submission_id: this.#newId(),
      request,
      submitted_at: this.#options.now(),
    })
    execution.start(submission)
    return submission
  }

  #submission(
    execution: Execution,
    { status, ...of }: Pick<Submission, 'submission_id' | 'request' | 'submitted_at'> & { status?: SubmissionStatus },
  ): Submission {
    const { execution_id } = execution
    const submission = new Submission({ ...of, execution_id }, status, (submission, status) => {
      const { submission_id, request, reason } = submission
      const context = { ...execution.context(), submission_id, group_count: request.groups.length, reason }
      execution.emit('SUBMISSION', submission_id, status, context)
    })
    this.#submissions.set(submission.submission_id, submission)
    return submission
  }

  /**
   * Takes up what was kept when the service ended: it stands paused, and nothing moves before somebody resumes it. Its topology
   * must be loaded. Throws `conflict` or `not_found` when that cannot be.
   */
  async restore(saved: Saved): Promise<Execution> {
    const { execution_id, run_mode, is_joinable } = saved.execution
    const workflow = this.workflow(saved.execution.workflow)
    const world = await this.#worldFor(workflow, run_mode, { isNew: false })
    const told = new Map<string, string>()
    for await (const { entity_id, status } of this.events({ execution_id })) told.set(entity_id, status)
    const execution = new Execution(workflow, world, { isJoinable: is_joinable, around: this.#around, saved: saved.execution })
    const submissions = saved.submissions.map(({ submission_id, request, submitted_at, status }) =>
      this.#submission(execution, { submission_id, request, submitted_at, status: status as SubmissionStatus }),
    )
    restore(execution, saved, { submissions, now: this.#options.now(), lastTold: (id) => told.get(id) })
    this.#add(execution)
    execution.memory?.changed()
    return execution
  }

  /** Every labware there is: what runs that are open move, and what stands around in LIVE and DEVICE_SIM. */
  labware(): Piece[] {
    const open = this.executions().filter(({ isOver }) => !isOver)
    const worlds = new Set([
      ...(this.#live ? [this.#live] : []),
      ...(this.#simulated ? [this.#simulated.world] : []),
      ...open.map(({ world }) => world),
    ])
    return piecesOf(
      worlds,
      open.flatMap((execution) => execution.live()),
    )
  }

  /** Takes an operator's word for where a labware is; null: off the bench. Throws `not_found`; `conflict` where it cannot be. */
  relocate(labware_id: string, { position }: { position: string | null }): void {
    const piece = this.labware().find(({ labware }) => labware.labware_id === labware_id)
    if (!piece) throw new LabError('not_found', `there is no labware ${labware_id}`)
    relocate(piece, position)
  }

  /** A device call that takes too long, by the id of its incident: it may take so much longer. Answers what call it is. Throws `not_found`, `conflict`. */
  extend(incident_id: string, { seconds }: { seconds: number }): string {
    return this.#lateCall(incident_id).decide(incident_id, { extend: seconds })
  }

  /** Cuts a device call off that takes too long: then it has failed. Answers and throws as `extend`. */
  abortCall(incident_id: string): string {
    return this.#lateCall(incident_id).decide(incident_id, 'abort')
  }

  /** Takes an operator's word that a device call that takes too long has done its work; it is cut off. Answers and throws as `extend`. */
  completeCall(incident_id: string): string {
    return this.#lateCall(incident_id).decide(incident_id, 'complete')
  }

  #lateCall(incident_id: string): LateCalls {
    const execution = this.executions().find(({ lateCalls }) => lateCalls.has(incident_id))
    if (!execution) throw new LabError('not_found', `no device call that takes too long belongs to incident ${incident_id}`)
    return execution.lateCalls
  }

  /** What would become of a submission, told without touching anything; LIVE positions that are taken are taken in it too. */
  simulate(request: SubmissionRequest): Promise<DryRun> {
    const workflow = this.workflow(request.workflow)
    this.#check(workflow, { ...request, run_mode: 'PURE_SIM' })
    let isDone = () => {}
    const idle = new Promise<void>((resolve) => {
      isDone = resolve
    })
    let onMoment = () => {}
    const world = this.#pureWorld(workflow.topology, {
      idle: isDone,
      moment: () => onMoment(),
      durations: this.#durations[request.run_mode],
    })
    if (request.run_mode === 'LIVE' && this.#live?.floor.graph === workflow.topology.graph) this.#copyStanding(this.#live, world)
    const setMoment = (call: () => void) => {
      onMoment = call
    }
    return dryRun({ workflow, request, world, idle, onMoment: setMoment })
  }

  /** Labware that no thread moves. */
  #copyStanding(from: World, to: World): void {
    for (const { seat, labware_id } of from.floor.seats()) {
      const labware = labware_id === null ? undefined : from.labware.get(labware_id)
      if (labware?.state !== 'ENDED') continue
      to.labware.set(labware.labware_id, { ...labware })
      to.floor.put(labware.labware_id, seat, null)
    }
  }

  /** Takes an execution that has ended out of memory, and its events out of the log. Throws `conflict` while it is open. */
  async remove(execution_id: string): Promise<void> {
    const execution = this.#executions.get(execution_id)
    if (execution && !execution.isOver) throw new LabError('conflict', `execution ${execution_id} is open; stop it before it is removed`)
    await this.#options.hub.remove(execution_id)
    this.#forget(execution_id)
    this.records.remove(execution_id)
  }

  /** Resolves when an execution has ended. */
  over(execution: Execution): Promise<void> {
    if (execution.isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const before = this.#idle.get(execution.execution_id)
      this.#idle.set(execution.execution_id, () => {
        before?.()
        resolve()
      })
    })
  }

  /** Ends all that is open; what is kept stands down, as far as there is patience for it, and is taken up at the next start. */
  async close(patience: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#isClosing = true
    const open = this.executions().filter((execution) => !execution.isOver)
    const standing = open.map((execution) => (execution.memory ? null : this.over(execution)))
    const stood = open.map((execution) => execution.standDown(patience).catch((error) => this.#options.warn(messageOf(error))))
    await Promise.all([...standing, ...stood])
    await this.#simulated?.close()
    this.#simulated = null
  }

  #newId(): string {
    return (this.#options.newId ?? flatId)()
  }

  /** All that can be said against a submission without looking at what runs. */
  #check(workflow: Workflow, { run_mode, groups, variables }: SubmissionRequest): void {
    const refusal = refusalFor(workflow, run_mode, this.#options.bench)
    if (refusal) throw new LabError('invalid', refusal)
    for (const name of Object.keys(variables)) {
      if (!(name in workflow.document.variables)) {
        throw new LabError(
          'invalid',
          `variables: workflow ${workflow.name} has no variable ${name}${didYouMean(name, Object.keys(workflow.document.variables))}`,
        )
      }
    }
    const ids = groups.map(({ group_id }) => group_id)
    const twice = ids.find((id, i) => ids.indexOf(id) !== i)
    if (twice) throw new LabError('invalid', `groups: group ${twice} is there twice`)
    for (const { group_id, members } of groups) {
      for (const [name, acquisition] of Object.entries(members)) {
        const where = `groups: ${group_id}.members.${name}`
        const plan = workflow.threads.get(name)
        if (!plan)
          throw new LabError(
            'invalid',
            `${where}: workflow ${workflow.name} has no thread ${name}${didYouMean(name, [...workflow.threads.keys()])}`,
          )
        if ('location' in acquisition && !workflow.topology.graph.seats.has(acquisition.location)) {
          throw new LabError('invalid', `${where}: there is no place ${acquisition.location}`)
        }
      }
    }
  }

  /** The execution that takes the groups, if they are to be put into one and there is one. Throws `conflict` when it cannot. */
  #joined(workflow: Workflow, { batch_mode, run_mode, groups }: SubmissionRequest): Execution | undefined {
    if (batch_mode !== 'JOIN_EXISTING' || groups.length === 0) return undefined
    const all = this.executions().filter((execution) => execution.workflow.name === workflow.name && !execution.isOver)
    const open = all.find(({ phase }) => phase.current === 'accepting') ?? all[0]
    if (!open) return undefined
    const id = open.execution_id
    if (open.world.mode !== run_mode)
      throw new LabError('conflict', `execution ${id} of ${workflow.name} runs in ${open.world.mode}; submit in that mode, or STANDALONE`)
    if (open.phase.current !== 'accepting')
      throw new LabError('conflict', `execution ${id} of ${workflow.name} takes no more: it is ${open.phase.current}`)
    if (open.slots.list().some(({ isOrphaned }) => isOrphaned))
      throw new LabError('conflict', `execution ${id} of ${workflow.name} has work that nobody brings labware for; resume it first`)
    if (open.paused) throw new LabError('conflict', `execution ${id} of ${workflow.name} is paused; resume it first`)
    if (open.workflow.hash !== workflow.hash)
      throw new LabError('conflict', `workflow ${workflow.name} was changed since execution ${id} began; submit STANDALONE`)
    return open
  }

  #begin(workflow: Workflow, world: World, { batch_mode }: SubmissionRequest): Execution {
    const execution = new Execution(workflow, world, { isJoinable: batch_mode === 'JOIN_EXISTING', around: this.#around })
    this.#add(execution)
    return execution
  }

  #add(execution: Execution): void {
    this.#executions.set(execution.execution_id, execution)
    const journal = this.#options.keep?.(execution.execution_id, execution.world.mode)
    if (journal) execution.memory = new Memory(execution, journal)
  }

  /** The places and instruments of a mode. LIVE and DEVICE_SIM never run side by side. */
  async #worldFor(workflow: Workflow, mode: RunMode, { isNew = true } = {}): Promise<World> {
    if (mode === 'PURE_SIM') return this.#pureWorld(workflow.topology)
    this.#mustBeAlone(workflow, mode)
    if (mode === 'LIVE') {
      const { document } = workflow
      if (isNew) this.#mustBeFree(workflow, document.start)
      return this.#live!
    }
    if (!this.#simulated) {
      const { equipment, close } = await this.#options.openSimulated!()
      this.#mustBeAlone(workflow, mode)
      this.#simulated = { world: this.#worldOf('DEVICE_SIM', workflow.topology, equipment), close }
    }
    return this.#simulated.world
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
    const other = this.executions().find(({ isOver, world }) => !isOver && world.mode !== 'PURE_SIM' && world.mode !== mode)
    if (other)
      throw new LabError('conflict', `a ${other.world.mode} run of ${other.workflow.name} is open; ${mode} has to wait until it has ended`)
  }

  /** Where the first threads of a LIVE run begin nothing may stand, but what is to be used again, and in a storage. */
  #mustBeFree({ threads, name, document }: Workflow, start: readonly string[]): void {
    const floor = this.#live!.floor
    for (const plan of start.map((thread) => threads.get(thread)!)) {
      const { seat, mode } = plan.start
      const { labware_id } = floor.seat(seat)
      if (labware_id === null || floor.graph.seats.get(seat)?.storage) continue
      const there = this.#live!.labware.get(labware_id)
      if (mode === 'REUSE_EXISTING' && there?.type === document.labware[plan.labware]?.type) continue
      throw new LabError('conflict', `${name} begins at ${seat}, where ${there?.name ?? labware_id} stands; take it away first`)
    }
  }

  /** `idle` is called each time nothing is left to do in it, `moment` when time has gone on. It goes by `durations` where nothing is declared. */
  #pureWorld(
    topology: Topology,
    { idle, moment, durations }: { idle?(): void; moment?(): void; durations?: Durations | undefined } = {},
  ): World {
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
    const equipment = simulate(topology, clock, durations)
    const floor = new Floor(topology.graph, { ahead: { clock, hops: new Hops(topology.document, durations) } })
    return { mode: 'PURE_SIM', clock, steps, floor, equipment, labware: new Map(), newId: () => this.#newId(), durations }
  }

  #worldOf(mode: RunMode, topology: Topology, equipment: Equipment): World {
    const { clock, backpressure } = this.#options
    const steps = new StepQueue(backpressure ? { backpressure } : {})
    const durations = this.#durations[mode]
    const floor = new Floor(topology.graph, { ahead: { clock, hops: new Hops(topology.document, durations) } })
    return { mode, clock, steps, floor, equipment, labware: new Map(), newId: () => this.#newId(), durations }
  }

  #ended(execution: Execution): void {
    this.#idle.get(execution.execution_id)?.()
    this.#idle.delete(execution.execution_id)
    const ended = this.executions().filter(({ isOver }) => isOver)
    for (const { execution_id } of ended.slice(0, Math.max(0, ended.length - mostEnded))) this.#forget(execution_id)
    for (const other of this.executions()) if (!other.isOver && other.world === execution.world) other.suspectStall()
    void this.#closeSimulated()
  }

  async #closeSimulated(): Promise<void> {
    const simulated = this.#simulated
    if (!simulated || this.executions().some(({ isOver, world }) => !isOver && world === simulated.world)) return
    this.#simulated = null
    await simulated.close()
  }

  #forget(execution_id: string): void {
    for (const { submission_id } of this.#executions.get(execution_id)?.submissions ?? []) this.#submissions.delete(submission_id)
    this.#executions.delete(execution_id)
  }
}

/** What `randomUUID` answers is a tree of twenty pieces, which takes ten times the room of the text. */
function flatId(): string {
  return Buffer.from(randomUUID(), 'latin1').toString('latin1')
}

function onTheClockAlone({ document }: Topology, clock: Clock, durations?: Durations): Equipment {
  return new PureEquipment({ clock, transporters: movesOf(document, durations) })
}

function found<Item>(items: ReadonlyMap<string, Item>, name: string, kind: string): Item {
  const item = items.get(name)
  if (item) return item
  throw new LabError('not_found', `there is no ${kind} ${JSON.stringify(name)}${didYouMean(name, [...items.keys()])}`)
}
