// The operation that a device runs, one at a time, from its begin to its record; and the last one that has ended.

import { LabError, messageOf } from '../errors.ts'
import { sleep } from '../kit/clock.ts'
import { inSeconds } from '../kit/seconds.ts'
import type { Abilities } from './abilities.ts'
import type { Configured, InstrumentContext } from './configured.ts'
import type { Device, UnderWay } from './device.ts'
import type { Caller } from './lock.ts'
import { OperationRun } from './operation_run.ts'
import { watch_ms } from './presence.ts'
import type { DeviceInfo, OperationRecord, PerformResult } from './records.ts'
import { type Task, taskOf } from './task.ts'

type Known = Pick<Configured, 'device_id' | 'time_scale' | 'driven'> & { abilities: Abilities }
/** Makes the error for a run that failed, after it has seen to the device. */
type Failed = (run: OperationRun, error: unknown) => Promise<LabError>

type Asker = { by?: Caller | undefined; execution_id: string | null }

export class CurrentOperation {
  readonly #known: Known
  readonly #around: Pick<InstrumentContext, 'clock' | 'ledger' | 'log'>
  readonly #failed: Failed
  run: OperationRun | undefined
  /** Aborts the run. The next run has the same controller unless it was aborted: a new one costs more than all else about a short operation. */
  #abort = new AbortController()
  /** The last operation that has ended; null where none has since this start, and nobody has asked the history. */
  last: OperationRecord | null = null

  constructor(known: Known, around: Pick<InstrumentContext, 'clock' | 'ledger' | 'log'>, failed: Failed) {
    this.#known = known
    this.#around = around
    this.#failed = failed
  }

  /** The operation that runs, as people see it. */
  get shown(): DeviceInfo['operation'] {
    const run = this.run
    if (!run) return null
    const { operation_id, started, notice } = run.record
    const { name, ending, progress, secondsLeft: seconds_left } = run
    return { operation_id, name, started, ending, notice, progress, seconds_left }
  }

  /** Finds the last operation in the history, unless one has ended since this start. */
  async recall(): Promise<void> {
    if (this.last) return
    const last = await this.#around.ledger.lastOf(this.#known.device_id)
    this.last ??= last
  }

  /** Throws `busy` while the device does something. */
  mustBeIdle(): void {
    if (!this.run) return
    const { device_id, time_scale } = this.#known
    if (this.run.isHeld)
      throw new LabError('busy', `a person holds ${device_id} (${this.run.name}); wait until they let go, or stop it`, { retry_after_s: 1 })
    const left = Math.ceil(this.run.secondsLeft)
    throw new LabError('busy', `${device_id} is running ${this.run.name}, about ${left} s left; wait for that, or stop it`, {
      retry_after_s: Math.max(1, left / time_scale),
    })
  }

  /** Returns the operation with this id, which runs and belongs to no run of a workflow. Throws `conflict`. */
  endable(operation_id: string): OperationRun {
    const run = this.run
    const { device_id } = this.#known
    if (run?.record.operation_id !== operation_id) throw new LabError('conflict', `${device_id} does not run this operation any more`)
    if (run.execution_id === null) return run
    const verbs = `POST /api/executions/${run.execution_id}/skip, or complete its incident`
    throw new LabError('conflict', `${run.name} of ${device_id} belongs to a run; use the verbs of the run: ${verbs}`)
  }

  /** Returns what is known of an operation before it begins. */
  taskOf(name: string, params: Record<string, unknown>): Task {
    const { abilities, driven } = this.#known
    const climate = driven?.profile?.features.climate ?? false
    return taskOf(name, { params, own: abilities.own.get(name), typical: driven?.typical, climate, margins: abilities.margins })
  }

  /** Begins an operation of a caller, or of a run. */
  begin(name: string, params: Record<string, unknown>, { by: caller, execution_id }: Asker): OperationRun {
    const by = caller?.key_id ?? null
    const { clock, ledger } = this.#around
    const { device_id, time_scale } = this.#known
    if (this.#abort.signal.aborted) this.#abort = new AbortController()
    const task = this.taskOf(name, params)
    this.run = new OperationRun(ledger.begin(device_id, name, params, { execution_id, by, operator: caller?.operator }), {
      clock,
      time_scale,
      task,
      execution_id,
      by,
      abort: this.#abort,
    })
    return this.run
  }

  /** Writes down what a run comes to, whatever that is, and returns it or rejects with it. */
  async completed(run: OperationRun, work: () => Promise<void>): Promise<PerformResult> {
    try {
      await work()
      return this.#end(run)
    } catch (error) {
      if (run.cut === 'stopped') return this.#end(run)
      const failure = await this.#failed(run, error)
      this.#end(run, failure)
      throw failure
    }
  }

  /** Records how a run ended, and returns the result. */
  #end(run: OperationRun, failure?: LabError): PerformResult {
    const result = failure ? { success: false, message: failure.message } : run.result()
    const ended_early = run.endedEarly && result.success
    const data = result.success ? run.data : undefined
    const outcome = { detail: failure?.message ?? null, reason: failure?.code ?? null, result, ended_early }
    if (ended_early) run.record.notice = null
    this.#around.ledger.end(run.record, outcome, data)
    this.last = run.record
    this.run = undefined
    return data === undefined ? result : { ...result, data }
  }

  /** Takes over what the instrument began before this start and ends by itself: until then the device is busy. */
  async adopt(device: Device): Promise<void> {
    const going = await device.underWay?.()
    if (going && !this.run) void this.#waitFor(device, going)
  }

  async #waitFor(device: Device, { operation, seconds_left }: UnderWay): Promise<void> {
    const { clock, log } = this.#around
    const { device_id } = this.#known
    const run = this.begin(operation, { duration: seconds_left }, { execution_id: null })
    run.done = `${operation} that was under way has ended`
    log.info(`${device_id} is running ${operation} by itself, about ${inSeconds(seconds_left)} left`)
    const wait = async () => {
      do await sleep(clock, watch_ms, run.signal)
      while (await device.underWay?.())
    }
    run.isDriven()
    await this.completed(run, () => run.end(wait())).catch((error) => {
      log.warn(`${device_id}: ${operation} that was under way: ${messageOf(error)}`)
    })
  }
}
