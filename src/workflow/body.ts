// The body of an action under way: one call of a device, a wait, a step for a person, or code that does all of these.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { ActionRun } from './action.ts'
import { contextOf } from './body_context.ts'
import type { Published } from './channels.ts'
import type { Code, Do } from './documents.ts'
import type { ActionPlan } from './plan.ts'
import { Leave, Unwind } from './recovery.ts'
import type { LabwareThread } from './thread.ts'
import { secondsOf } from './timing.ts'
import { continued, verdict } from './verdicts.ts'

export class BodyRun {
  readonly #thread: LabwareThread
  readonly #action: ActionRun
  /** A decision made in the body: code that catches it is not rid of it. */
  #left: Leave | Unwind | undefined
  /** Calls of the context that have not been answered. While there are none, the body itself is at work. */
  #calls = 0
  #release: (() => void) | undefined

  constructor(thread: LabwareThread, action: ActionRun) {
    this.#thread = thread
    this.#action = action
  }

  async perform(): Promise<void> {
    const { action, kind } = this.#action.plan
    const { execution, origin } = this.#thread
    try {
      await bodies[kind](this, action as never, (name) => execution.variable(name, origin.submission_id))
      if (this.#left) throw this.#left
    } catch (error) {
      throw this.#left ?? (this.#thread.signal.aborted ? new Unwind('abort') : error)
    } finally {
      this.#release?.()
    }
  }

  /** One operation of the bound device. Where it fails, somebody decides. */
  async call(operation: string, params: Record<string, unknown>): Promise<unknown> {
    const { device, plan } = this.#action
    const { equipment } = this.#thread.world
    if (device === null) throw new LabError('invalid', `${plan.path} has no device: say on which it is`)
    const known = this.#thread.execution.workflow.topology.devices.get(device)!
    const how = { signal: this.#thread.signal, seconds: secondsOf(operation, known, { params, said: plan.seconds }) }
    return this.#outside(async () => {
      for (;;) {
        try {
          await this.#thread.execution.memory?.kept()
          return await equipment.perform(device, operation, params, how)
        } catch (error) {
          if (!(await this.#failed(operation, error))) return undefined
        }
      }
    })
  }

  /** Answers whether the call is to be made again. Throws what leaves the body. */
  async #failed(operation: string, error: unknown): Promise<boolean> {
    const thread = this.#thread
    const action = this.#action
    if (thread.signal.aborted) throw new Unwind('abort')
    thread.execution.emit('DEVICE_OP', operation, 'FAILED', { ...thread.context(), last_error: messageOf(error) })
    if (action.plan.action.on_failure === 'ABORT') throw error
    thread.execution.incident('ACTION_FAILED', `${operation} of ${action.device} failed for ${thread.name}: ${messageOf(error)}`, thread, {
      recovery_action: 'THREAD_RECOVER_RETRY_OP',
      error,
    })
    action.hold(messageOf(error))
    try {
      const decision = await thread.decisionAt('DEVICE_OP', error)
      if (decision !== 'RETRY_OP' && decision !== 'CONTINUE') throw verdict(thread, decision)
      thread.recovered('EXECUTING_ACTION')
      if (decision === 'CONTINUE') continued(thread, action.plan)
      return decision === 'RETRY_OP'
    } finally {
      action.hold(null)
    }
  }

  /** Resolves with the latest once there is one that this thread has not seen. */
  waitFor(name: string, timeout: number): Promise<Published> {
    const { execution, seen, world } = this.#thread
    return this.#patiently({ kind: 'event', what: `custom event ${name}` }, (resolve, reject) => {
      const cancelTimeout = timer(world.clock, timeout, () => {
        callOff()
        reject(new LabError('no_reply', `${name} was not emitted within ${timeout} s`))
      })
      const callOff = execution.channels.wait(name, seen.get(name) ?? 0, ({ count, value, data }) => {
        cancelTimeout()
        seen.set(name, count)
        resolve({ value, data })
      })
      return () => {
        cancelTimeout()
        callOff()
      }
    })
  }

  /** Asks a person to do something, and resolves when that is confirmed. */
  instruct(instruction: string, timeout: number): Promise<void> {
    const { execution, world, thread_id } = this.#thread
    const confirmed = execution.instruct(instruction, thread_id)
    return this.#patiently<void>({ kind: 'operator', what: `an operator to confirm: ${instruction}` }, (resolve, reject) => {
      const cancelTimeout = timer(world.clock, timeout, () => {
        confirmed.withdraw()
        reject(new LabError('no_reply', `nobody confirmed within ${timeout} s: ${instruction}`))
      })
      const callOff = confirmed.wait(() => {
        cancelTimeout()
        resolve()
      })
      return () => {
        cancelTimeout()
        callOff()
      }
    }).finally(() => confirmed.withdraw())
  }

  sleep(seconds: number): Promise<void> {
    return this.#outside(() =>
      this.#thread.wait<void>({ kind: 'device', what: `${seconds} s`, interruptedBy: 'abort' }, (resolve) =>
        this.#thread.world.clock.after(seconds * 1000, resolve),
      ),
    )
  }

  emit(name: string, value: string | null, data: Record<string, unknown>): void {
    this.#thread.execution.emitCustom(name, { value, data }, this.#action.method?.participants.length ? null : this.#thread.thread_id)
  }

  /** Code runs with a context; while it is at work by itself, virtual time stands still. */
  async code(code: Code): Promise<void> {
    this.#release = this.#thread.world.steps.hold()
    await code.body(contextOf(this, this.#thread, this.#action))
  }

  /** Waits where a pause may land, and goes on waiting after it. */
  async #patiently<Value>(
    waiting: Parameters<LabwareThread['wait']>[0],
    begin: (resolve: (value: Value) => void, reject: (error: unknown) => void) => () => void,
  ): Promise<Value> {
    return this.#outside(async () => {
      for (;;) {
        try {
          return await this.#thread.wait<Value>(waiting, begin)
        } catch (error) {
          if (!(error instanceof Unwind) || error.kind !== 'pause') throw error
          await this.#thread.safePoint('EXECUTING_ACTION')
        }
      }
    })
  }

  /** A call out of the body: time may go on meanwhile. */
  async #outside<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#left) throw this.#left
    const isCode = this.#release !== undefined
    this.#calls++
    if (isCode) this.#release!()
    try {
      return await work()
    } catch (error) {
      if (error instanceof Leave || error instanceof Unwind) this.#left = error
      throw error
    } finally {
      this.#calls--
      if (isCode && this.#calls === 0) this.#release = this.#thread.world.steps.hold()
    }
  }
}

/** What each kind of action does. */
const bodies: Record<ActionPlan['kind'], (run: BodyRun, action: never, variable: (name: string) => unknown) => unknown> = {
  do: (run, action: Do, variable) => run.call(action.do, filledIn(action.with, variable)),
  emit: (run, { emit, value, data }: { emit: string; value: string | null; data: Record<string, unknown> }) => run.emit(emit, value, data),
  wait_for: (run, { wait_for, timeout }: { wait_for: string; timeout: number }) => run.waitFor(wait_for, timeout),
  instruct: (run, { instruct, timeout }: { instruct: string; timeout: number }) => run.instruct(instruct, timeout),
  code: (run, action: Code) => run.code(action),
}

/** Variables are put in where they are named. */
function filledIn(params: Do['with'], variable: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, typeof value === 'object' && value !== null ? variable(value.variable) : value]),
  )
}

/** 0 is for ever. */
function timer(clock: Clock, seconds: number, call: () => void): () => void {
  return seconds === 0 ? () => {} : clock.after(seconds * 1000, call)
}
