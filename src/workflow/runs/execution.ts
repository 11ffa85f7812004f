// A run of a workflow, with its threads, its submissions and its outcome.

import { LabError } from '../../errors.ts'
import type { Clock } from '../../kit/clock.ts'
import { itemKey, type ThreadPlan, type Workflow } from '../plans/plan.ts'
import { Entry, RunState } from '../state/entry.ts'
import { type ExecutionState, knownVersions, type RunVersions, type SubmissionState } from '../state/run.ts'
import { RunRecord } from '../state/run_record.ts'
import { type Phase, phaseTransitions, Status, type WorkflowStatus } from '../state/statuses.ts'
import { LateCalls } from '../threads/action/late_calls.ts'
import { Backlogs } from '../threads/backlogs.ts'
import type { ThreadOrigin } from '../threads/carrier.ts'
import { Channels } from '../threads/channels.ts'
import { travel } from '../threads/journey.ts'
import type { MethodRun } from '../threads/method.ts'
import { MotionGate } from '../threads/move/motion_gate.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import { SavedValues } from '../threads/saved_values.ts'
import type { LabwareThread, RunPorts } from '../threads/thread.ts'
import { Timeline } from '../threads/timeline.ts'
import { UsedDevices } from '../threads/used_devices.ts'
import { stillHeating } from './devices_of_run.ts'
import { Groups } from './groups.ts'
import { Inserts } from './inserts.ts'
import { LabwarePositions } from './labware_positions.ts'
import type { Operator } from './operator.ts'
import { PlannedRun } from './planned_run.ts'
import { RunOperations } from './run_operations.ts'
import { type EventOutlets, RunPublisher } from './run_publisher.ts'
import { endedRow, workflowStatus } from './run_rows.ts'
import { Stall } from './stall.ts'
import { itemAhead } from './step_names.ts'
import { Submission } from './submission.ts'
import { ThreadFactory } from './thread_factory.ts'
import { valueOfVariable } from './variables.ts'

/** The context that all runs of a service share. */
export type RunContext = EventOutlets & {
  operator: Operator
  /** Unix time, s, by the system clock. */
  now(): number
  clock: Clock
  /** Lists the runs that have not ended. */
  open?(): Execution[]
  /** Called when a run has ended. */
  ended(execution: Execution): void
}

/** `saved` is the state of a run that is restored; `restore` adds the rest. */
type ExecutionOptions = { isJoinable: boolean; around: RunContext; saved?: ExecutionState; versions?: RunVersions | undefined }

/** The most threads of an open run, because all of them stay in memory until the run has ended. */
export const mostThreads = 5000

export class Execution implements RunPorts {
  readonly execution_id: string
  readonly workflow: Workflow
  readonly environment: RunEnvironment
  readonly submissions: Submission[] = []
  readonly threads = new Map<string, LabwareThread>()
  /** Methods that have not ended. */
  readonly methods = new Map<string, MethodRun>()
  /** The state of the run that survives a restart. */
  readonly state = new RunState()
  readonly record = new RunRecord(this.state)
  readonly planning = new PlannedRun(this)
  readonly used: UsedDevices
  readonly gate = new MotionGate(this.state)
  readonly channels: Channels
  readonly values: SavedValues
  readonly operations: RunOperations
  readonly events: RunPublisher
  readonly operator: Operator
  readonly backlogs: Backlogs
  readonly groups: Groups
  readonly inserts: Inserts
  readonly lateCalls = new LateCalls()
  readonly threadFactory: ThreadFactory
  readonly stall: Stall
  readonly timeline: Timeline
  readonly phase: Status<Phase>
  ended_at: number | null = null
  /** `isAbortArmed`: somebody has called for the end of the run, and has not confirmed it yet. */
  paused: { at: number; reason: 'manual' | 'system'; isAbortArmed?: boolean } | null = null
  reason: string | null = null
  #status: Status<WorkflowStatus> | undefined
  readonly #entry: Entry<'execution'>
  readonly labwarePositions: LabwarePositions
  readonly #around: RunContext
  /** Unix time, s, of the monotonic clock's 0, as measured when the run began or was restored. */
  readonly #epoch_s: number
  readonly #live = new Set<LabwareThread>()

  constructor(workflow: Workflow, environment: RunEnvironment, { isJoinable, around, saved, versions }: ExecutionOptions) {
    const beginning = saved ?? {
      execution_id: environment.newId(),
      ...{ workflow: workflow.name, hash: workflow.hash, topology: workflow.topology.name },
      ...{ run_mode: environment.mode, is_joinable: isJoinable },
      ...{ started_at: around.now(), status: 'accepting' as const, names: [], events_of_groups: true, not_done: [] },
      ...{ workflow_version: null, topology_version: null, ...versions },
    }
    this.execution_id = beginning.execution_id
    this.record.versions = knownVersions(beginning)
    this.workflow = workflow
    this.environment = environment
    this.#around = around
    this.#epoch_s = Math.max(around.now(), beginning.started_at) - around.clock.now() / 1000
    this.#entry = new Entry(this.state, 'execution', beginning)
    // Saves the document as it was when the run began. A document with code cannot be saved; it is read from its file.
    const { on: _, ...written } = workflow.document
    new Entry(this.state, 'document', workflow.hasCode ? null : written)
    this.labwarePositions = new LabwarePositions(environment.scheduler)
    // No event: `#endIfAllHave` publishes the final phases.
    this.phase = new Status<Phase>(phaseTransitions, this.#entry, () => this.state.writeSoon(), { isPublished: true })
    if (this.phase.current === 'stopping') this.reason = 'it was being stopped when the service ended'
    this.used = new UsedDevices(this)
    this.channels = new Channels(this.state, { isOfGroups: beginning.events_of_groups, now: () => this.now() })
    this.values = new SavedValues(this.state)
    this.events = new RunPublisher(this, around)
    this.operator = around.operator
    this.threadFactory = new ThreadFactory(this, this.#entry)
    this.operations = new RunOperations(this, this.#entry)
    this.stall = new Stall(this)
    this.backlogs = new Backlogs(this)
    this.inserts = new Inserts(this)
    this.groups = new Groups(this)
    // A restored run keeps its own zero.
    const began = environment.clock.now() - (saved ? Math.max(0, around.now() - saved.started_at) * 1000 : 0)
    this.timeline = new Timeline(() => Math.round(environment.clock.now() - began) / 1000)
  }

  get isOver(): boolean {
    return this.phase.isTerminal
  }

  /** Whether the run began with JOIN_EXISTING. All its submissions then share the labware that may be batched. */
  get isJoinable(): boolean {
    return this.#entry.state.is_joinable
  }

  /** Unix time, s. */
  get started_at(): number {
    return this.#entry.state.started_at
  }

  /** Returns Unix time, s. It runs evenly from the beginning of the run, even if somebody sets the system clock. */
  now(): number {
    return this.#epoch_s + this.#around.clock.now() / 1000
  }

  /** Finds a thread of this run, or of another run on the same bench. */
  find(thread_id: string): LabwareThread | undefined {
    for (const { threads } of [this, ...this.beside()]) {
      const thread = threads.get(thread_id)
      if (thread) return thread
    }
    return undefined
  }

  /** Lists the other open runs on the same bench. */
  beside(): Execution[] {
    return this.#around.open?.().filter((other) => other !== this && other.environment === this.environment) ?? []
  }

  /** Lists the threads that have not ended, in the order of their creation. */
  live(): LabwareThread[] {
    return [...this.#live]
  }

  /** The number of threads that have not ended. */
  get liveCount(): number {
    return this.#live.size
  }

  /** Adds a submission, new or restored after a restart. */
  add(state: SubmissionState): Submission {
    const submission = new Submission(this, state)
    this.submissions.push(submission)
    return submission
  }

  /** Accepts a checked submission. Its first threads start in a later turn. */
  start(submission: Submission): void {
    submission.status.become('ACCEPTED')
    this.#status ??= workflowStatus(this)
    const { submission_id, request } = submission
    const group_ids = request.groups.length > 0 ? request.groups.map(({ group_id }) => group_id) : [null]
    this.operations.begin()
    const { threads, document } = this.workflow
    for (const group_id of group_ids) {
      for (const name of document.start) this.spawn(threads.get(name)!, { submission_id, group_id })
    }
    if (this.#status.current === 'CREATED') this.#status.become('IN_PROGRESS')
    submission.status.become('IN_PROGRESS')
  }

  /** Creates a thread, which starts in a later turn. */
  spawn(plan: ThreadPlan, origin: ThreadOrigin, start?: string): LabwareThread {
    const thread = this.threadFactory.thread(plan, origin, start)
    this.know(thread)
    this.stall.reconsider()
    this.groups.began(thread)
    this.backlogs.adopt(thread)
    this.setOff(thread)
    this.inserts.spawned(thread)
    return thread
  }

  /** Adds a thread, new or restored after a restart. */
  know(thread: LabwareThread): void {
    this.threads.set(thread.thread_id, thread)
    if (this.operations.know(thread)) return
    this.threadFactory.note(thread)
    if (!thread.isOver) this.labwarePositions.add(thread)
  }

  /**
   * Adds one more thread to the run, at its own start or another. While the run is paused, the thread is held before it begins. Throws `not_found`
   * for an unknown thread or place, `conflict` if the thread cannot begin.
   */
  spawnNow(name: string, start?: string): LabwareThread {
    if (this.isOver || this.phase.current === 'stopping')
      throw new LabError('conflict', `execution ${this.execution_id} is ${this.phase.current}; it takes no more threads`)
    this.operations.mustNotBeLast()
    if (this.threads.size >= mostThreads)
      throw new LabError(
        'conflict',
        `execution ${this.execution_id} has had ${this.threads.size} threads, which is the limit; submit a new execution`,
      )
    const origin = this.threadFactory.originOfAnother()
    return this.spawn(this.threadFactory.planOf(name, origin, start), origin, start)
  }

  /** Lets a thread continue from where it is, in a later turn. */
  setOff(thread: LabwareThread): void {
    this.#live.add(thread)
    const { submission_id } = thread.origin
    this.environment.scheduler.priorities.join(thread.thread_id, submission_id, this.planning.priorityOf(submission_id))
    this.environment.planner.join(thread)
    if (this.paused) thread.control.pause(this.paused.reason)
    if (this.phase.current === 'stopping' && !this.operations.isLast(thread))
      thread.control.cutOff(this.reason ?? 'the execution was aborted')
    this.environment.steps.push(() => {
      void travel(thread).then(() => this.#threadEnded(thread))
    })
  }

  /** Continues the run after a restart. A run that was stopping when the service ended, and has no open threads, ends in a later turn. */
  reopen(): void {
    this.#status = workflowStatus(this, 'IN_PROGRESS')
    if (this.phase.current !== 'stopping') return
    this.operations.giveUp('the service restarted while the run was being stopped')
    this.environment.steps.push(() => this.#endIfAllHave())
  }

  /** Returns the value of a variable for the threads of an origin. Throws `invalid` for an unknown variable. */
  variable(name: string, origin: ThreadOrigin): unknown {
    return valueOfVariable(this, name, origin)
  }

  /** Holds all threads at their next safe points, and new threads before they touch anything. */
  pause(reason: 'manual' | 'system'): void {
    if (this.isOver || this.paused) return
    this.paused = { at: this.now(), reason }
    this.environment.forecaster?.changed()
    for (const thread of this.#live) thread.control.pause(reason)
  }

  /**
   * Lets all threads continue, except those that an error holds. Throws `conflict` while the labware that stalled the run is still in the way, and
   * while a thread's labware is lost after a restart.
   */
  resume(): void {
    for (const thread of this.#live) if (!thread.control.pausedAt) thread.control.mustBeResumable()
    if (this.backlogs.orphaned().length === 0) this.stall.mustBeCleared()
    this.paused = null
    this.environment.forecaster?.changed()
    this.stall.forget()
    this.backlogs.acceptPartial()
    for (const thread of this.#live) if (!thread.control.pausedAt) thread.control.resume()
    // Threads that were resumed one by one earlier may all be waiting already.
    this.stall.suspect()
  }

  /**
   * Stops the run in two calls: the first pauses it and arms the stop; the second, with confirmation, aborts it. Throws `conflict` if the confirmed
   * stop is not armed, or the run has ended.
   */
  stop(isConfirmed: boolean): 'armed' | 'stopping' {
    if (this.isOver) throw new LabError('conflict', `execution ${this.execution_id} has ended: it is ${this.phase.current}`)
    if (this.phase.current === 'stopping') {
      if (isConfirmed) this.operations.giveUp('an operator stopped it')
      return 'stopping'
    }
    if (!isConfirmed) {
      this.pause('manual')
      this.paused!.isAbortArmed = true
      return 'armed'
    }
    if (!this.paused?.isAbortArmed) {
      throw new LabError('conflict', `the stop of execution ${this.execution_id} is not armed; stop it once without confirm first`)
    }
    this.abort('an operator stopped it', { withAfter: true })
    return 'stopping'
  }

  /**
   * Skips an upcoming step or action, or one whose body has not begun yet. Returns its full name. Throws `not_found`; `conflict` if the name is
   * ambiguous, or the step or action has begun.
   */
  skip(item: string): string {
    const { thread, step, action, name } = itemAhead(this.live(), item)
    thread.control.skip(itemKey(step, action))
    this.stall.reconsider()
    this.state.writeSoon()
    return name
  }

  /** Closes the run to further submissions. */
  close(): void {
    if (this.phase.current === 'accepting') this.phase.become('draining')
  }

  /**
   * Prepares the run for the end of the service, after which it goes on: begins nothing new, and waits for current hops until `patience` resolves.
   * Operations in progress at devices are not waited for.
   */
  async standDown(patience: Promise<unknown>): Promise<void> {
    this.gate.close()
    // A person may take hours; the task is shown again after the start.
    const hops = this.live().flatMap(({ carrying, control }) => (control.waiting?.kind === 'operator' ? [] : (carrying ?? [])))
    await Promise.race([Promise.allSettled(hops), patience])
  }

  /** Stops writing the state, and publishes nothing more. */
  leave(): void {
    this.gate.leave()
    this.labwarePositions.stop()
    this.used.leave()
    this.events.silence()
  }

  /** Cuts all threads off. The run is aborted when they have ended; `withAfter`: when it has done its last operations too. */
  abort(why: string, { withAfter = false } = {}): void {
    if (this.isOver) return
    if (!withAfter) this.operations.giveUp(why)
    if (this.phase.current === 'stopping') return
    this.phase.become('stopping')
    this.reason = why
    for (const thread of this.#live) thread.control.cutOff(why)
    // In a later turn, because the run may just be creating its first threads.
    this.environment.steps.push(() => this.#endIfAllHave())
  }

  #threadEnded(thread: LabwareThread): void {
    this.#live.delete(thread)
    this.environment.scheduler.priorities.leave(thread.thread_id)
    this.environment.planner.leave(thread)
    this.stall.reconsider()
    if (thread.plan.part) this.operations.ended(thread)
    else {
      this.backlogs.ended(thread)
      this.groups.ended(thread)
    }
    this.backlogs.settle()
    this.#endIfAllHave()
    for (const { stall } of [this, ...this.beside()]) stall.suspect()
  }

  /** Ends the run after its last thread and its last operations. */
  #endIfAllHave(): void {
    if (this.#live.size > 0 || this.isOver || this.operations.finish()) return
    const failed = [...this.threads.values()].find(({ status }) => status.current === 'FAILED')
    const phase = this.phase.current === 'stopping' ? 'aborted' : failed ? 'failed' : 'completed'
    if (failed) this.reason ??= failed.last_error
    this.inserts.reportUnresolved()
    this.backlogs.abandon()
    this.used.end()
    this.ended_at = this.now()
    this.#status?.become(phase === 'completed' ? 'COMPLETED' : 'ERRORED')
    const end = ({ completed: 'COMPLETED', failed: 'FAILED', aborted: 'ABORTED' } as const)[phase]
    for (const submission of this.submissions) {
      submission.reason = this.reason
      submission.status.become(end)
    }
    this.phase.become(phase)
    const still_heating = stillHeating(this)
    this.events.emit('EXECUTION', this.execution_id, end, {
      ...this.events.context(),
      reason: this.reason,
      ...(still_heating.length > 0 && { still_heating }),
      ...(this.operations.notDone.length > 0 && { not_done: this.operations.notDone }),
    })
    this.record.add(endedRow(this, end))
    this.labwarePositions.stop()
    this.events.close()
    this.#around.ended(this)
  }
}
