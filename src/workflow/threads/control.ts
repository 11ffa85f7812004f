// Controls when a thread may go on: waits, pauses, stops, skips, and errors that hold it.

import { LabError, messageOf } from '../../errors.ts'
import { hasUncertain, uncertainty } from '../state/move.ts'
import type { ThreadStatus } from '../state/statuses.ts'
import { type Carrier, isBlocked, type Publisher, type WaitFor, type Waiting } from './carrier.ts'
import { nothingToDecide, wordsOfError, wordsOfPause } from './hold_words.ts'
import {
  ActionExit,
  type Decision,
  decisionsAt,
  type GoesOn,
  type GoesOnFrom,
  goesOn,
  Interrupt,
  isPause,
  onItsWay,
  type PauseReason,
  type PauseSite,
} from './recovery.ts'

type Interruption = NonNullable<WaitFor['interruptedBy']>
const severity = { pause: 0, skip: 0, stop: 1, abort: 2 } as const satisfies Record<Interrupt['kind'], number>

/** Returns why a decision that the site allows is not possible now; undefined if it is. */
type Refuses = (decision: Decision) => string | undefined

/** The part of a run that waits and holds use. */
interface ControlledRun extends Publisher {
  readonly paused: { readonly reason: 'manual' | 'system' } | null
  readonly stall: { blocked(more: 1 | -1): void }
}

/** The part of a thread that its control uses. */
export interface ControlledThread extends Omit<Carrier, 'execution'> {
  readonly execution: ControlledRun
  readonly following: { readonly control: ThreadControl } | null
  become(status: ThreadStatus): void
  isToSkip(key: string): boolean
  readonly device: { endLease(): void; lease(): void }
}

/** The waits, interrupts, holds and decisions of one thread. The thread takes its steps; this class says when it may continue. */
export class ThreadControl {
  readonly #thread: ControlledThread
  /** The decision about the action that a restart interrupted: where the thread continues. */
  #afterRestart: GoesOnFrom<'RESTART'> | 'thread' = 'here'
  pause_reason: PauseReason | null = null
  waiting: Waiting | null = null
  #wanted: { pause: 'manual' | 'system' | null; stop: boolean; abort: boolean } = { pause: null, stop: false, abort: false }
  #interrupt: ((interrupt: Interrupt) => void) | null = null
  #site: PauseSite | null = null
  #decide: ((going: GoesOn) => void) | null = null
  #refuses: Refuses = () => undefined
  #resume: (() => void) | null = null
  /** The key of the step or action in which the thread waits, while an operator may skip it. */
  #skippable: string | null = null
  readonly #cutOff = new AbortController()

  constructor(thread: ControlledThread) {
    this.#thread = thread
  }

  /** Aborted when the thread is cut off, which halts a device that works for it. */
  get signal(): AbortSignal {
    return this.#cutOff.signal
  }

  /** The site at which an error holds the thread; null if none does. */
  get pausedAt(): PauseSite | null {
    return this.#site
  }

  /** The site that needs a decision, after an error or a restart during an action; null if none does. */
  get undecidedAt(): PauseSite | null {
    return this.#site ?? (this.#thread.state.interrupted && this.#resume ? 'RESTART' : null)
  }

  /** The decisions that are possible now. A participating thread has the decisions of the action's owner. */
  get decisions(): readonly Decision[] {
    if (this.#thread.following) return this.#thread.following.control.decisions
    const site = this.undecidedAt
    if (!site) return []
    return site === 'RESTART' ? decisionsAt(site) : decisionsAt(site).filter((decision) => this.#refuses(decision) === undefined)
  }

  get isStopping(): boolean {
    return this.#wanted.stop || this.#wanted.abort
  }

  /**
   * Waits until `begin` calls `resolve` or `reject`, which it may do at once. `begin` returns a function that cancels the wait. The thread continues
   * in a later turn. Rejects with an `Interrupt` when the thread must pause, stop or be cut off.
   */
  wait<Value>(
    { kind, what, obstacles = () => [], interruptedBy = 'pause', countsAsHeld = kind === 'operator', awaits, notes }: WaitFor,
    begin: (resolve: (value: Value) => void, reject: (error: unknown) => void) => () => void,
  ): Promise<Value> {
    const { steps, clock, scheduler } = this.#thread.environment
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = (goOn: () => void) => {
        if (isOver) return
        isOver = true
        if (this.waiting && isBlocked(this.waiting)) this.#thread.execution.stall.blocked(-1)
        // From now on the thread can continue by itself, although its continuation runs only in a later turn.
        if (awaits) scheduler.setAwaitedThreads(this.#thread.thread_id, [])
        if (kind === 'event') scheduler.setAwaitsEvent(this.#thread.thread_id, false)
        if (kind === 'operator') scheduler.setHeld(this.#thread.thread_id, false)
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
      this.waiting = { kind, what, since_ms: clock.now(), obstacles, notes }
      if (isBlocked(this.waiting)) this.#thread.execution.stall.blocked(1)
      this.#interrupt = (interrupt) => {
        if (severity[interrupt.kind] < severity[interruptedBy]) return
        callOff()
        end(() => reject(interrupt))
      }
      // Each of these calls may let other threads continue, and they may end this wait.
      if (awaits) scheduler.setAwaitedThreads(this.#thread.thread_id, awaits())
      // The event or person that the thread waits for may need a device that is reserved for this thread.
      if (!isOver && (kind === 'event' || countsAsHeld)) scheduler.cancelReservations(this.#thread.thread_id)
      if (!isOver && kind === 'event') scheduler.setAwaitsEvent(this.#thread.thread_id, true)
      if (!isOver && countsAsHeld) scheduler.setHeld(this.#thread.thread_id, true)
      if (isOver) return
      // One of the calls may have paused or ended the thread.
      const since = this.#interrupting(interruptedBy)
      if (since) this.#interrupt?.(since)
    })
  }

  /** Pauses the thread if a pause is due; returns undefined if not. Throws or rejects with an `Interrupt` if the thread must end. */
  safePoint(then: ThreadStatus = 'RESOLVING_ACTION_LOCATION'): Promise<void> | undefined {
    const wanted = this.#interrupting('pause')
    if (!wanted) return undefined
    if (wanted.kind !== 'pause') throw wanted
    return this.#hold(this.#wanted.pause!, then).then(() => this.safePoint(then))
  }

  /** Runs `work`, and restarts it after each pause that interrupts it. After a pause the thread takes the status `then`. */
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

  /** Runs `work`. If an operator skips it while the thread waits in it, rejects with an `Interrupt`. */
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
    if (!this.#thread.isToSkip(key)) this.#thread.set({ skips: [...this.#thread.state.skips, key] })
    if (this.#skippable === key) this.#interrupt?.(new Interrupt('skip'))
  }

  maySkip(key: string): boolean {
    return this.#skippable === key
  }

  async #hold(reason: 'manual' | 'system', then: ThreadStatus): Promise<void> {
    this.pause_reason = reason
    this.#thread.environment.scheduler.cancelReservations(this.#thread.thread_id)
    // A subscriber may end the pause at once.
    const resumed = new Promise<void>((resolve, reject) => {
      this.#resume = () => this.#thread.environment.steps.push(resolve)
      // The text is made on demand, because somebody may say meanwhile where the labware is.
      this.#waitForOperator(() => wordsOfPause(this.#thread, reason, this))
      this.#interrupt = (interrupt) => {
        if (interrupt.kind !== 'pause') this.#thread.environment.steps.push(() => reject(interrupt))
      }
    })
    try {
      this.#thread.become('PAUSED')
      this.#thread.environment.scheduler.setHeld(this.#thread.thread_id, true)
      await resumed
    } finally {
      this.#thread.environment.scheduler.setHeld(this.#thread.thread_id, false)
      this.waiting = null
      this.#resume = null
      this.#interrupt = null
      this.pause_reason = null
    }
    // A thread that ends keeps its last error.
    if (this.#afterRestart === 'thread') throw new Interrupt('abort')
    if (reason === 'system') this.#thread.set({ last_error: null, error_before: null })
    this.#thread.become(then)
  }

  #waitForOperator(words: () => string): void {
    this.waiting = {
      kind: 'operator',
      get what() {
        return words()
      },
      since_ms: this.#thread.environment.clock.now(),
      obstacles: () => [],
    }
  }

  /**
   * Holds the thread because of an error until somebody decides. Resolves with where the thread continues; the caller then calls `recovered` or
   * `leaves`. Resolves with the value that `otherwise` passes to `tell`, if that comes first. Rejects with an `Interrupt` when the thread must end.
   */
  async decisionAt<Site extends PauseSite, Other = never>(
    site: Site,
    error: unknown,
    { refuses = () => undefined, otherwise }: { refuses?: Refuses; otherwise?(tell: (other: Other) => void): void } = {},
  ): Promise<GoesOnFrom<Site> | Other> {
    if (this.#wanted.stop) {
      this.#thread.set({ last_error: messageOf(error) })
      throw new Interrupt('abort')
    }
    this.#site = site
    this.#refuses = refuses
    // The lease ends, so that a person can repair and initialize the device.
    this.#thread.device.endLease()
    this.#thread.environment.scheduler.cancelReservations(this.#thread.thread_id)
    this.pause_reason = 'error'
    this.#thread.set({ last_error: messageOf(error) })
    const decided = new Promise<GoesOn | Other>((resolve, reject) => {
      this.#waitForOperator(wordsOfError(this.#thread.environment, site, error))
      this.#decide = (going) => this.#thread.environment.steps.push(() => resolve(going))
      otherwise?.((other) => {
        this.#decide = null
        this.#thread.environment.steps.push(() => resolve(other))
      })
      this.#interrupt = (interrupt) => {
        // A skip would leave the labware of a failed move in the gripper.
        const isHeldOn = interrupt.kind === 'pause' || (interrupt.kind === 'skip' && onItsWay.has(site))
        if (!isHeldOn) this.#thread.environment.steps.push(() => reject(interrupt))
      }
    })
    let isSkipped = false
    try {
      this.#thread.become('PAUSED')
      this.#thread.environment.scheduler.setHeld(this.#thread.thread_id, true)
      const going = await decided
      if (going === 'thread') throw new Interrupt('abort')
      return going as GoesOnFrom<Site> | Other
    } catch (interrupt) {
      isSkipped = interrupt instanceof Interrupt && interrupt.kind === 'skip'
      throw interrupt
    } finally {
      this.#thread.environment.scheduler.setHeld(this.#thread.thread_id, false)
      this.waiting = null
      this.#decide = null
      this.#interrupt = null
      this.#site = null
      this.pause_reason = null
      this.#thread.device.lease()
      if (isSkipped) this.recovered()
    }
  }

  /** Returns where the thread continues if a restart interrupted the action at `path` and the action is not repeated. Clears the interruption. */
  leftByRestart(path: string): Exclude<ActionExit['to'], 'again'> | undefined {
    if (this.#thread.state.interrupted?.path !== path) return undefined
    this.#thread.set({ interrupted: null })
    return this.#afterRestart === 'here' || this.#afterRestart === 'thread' ? undefined : this.#afterRestart
  }

  /** Ends the hold by an error; the thread takes the status `then`. A paused run pauses the thread again. */
  recovered(then: ThreadStatus = 'RESOLVING_ACTION_LOCATION'): void {
    this.#thread.set({ last_error: null })
    if (this.#thread.execution.paused) this.pause(this.#thread.execution.paused.reason)
    this.#thread.become(then)
  }

  /** Ends the hold by an error, to leave the action. Returns the exit that the caller throws. */
  leaves(to: ActionExit['to']): ActionExit {
    this.recovered()
    return new ActionExit(to)
  }

  /** Pauses the thread at the next safe point, never in a device call or a move. Returns false if the thread cannot be paused or is already. */
  pause(reason: 'manual' | 'system'): boolean {
    if (this.#thread.isOver || this.isStopping || this.#wanted.pause || this.#site) return false
    this.#wanted.pause = reason
    this.#interrupt?.(new Interrupt('pause'))
    return true
  }

  /** Whether the end of the service cut off a move of the labware and nobody has said since where it is. Never in PURE_SIM, which has no gripper. */
  get isLost(): boolean {
    return this.#thread.environment.mode !== 'PURE_SIM' && hasUncertain(this.#thread.state)
  }

  /** Throws `conflict` while the labware is lost (`isLost`). A stopping thread moves nothing, so it passes. */
  mustBeResumable(): void {
    if (this.isLost && !this.isStopping) throw new LabError('conflict', uncertainty(this.#thread.state))
  }

  /** Ends a pause, or cancels one that is due. Throws `conflict` if an error holds the thread, or nobody knows where its labware is. */
  resume(): boolean {
    if (this.#site) {
      throw new LabError(
        'conflict',
        `an error holds thread ${this.#thread.name}: ${this.#thread.last_error}; recover it with one of ${decisionsAt(this.#site).join(', ')}`,
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
   * Decides about the error that holds the thread. `on` is the device at which to repeat the action. Throws `conflict` if no error holds the thread,
   * or if the decision is not possible at this site.
   */
  recover(decision: Decision, on?: { path: string; device: string }): void {
    if (this.#thread.following) {
      this.#thread.following.control.recover(decision, on)
      return
    }
    const site = this.undecidedAt
    if (!site || (site !== 'RESTART' && !this.#decide))
      throw new LabError('conflict', nothingToDecide(this.#thread, { isDecided: this.#site !== null, isPaused: this.#resume !== null }))
    const going = goesOn(site, decision)
    if (!going) {
      throw new LabError('conflict', `${decision} is not possible at ${site}; possible are ${decisionsAt(site).join(', ')}`)
    }
    const refusal = site === 'RESTART' ? undefined : this.#refuses(decision)
    if (refusal && !on) throw new LabError('conflict', refusal)
    // The chosen device stays chosen across a restart, and when a move to the device fails.
    if (on || (site !== 'RESTART' && !onItsWay.has(site))) this.#thread.set({ retry_on: on ?? null })
    if (site === 'RESTART') {
      // ABORT_THREAD is possible even while nobody knows where the labware is.
      if (going !== 'thread') this.mustBeResumable()
      this.#afterRestart = going as GoesOnFrom<'RESTART'> | 'thread'
      this.#endPause()
      return
    }
    const decide = this.#decide
    this.#decide = null
    decide?.(going)
  }

  /** Ends the thread after its current call or move, without moving the labware to its end. Aborts a thread that an error holds. */
  stop(): boolean {
    if (this.#thread.isOver || this.isStopping) return false
    if (this.#decide) {
      this.recover('ABORT_THREAD')
      return true
    }
    this.#wanted.stop = true
    this.#thread.become('STOPPING')
    this.#interrupt?.(new Interrupt('stop'))
    return true
  }

  /** Cuts the thread off at once. This halts a device that works for the thread. */
  cutOff(why: string): void {
    if (this.#thread.isOver || this.#wanted.abort) return
    this.#wanted.abort = true
    this.#thread.set({ last_error: this.#thread.last_error ?? why })
    this.#interrupt?.(new Interrupt('abort'))
    this.#cutOff.abort(new LabError('stopped', why))
  }

  /** Returns the interrupt that is due, if it can interrupt this wait. */
  #interrupting(interruptedBy: Interruption): Interrupt | undefined {
    const { abort, stop, pause } = this.#wanted
    if (abort) return new Interrupt('abort')
    if (stop && interruptedBy !== 'abort') return new Interrupt('stop')
    if (interruptedBy === 'pause' && this.#skippable !== null && this.#thread.isToSkip(this.#skippable)) return new Interrupt('skip')
    return pause && interruptedBy === 'pause' ? new Interrupt('pause') : undefined
  }
}
