// The module for topologies and workflows in TypeScript: the same documents as in JSON, with functions in them, and with types that
// check the names of their parts.

import type * as v from 'valibot'
import type { OperationName, operations, Performable } from '../../devices/operations.ts'
import type { Question, Read, ReadingName } from '../../devices/reading_table.ts'
import type { OperationResult } from '../../devices/records.ts'
import type { RunMode } from '../state/modes.ts'
import type { Scalar } from '../state/saved_value.ts'
import type { Condition } from './conditions.ts'
import type { Handler, WorkflowDocument } from './documents.ts'
import type { TopologyInput } from './topology_schema.ts'
import type { Variable } from './variable_schema.ts'

/** Types a topology: `export default topology({…})`. */
export function topology(document: TopologyInput): TopologyInput {
  return document
}

/** Types a workflow: `export default workflow({…})`. The name of a labware, method, thread or variable that is not in the document is a type error. */
export function workflow<Labware extends string, Method extends string, Thread extends string, Variables extends VariablesInput>(
  document: WorkflowInput<Labware, Method, Thread, Variables>,
): WorkflowInput<Labware, Method, Thread, Variables> {
  return document
}

/** The variables of a workflow, by name. */
export type VariablesInput = Readonly<Record<string, Omit<Variable, 'one_of'> & { one_of?: readonly Scalar[] | undefined }>>

/** The type of a variable's value: that of its default, or null if that is allowed; unknown without a default. */
type ValueOf<Variable> =
  | (Variable extends { default: infer Default } ? (Default extends null ? unknown : Default) : unknown)
  | (Variable extends { nullable: true } ? null : never)

/**
 * The argument of an action's code. Each of its methods rejects with a `LabError` when the thread is stopped. Code outside of the document names the
 * variables: `Doing<'plate', typeof variables>`.
 */
export interface Doing<Labware extends string = string, Variables extends VariablesInput = VariablesInput> {
  readonly execution_id: string
  readonly thread_id: string
  /**
   * The run mode; `dry_run` in a dry run that somebody asks for. Dry runs, PURE_SIM and DEVICE_SIM execute the code too, so code with effects outside of the bench
   * must check that it is `LIVE`. Plans and forecasts execute no code.
   */
  readonly mode: RunMode | 'dry_run'
  /** The labware at the device, by template. */
  readonly labware: Readonly<Record<Labware, { readonly labware_id: string; readonly name: string; readonly barcode: string | null }>>
  /** Aborted when the thread is interrupted. */
  readonly signal: AbortSignal
  /** Returns the value from the submission, else its default. Throws for a variable that has neither. */
  variable<Name extends keyof Variables & string>(name: Name): ValueOf<Variables[Name]>
  /** The device of the action: `await ctx.device.shake({ speed: 500, duration: 5 })`. */
  readonly device: BoundDevice
  /** Emits a custom event to the waiters of the thread's group, or of all groups, and fires CUSTOM.<name>.EMITTED. Lazy: it happens when the promise is awaited. */
  emit(name: string, value?: string | null, data?: Record<string, unknown>, options?: { across_groups?: boolean }): PromiseLike<void>
  /** Resolves with the next emission to the thread's group, or to any group, since this context last saw the event, at once if there was one. Rejects after `timeout` seconds; 0 waits for ever. */
  waitFor(
    name: string,
    options?: { timeout?: number; across_groups?: boolean },
  ): Promise<{ value: string | null; data: Record<string, unknown> }>
  /** Shows an instruction to the operator, and resolves when it is confirmed. */
  instruct(instruction: string, options?: { timeout?: number }): Promise<void>
  /** Waits by the clock of the run, which jumps in simulations. */
  sleep(seconds: number): Promise<void>
}

/** The argument of a method's code, which emits its events. */
export interface MethodDoing<Variables extends VariablesInput = VariablesInput>
  extends Pick<Doing<string, Variables>, 'execution_id' | 'thread_id' | 'mode' | 'signal' | 'variable' | 'emit'> {
  readonly method_id: string
}

/** A method for each operation of the table. Operations that the device does not have reject with `invalid`. */
export type BoundDevice = { readonly device_id: string } & {
  [Name in Performable]: ParamsOf<Name> extends Record<string, never> ? () => Promise<OperationResult> : Taking<ParamsOf<Name>>
} & { [Name in Question]: () => Promise<Read<Name>> } & {
  /** Performs an operation that is not in the table, of a device that the topology declares. */
  perform(operation: string, params?: Record<string, unknown>): Promise<unknown>
}
type ParamsOf<Name extends Performable> = v.InferInput<(typeof operations)[Name]['params']>
type Taking<Params> =
  Partial<Params> extends Params ? (params?: Params) => Promise<OperationResult> : (params: Params) => Promise<OperationResult>

/** A value, or the name of a variable that gives it. */
export type Given<Variable extends string = string> =
  | (string | number | boolean | null)
  | { variable: Variable }
  | readonly Given<Variable>[]
  | ({ readonly [member: string]: Given<Variable> | undefined } & { readonly variable?: never })

type AnyAction = { name?: string; on_failure?: 'PAUSE' | 'ABORT' }
type OnDevice<Labware extends string> = AnyAction & {
  labware?: readonly Labware[]
  sites?: { readonly [Name in Labware]?: number }
  tips?: { readonly [Name in Labware]?: number }
  max_wait_after?: number
  labware_timeout?: number
  seconds?: number
  lid?: 'on' | 'off'
}

/** An operation that a run does once, in `before` or `after`. */
export type RunOperationInput<Variables extends VariablesInput = VariablesInput> = AnyAction & {
  do: Exclude<OperationName, 'stop'> | ReadingName | (string & {})
  on: string
  with?: Readonly<Record<string, Given<keyof Variables & string>>>
  seconds?: number
}

export type ActionInput<Labware extends string = string, Variables extends VariablesInput = VariablesInput> =
  | (OnDevice<Labware> & {
      do: Exclude<OperationName, 'stop'> | ReadingName | (string & {})
      on: string
      with?: Readonly<Record<string, Given<keyof Variables & string>>>
      save?: Readonly<Record<string, string>>
    })
  | (OnDevice<Labware> & { name: string; on?: string; body: (ctx: Doing<Labware, Variables>) => Promise<void> })
  | (AnyAction & EmissionInput)
  | (AnyAction & WaitInput)
  | (AnyAction & { instruct: string; timeout?: number })
  | (AnyAction & { remove_lid: Labware; to: string | readonly string[] })
  | (AnyAction & { put_lid: Labware })

type EmissionInput = { emit: string; value?: string | null; data?: Record<string, unknown>; across_groups?: boolean }
type WaitInput = { wait_for: string; timeout?: number; across_groups?: boolean }
type EmissionsInput<Variables extends VariablesInput> = readonly EmissionInput[] | ((ctx: MethodDoing<Variables>) => Promise<void>)

/** A method: its actions, or its actions with its own events, as a list or as code. */
export type MethodInput<Labware extends string = string, Variables extends VariablesInput = VariablesInput> =
  | readonly ActionInput<Labware, Variables>[]
  | { actions: readonly ActionInput<Labware, Variables>[]; on_start?: EmissionsInput<Variables>; on_end?: EmissionsInput<Variables> }

export type StepInput<Labware extends string = string, Method extends string = string> = { name?: string } & (
  | { method: Method }
  | { action: ActionInput<Labware> }
  | { join: readonly Method[] }
  | { park: readonly string[] }
  | WaitInput
  | {
      branch: string
      cases: Readonly<Record<string, readonly StepInput<Labware, Method>[]>>
      else?: readonly StepInput<Labware, Method>[]
      timeout?: number
      across_groups?: boolean
    }
  | { while_more_work: readonly StepInput<Labware, Method>[] }
  | { if: Condition; then: readonly StepInput<Labware, Method>[]; else?: readonly StepInput<Labware, Method>[] }
  | { repeat: { times: number } | { until: Condition; at_most: number }; steps: readonly StepInput<Labware, Method>[] }
  | { delay: number }
  | { until_temperature: { device: string; within?: number }; timeout?: number }
)

type Written = v.InferInput<typeof WorkflowDocument>

export type ThreadInput<Labware extends string = string, Method extends string = string> = Omit<
  Written['threads'][string],
  'labware' | 'steps' | 'contributes_to' | 'end'
> & {
  labware: Labware
  end: Omit<Written['threads'][string]['end'], 'at'> & { at: readonly string[] }
  steps: readonly StepInput<Labware, Method>[]
  contributes_to?: readonly Labware[]
}

export type WorkflowInput<
  Labware extends string = string,
  Method extends string = string,
  Thread extends string = string,
  Variables extends VariablesInput = VariablesInput,
> = {
  $schema?: string
  format: 1
  name: string
  topology: string
  labware: Readonly<Record<Labware, Written['labware'][string]>>
  values?: Written['values']
  variables?: Variables
  methods?: Readonly<Record<Method, MethodInput<NoInfer<Labware>, NoInfer<Variables>>>>
  threads: Readonly<Record<Thread, ThreadInput<NoInfer<Labware>, NoInfer<Method>>>>
  start: readonly NoInfer<Thread>[]
  before?: readonly RunOperationInput<NoInfer<Variables>>[]
  after?: readonly RunOperationInput<NoInfer<Variables>>[]
  on?: Readonly<Record<string, readonly Handler[]>>
}
