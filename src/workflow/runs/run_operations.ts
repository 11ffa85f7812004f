// The operations that a run does once: `before` its first thread begins, and `after` all of them have ended, also when it failed or was stopped.

import { LabError } from '../../errors.ts'
import type { OperationNotDone } from '../../events/contexts.ts'
import { itemKey, type RunPart, type StepPlan } from '../plans/plan.ts'
import { Signal } from '../scheduler/signal.ts'
import type { Entry, Fixed } from '../state/entry.ts'
import { notDone } from '../threads/run_operations.ts'
import type { LabwareThread, RunPorts } from '../threads/thread.ts'
import type { ThreadFactory } from './thread_factory.ts'

type Run = RunPorts & {
  readonly phase: { readonly current: string }
  paused: { readonly at: number; readonly reason: 'manual' | 'system' } | null
  readonly reason: string | null
  readonly threads: ReadonlyMap<string, LabwareThread>
  readonly submissions: readonly { readonly submission_id: string }[]
  readonly threadFactory: ThreadFactory
  live(): readonly LabwareThread[]
  know(thread: LabwareThread): void
  setOff(thread: LabwareThread): void
  close(): void
  abort(why: string, more: { withAfter: boolean }): void
}

type Ports = RunPorts['operations']

export class RunOperations implements Ports {
  readonly changed = new Signal()
  readonly #run: Run
  readonly #entry: Entry<'execution'>
  readonly #parts = new Map<RunPart, LabwareThread>()
  /** The reason why `after` does not begin; undefined if it may. */
  #givenUp: string | undefined
  /** The thread of `after` that began while the run was being stopped: it is not cut off. */
  #last: LabwareThread | undefined
  #stuck: string | undefined
  #unwatch = () => {}

  /** `entry` is the state in which the operations are noted that are not done. */
  constructor(run: Run, entry: Entry<'execution'>) {
    this.#run = run
    this.#entry = entry
  }

  get before(): LabwareThread | undefined {
    return this.#parts.get('before')
  }

  /** Lists the operations that are not done, with the reasons. */
  get notDone(): readonly Fixed<OperationNotDone>[] {
    return this.#entry.state.not_done
  }

  /** Notes a thread of the run, new or restored. Returns whether it does operations of the run itself. */
  know(thread: LabwareThread): boolean {
    const { part } = thread.plan
    if (part === undefined) return false
    this.#parts.set(part, thread)
    // The request of such a thread has to know which labware stands at its device.
    const look = () => this.#run.environment.steps.push(() => this.changed.tell())
    if (!thread.isOver) this.#unwatch = this.#run.environment.scheduler.onMoved(look)
    return true
  }

  /** Begins the operations of `before`, with the first submission. */
  begin(): void {
    if (this.#run.submissions.length === 1) this.#start('before')
  }

  #start(part: RunPart): boolean {
    const plan = this.#run.workflow.operations.get(part)
    if (!plan || this.#parts.has(part)) return false
    const { submission_id } = this.#run.submissions[0]!
    const thread = this.#run.threadFactory.ofRun(plan, { submission_id, group_id: null })
    this.#run.know(thread)
    if (this.#run.phase.current === 'stopping') {
      this.#last = thread
      // The first call of a stop has paused the run.
      this.#run.paused = null
    }
    this.#run.setOff(thread)
    return true
  }

  /** Begins the operations of `after` when all threads have ended. Returns whether they began just now. */
  finish(): boolean {
    const plan = this.#run.workflow.operations.get('after')
    if (!plan || this.#parts.has('after') || this.#run.submissions.length === 0) return false
    if (this.#givenUp !== undefined) {
      const left = plan.steps.flatMap((step) => notDone({ plan } as LabwareThread, step, this.#givenUp!))
      if (!this.notDone.some(({ part }) => part === 'after')) this.#note(left)
      return false
    }
    this.#run.close()
    return this.#start('after')
  }

  /** Whether all threads have ended and `after` has begun. */
  get isFinishing(): boolean {
    return this.#parts.has('after')
  }

  /** Throws `conflict` for a thread that comes when `after` has begun. */
  mustNotBeLast(): void {
    if (!this.isFinishing) return
    const what = `the threads of execution ${this.#run.execution_id} have ended, and it does its last operations`
    throw new LabError('conflict', `${what}; submit a new execution`)
  }

  /** Whether the thread goes on although its run is being stopped. */
  isLast(thread: LabwareThread): boolean {
    return thread === this.#last
  }

  /** Leaves out the operations of `after`, which have not begun or are cut off. */
  giveUp(why: string): void {
    this.#givenUp ??= why
    this.#parts.get('after')?.control.cutOff(why)
  }

  /** Notes that a thread of operations has ended: the others go on after `before`, or end with it. */
  ended(thread: LabwareThread): void {
    const { status, last_error, plan, frames } = thread
    this.#unwatch()
    const isDone = status.current === 'COMPLETED'
    const why =
      status.current === 'FAILED' ? (last_error ?? 'it failed') : (this.#run.reason ?? last_error ?? `a person ended ${plan.name}`)
    const [frame] = frames
    if (!isDone) for (const step of frame?.steps.slice(frame.next) ?? []) this.leaveOut(thread, step, why)
    if (plan.part === 'before' && !isDone) this.#endAll(thread)
    this.changed.tell()
  }

  /** Ends the threads that wait for `before`, which has not come to its end. */
  #endAll(before: LabwareThread): void {
    const isFailed = before.status.current === 'FAILED'
    if (!isFailed) this.#run.abort('the operations of "before" were ended', { withAfter: true })
    else this.#run.close()
    for (const thread of isFailed ? this.#run.live() : [])
      thread.control.cutOff(before.last_error ?? 'the operations of "before" have failed')
  }

  isUnattended(thread: LabwareThread): boolean {
    if (thread.plan.part !== 'after') return false
    return this.#run.phase.current === 'stopping' || [...this.#run.threads.values()].some(({ status }) => status.current === 'FAILED')
  }

  leaveOut(thread: LabwareThread, step: StepPlan, reason: string): void {
    this.#note(notDone(thread, step, reason))
  }

  #note(left: readonly OperationNotDone[]): void {
    if (left.length === 0) return
    this.#entry.set({ not_done: [...this.#entry.state.not_done, ...left] })
    for (const one of left) this.#run.record.add({ kind: 'not_done', at: this.#run.now(), ...one })
  }

  /** Leaves out the operation of a run that has failed or is being stopped, because nothing can move any more. Returns whether it did. */
  leaveStuck(why: string): boolean {
    const after = this.#parts.get('after')
    if (!after?.step || after.isOver || !this.isUnattended(after)) return false
    this.#stuck = `nothing could move any more: ${why}`
    after.control.skip(itemKey(after.step))
    return after.control.waiting === null
  }

  stuckBecause(thread: LabwareThread): string | undefined {
    return thread.plan.part === 'after' ? this.#stuck : undefined
  }
}
