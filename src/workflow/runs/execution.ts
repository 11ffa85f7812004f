// One run of a workflow: its threads, its submissions, and what becomes of it.

import { LabError, messageOf } from '../../errors.ts'
import type { StillHeating } from '../../events/contexts.ts'
import type { Context } from '../../events/event.ts'
import type { Hub } from '../../events/hub.ts'
import type { IncidentCategory } from '../../events/incidents.ts'
import type { Clock } from '../../kit/clock.ts'
import { actionsOf, itemKey, type ThreadPlan, type Workflow } from '../plans/plan.ts'
import { Entry, RunState } from '../state/entry.ts'
import type { ExecutionState, SubmissionState } from '../state/run.ts'
import {
  type Phase,
  phaseTransitions,
  Status,
  type SubmissionStatus,
  statusAlone,
  type WorkflowStatus,
  workflowTransitions,
} from '../state/statuses.ts'
import { LateCalls } from '../threads/action/late_calls.ts'
import type { NoteworthyError, ThreadOrigin } from '../threads/carrier.ts'
import { Channels, type Published } from '../threads/channels.ts'
import { travel } from '../threads/journey.ts'
import type { MethodRun } from '../threads/method.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import { Slots } from '../threads/slots.ts'
import type { Confirmation, LabwareThread, RunPorts } from '../threads/thread.ts'
import { Timeline } from '../threads/timeline.ts'
import { Bus } from './bus.ts'
import { Flood, flooding } from './flood.ts'
import { Groups } from './groups.ts'
import { type InsertRequest, Inserts } from './inserts.ts'
import type { Operator } from './operator.ts'
import { Stall } from './stall.ts'
import { itemAhead } from './step_names.ts'
import { Submission } from './submission.ts'
import { ThreadFactory } from './thread_factory.ts'

/** The surroundings that all executions of a service share. */
export type RunContext = {
  hub: Pick<Hub, 'emit' | 'incident'>
  operator: Operator
  /** The system, as handlers see it that are bound to it. */
  system: unknown
  warn(message: string): void
  /** Unix time, s, by the clock on the wall. */
  now(): number
  clock: Clock
  /** Runs that have not ended. */
  open?(): Execution[]
  /** Called when an execution has ended. */
  ended(execution: Execution): void
}

/** `saved` is what is taken up again; `restore` does the rest. */
type ExecutionOptions = { isJoinable: boolean; around: RunContext; saved?: ExecutionState }

/** An open run takes no more groups or threads after this many, because all its threads stay in memory until it has ended. */
export const mostThreads = 5000

export class Execution implements RunPorts {
  readonly execution_id: string
  readonly workflow: Workflow
  readonly environment: RunEnvironment
  readonly submissions: Submission[] = []
  readonly threads = new Map<string, LabwareThread>()
  /** Methods that have not ended. */
  readonly methods = new Map<string, MethodRun>()
  /** The state of the run that outlasts the service. */
  readonly state = new RunState()
  readonly channels: Channels
  readonly slots: Slots
  readonly groups: Groups
  readonly inserts: Inserts
  readonly lateCalls = new LateCalls()
  readonly threadFactory: ThreadFactory
  readonly #flood: Flood
  readonly stall: Stall
  readonly timeline: Timeline
  readonly phase: Status<Phase>
  ended_at: number | null = null
  paused: { at: number; reason: 'manual' | 'system' } | null = null
  isAbortArmed = false
  reason: string | null = null
  #status: Status<WorkflowStatus> | undefined
  readonly #entry: Entry<'execution'>
  /** The thread that moves each labware, or moved it last. */
  readonly #carriers = new Map<string, LabwareThread>()
  /** The plans of which each group has had a thread. */
  readonly #had = new Set<string>()
  /** Ends that the moves of labware are noted in the state. */
  readonly stopFollowing: () => void
  readonly #around: RunContext
  /** Unix time, s, at which the monotonic clock stood at 0, as it seemed when the run began or was taken up. */
  readonly #epoch_s: number
  readonly #bus: Bus
  readonly #live = new Set<LabwareThread>()
  readonly #context: { execution_id: string; workflow_name: string }
  #isStandingDown = false
  /** Stood down: what still happens is nobody's business. */
  #isSilent = false

  constructor(workflow: Workflow, environment: RunEnvironment, { isJoinable, around, saved }: ExecutionOptions) {
    const beginning = saved ?? newExecutionState(workflow, environment, { isJoinable, now: around.now() })
    this.execution_id = beginning.execution_id
    this.workflow = workflow
    this.environment = environment
    this.#around = around
    this.#epoch_s = Math.max(around.now(), beginning.started_at) - around.clock.now() / 1000
    this.#entry = new Entry(this.state, 'execution', beginning)
    // It stays as it was when the run began.
    new Entry(this.state, 'document', documentOf(workflow))
    this.stopFollowing = environment.scheduler.onMoved((labware_id) => this.#moved(labware_id))
    // An event tells of the end alone.
    this.phase = new Status<Phase>(phaseTransitions, this.#entry, () => this.state.writeSoon(), { isPublished: true })
    if (this.phase.current === 'stopping') this.reason = 'it was being stopped when the service ended'
    this.channels = new Channels(this.state)
    this.#context = { execution_id: this.execution_id, workflow_name: workflow.name }
    this.threadFactory = new ThreadFactory(this)
    this.#flood = new Flood(() => this.now())
    this.stall = new Stall(this)
    this.slots = new Slots(this)
    this.inserts = new Inserts(this)
    this.groups = new Groups(this.state, ({ submission_id, group_id, ended }) =>
      this.emit('GROUP', group_id, 'COMPLETED', { ...this.#context, submission_id, group_id, ended }),
    )
    const began = environment.clock.now()
    this.timeline = new Timeline(() => Math.round(environment.clock.now() - began) / 1000)
    this.#bus = new Bus({
      forward: (name, context, parts) => around.hub.emit(name, context, this.execution_id, parts),
      warn: (message) => around.warn(`${workflow.name}: ${message}`),
      onBroken: (name, eventName, error) => this.#onBroken(name, eventName, error),
    })
    for (const [name, handlers] of Object.entries(workflow.document.on))
      for (const handler of handlers) this.#bus.on(name, handler, around.system)
  }

  /** The status of the workflow; CREATED once the first submission has been accepted. */
  get status(): WorkflowStatus {
    return this.#status?.current ?? 'CREATED'
  }

  get isOver(): boolean {
    return this.phase.isTerminal
  }

  /** Whether it began with JOIN_EXISTING: labware that may be batched is then shared by all its submissions. */
  get isJoinable(): boolean {
    return this.#entry.state.is_joinable
  }

  /** Unix time, s. */
  get started_at(): number {
    return this.#entry.state.started_at
  }

  /** Counts a name of a thread or a labware once more, and returns how often it was counted. */
  countName(name: string): number {
    const { names } = this.#entry.state
    const known = names.find((one) => one.name === name)
    if (!known) this.#entry.set({ names: [...names, { name, count: 1 }] })
    else this.#entry.setIn('names', known, { count: known.count + 1 })
    return known?.count ?? 1
  }

  /** Unix time, s, that goes on evenly from the beginning of the run, whatever is done to the clock on the wall. */
  now(): number {
    return this.#epoch_s + this.#around.clock.now() / 1000
  }

  /** A thread of this run, or of another that shares its places. */
  find(thread_id: string): LabwareThread | undefined {
    for (const { threads } of [this, ...this.beside()]) {
      const thread = threads.get(thread_id)
      if (thread) return thread
    }
    return undefined
  }

  /** Other open runs that share its places. */
  beside(): Execution[] {
    return this.#around.open?.().filter((other) => other !== this && other.environment === this.environment) ?? []
  }

  /** A fresh one each time: what an event carries is frozen. */
  context(): { execution_id: string; workflow_name: string } {
    return { execution_id: this.execution_id, workflow_name: this.workflow.name }
  }

  emit(type: string, id: string, status: string, context: Context): void {
    if (this.#isSilent) return
    this.#bus.emit(type, id, status, context)
    this.state.writeSoon()
  }

  /** Records an incident of a thread, and returns its id. */
  incident(
    category: IncidentCategory,
    message: string,
    thread: { thread_id: string } | null,
    { error, detail, ...more }: NoteworthyError = {},
  ): string {
    if (this.#isSilent) return ''
    const { execution_id } = this
    const cause = error === undefined ? {} : { error: messageOf(error), error_type: error instanceof Error ? error.name : typeof error }
    const about = { ...more, execution_id, thread_id: thread?.thread_id ?? null, detail: { ...cause, ...detail } }
    return this.#around.hub.incident(category, message, about).incident_id
  }

  /** Threads that have not ended, in the order they came. */
  live(): LabwareThread[] {
    return [...this.#live]
  }

  /** The number of threads that have not ended. */
  get liveCount(): number {
    return this.#live.size
  }

  /** Adds a submission, which is new or was taken up after a restart. */
  add(state: SubmissionState): Submission {
    const publish = ({ submission_id, request, reason }: Submission, status: SubmissionStatus) =>
      this.emit('SUBMISSION', submission_id, status, { ...this.context(), submission_id, group_count: request.groups.length, reason })
    const submission = new Submission({ execution_id: this.execution_id, state: this.state, publish }, state)
    this.submissions.push(submission)
    return submission
  }

  /** Takes a submission that was checked: its first threads start in one of the next turns. */
  start(submission: Submission): void {
    submission.status.become('ACCEPTED')
    this.#status ??= this.#workflowStatus()
    const { submission_id, request } = submission
    const group_ids = request.groups.length > 0 ? request.groups.map(({ group_id }) => group_id) : [null]
    const { threads, document } = this.workflow
    for (const group_id of group_ids) {
      for (const name of document.start) this.spawn(threads.get(name)!, { submission_id, group_id })
    }
    if (this.#status.current === 'CREATED') this.#status.become('IN_PROGRESS')
    submission.status.become('IN_PROGRESS')
  }

  /** Makes a thread; it goes on in one of the next turns. */
  spawn(plan: ThreadPlan, origin: ThreadOrigin, start?: string): LabwareThread {
    const thread = this.threadFactory.thread(plan, origin, start)
    this.know(thread)
    this.stall.reconsider()
    this.groups.began(thread)
    this.slots.adopt(thread)
    this.setOff(thread)
    this.inserts.spawned(thread)
    return thread
  }

  /** Adds a thread, which is new or was taken up after a restart. */
  know(thread: LabwareThread): void {
    this.threads.set(thread.thread_id, thread)
    this.#had.add(inGroup(thread.plan, thread.origin))
    if (!thread.isOver) this.#carriers.set(thread.labware.labware_id, thread)
  }

  hasHad(plan: ThreadPlan, origin: ThreadOrigin): boolean {
    return this.#had.has(inGroup(plan, origin))
  }

  /** Labware has moved: the state of its thread says where it stands, until the thread leaves it. */
  #moved(labware_id: string): void {
    const { scheduler } = this.environment
    const thread = this.#carriers.get(labware_id)
    const isLeft = scheduler.whose(labware_id) !== thread?.thread_id
    thread?.set({ seat: isLeft ? null : (scheduler.whereIs(labware_id) ?? null) })
  }

  /**
   * Puts one more thread into the run, from its own start or another; while the run is paused it is held before it begins. Throws
   * `not_found` for a thread or a place there is not, `conflict` where it cannot begin.
   */
  spawnNow(name: string, start?: string): LabwareThread {
    if (this.isOver || this.phase.current === 'stopping')
      throw new LabError('conflict', `execution ${this.execution_id} is ${this.phase.current}; it takes no more threads`)
    if (this.threads.size >= mostThreads)
      throw new LabError('conflict', `execution ${this.execution_id} has had ${this.threads.size} threads; submit what is to come anew`)
    const origin = this.#originOfAnother()
    return this.spawn(this.threadFactory.planOf(name, origin, start), origin, start)
  }

  /** The origin of one more thread: the newest submission, and its group if it has only one. */
  #originOfAnother(): ThreadOrigin {
    const { submission_id, request } = this.submissions.at(-1)!
    return { submission_id, group_id: request.groups.length === 1 ? request.groups[0]!.group_id : null }
  }

  /** Lets a thread go on from where it is, in one of the next turns. */
  setOff(thread: LabwareThread): void {
    this.#live.add(thread)
    if (this.paused) thread.control.pause(this.paused.reason)
    if (this.phase.current === 'stopping') thread.control.cutOff(this.reason ?? 'the execution was aborted')
    this.environment.steps.push(() => {
      void travel(thread).then(() => this.#threadEnded(thread))
    })
  }

  /** Has the run go on after a restart. */
  reopen(): void {
    this.#status = this.#workflowStatus('IN_PROGRESS')
  }

  #workflowStatus(published?: WorkflowStatus): Status<WorkflowStatus> {
    const publish = (status: WorkflowStatus) => this.emit('WORKFLOW', this.execution_id, status, this.context())
    return new Status<WorkflowStatus>(workflowTransitions, statusAlone(published ?? 'CREATED'), publish, {
      isPublished: published !== undefined,
    })
  }

  /** Ends a run that was being stopped when the service ended, and has no threads that are open. */
  takenUp(): void {
    if (this.phase.current === 'stopping') this.environment.steps.push(() => this.#endIfAllHave())
  }

  /** The value that the submission gives, or another of this execution, or the default; undefined where there is none. Throws `invalid`. */
  variable(name: string, submission_id: string): unknown {
    const own = this.submissions.find((submission) => submission.submission_id === submission_id)
    for (const submission of [own, ...this.submissions])
      if (submission && name in submission.request.variables) return submission.request.variables[name]
    const { variables } = this.workflow.document
    if (!Object.hasOwn(variables, name)) throw new LabError('invalid', `workflow ${this.workflow.name} has no variable ${name}`)
    return variables[name]!.default
  }

  /** Releases those who wait for it, then tells everybody; nothing happens in one that has ended. */
  emitCustom(name: string, published: Published, thread_id: string | null): void {
    mustBeEmittable(name)
    if (this.isOver) return
    if (this.environment.mode !== 'PURE_SIM' && this.#flood.isBeginning()) {
      const { events, within_s } = flooding
      this.incident('EVENT_FLOOD', `more than ${events} custom events within ${within_s} s; none is dropped`, null, { severity: 'WARNING' })
    }
    this.channels.publish(name, published)
    this.emit('CUSTOM', name.replaceAll('.', '_'), 'EMITTED', { ...this.#context, thread_id, event_name: name, ...published })
  }

  /** Asks a person to do something. */
  instruct(instruction: string, thread_id: string): Confirmation {
    return this.#around.operator.instruct(this, instruction, thread_id)
  }

  /** Waits until a person has put the labware there. */
  placed(thread: LabwareThread): Promise<void> {
    return this.#around.operator.placed(thread)
  }

  /** Waits until a person has taken the labware away. */
  removed(thread: LabwareThread): Promise<void> {
    return this.#around.operator.removed(thread)
  }

  /** Holds all threads at their next safe points, and those to come before they touch anything. */
  pause(reason: 'manual' | 'system'): void {
    if (this.isOver || this.paused) return
    this.paused = { at: this.now(), reason }
    for (const thread of this.#live) thread.control.pause(reason)
  }

  /**
   * Lets all threads go on but those that an error holds. Throws `conflict` while labware is in the way that nobody took away since it stalled, and
   * while nobody has said where labware is whose move the end of the service cut off.
   */
  resume(): void {
    for (const thread of this.#live) if (!thread.control.pausedAt) thread.control.mustBeResumable()
    if (this.slots.orphaned().length === 0) this.stall.mustBeCleared()
    this.paused = null
    this.isAbortArmed = false
    this.stall.forget()
    this.slots.acceptPartial()
    for (const thread of this.#live) if (!thread.control.pausedAt) thread.control.resume()
    // Threads that were resumed one by one before may all wait already.
    this.stall.suspect()
  }

  /**
   * Stops the run in two calls: the first pauses it and arms the stop, the second, confirmed, aborts it. Throws `conflict` for a confirmation of
   * what is not armed, and for one that has ended.
   */
  stop(isConfirmed: boolean): 'armed' | 'stopping' {
    if (this.isOver) throw new LabError('conflict', `execution ${this.execution_id} has ended: it is ${this.phase.current}`)
    if (this.phase.current === 'stopping') return 'stopping'
    if (!isConfirmed) {
      this.pause('manual')
      this.isAbortArmed = true
      return 'armed'
    }
    if (!this.isAbortArmed || !this.paused) {
      throw new LabError('conflict', `the stop of execution ${this.execution_id} is not armed; stop it once without confirm first`)
    }
    this.abort('an operator stopped it')
    return 'stopping'
  }

  /**
   * Has a step or an action that lies ahead passed over, or one that a thread waits in before its body has begun. Returns its whole
   * name. Throws `not_found`; `conflict` for what is ambiguous, or has begun.
   */
  skip(item: string): string {
    const { thread, step, action, name } = itemAhead(this.live(), item)
    thread.control.skip(itemKey(step, action))
    this.stall.reconsider()
    this.state.writeSoon()
    return name
  }

  /** Puts a step, or an action, before or after another; see `Inserts.put`. */
  insert(request: InsertRequest): string {
    this.stall.reconsider()
    return this.inserts.put(request)
  }

  /** No submission can be put into it any more. */
  close(): void {
    if (this.phase.current === 'accepting') this.phase.become('draining')
  }

  /**
   * The service ends, and the run goes on after it: nothing new is begun, and hops under way are finished as long as there is patience. What a
   * device is doing is for the devices to end.
   */
  async standDown(patience: Promise<unknown>): Promise<void> {
    this.#isStandingDown = true
    const hops = this.live().flatMap(({ carrying }) => carrying ?? [])
    await Promise.race([Promise.allSettled(hops), patience])
  }

  /** The state stays as it was written last, and nothing more is published. */
  leave(): void {
    this.state.leave()
    this.stopFollowing()
    this.#isSilent = true
  }

  /** Undefined while something new may be begun; a promise that never resolves when the service ends. */
  mayBegin(): Promise<void> | undefined {
    return this.#isStandingDown ? new Promise(() => {}) : undefined
  }

  /** Resolves when something may move: where everything is, and what is to be done, is on the card. Never, when the service ends. */
  beforeMotion(): Promise<void> | undefined {
    return this.mayBegin() ?? this.synced()
  }

  /** Resolves when a move that has begun may go on: the present state is on the card. Never, once the state is written no more. Rejects with `storage`. */
  synced(): Promise<void> | undefined {
    return this.#isSilent ? new Promise(() => {}) : this.state.persisted()
  }

  /** Cuts all threads off; it is aborted when they have unwound. */
  abort(why: string): void {
    if (this.isOver || this.phase.current === 'stopping') return
    this.phase.become('stopping')
    this.reason = why
    for (const thread of this.#live) thread.control.cutOff(why)
    // The execution may be in the midst of making its first threads.
    this.environment.steps.push(() => this.#endIfAllHave())
  }

  #threadEnded(thread: LabwareThread): void {
    this.#live.delete(thread)
    this.stall.reconsider()
    this.slots.ended(thread)
    this.groups.ended(thread)
    this.slots.settle()
    this.#endIfAllHave()
    for (const { stall } of [this, ...this.beside()]) stall.suspect()
  }

  #endIfAllHave(): void {
    if (this.#live.size === 0 && !this.isOver) this.#end()
  }

  /** The last thread has ended. */
  #end(): void {
    const failed = [...this.threads.values()].find(({ status }) => status.current === 'FAILED')
    const phase = this.phase.current === 'stopping' ? 'aborted' : failed ? 'failed' : 'completed'
    if (failed) this.reason ??= failed.last_error
    for (const { name, where, anchor } of this.inserts.unresolved()) {
      this.incident('UNRESOLVED_ANCHOR_INSERT', `${name} was to be put ${where} ${anchor}, which never came`, null, { severity: 'WARNING' })
    }
    this.slots.abandon()
    this.ended_at = this.now()
    this.#status?.become(phase === 'completed' ? 'COMPLETED' : 'ERRORED')
    const end = ({ completed: 'COMPLETED', failed: 'FAILED', aborted: 'ABORTED' } as const)[phase]
    for (const submission of this.submissions) {
      submission.reason = this.reason
      submission.status.become(end)
    }
    this.phase.become(phase)
    const still_heating = this.#stillHeating()
    this.emit('EXECUTION', this.execution_id, end, {
      ...this.#context,
      reason: this.reason,
      ...(still_heating.length > 0 && { still_heating }),
    })
    this.stopFollowing()
    this.#bus.close()
    this.#around.ended(this)
  }

  /** The devices of its actions that heat now. Those of a simulation end with it. */
  #stillHeating(): StillHeating[] {
    const { mode, equipment } = this.environment
    if (mode !== 'LIVE') return []
    const device_ids = new Set([...actionsOf(this.workflow)].flatMap(({ devices }) => devices))
    return [...device_ids].flatMap((device_id) => {
      const target = equipment.heatsTo?.(device_id)
      return target === undefined ? [] : [{ device_id, target }]
    })
  }

  #onBroken(name: string, eventName: string, error: unknown): void {
    // What an incident's own handler does wrong makes no further incident of it.
    if (eventName.startsWith('INCIDENT.')) return
    this.incident('EVENT_HANDLER_EXCEPTION', `the handler ${name} failed three times running: ${messageOf(error)}`, null, {
      severity: 'WARNING',
      recovery_action: 'PLUGIN_DISABLE',
      error,
    })
  }
}

function inGroup({ name }: ThreadPlan, { submission_id, group_id }: ThreadOrigin): string {
  return `${submission_id} ${group_id} ${name}`
}

function newExecutionState(
  workflow: Workflow,
  environment: RunEnvironment,
  { isJoinable, now }: { isJoinable: boolean; now: number },
): ExecutionState {
  return {
    execution_id: environment.newId(),
    workflow: workflow.name,
    hash: workflow.hash,
    topology: workflow.topology.name,
    run_mode: environment.mode,
    is_joinable: isJoinable,
    started_at: now,
    status: 'accepting',
    names: [],
  }
}

/** The document of the workflow; null for one with code, which only its file has. */
function documentOf({ hasCode, document: { on: _, ...written } }: Workflow): object | null {
  return hasCode ? null : written
}

/** Throws `invalid` for a name that no custom event may have. */
function mustBeEmittable(name: string): void {
  if (name.startsWith('OPERATOR.'))
    throw new LabError('invalid', `${name}: names that begin with OPERATOR. are the runtime's own; take another`)
  if (!/^[^\p{Cc}\p{Cs}]{1,128}$/u.test(name)) {
    throw new LabError('invalid', 'the name of a custom event must be 1 to 128 characters, none of them a control character')
  }
}
