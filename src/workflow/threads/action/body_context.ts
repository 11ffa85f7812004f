// The context object that the code of an action receives.

import { operations } from '../../../devices/operations.ts'
import { readings } from '../../../devices/reading_table.ts'
import { LabError } from '../../../errors.ts'
import type { Emission, WaitForEvent } from '../../plans/action_schema.ts'
import type { BoundDevice, Doing } from '../../plans/author.ts'
import { notNullable, takesNull } from '../../plans/check_actions.ts'
import type { Published } from '../channels.ts'
import { modeForCode } from '../run_environment.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'
import { causing } from './causes.ts'

/** The calls that the code can make through its context. */
type Calls = {
  call(operation: string, params: Record<string, unknown>): Promise<unknown>
  emit(emission: Emission): void
  waitFor(waited: WaitForEvent): Promise<Published>
  instruct(instruction: string, timeout: number): Promise<void>
  sleep(seconds: number): Promise<void>
}

export function contextOf(run: Calls, thread: LabwareThread, action: ActionRun): Doing {
  const { execution, thread_id } = thread
  const { signal } = thread.control
  const unset = new Set<string>()
  const carriers = action.arrived.size > 0 ? [...action.arrived.values()] : [thread]
  return {
    execution_id: execution.execution_id,
    thread_id,
    mode: modeForCode(thread.environment),
    signal,
    labware: Object.fromEntries(
      carriers.map(({ labware: { labware_id, name, template, barcode } }) => [template, { labware_id, name, barcode }]),
    ),
    device: boundDevice(
      {
        call: async (operation, params) => {
          mustMeanNull(unset, { operation, params, device: action.device }, thread)
          return run.call(operation, params)
        },
      },
      action.device,
    ),
    variable(name) {
      const value = variablesOf(thread)(name)
      if (value === null && !execution.workflow.document.variables[name]?.nullable) unset.add(name)
      return value
    },
    emit: (emit, value = null, data = {}, { across_groups = false } = {}) =>
      onceAwaited(() => run.emit({ emit, value: mustBeText(value), data: mustBeRecord(data), across_groups })),
    waitFor: (wait_for, { timeout = 0, across_groups = false } = {}) => heeded(run.waitFor({ wait_for, timeout, across_groups })),
    instruct: (instruction, { timeout = 0 } = {}) => heeded(run.instruct(instruction, timeout)),
    sleep: (seconds) => heeded(run.sleep(seconds)),
  }
}

/** Returns a reader of variables for code. Each call returns a copy, because the code may change the value. */
export function variablesOf({ execution, origin }: LabwareThread): (name: string) => unknown {
  return (name) => structuredClone(causing('VARIABLE_RESOLUTION', () => execution.variable(name, origin))) ?? null
}

type Asked = { operation: string; params: Record<string, unknown>; device: string | null }

/** Throws `invalid` for a null parameter that may come from a variable without a value. `unset` lists such variables that the code has read. */
function mustMeanNull(unset: ReadonlySet<string>, { operation, params, device }: Asked, { execution }: LabwareThread): void {
  const [variable] = unset
  const known = execution.workflow.topology.devices.get(device ?? '')
  const name = Object.keys(params).find((name) => params[name] === null && takesNull(operation, name, known))
  if (variable !== undefined && name !== undefined)
    causing('VARIABLE_VALIDATION', () => {
      throw notNullable(variable, `${operation} of ${device}: ${name}`)
    })
}

function boundDevice(run: Pick<Calls, 'call'>, device_id: string | null): BoundDevice {
  const names = [...Object.keys(operations), ...Object.keys(readings)]
  const perform = (operation: string, params = {}) => heeded(run.call(operation, params))
  const calls = Object.fromEntries(names.map((name) => [name, (params = {}) => perform(name, params)]))
  return { ...calls, device_id, perform } as unknown as BoundDevice
}

/** Prevents an unhandled rejection if the code does not await the call. `BodyRun` then fails the action. */
function heeded<Value>(called: Promise<Value>): Promise<Value> {
  called.catch(() => {})
  return called
}

export function mustBeText(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value
  throw new LabError('invalid', `the value of a custom event is a text or null, not ${typeof value}; put the rest into its data`)
}

export function mustBeRecord(data: unknown): Record<string, unknown> {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data as Record<string, unknown>
  throw new LabError('invalid', 'the data of a custom event is an object')
}

/** Returns a thenable that runs `work` at most once: when it is first awaited. */
export function onceAwaited(work: () => void): PromiseLike<void> {
  let done: Promise<void> | undefined
  return {
    then(resolved, rejected) {
      done ??= Promise.resolve().then(work)
      return done.then(resolved, rejected)
    },
  }
}
