// One run of a workflow: its threads, its submissions, and what becomes of it.

import { LabError, messageOf } from '../../errors.ts'
import type { Context } from '../../events/event.ts'
import type { Hub } from '../../events/hub.ts'
import type { IncidentCategory, NewIncident } from '../../events/incidents.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import type { Memory } from '../kept/memory.ts'
import type { SavedExecution } from '../kept/saved.ts'
import { itemKey, type ThreadPlan, type Workflow } from '../plans/plan.ts'
import { type Phase, phaseTransitions, Status, type WorkflowStatus, workflowTransitions } from '../statuses.ts'
import { travel } from '../threads/journey.ts'
import type { Labware } from '../threads/labware.ts'
import { LateCalls } from '../threads/late_calls.ts'
import { Slots } from '../threads/slots.ts'
import { isBlocked, LabwareThread, type ThreadOrigin } from '../threads/thread.ts'
import type { World } from '../threads/world.ts'
import { Bus } from './bus.ts'
import { Channels, type Published } from './channels.ts'
import { Groups } from './groups.ts'
import { type InsertRequest, Inserts } from './inserts.ts'
import { theOneAhead } from './named.ts'
import type { Confirmation, Operator } from './operator.ts'
import type { Acquisition, Submission } from './submission.ts'
import { Timeline } from './timeline.ts'

/** What all executions of a service have around them. */
export type Surroundings = {
  hub: Pick<Hub, 'emit' | 'incident'>
  operator: Operator
  /** What handlers that are bound to the system get to see. */
  system: unknown
  warn(message: string): void
  /** Unix time, s. */
  now(): number
  /** It is terminal. */
  ended(execution: Execution): void
}

/** `saved` is what is taken up again; `restore` does the rest. */
type Beginning = { isJoinable: boolean; around: Surroundings; saved?: SavedExecution }

type NoteworthyError = Partial<Pick<NewIncident, 'severity' | 'recovery_action' | 'detail'>> & { error?: unknown }

export class Execution {
  readonly execution_id: string
  readonly workflow: Workflow
  readonly world: World
  readonly submissions: Submission[] = []
  readonly threads = new Map<string, LabwareThread>()
  readonly channels = new Channels()
  readonly slots: Slots
  readonly groups: Groups
  readonly inserts: Inserts
  readonly lateCalls = new LateCalls()
  readonly timeline: Timeline
  readonly phase = new Status<Phase>(phaseTransitions, 'accepting', () => {})
  /** It began with JOIN_EXISTING: labware that may be batched is then shared by all its submissions. */
  readonly isJoinable: boolean
  readonly started_at: number
  ended_at: number | null = null
  paused: { at: number; reason: 'manual' | 'system' } | null = null
  isAbortArmed = false
  reason: string | null = null
  #status: Status<WorkflowStatus> | undefined
  /** Keeps it on the card, where it is to outlast the service. */
  memory: Memory | null = null
  readonly #around: Surroundings
  readonly #bus: Bus
  readonly #live = new Set<LabwareThread>()
  /** How many there were of each name. */
  readonly names = new Map<string, number>()
  readonly #context: { execution_id: string; workflow_name: string }
  #blocked = 0
  #isLookingForStall = false
  #isStandingDown = false
  /** Stood down: what still happens is nobody's business. */
  #isSilent = false
  /** What nobody could get past, for a run that stands because of it. */
  stalled: string | null = null

  constructor(workflow: Workflow, world: World, { isJoinable, around, saved }: Beginning) {
    this.execution_id = saved?.execution_id ?? world.newId()
    this.workflow = workflow
    this.world = world
    this.isJoinable = isJoinable
    this.#around = around
    this.#context = { execution_id: this.execution_id, workflow_name: workflow.name }
    this.slots = new Slots(this)
    this.inserts = new Inserts(this)
    this.groups = new Groups(({ submission_id, group_id }) =>
      this.emit('GROUP', group_id, 'COMPLETED', { ...this.#context, submission_id, group_id }),
    )
    const began = world.clock.now()
    this.started_at = saved?.started_at ?? around.now()
    this.timeline = new Timeline(() => Math.round(world.clock.now() - began) / 1000)
    this.#bus = new Bus({
      forward: (name, context) => around.hub.emit(name, context, this.execution_id),
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

  /** A fresh one each time: what an event carries is frozen. */
  context(): { execution_id: string; workflow_name: string } {
    return { execution_id: this.execution_id, workflow_name: this.workflow.name }
  }

  emit(type: string, id: string, status: string, context: Context): void {
    if (this.#isSilent) return
    this.#bus.emit(type, id, status, context)
    this.memory?.changed()
  }

  /** Records an incident of a thread, and answers its id. */
  incident(
    category: IncidentCategory,
    message: string,
    thread: LabwareThread | null,
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

  /** Takes a submission that was checked: its first threads start in one of the next turns. */
  start(submission: Submission): void {
    this.submissions.push(submission)
    submission.status.become('ACCEPTED')
    this.#status ??= new Status<WorkflowStatus>(workflowTransitions, 'CREATED', (status) =>
      this.emit('WORKFLOW', this.execution_id, status, this.context()),
    )
    const { submission_id, request } = submission
    const group_ids = request.groups.length > 0 ? request.groups.map(({ group_id }) => group_id) : [null]
    const { threads, document } = this.workflow
    for (const group_id of group_ids) {
      for (const name of document.start) this.spawn(threads.get(name)!, { submission_id, group_id })
    }
    this.#status.become('IN_PROGRESS')
    submission.status.become('IN_PROGRESS')
  }

  /** Makes a thread; it goes on in one of the next turns. */
  spawn(plan: ThreadPlan, origin: ThreadOrigin, start?: string): LabwareThread {
    const acquired = this.#acquisition(plan, origin)
    const startsAt = start ?? (acquired && 'location' in acquired ? acquired.location : plan.start.seat)
    const standing = this.#standingAt(startsAt, plan)
    const labware = standing ?? this.#labwareFor(plan, (acquired && 'barcode' in acquired && acquired.barcode) || null)
    const thread = new LabwareThread(this, plan, { name: this.#nameFor(plan), origin, startsAt, labware })
    if (standing) this.#takeUp(thread)
    this.threads.set(thread.thread_id, thread)
    this.groups.began(thread)
    this.slots.adopt(thread)
    this.setOff(thread)
    this.inserts.spawned(thread)
    return thread
  }

  /**
   * Puts one more thread into the run, from its own start or another; while the run is paused it is held before it begins. Throws
   * `not_found` for a thread or a place there is not, `conflict` where it cannot begin.
   */
  spawnNow(name: string, start?: string): LabwareThread {
    const { threads, topology } = this.workflow
    const plan = threads.get(name)
    if (!plan)
      throw new LabError('not_found', `workflow ${this.workflow.name} has no thread ${name}${didYouMean(name, [...threads.keys()])}`)
    if (this.isOver || this.phase.current === 'stopping')
      throw new LabError('conflict', `execution ${this.execution_id} is ${this.phase.current}; it takes no more threads`)
    const seat = start ?? plan.start.seat
    const { seats } = topology.graph
    if (!seats.has(seat)) throw new LabError('not_found', `the topology has no place ${seat}${didYouMean(seat, [...seats.keys()])}`)
    if (!plan.end.seats.some((end) => end === seat || topology.graph.route(seat, end)))
      throw new LabError('conflict', `there is no way from ${seat} to where ${name} ends`)
    this.#mustBeFree(seat, plan)
    return this.spawn(plan, this.#originOfAnother(), start)
  }

  /** Nothing stands there, but what is to be used again, and in a storage. */
  #mustBeFree(seat: string, { template, name }: ThreadPlan): void {
    const { floor, labware } = this.world
    const { labware_id } = floor.seat(seat)
    if (labware_id === null || floor.graph.seats.get(seat)?.storage) return
    if (template.start.mode === 'REUSE_EXISTING' && floor.whose(labware_id) === null) return
    throw new LabError(
      'conflict',
      `${name} is to begin at ${seat}, where ${labware.get(labware_id)?.name ?? labware_id} stands; take it away, or say another start`,
    )
  }

  /** Of the submission that came last; of its group, if there is but one. */
  #originOfAnother(): ThreadOrigin {
    const { submission_id, request } = this.submissions.at(-1)!
    return { submission_id, group_id: request.groups.length === 1 ? request.groups[0]!.group_id : null }
  }

  /** Lets a thread go on from where it is, in one of the next turns. */
  setOff(thread: LabwareThread): void {
    this.#live.add(thread)
    if (this.paused) thread.pause(this.paused.reason)
    if (this.phase.current === 'stopping') thread.cutOff(this.reason ?? 'the execution was aborted')
    this.world.steps.push(() => void travel(thread).then(() => this.#threadEnded(thread)))
  }

  /** It is what it was when it was saved: all threads stand, and go on when it is resumed. */
  takenUp(phase: Phase): void {
    const publish = (status: WorkflowStatus) => this.emit('WORKFLOW', this.execution_id, status, this.context())
    this.#status = new Status<WorkflowStatus>(workflowTransitions, 'IN_PROGRESS', publish, { isTold: true })
    if (phase === 'draining') this.phase.become('draining')
    if (phase === 'stopping') this.abort('it was being stopped when the service ended')
    else if (this.#live.size === 0) this.#end()
  }

  /** The value that the submission gives, or another of this execution, or the default. */
  variable(name: string, submission_id: string): unknown {
    const own = this.submissions.find((submission) => submission.submission_id === submission_id)
    for (const submission of [own, ...this.submissions])
      if (submission && name in submission.request.variables) return submission.request.variables[name]
    const { variables } = this.workflow.document
    if (!Object.hasOwn(variables, name)) throw new LabError('invalid', `workflow ${this.workflow.name} has no variable ${name}`)
    return variables[name]!.default ?? null
  }

  /** Releases those who wait for it, then tells everybody; nothing happens in one that has ended. */
  emitCustom(name: string, published: Published, thread_id: string | null): void {
    mustBeEmittable(name)
    if (this.isOver) return
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
    this.paused = { at: this.#around.now(), reason }
    for (const thread of this.#live) thread.pause(reason)
  }

  /** Lets all threads go on but those that an error holds. */
  resume(): void {
    this.paused = null
    this.isAbortArmed = false
    this.stalled = null
    this.slots.acceptPartial()
    for (const thread of this.#live) if (!thread.pausedAt) thread.resume()
  }

  /**
   * In two calls: the first pauses it and arms the stop, the second, confirmed, aborts it. Throws `conflict` for a confirmation of
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
   * Has a step or an action that lies ahead passed over, or one that a thread waits in before its body has begun. Answers its whole
   * name. Throws `not_found`; `conflict` for what is ambiguous, or has begun.
   */
  skip(item: string): string {
    const { thread, step, action, name } = theOneAhead(this.live(), item)
    thread.skip(itemKey(step, action))
    this.memory?.changed()
    return name
  }

  /** Puts a step, or an action, before or after another; see `Inserts.put`. */
  insert(request: InsertRequest): string {
    return this.inserts.put(request)
  }

  /** No submission can be put into it any more. */
  close(): void {
    if (this.phase.current === 'accepting') this.phase.become('draining')
  }

  /**
   * The service ends, and the run goes on after it: nothing new is begun, hops under way are finished as long as there is patience,
   * then what stands is kept and nothing is told any more. What a device is doing is for the devices to end. Rejects with `storage`.
   */
  async standDown(patience: Promise<unknown>): Promise<void> {
    if (!this.memory) return this.abort('the service stops')
    this.#isStandingDown = true
    const hops = this.live().flatMap(({ carrying }) => carrying ?? [])
    await Promise.race([Promise.allSettled(hops), patience])
    const kept = this.memory.kept()
    this.memory = null
    this.#isSilent = true
    await kept
  }

  /** Resolves when something may move: where everything is, and what is to be done, is on the card. Never, when the service ends. */
  beforeMotion(): Promise<void> | undefined {
    return this.#isStandingDown ? new Promise(() => {}) : this.memory?.kept()
  }

  /** Cuts all threads off; it is aborted when they have unwound. */
  abort(why: string): void {
    if (this.isOver || this.phase.current === 'stopping') return
    this.phase.become('stopping')
    this.reason = why
    for (const thread of this.#live) thread.cutOff(why)
    // It may be in the midst of making its first.
    this.world.steps.push(() => this.#endIfAllHave())
  }

  /** A thread began or ended to wait for others. When all do, nothing may ever move again. */
  blocked(more: 1 | -1): void {
    this.#blocked += more
    if (more > 0) this.suspectStall()
  }

  /** Looks in one of the next turns whether anything can still move; also when another run has ended, and left something in the way. */
  suspectStall(): void {
    if (this.#blocked < this.#live.size || this.#isLookingForStall) return
    this.#isLookingForStall = true
    this.world.steps.push(() => {
      this.#isLookingForStall = false
      this.#lookForStall()
    })
  }

  #lookForStall(): void {
    if (this.paused || this.isOver || this.#live.size === 0) return
    const waits = this.live().map(({ waiting, name }) => ({ waiting, name }))
    if (!waits.every(({ waiting }) => waiting && isBlocked(waiting))) return
    const obstacles = waits.flatMap(({ waiting }) => waiting!.obstacles())
    if (obstacles.some(({ thread_id }) => thread_id !== null && !this.threads.has(thread_id))) return
    const picture = waits.map(({ waiting, name }) => `${name} waits for ${waiting!.what}`).join('; ')
    if (picture === this.stalled) return
    this.stalled = picture
    this.incident('SYSTEM_STALL', `nothing can move any more: ${picture}`, null, { recovery_action: 'RESUME_EXECUTION' })
    this.pause('system')
  }

  #threadEnded(thread: LabwareThread): void {
    this.#live.delete(thread)
    this.slots.ended(thread)
    this.groups.ended(thread)
    this.slots.settle()
    this.#endIfAllHave()
    this.suspectStall()
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
    this.ended_at = this.#around.now()
    this.#status?.become(phase === 'completed' ? 'COMPLETED' : 'ERRORED')
    const end = ({ completed: 'COMPLETED', failed: 'FAILED', aborted: 'ABORTED' } as const)[phase]
    for (const submission of this.submissions) {
      submission.reason = this.reason
      submission.status.become(end)
    }
    this.phase.become(phase)
    this.emit('EXECUTION', this.execution_id, end, { ...this.#context, reason: this.reason })
    void this.memory?.end()
    this.#bus.close()
    this.#around.ended(this)
  }

  #acquisition({ name }: ThreadPlan, { submission_id, group_id }: ThreadOrigin): Acquisition | undefined {
    const submission = this.submissions.find((one) => one.submission_id === submission_id)
    return submission?.request.groups.find((group) => group.group_id === group_id)?.members[name]
  }

  #nameFor({ name }: ThreadPlan): string {
    const count = (this.names.get(name) ?? 0) + 1
    this.names.set(name, count)
    return count === 1 ? name : `${name}-${count}`
  }

  /** What is to be used again, if it stands there and nobody moves it. */
  #standingAt(seat: string, { template, labware: name }: ThreadPlan): Labware | undefined {
    if (template.start.mode !== 'REUSE_EXISTING') return undefined
    const { floor, labware } = this.world
    const there = labware.get(floor.seat(seat).labware_id ?? '')
    if (!there || floor.whose(there.labware_id) !== null) return undefined
    // Another workflow may have called it otherwise.
    return { ...there, template: name }
  }

  #takeUp({ thread_id, labware }: LabwareThread): void {
    labware.state = 'IN_JOURNEY'
    this.world.labware.set(labware.labware_id, labware)
    this.world.floor.assign(labware.labware_id, thread_id)
  }

  #labwareFor({ labware: template }: ThreadPlan, barcode: string | null): Labware {
    const { type, kind, tips = null } = this.workflow.document.labware[template]!
    const count = (this.names.get(`labware ${template}`) ?? 0) + 1
    this.names.set(`labware ${template}`, count)
    const name = count === 1 ? template : `${template}-${count}`
    return { labware_id: this.world.newId(), name, template, type, kind, barcode, tips, tips_left: tips, state: 'AVAILABLE', held_by: null }
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

/** Throws `invalid` for a name that no custom event may have. */
function mustBeEmittable(name: string): void {
  if (name.startsWith('OPERATOR.'))
    throw new LabError('invalid', `${name}: names that begin with OPERATOR. are the runtime's own; take another`)
  if (!/^[^\p{Cc}\p{Cs}]{1,128}$/u.test(name)) {
    throw new LabError('invalid', 'the name of a custom event must be 1 to 128 characters, none of them a control character')
  }
}
