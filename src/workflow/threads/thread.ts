// One thread: the labware, its status, and its progress through the steps. `ThreadControl` decides when it may go on.

import { LabError, messageOf } from '../../errors.ts'
import type { IncidentCategory } from '../../events/incidents.ts'
import type { ActionPlan, StepList, StepPlan, ThreadPlan } from '../plans/plan.ts'
import type { MadePlan } from '../schedule/made_plan.ts'
import type { Candidate } from '../scheduler/request.ts'
import { Entry, type Fixed, type RunState } from '../state/entry.ts'
import { type FrameState, withInserted } from '../state/frame.ts'
import type { Labware } from '../state/labware.ts'
import type { ThreadState } from '../state/run.ts'
import { isTerminal, Status, type ThreadStatus, threadTransitions } from '../state/statuses.ts'
import type { SubmissionRequest } from '../state/submission_request.ts'
import type { ActionRun } from './action/action.ts'
import type { LateCalls } from './action/late_calls.ts'
import type { Backlogs } from './backlogs.ts'
import type { Publisher, RunEvents, ThreadOrigin, Window } from './carrier.ts'
import type { Channels, Published, Scope } from './channels.ts'
import { ThreadControl } from './control.ts'
import { Frame } from './frame.ts'
import type { MethodRun } from './method.ts'
import type { AskedTask, ShownTask } from './move/carry_task.ts'
import type { MotionGate } from './move/motion_gate.ts'
import type { MoveRun } from './move/move.ts'
import { withSample } from './record_rows.ts'
import { ActionExit, categories, Fatal, Interrupt, type PauseReason, type RetrySite } from './recovery.ts'
import type { RunEnvironment } from './run_environment.ts'
import type { SavedValues } from './saved_values.ts'
import { ThreadDevice } from './thread_device.ts'

/** The confirmation of an instruction by a person. */
export interface Confirmation {
  /** Calls `confirmed` when the person confirms, or at once if the person has. The returned function stops the wait. */
  wait(confirmed: () => void): () => void
  /** Ends the instruction: nobody waits for the confirmation any more. */
  withdraw(): void
}

/** The part of a run that its threads use. */
export interface RunPorts extends Publisher {
  readonly events: RunEvents & { emitCustom(name: string, published: Published, thread_id: string | null, scope: Scope): void }
  readonly backlogs: Backlogs
  readonly methods: Map<string, MethodRun>
  readonly channels: Channels
  readonly values: SavedValues
  readonly lateCalls: LateCalls
  /** The steps and actions that an operator inserted. `opened` is called when a thread enters a list of steps or a method. */
  readonly inserts: {
    actionAt(path: string): ActionPlan
    stepAt(path: string): StepPlan
    listAt(path: string): readonly StepPlan[] | undefined
    opened(thread: LabwareThread): void
  }
  /** The wishes of its submissions for the plan of the bench. */
  readonly planning: {
    readonly isOn: boolean
    /** See `PlannedRun`. */
    readonly saves_s: number | null | undefined
    requestOf(submission_id: string): SubmissionRequest | undefined
    priorityOf(submission_id: string): number
    adopted(plan: MadePlan): void
  }
  readonly stall: { blocked(more: 1 | -1): void; suspect(): void }
  readonly state: RunState
  readonly paused: { readonly reason: 'manual' | 'system' } | null
  readonly threadFactory: {
    /** Throws `conflict` if labware of an open run on the same bench has this barcode, which was read at a position, or is to get it. */
    readMustBeFree(barcode: string, position: string | null): void
  }
  /** Finds a thread of this run, or of another run on the same bench. */
  find(thread_id: string): LabwareThread | undefined
  /** The people at the bench. */
  readonly operator: {
    instruct(run: Publisher, instruction: string, thread_id: string): Confirmation
    /** Returns the id of a step that is to be shown. */
    newId(run: Publisher): string
    /** Shows a person the task to carry the labware of a thread, as `step_id` if it was shown before. */
    ask(thread: Pick<LabwareThread, 'execution' | 'thread_id'>, asked: AskedTask): ShownTask
    /** Takes the task of a thread off the list, if there is one. */
    forget(thread_id: string): void
    /** Resolves when a person has put the labware at its start. */
    placed(thread: LabwareThread): Promise<void>
    /** Resolves when a person has taken the labware away from its end. */
    removed(thread: LabwareThread): Promise<void>
  }
  readonly gate: MotionGate
}

export class LabwareThread extends Entry<'thread'> {
  readonly thread_id: string
  readonly name: string
  readonly origin: ThreadOrigin
  readonly plan: ThreadPlan
  readonly execution: RunPorts
  /** The labware ends at the first of these positions that is granted. */
  readonly ends: readonly Candidate[]
  readonly status: Status<ThreadStatus>
  /** The nested lists of steps that the thread is in, the innermost last. */
  readonly frames: Frame[]
  /** The step that the thread is doing. */
  step: StepPlan | null = null
  #method: MethodRun | null = null
  #joining: MethodRun | null = null
  #action: ActionRun | null = null
  #move: MoveRun | null = null
  #window: Window | null = null
  /** When the delay that the thread is in ends, by the clock of the run, in ms. */
  delayEnds_ms = 0
  /** Whether the last end of the service cut off a move. Then the arm's report about its gripper now tells where the labware is. */
  isWitnessed = false
  /** Resolves when the hop that is under way has ended. */
  carrying: Promise<void> | null = null
  readonly device = new ThreadDevice(this)
  /** The owner of the action in which this thread takes part, while an error holds the owner. */
  following: LabwareThread | null = null
  /** Decides when the thread may go on: waits, pauses, stops, skips and decisions. */
  readonly control: ThreadControl = new ThreadControl(this)

  /** `isTakenUp`: restored after a restart. Throws `conflict` if the plan no longer has the steps that the thread is in. */
  constructor(execution: RunPorts, plan: ThreadPlan, state: ThreadState, { isTakenUp = false } = {}) {
    super(execution.state, 'thread', state, state.thread_id)
    this.thread_id = state.thread_id
    this.name = state.name
    this.origin = { group_id: state.group_id, submission_id: state.submission_id }
    this.execution = execution
    this.plan = plan
    this.ends = plan.end.positions.map((position) => ({ position }))
    this.frames = state.frames.map((frame) => new Frame(this, frame, stepsOf(plan, frame, execution)))
    this.status = new Status<ThreadStatus>(threadTransitions, this, (status) => this.#publish(status), { isPublished: isTakenUp })
  }

  get labware(): Fixed<Labware> {
    return this.state.labware
  }

  /** Changes members of the labware that the thread carries. A new `held_by` clears `taken_by`. */
  setLabware(members: Partial<Labware>): void {
    const isHeldAnew = members.held_by !== undefined && members.held_by !== this.labware.held_by
    this.setIn('labware', this.labware, isHeldAnew && this.labware.taken_by !== undefined ? { taken_by: undefined, ...members } : members)
  }

  get last_error(): string | null {
    return this.state.last_error
  }

  /** The method that the thread owns and is in. */
  get method(): MethodRun | null {
    return this.#method
  }

  set method(method: MethodRun | null) {
    this.#method = method
    this.set({ method_id: method?.method_id ?? null })
  }

  /** The method of another thread in which this thread takes part. */
  get joining(): MethodRun | null {
    return this.#joining
  }

  set joining(method: MethodRun | null) {
    this.#joining = method
    this.set({ joining_id: method?.method_id ?? null })
  }

  /** The action that the thread owns and is in. */
  get action(): ActionRun | null {
    return this.#action
  }

  set action(action: ActionRun | null) {
    this.#action = action
    this.set({ action: action?.state ?? null })
  }

  /** The attempt at a hop that is under way. */
  get move(): MoveRun | null {
    return this.#move
  }

  set move(move: MoveRun | null) {
    this.#move = move
    this.set({ move: move?.state ?? null })
  }

  /** The window within which the labware's next action must begin. */
  get window(): Window | null {
    return this.#window
  }

  set window(window: Window | null) {
    this.#window = window
    this.set({ window: window?.state ?? null })
  }

  get environment(): RunEnvironment {
    return this.execution.environment
  }

  get isOver(): boolean {
    return this.status.isTerminal
  }

  /** Returns the context of an event. A plain literal, because a spread takes five times as long and most events need it. */
  context(pause_reason: PauseReason | null = this.control.pause_reason) {
    const { thread_id, name, plan, last_error } = this
    const { execution_id, workflow_name } = this.execution.events.context()
    const reason = last_error ?? (pause_reason === 'manual' ? 'an operator paused it' : null)
    const its = { execution_id, workflow_name, thread_id, thread_name: name, template_name: plan.name, pause_reason, last_error: reason }
    return withSample(its, this)
  }

  /** Sets the status. A thread that is stopping takes only a terminal one. */
  become(status: ThreadStatus): void {
    if (this.status.current === 'STOPPING' && !isTerminal(threadTransitions, status)) return
    this.status.become(status)
  }

  #publish(status: ThreadStatus): void {
    const { execution, labware } = this
    const context = this.context(status === 'PAUSED' ? this.control.pause_reason : null)
    const isManual = status === 'AWAITING_MANUAL_PLACE' || status === 'AWAITING_MANUAL_REMOVE'
    const target_location =
      status === 'AWAITING_MANUAL_PLACE' ? this.state.starts_at : (execution.environment.scheduler.whereIs(labware.labware_id) ?? null)
    const manual = { labware_id: labware.labware_id, labware_name: labware.name, labware_template_name: labware.template, target_location }
    execution.events.emit('THREAD', this.thread_id, status, isManual ? { ...context, ...manual } : context)
    this.set({ since: execution.now() })
    execution.environment.forecaster?.changed()
  }

  /** Runs `work` until it succeeds. An error holds the thread until somebody decides; then `work` is run again. */
  async insist<Value>(site: RetrySite, work: () => Promise<Value>): Promise<Value> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        await this.holdAt(site, error)
      }
    }
  }

  /** Holds the thread because of an error until somebody decides that it tries again. Rejects with what ends the action or the thread. */
  async holdAt(site: RetrySite, error: unknown): Promise<void> {
    if (error instanceof Interrupt || error instanceof ActionExit || error instanceof Fatal) throw error
    if (this.control.signal.aborted) throw new Interrupt('abort')
    const category = categories[site]
    if (category) this.cannotGoOn(category, error)
    await this.control.decisionAt(site, error)
    this.control.recovered()
  }

  cannotGoOn(category: IncidentCategory, error: unknown): void {
    const more = { recovery_action: 'THREAD_RECOVER_RETRY', error } as const
    this.execution.events.incident(category, `thread ${this.name} cannot go on: ${messageOf(error)}`, this, more)
  }

  /** Whether an operator wants the step or action with this key skipped. */
  isToSkip(key: string): boolean {
    return this.state.skips.includes(key)
  }

  /** Returns whether an operator wants the step or action skipped, and clears the wish. */
  forgetSkip(key: string): boolean {
    const isToSkip = this.isToSkip(key)
    if (isToSkip) this.set({ skips: this.state.skips.filter((other) => other !== key) })
    return isToSkip
  }

  /** Returns how often a custom event had been published when this thread last saw it. */
  seen(event: string): number {
    return this.state.seen.find((one) => one.event === event)?.count ?? 0
  }

  sees(event: string, count: number): void {
    this.set({ seen: [...this.state.seen.filter((one) => one.event !== event), { event, count }] })
  }

  /** Enters the steps inside the current step. */
  enterSteps({ path, steps, isLoop = false }: StepList & { isLoop?: boolean }): void {
    const state = { path, next: 0, is_loop: isLoop, inserted: [] }
    this.set({ frames: [...this.state.frames, state] })
    this.frames.push(new Frame(this, state, [...steps]))
  }

  /** Leaves the innermost list of steps, and returns its frame. */
  leaveSteps(): Frame {
    this.set({ frames: this.state.frames.slice(0, -1) })
    return this.frames.pop()!
  }

  /** Reports that an operator has dealt with the action, which counts as done. */
  dealtWith({ name }: ActionPlan): void {
    this.execution.events.incident('ACTION_CONTINUED', `an operator says that ${name} of ${this.name} is dealt with`, this, {
      severity: 'INFO',
    })
  }
}

/** Returns the steps of a frame, with the inserted ones. Throws `conflict` if the plan no longer has them. */
function stepsOf({ lists, name }: ThreadPlan, { path, inserted }: FrameState, { inserts }: RunPorts): StepPlan[] {
  const known = lists.get(path) ?? inserts.listAt(path)
  if (!known) throw new LabError('conflict', `thread ${name} has no steps ${path} any more`)
  return withInserted(known, inserted, (path) => inserts.stepAt(path))
}
