// Runs the body of an action: a device call, an event, a wait, a step for a person, or code that does any of these.

import type { DeviceFile } from '../../../devices/device.ts'
import { LabError, messageOf } from '../../../errors.ts'
import type { IncidentCategory } from '../../../events/incidents.ts'
import { inSeconds } from '../../../kit/seconds.ts'
import type { Performing } from '../../equipment/equipment.ts'
import type { Code, Do, Emission, WaitForEvent } from '../../plans/action_schema.ts'
import { checkValues } from '../../plans/check_actions.ts'
import { filledIn, namesVariable } from '../../plans/params.ts'
import { type ActionPlan, otherDevices } from '../../plans/plan.ts'
import { limitOf, secondsOf } from '../../plans/timing.ts'
import { countsAsEmitted } from '../branches_ahead.ts'
import { type Published, scopeOf } from '../channels.ts'
import { toWork } from '../clearance.ts'
import { saveFrom } from '../conditional.ts'
import { timed } from '../preparation.ts'
import { ActionExit, Interrupt, isPause } from '../recovery.ts'
import { timer } from '../run_environment.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'
import { contextOf } from './body_context.ts'
import { categoryOf, causing } from './causes.ts'
import { DeviceCall, dataOf } from './device_call.ts'
import { attachFile } from './device_files.ts'
import type { LateVerdict } from './late_calls.ts'
import { type LidPlan, lidsMustBeRight, moveLid } from './lid_action.ts'
import { expectedSeconds, learnBody } from './seconds.ts'

export class BodyRun {
  readonly #thread: LabwareThread
  readonly #action: ActionRun
  /** The exit that a decision made in the body requires. The action takes it even if the code catches the exception. */
  #exit: ActionExit | Interrupt | undefined
  /** The number of context calls in progress. At 0 the body's own code is running. */
  #calls = 0
  #release: (() => void) | undefined
  /** Called when the last call has ended after the code has returned. */
  #whenAnswered: (() => void) | undefined
  /** The error of a call that the code did not await. */
  #unawaitedError: unknown

  constructor(thread: LabwareThread, action: ActionRun) {
    this.#thread = thread
    this.#action = action
  }

  async perform(): Promise<void> {
    const { action, kind } = this.#action.plan
    const began_ms = this.#thread.environment.clock.now()
    try {
      lidsMustBeRight(this.#thread, this.#action)
      await bodies[kind](this, action as never)
      if (this.#exit) throw this.#exit
      learnBody(this.#thread, this.#action.plan, began_ms)
    } catch (error) {
      throw this.#exit ?? (this.#thread.control.signal.aborted ? new Interrupt('abort') : error)
    } finally {
      this.#release?.()
    }
  }

  /** Performs the operation of the action, and saves the wanted members of its result. */
  async do({ do: operation, with: params, save }: Do): Promise<void> {
    const result = await this.call(operation, namesVariable(params) ? this.#filledIn(params) : params)
    // After a failed call that somebody has dealt with there is no result.
    if (save && result !== undefined) saveFrom(this.#thread, save, result)
  }

  /** Fills in the variables and checks the values: the limits of a device may have changed, and the values of an inserted action were never checked. */
  #filledIn(params: Do['with']): Record<string, unknown> {
    const { execution, origin } = this.#thread
    const { plan, device } = this.#action
    const given = (name: string) => {
      const value = execution.variable(name, origin)
      if (value !== undefined) return value
      throw new LabError('invalid', `${plan.name} wants a value for ${name}, which nobody has given, and it has no default`)
    }
    const values = causing('VARIABLE_RESOLUTION', () => filledIn(params, given))
    const { document, topology } = execution.workflow
    const bound = { ...(plan as ActionPlan & { kind: 'do' }), devices: device === null ? [] : [device] }
    causing('VARIABLE_VALIDATION', () =>
      checkValues(bound, { values, devices: topology.devices, variables: document.variables }, `${plan.path}.with`),
    )
    return values
  }

  /** Performs one operation of the bound device. If it fails or takes too long, the thread is held until somebody decides. */
  async call(operation: string, params: Record<string, unknown>): Promise<unknown> {
    const { device, plan } = this.#action
    const { environment } = this.#thread
    const { signal } = this.#thread.control
    const { equipment, clock, durations, scheduler } = environment
    if (device === null) throw new LabError('invalid', `${plan.path} has no device: say on which it is`)
    const known = this.#thread.execution.workflow.topology.devices.get(device)!
    const timing = { params, said: plan.seconds, learned: durations }
    const [seconds, limit_s] = [secondsOf(operation, known, timing), limitOf(operation, known, timing)]
    return this.#outside(async () => {
      for (;;) {
        try {
          const fetching = equipment.fetching?.(device)
          if (fetching) await this.#fetched(device, fetching)
          await this.#thread.execution.gate.beforeMotion()
          const clear = toWork(this.#thread, device)
          if (clear) await clear
          // The service may have begun to shut down while this waited for arms.
          const never = this.#thread.execution.gate.mayBegin()
          if (never) await never
          try {
            const noted = this.#action.began(operation, params)
            const perform = (given: Required<Pick<Performing, 'signal' | 'begun'>>) => {
              const begun = (operation_id: string) => {
                noted.operation_id = operation_id
                given.begun(operation_id)
              }
              const attach = (file: DeviceFile) => attachFile(this.#action, noted, file)
              return equipment.perform(device, operation, params, { ...given, begun, seconds, attach })
            }
            const call = new DeviceCall((given) => timed(environment, { device, operation, params }, () => perform(given)), {
              clock,
              limit_s,
              signal,
            })
            const outcome = await this.#outcomeOf(call, operation, limit_s)
            this.#action.measured(noted, dataOf(outcome))
            return outcome
          } finally {
            scheduler.access.endWork(device)
          }
        } catch (error) {
          if (error instanceof Interrupt) throw error
          if (!(await this.#failed(operation, error))) return undefined
        }
      }
    })
  }

  /** Waits until a device has given the files of its last operation. */
  #fetched(device: string, fetching: Promise<void>): Promise<void> {
    return this.#thread.control.wait<void>({ kind: 'device', what: `files from ${device}`, interruptedBy: 'abort' }, (resolve) => {
      void fetching.then(resolve)
      return () => {}
    })
  }

  async #outcomeOf(call: DeviceCall, operation: string, limit_s: number): Promise<unknown> {
    let allowed_s = limit_s
    for (;;) {
      const ended = await call.ended()
      if (ended !== 'late') return ended.value
      const verdict = await this.#late(call, operation, allowed_s)
      if (verdict === 'complete') return undefined
      if (typeof verdict === 'object') allowed_s += verdict.extend
    }
  }

  /** Holds the thread while a late call continues, and carries out the decision about it. */
  async #late(call: DeviceCall, operation: string, allowed_s: number): Promise<LateVerdict> {
    const thread = this.#thread
    const { device, plan } = this.#action
    const what = `${operation} of ${device} for ${thread.name}`
    const why = `${what} has not ended within ${inSeconds(allowed_s)}`
    const incident_id = thread.execution.events.incident(
      'RECOVERABLE_TIMEOUT',
      `${why}, and goes on; extend it, abort it, or say that it is complete`,
      thread,
      {
        recovery_action: 'THREAD_RECOVER_ABORT',
        detail: { device, operation, thread: thread.name, allowed_s },
      },
    )
    if (plan.action.on_failure === 'ABORT') {
      call.cutOff(new LabError('no_reply', `${why}, and was cut off`))
      await call.over
      return 'abort'
    }
    const verdict = await this.#verdictOnLate(call, { incident_id, what, why })
    if (verdict === 'ended')
      thread.execution.events.incident('RECOVERABLE_TIMEOUT', `${what} has ended after all`, thread, { severity: 'INFO' })
    if (verdict === 'complete') thread.dealtWith(plan)
    if (verdict === 'abort' || verdict === 'complete') {
      call.cutOff(new LabError('device_failed', `${what} was cut off: it had not ended within ${inSeconds(allowed_s)}`))
      await call.over
    }
    if (typeof verdict === 'object') call.extend(verdict.extend)
    return verdict
  }

  /** Waits for a decision about a late call. Throws the interrupt that ends the thread, after the device has stopped. */
  async #verdictOnLate(
    call: DeviceCall,
    { incident_id, what, why }: { incident_id: string; what: string; why: string },
  ): Promise<LateVerdict> {
    const thread = this.#thread
    this.#action.hold(why)
    let late = { close: () => {} }
    const otherwise = (tell: (verdict: LateVerdict) => void) => {
      late = thread.execution.lateCalls.open(incident_id, { what, thread_id: thread.thread_id }, tell)
      void call.over.then(() => tell('ended'))
    }
    try {
      const decided = await thread.control.decisionAt('DEVICE_TIMEOUT', new Error(why), { otherwise })
      thread.control.recovered('EXECUTING_ACTION')
      return decided === 'on' ? 'complete' : decided
    } catch (interrupt) {
      call.cutOff(new LabError('stopped', `${thread.name} was ended`))
      await call.over
      throw interrupt
    } finally {
      late.close()
      this.#action.hold(null)
    }
  }

  /** Holds the thread because a call has failed. Returns whether to repeat the call. Throws to leave the body. */
  async #failed(operation: string, error: unknown): Promise<boolean> {
    const thread = this.#thread
    const action = this.#action
    if (thread.control.signal.aborted) throw new Interrupt('abort')
    action.failure = messageOf(error)
    thread.execution.events.emit('DEVICE_OP', operation, 'FAILED', { ...thread.context(), last_error: messageOf(error) })
    if (action.plan.action.on_failure === 'ABORT') throw error
    thread.execution.events.incident(
      this.#categoryOf(error),
      `${operation} of ${action.device} failed for ${thread.name}: ${messageOf(error)}`,
      thread,
      {
        recovery_action: 'THREAD_RECOVER_RETRY_OP',
        error,
        detail: otherDevices(action.plan, action.device),
      },
    )
    action.hold(messageOf(error))
    try {
      const to = await thread.control.decisionAt('DEVICE_OP', error, {
        refuses: (decision) => (decision === 'RETRY_OP' ? this.#whyNotAgain() : undefined),
      })
      if (to !== 'here' && to !== 'on') throw thread.control.leaves(to)
      thread.control.recovered('EXECUTING_ACTION')
      if (to === 'on') thread.dealtWith(action.plan)
      return to === 'here'
    } finally {
      action.hold(null)
    }
  }

  /** Returns the incident category of an error. A value that the device refuses may come from a variable, if the device's limits have changed. */
  #categoryOf(error: unknown): IncidentCategory {
    const { plan } = this.#action
    const isRefused = error instanceof LabError && error.code === 'invalid'
    return isRefused && plan.kind === 'do' && namesVariable(plan.action.with) ? 'VARIABLE_VALIDATION' : categoryOf(error, 'ACTION_FAILED')
  }

  /** Returns why the call cannot be repeated, if labware was taken away from the device; else undefined. */
  #whyNotAgain(): string | undefined {
    const { arrived, device } = this.#action
    const { scheduler } = this.#thread.environment
    for (const { labware } of arrived.values()) {
      const position = scheduler.whereIs(labware.labware_id)
      if (position === undefined || scheduler.graph.positions.get(position)?.device !== device)
        return `${labware.name} is not at ${device}: it stands at ${position ?? 'no place'}; RETRY brings it there`
    }
    return undefined
  }

  /** Resolves with the latest custom event of this name that the thread has not seen. */
  waitFor({ wait_for: name, timeout, across_groups }: WaitForEvent): Promise<Published> {
    const thread = this.#thread
    if (countsAsEmitted(thread, name)) return Promise.resolve({ value: null, data: {} })
    const { execution, environment } = thread
    const scope = scopeOf(thread.origin, across_groups)
    return this.#patiently(execution.channels.describeWait(name, scope), (resolve, reject) => {
      const cancelTimeout = timer(environment.clock, timeout, () => {
        callOff()
        reject(new LabError('no_reply', `${name} was not emitted within ${inSeconds(timeout)}`))
      })
      const callOff = execution.channels.wait(name, { seen: thread.seen(name), scope }, ({ count, value, data }) => {
        cancelTimeout()
        thread.sees(name, count)
        resolve({ value, data })
      })
      return () => {
        cancelTimeout()
        callOff()
      }
    })
  }

  /** Asks a person to do something, and resolves when the person has confirmed it. */
  instruct(instruction: string, timeout: number): Promise<void> {
    const { execution, environment, thread_id } = this.#thread
    const confirmed = execution.operator.instruct(execution, instruction, thread_id)
    return this.#patiently<void>({ kind: 'operator', what: `an operator to confirm: ${instruction}` }, (resolve, reject) => {
      const cancelTimeout = timer(environment.clock, timeout, () => {
        confirmed.withdraw()
        reject(new LabError('no_reply', `nobody confirmed within ${inSeconds(timeout)}: ${instruction}`))
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

  /** Takes the lid off the plate, or puts it back. */
  moveLid(): Promise<void> {
    return this.#outside(() => moveLid(this.#thread, this.#action.plan as LidPlan))
  }

  sleep(seconds: number): Promise<void> {
    return this.#outside(() =>
      this.#thread.control.wait<void>({ kind: 'device', what: inSeconds(seconds), interruptedBy: 'abort' }, (resolve) =>
        this.#thread.environment.clock.after(seconds * 1000, resolve),
      ),
    )
  }

  emit({ emit: name, value, data, across_groups }: Emission): void {
    const { execution, thread_id, origin } = this.#thread
    execution.events.emitCustom(name, { value, data }, thread_id, scopeOf(origin, across_groups))
  }

  /** Runs the code of an action; in a forecast its duration passes instead. Virtual time stands still while the code itself is running. */
  async code(code: Code): Promise<void> {
    const thread = this.#thread
    if (thread.environment.trial === 'forecast') {
      await this.sleep(expectedSeconds(thread, this.#action.plan, this.#action.device))
      return
    }
    this.#release = this.#thread.environment.steps.hold()
    try {
      await code.body(contextOf(this, this.#thread, this.#action))
    } finally {
      await this.#answered()
    }
  }

  /** Waits for the calls that the code did not await: the thread must not continue while a device still works. */
  async #answered(): Promise<void> {
    if (this.#calls === 0) return
    this.#release?.()
    await new Promise<void>((resolve) => {
      this.#whenAnswered = resolve
    })
    if (this.#unawaitedError !== undefined) throw this.#unawaitedError
  }

  /** Waits, and resumes the wait after each pause. */
  async #patiently<Value>(
    waiting: Parameters<LabwareThread['control']['wait']>[0],
    begin: (resolve: (value: Value) => void, reject: (error: unknown) => void) => () => void,
  ): Promise<Value> {
    return this.#outside(async () => {
      for (;;) {
        try {
          return await this.#thread.control.wait<Value>(waiting, begin)
        } catch (error) {
          if (!isPause(error)) throw error
          await this.#thread.control.safePoint('EXECUTING_ACTION')
        }
      }
    })
  }

  /** Runs a call that leaves the body's own code. Virtual time may advance meanwhile. */
  async #outside<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#exit) throw this.#exit
    const isCode = this.#release !== undefined
    this.#calls++
    if (isCode) this.#release!()
    try {
      return await work()
    } catch (error) {
      if (error instanceof ActionExit || error instanceof Interrupt) this.#exit = error
      if (this.#whenAnswered) this.#unawaitedError ??= error
      throw error
    } finally {
      this.#calls--
      if (isCode && this.#calls === 0) {
        if (this.#whenAnswered) this.#whenAnswered()
        else this.#release = this.#thread.environment.steps.hold()
      }
    }
  }
}

/** The work of each kind of action. */
const bodies: Record<ActionPlan['kind'], (run: BodyRun, action: never) => unknown> = {
  do: (run, action: Do) => run.do(action),
  emit: (run, emission: Emission) => run.emit(emission),
  wait_for: (run, waited: WaitForEvent) => run.waitFor(waited),
  instruct: (run, { instruct, timeout }: { instruct: string; timeout: number }) => run.instruct(instruct, timeout),
  code: (run, action: Code) => run.code(action),
  remove_lid: (run) => run.moveLid(),
  put_lid: (run) => run.moveLid(),
}
