// The journey of one labware: its status, what it waits for, and how it is paused, stopped and let go on.

import { LabError, messageOf } from '../../errors.ts'
import type { IncidentCategory } from '../../events/incidents.ts'
import type { ActionPlan, StepList, StepPlan, ThreadPlan } from '../plans/plan.ts'
import type { Candidate, Obstacle } from '../scheduler/request.ts'
import { Entry, type Fixed, type RunState } from '../state/entry.ts'
import { type FrameState, withInserted } from '../state/frame.ts'
import type { Labware } from '../state/labware.ts'
import { isUncertain, uncertainty } from '../state/move.ts'
import type { ThreadState } from '../state/run.ts'
import { isTerminal, Status, type ThreadStatus, threadTransitions } from '../state/statuses.ts'
import type { ActionRun } from './action/action.ts'
import type { LateCalls } from './action/late_calls.ts'
import { isBlocked, type Publisher, type ThreadOrigin, type Waiting, type Window } from './carrier.ts'
import type { Channels, Published } from './channels.ts'
import { Frame } from './frame.ts'
import type { MethodRun } from './method.ts'
import type { MoveRun } from './move/move.ts'
import {
  ActionExit,
  type Decision,
  decisionsAt,
  Fatal,
  type GoesOn,
  type GoesOnFrom,
  goesOn,
  Interrupt,
  isPause,
  type PauseReason,
  type PauseSite,
} from './recovery.ts'
import type { RunEnvironment } from './run_environment.ts'
import type { Slots } from './slots.ts'

/** Which interrupts end a wait: all of them, all but a pause, or only an abort. */
type Interruption = 'pause' | 'stop' | 'abort'
const severity = { pause: 0, skip: 0, stop: 1, abort: 2 } as const satisfies Record<Interrupt['kind'], number>

type WaitFor = Pick<Waiting, 'kind' | 'what'> & {
  obstacles?(): Obstacle[]
  interruptedBy?: Interruption
  /** The threads that must do something first. */
  awaits?(): readonly string[]
}

/** The incident that an error at a place is; null where the error was reported when it was found. A thread can do again what fails at these. */
const categories = {
  MOVE_RESOLUTION: 'MOVE_FAILED',
  ACTION_RESOLUTION: null,
  SPAWN_CAPACITY: 'AUTO_SPAWN_FAILED',
  THREAD_STEP: 'OTHER',
  WAIT_EVENT_TIMEOUT: 'RECOVERABLE_TIMEOUT',
} as const satisfies Partial<Record<PauseSite, IncidentCategory | null>>

export type RetrySite = keyof typeof categories

/** Answers why a decision that the place allows cannot be taken now. */
type Refuses = (decision: Decision) => string | undefined

/** The answer of a person to an instruction. */
export interface Confirmation {
  /** Calls `confirmed` once the person has confirmed, at once if that is so already. The returned function calls it off. */
  wait(confirmed: () => void): () => void
  /** Ends the instruction: nobody waits for the confirmation any longer. */
  withdraw(): void
}

/** The part of its run that a thread uses. */
export interface RunPorts extends Publisher {
  readonly slots: Slots
  readonly methods: Map<string, MethodRun>
  readonly channels: Channels
  readonly lateCalls: LateCalls
  /** Steps and actions that an operator inserted; `opened` is called when a thread comes to steps or actions that it had not reached. */
  readonly inserts: {
    actionAt(path: string): ActionPlan
    stepAt(path: string): StepPlan
    listAt(path: string): readonly StepPlan[] | undefined
    opened(thread: LabwareThread): void
  }
  readonly stall: { blocked(more: 1 | -1): void }
  readonly state: RunState
  readonly paused: { readonly reason: 'manual' | 'system' } | null
  /** Unix time, s. */
  now(): number
  /** A thread of this run, or of another that shares its places. */
  find(thread_id: string): LabwareThread | undefined
  /** The value of a variable; undefined where there is none. Throws `invalid` for a variable that the workflow does not have. */
  variable(name: string, submission_id: string): unknown
  emitCustom(name: string, published: Published, thread_id: string | null): void
  instruct(instruction: string, thread_id: string): Confirmation
  /** Resolves when a person has put the labware at its start. */
  placed(thread: LabwareThread): Promise<void>
  /** Resolves when a person has taken the labware away from its end. */
  removed(thread: LabwareThread): Promise<void>
  /** Undefined while something new may be begun; else a promise that never resolves. */
  mayBegin(): Promise<void> | undefined
  /** Resolves when something may move; undefined where nothing keeps it. Rejects with `storage`. */
  beforeMotion(): Promise<void> | undefined
  /** Resolves when the present state is on the card, and a move that has begun may go on; undefined where it is. Rejects with `storage`. */
  synced(): Promise<void> | undefined
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
  /** The steps in which the thread is; the innermost last. */
  readonly frames: Frame[]
  /** The step in which the thread is. */
  step: StepPlan | null = null
  #method: MethodRun | null = null
  #joining: MethodRun | null = null
  #action: ActionRun | null = null
  #move: MoveRun | null = null
  #window: Window | null = null
  /** The end of the service before this start cut a move off in its midst: what the arm says of its gripper now tells where the labware is. */
  isWitnessed = false
  /** Resolves when the hop that is under way has ended. */
  carrying: Promise<void> | null = null
  /** Where the thread goes on from the interrupted action, as somebody has decided. */
  #afterRestart: GoesOnFrom<'RESTART'> | 'thread' = 'here'
  /** The device that the thread has for its action. */
  device: string | null = null
  pause_reason: PauseReason | null = null
  waiting: Waiting | null = null
  /** The owner about whose error somebody must decide; this thread takes part in its action. */
  following: LabwareThread | null = null
  #wanted: { pause: 'manual' | 'system' | null; stop: boolean; abort: boolean } = { pause: null, stop: false, abort: false }
  #interrupt: ((interrupt: Interrupt) => void) | null = null
  #site: PauseSite | null = null
  #decide: ((going: GoesOn) => void) | null = null
  #refuses: Refuses = () => undefined
  #resume: (() => void) | null = null
  /** The key of the step or action in which the thread waits, as long as that may be skipped. */
  #skippable: string | null = null
  #endLease: (() => void) | undefined
  readonly #cutOff = new AbortController()

  /** `isTakenUp` after a restart. Throws `conflict` when the plan has no longer the steps in which it is. */
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

  /** Changes members of the labware that the thread carries. */
  setLabware(members: Partial<Labware>): void {
    this.setIn('labware', this.labware, members)
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

  /** The signal that is aborted when the thread is cut off: a device that works for it is halted. */
  get signal(): AbortSignal {
    return this.#cutOff.signal
  }

  /** The place where an error holds the thread, if one does. */
  get pausedAt(): PauseSite | null {
    return this.#site
  }

  /** The place where a decision is wanted: an error holds the thread, or a restart that came in the midst of an action. */
  get undecidedAt(): PauseSite | null {
    return this.#site ?? (this.state.interrupted && this.#resume ? 'RESTART' : null)
  }

  /** The decisions that are possible now. A thread that takes part in an action has those of the owner. */
  get decisions(): readonly Decision[] {
    if (this.following) return this.following.decisions
    return this.undecidedAt ? decisionsAt(this.undecidedAt) : []
  }

  get isStopping(): boolean {
    return this.#wanted.stop || this.#wanted.abort
  }

  /** A plain literal: it is made for most events, and with a spread takes five times as long. */
  context(pause_reason: PauseReason | null = this.pause_reason) {
    const { thread_id, name, plan, last_error } = this
    const { execution_id, workflow_name } = this.execution.context()
    const reason = last_error ?? (pause_reason === 'manual' ? 'an operator paused it' : null)
    return { execution_id, workflow_name, thread_id, thread_name: name, template_name: plan.name, pause_reason, last_error: reason }
  }

  /** Sets the status. A thread that is stopping takes only a terminal one. */
  become(status: ThreadStatus): void {
    if (this.status.current === 'STOPPING' && !isTerminal(threadTransitions, status)) return
    this.status.become(status)
  }

  #publish(status: ThreadStatus): void {
    const { execution, labware } = this
    const context = this.context(status === 'PAUSED' ? this.pause_reason : null)
    const isManual = status === 'AWAITING_MANUAL_PLACE' || status === 'AWAITING_MANUAL_REMOVE'
    const target_location =
      status === 'AWAITING_MANUAL_PLACE' ? this.state.starts_at : (execution.environment.scheduler.whereIs(labware.labware_id) ?? null)
    const manual = { labware_id: labware.labware_id, labware_name: labware.name, labware_template_name: labware.template, target_location }
    execution.emit('THREAD', this.thread_id, status, isManual ? { ...context, ...manual } : context)
    this.set({ since: execution.now() })
  }

  /**
   * Waits for something that others do. `begin` is given what ends the wait, which it may call at once, and answers how to
   * call it off. The thread goes on in one of the next turns. Rejects with an `Interrupt` when it is to pause, stop or be cut off.
   */
  wait<Value>(
    { kind, what, obstacles = () => [], interruptedBy = 'pause', awaits }: WaitFor,
    begin: (resolve: (value: Value) => void, reject: (error: unknown) => void) => () => void,
  ): Promise<Value> {
    const { steps, clock, scheduler } = this.environment
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = (goOn: () => void) => {
        if (isOver) return
        isOver = true
        if (this.waiting && isBlocked(this.waiting)) this.execution.stall.blocked(-1)
        // From this moment on the thread goes on by itself, even before it is called.
        if (awaits) scheduler.setAwaitedThreads(this.thread_id, [])
        if (kind === 'event') scheduler.setAwaitsEvent(this.thread_id, false)
        if (kind === 'operator') scheduler.setHeld(this.thread_id, false)
        this.waiting = null
        this.#interrupt = null
        steps.push(goOn)
      }
      const wanted = this.#interrupting(interruptedBy)
      if (wanted) return end(() => reject(wanted))
      const callOff = begin(
        (value) => end(() => resolve(value)),
        (error) => end(() => reject(error)),
      )
      if (isOver) return
      this.waiting = { kind, what, since_ms: clock.now(), obstacles }
      if (isBlocked(this.waiting)) this.execution.stall.blocked(1)
      this.#interrupt = (interrupt) => {
        if (severity[interrupt.kind] < severity[interruptedBy]) return
        callOff()
        end(() => reject(interrupt))
      }
      // Each of these calls may let other threads go on, which end this wait.
      if (awaits) scheduler.setAwaitedThreads(this.thread_id, awaits())
      // What the thread waits for may need a device that is reserved for the thread.
      if (!isOver && (kind === 'event' || kind === 'operator')) scheduler.cancelReservations(this.thread_id)
      if (!isOver && kind === 'event') scheduler.setAwaitsEvent(this.thread_id, true)
      if (!isOver && kind === 'operator') scheduler.setHeld(this.thread_id, true)
      if (isOver) return
      // A callback may have paused or ended the thread meanwhile.
      const since = this.#interrupting(interruptedBy)
      if (since) this.#interrupt?.(since)
    })
  }

  /** Pauses the thread if it is to pause; undefined if it is not. Throws or rejects with an `Interrupt` if it is to end. */
  safePoint(then: ThreadStatus = 'RESOLVING_ACTION_LOCATION'): Promise<void> | undefined {
    const wanted = this.#interrupting('pause')
    if (!wanted) return undefined
    if (wanted.kind !== 'pause') throw wanted
    return this.#hold(this.#wanted.pause!, then).then(() => this.safePoint(then))
  }

  /** Runs `work`, and runs it again after each pause that interrupts it, from which the thread goes on with the status `then`. */
  async pausable<Value>(work: () => Promise<Value>, then?: ThreadStatus): Promise<Value> {
    for (;;) {
      await this.safePoint(then)
      try {
        return await work()
      } catch (error) {
        if (!isPause(error)) throw error
      }
    }
  }

  /** Runs `work`, which an operator may skip while the thread waits in it: then this rejects with an `Interrupt`. */
  async skippable<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    this.setSkippable(key)
    try {
      return await work()
    } finally {
      this.setSkippable(null)
    }
  }

  /** Sets the key of the step or action that an operator may skip while the thread waits; null for none. */
  setSkippable(key: string | null): void {
    this.#skippable = key
  }

  /** Skips the step or action with this key: at once if the thread waits in it, else when the thread comes to it. */
  skip(key: string): void {
    if (!this.isToSkip(key)) this.set({ skips: [...this.state.skips, key] })
    if (this.#skippable === key) this.#interrupt?.(new Interrupt('skip'))
  }

  maySkip(key: string): boolean {
    return this.#skippable === key
  }

  /** Whether an operator wants the step or action with this key skipped. */
  isToSkip(key: string): boolean {
    return this.state.skips.includes(key)
  }

  /** The thread has come to it. Answers whether it was to be skipped. */
  forgetSkip(key: string): boolean {
    const isToSkip = this.isToSkip(key)
    if (isToSkip) this.set({ skips: this.state.skips.filter((other) => other !== key) })
    return isToSkip
  }

  /** How often a custom event had been published when this thread last saw it. */
  seen(event: string): number {
    return this.state.seen.find((one) => one.event === event)?.count ?? 0
  }

  sees(event: string, count: number): void {
    this.set({ seen: [...this.state.seen.filter((one) => one.event !== event), { event, count }] })
  }

  /** Takes up steps inside the present one. */
  enterSteps({ path, steps, isLoop = false }: StepList & { isLoop?: boolean }): void {
    const state = { path, next: 0, is_loop: isLoop, inserted: [] }
    this.set({ frames: [...this.state.frames, state] })
    this.frames.push(new Frame(this, state, [...steps]))
  }

  /** Leaves the innermost steps. */
  leaveSteps(): Frame {
    this.set({ frames: this.state.frames.slice(0, -1) })
    return this.frames.pop()!
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
    if (this.signal.aborted) throw new Interrupt('abort')
    const category = categories[site]
    if (category) this.cannotGoOn(category, error)
    await this.decisionAt(site, error)
    this.recovered()
  }

  cannotGoOn(category: IncidentCategory, error: unknown): void {
    const more = { recovery_action: 'THREAD_RECOVER_RETRY', error } as const
    this.execution.incident(category, `thread ${this.name} cannot go on: ${messageOf(error)}`, this, more)
  }

  /** Reports that an operator has dealt with the action, which counts as done. */
  dealtWith({ name }: ActionPlan): void {
    this.execution.incident('ACTION_CONTINUED', `an operator says that ${name} of ${this.name} is dealt with`, this, { severity: 'INFO' })
  }

  async #hold(reason: 'manual' | 'system', then: ThreadStatus): Promise<void> {
    this.pause_reason = reason
    this.environment.scheduler.cancelReservations(this.thread_id)
    // A subscriber may end the pause at once.
    const resumed = new Promise<void>((resolve, reject) => {
      this.#resume = () => this.environment.steps.push(resolve)
      const why = () => this.#whyHeld(reason)
      const since_ms = this.environment.clock.now()
      this.waiting = {
        kind: 'operator',
        // Somebody may say meanwhile where its labware is.
        get what() {
          return why()
        },
        since_ms,
        obstacles: () => [],
      }
      this.#interrupt = (interrupt) => {
        if (interrupt.kind !== 'pause') this.environment.steps.push(() => reject(interrupt))
      }
    })
    try {
      this.become('PAUSED')
      this.environment.scheduler.setHeld(this.thread_id, true)
      await resumed
    } finally {
      this.environment.scheduler.setHeld(this.thread_id, false)
      this.waiting = null
      this.#resume = null
      this.#interrupt = null
      this.pause_reason = null
    }
    // A thread that ends keeps its error.
    if (this.#afterRestart === 'thread') throw new Interrupt('abort')
    if (reason === 'system') this.set({ last_error: null, error_before: null })
    this.become(then)
  }

  #whyHeld(reason: 'manual' | 'system'): string {
    const { interrupted, error_before } = this.state
    const before = error_before === null ? '' : `; before the service ended, it had an error: ${error_before}`
    if (this.isLost) return `${uncertainty(this.state)}${before}`
    if (this.undecidedAt !== 'RESTART') return `paused (${reason}): resume it${before}`
    const hasBegun = interrupted?.status === 'EXECUTING_ACTION'
    const what = `${this.last_error} ${hasBegun ? 'in the midst of' : 'before'} ${interrupted?.name}`
    return `${what}: resume it, which does that${hasBegun ? ' again' : ''}; possible decisions: ${decisionsAt('RESTART').join(', ')}${before}`
  }

  /**
   * Holds the thread because of an error until somebody decides. Resolves with where it goes on, which the caller says with `recovered`; or
   * with what `otherwise` was given, when that came first. Rejects with an `Interrupt` when the thread is to end.
   */
  async decisionAt<Site extends PauseSite, Other = never>(
    site: Site,
    error: unknown,
    { refuses = () => undefined, otherwise }: { refuses?: Refuses; otherwise?(tell: (other: Other) => void): void } = {},
  ): Promise<GoesOnFrom<Site> | Other> {
    if (this.#wanted.stop) {
      this.set({ last_error: messageOf(error) })
      throw new Interrupt('abort')
    }
    this.#site = site
    this.#refuses = refuses
    // The lease ends, so that a person can mend and initialize the device.
    this.#endLease?.()
    this.environment.scheduler.cancelReservations(this.thread_id)
    this.pause_reason = 'error'
    this.set({ last_error: messageOf(error) })
    const decided = new Promise<GoesOn | Other>((resolve, reject) => {
      const { equipment, clock } = this.environment
      const latched = () => (equipment.faults?.() ?? []).map(({ device_id }) => device_id)
      const named = latched().filter((device_id) => messageOf(error).includes(device_id))
      const what = () => {
        const now = named.length > 0 ? latched() : []
        const over = named.filter((device_id) => !now.includes(device_id)).map((device_id) => `, and ${device_id} was initialized since`)
        return `${messageOf(error).replace(/\.$/, '')}${over.join('')}; possible decisions: ${decisionsAt(site).join(', ')}`
      }
      this.waiting = {
        kind: 'operator',
        get what() {
          return what()
        },
        since_ms: clock.now(),
        obstacles: () => [],
      }
      this.#decide = (going) => this.environment.steps.push(() => resolve(going))
      otherwise?.((other) => {
        this.#decide = null
        this.environment.steps.push(() => resolve(other))
      })
      this.#interrupt = (interrupt) => {
        // Labware in a gripper is not left there.
        const isHeldOn = interrupt.kind === 'pause' || (interrupt.kind === 'skip' && site === 'MOVE')
        if (!isHeldOn) this.environment.steps.push(() => reject(interrupt))
      }
    })
    let isSkipped = false
    try {
      this.become('PAUSED')
      this.environment.scheduler.setHeld(this.thread_id, true)
      const going = await decided
      if (going === 'thread') throw new Interrupt('abort')
      return going as GoesOnFrom<Site> | Other
    } catch (interrupt) {
      isSkipped = interrupt instanceof Interrupt && interrupt.kind === 'skip'
      throw interrupt
    } finally {
      this.environment.scheduler.setHeld(this.thread_id, false)
      this.waiting = null
      this.#decide = null
      this.#interrupt = null
      this.#site = null
      this.pause_reason = null
      this.#leaseDevice()
      if (isSkipped) this.recovered()
    }
  }

  /** Answers where the thread goes on after the action at `path`, if a restart interrupted that and it is not to be done again. Can be asked once. */
  leftByRestart(path: string): Exclude<ActionExit['to'], 'again'> | undefined {
    if (this.state.interrupted?.path !== path) return undefined
    this.set({ interrupted: null })
    return this.#afterRestart === 'here' || this.#afterRestart === 'thread' ? undefined : this.#afterRestart
  }

  /** The thread has the device until `releaseDevice`. */
  takeDevice(device: string): void {
    this.device = device
    this.#leaseDevice()
  }

  releaseDevice(): void {
    if (this.device === null) return
    this.#endLease?.()
    this.environment.scheduler.release(this.thread_id, this.device)
    this.device = null
  }

  #leaseDevice(): void {
    const { equipment } = this.environment
    this.#endLease = this.device === null ? undefined : equipment.hold?.(this.device, this.execution.execution_id)
  }

  /** Ends the error that held the thread, which takes the status `then`. A run that is paused pauses the thread again. */
  recovered(then: ThreadStatus = 'RESOLVING_ACTION_LOCATION'): void {
    this.set({ last_error: null })
    if (this.execution.paused) this.pause(this.execution.paused.reason)
    this.become(then)
  }

  /** Ends the error that held the thread by leaving the action. The caller throws the answer. */
  leaves(to: ActionExit['to']): ActionExit {
    this.recovered()
    return new ActionExit(to)
  }

  /** Pauses the thread at the next safe point; never in a device call or a move. Answers whether that changed anything. */
  pause(reason: 'manual' | 'system'): boolean {
    if (this.isOver || this.isStopping || this.#wanted.pause || this.#site) return false
    this.#wanted.pause = reason
    this.#interrupt?.(new Interrupt('pause'))
    return true
  }

  /** Whether nobody has said where its labware is, whose move the end of the service cut off. Without drivers there is no gripper to look at. */
  get isLost(): boolean {
    return this.environment.mode !== 'PURE_SIM' && isUncertain(this.state)
  }

  /** Throws `conflict` while nobody has said where its labware is, whose move the end of the service cut off. A thread that is stopping moves nothing. */
  mustBeResumable(): void {
    if (this.isLost && !this.isStopping) throw new LabError('conflict', uncertainty(this.state))
  }

  /** Ends a pause, also one that has not begun. Throws `conflict` where an error holds the thread, or nobody knows where its labware is. */
  resume(): boolean {
    if (this.#site) {
      throw new LabError(
        'conflict',
        `thread ${this.name} stands because of an error: ${this.last_error}; recover it with one of ${decisionsAt(this.#site).join(', ')}`,
      )
    }
    this.mustBeResumable()
    return this.#endPause()
  }

  #endPause(): boolean {
    if (!this.#wanted.pause) return false
    this.#wanted.pause = null
    this.#resume?.()
    return true
  }

  /**
   * Decides about the error that holds the thread. `on` is the device at which the action is done again. Throws `conflict` when no error holds
   * it, or for a
   * decision that is not possible there.
   */
  recover(decision: Decision, on?: { path: string; device: string }): void {
    if (this.following) {
      this.following.recover(decision, on)
      return
    }
    const site = this.undecidedAt
    if (!site || (site !== 'RESTART' && !this.#decide)) throw new LabError('conflict', this.#whyNothingToDecide())
    const going = goesOn(site, decision)
    if (!going) {
      throw new LabError('conflict', `${decision} is not possible at ${site}; possible are ${decisionsAt(site).join(', ')}`)
    }
    const refusal = site === 'RESTART' ? undefined : this.#refuses(decision)
    if (refusal && !on) throw new LabError('conflict', refusal)
    // The chosen device stays chosen over a restart, and over a move that fails on the way.
    if (on || (site !== 'RESTART' && site !== 'MOVE')) this.set({ retry_on: on ?? null })
    if (site === 'RESTART') {
      // A thread that ends leaves its labware where it may be.
      if (going !== 'thread') this.mustBeResumable()
      this.#afterRestart = going as GoesOnFrom<'RESTART'> | 'thread'
      this.#endPause()
      return
    }
    const decide = this.#decide
    this.#decide = null
    decide?.(going)
  }

  #whyNothingToDecide(): string {
    if (this.#site) return `somebody has decided about thread ${this.name} already`
    const remedy = this.#resume ? '; it was paused: resume it' : ''
    return `no error holds thread ${this.name}: it is ${this.status.current}${remedy}`
  }

  /** Ends the thread when the call or move under way has ended, without the move to its end. Where an error holds it, it is aborted. */
  stop(): boolean {
    if (this.isOver || this.isStopping) return false
    if (this.#decide) {
      this.recover('ABORT_THREAD')
      return true
    }
    this.#wanted.stop = true
    this.become('STOPPING')
    this.#interrupt?.(new Interrupt('stop'))
    return true
  }

  /** Cuts the thread off: a device that works for it is halted. */
  cutOff(why: string): void {
    if (this.isOver || this.#wanted.abort) return
    this.#wanted.abort = true
    this.set({ last_error: this.last_error ?? why })
    this.#interrupt?.(new Interrupt('abort'))
    this.#cutOff.abort(new LabError('stopped', why))
  }

  /** The interrupt that is due, if this wait can be interrupted by it. */
  #interrupting(interruptedBy: Interruption): Interrupt | undefined {
    const { abort, stop, pause } = this.#wanted
    if (abort) return new Interrupt('abort')
    if (stop && interruptedBy !== 'abort') return new Interrupt('stop')
    if (interruptedBy === 'pause' && this.#skippable !== null && this.isToSkip(this.#skippable)) return new Interrupt('skip')
    return pause && interruptedBy === 'pause' ? new Interrupt('pause') : undefined
  }
}

/** The steps of a frame, with those that were inserted. Throws `conflict` when the plan has them no longer. */
function stepsOf({ lists, name }: ThreadPlan, { path, inserted }: FrameState, { inserts }: RunPorts): StepPlan[] {
  const known = lists.get(path) ?? inserts.listAt(path)
  if (!known) throw new LabError('conflict', `thread ${name} has no steps ${path} any more`)
  return withInserted(known, inserted, (path) => inserts.stepAt(path))
}
