// A compiled workflow with all names resolved, as a run executes it.

import type { Action, Code, Do, Emission, Emit, Instruct, PutLid, RemoveLid, WaitAction } from './action_schema.ts'
import type { Condition } from './conditions.ts'
import type { Emitting, ThreadTemplate, WorkflowDocument } from './documents.ts'
import type { Topology } from './topology.ts'

export type Workflow = {
  document: WorkflowDocument
  name: string
  topology: Topology
  /** SHA-256 of the canonical JSON, with the source of functions. */
  hash: string
  /** Whether the document contains functions, so that it can only be loaded from its own file. */
  hasCode: boolean
  /** Whether each action takes at most one labware. */
  isAlone: boolean
  form: 'json' | 'typescript'
  methods: ReadonlyMap<string, MethodPlan>
  threads: ReadonlyMap<string, ThreadPlan>
  /** The operations that a run does once: the steps of `before` and of `after`, as plans of threads without labware. */
  operations: ReadonlyMap<string, ThreadPlan>
  /** Returns the thread of a labware, both by the names of their templates. */
  carrier(labware: string): string | undefined
}

/** When a run does its own operations: before its threads begin, or after they have ended. */
export type RunPart = 'before' | 'after'

export type ThreadPlan = {
  name: string
  /** The part of the run's own operations; absent for a thread with labware. */
  part?: RunPart
  template: ThreadTemplate
  /** The template of its labware. */
  labware: string
  /** The place of the labware at first. `slots` has all slots of a storage where the workflow does not say in which one it is. */
  start: { position: string; slots?: readonly string[]; mode: ThreadTemplate['start']['mode'] }
  /** The journey ends at any of these positions. */
  end: { positions: readonly string[]; mode: ThreadTemplate['end']['mode'] }
  steps: readonly StepPlan[]
  /** All lists of steps by their paths: `threads.plate.steps`, `threads.plate.steps[2].cases.complete`. */
  lists: ReadonlyMap<string, readonly StepPlan[]>
}

export type StepPlan = {
  /** Unique in a thread. */
  name: string
  /** For example `threads.plate.steps[2].cases.complete[0]`. */
  path: string
  /** The labware that this step sends for, directly by its methods or through the threads that these bring. */
  feeds: ReadonlySet<string>
} & (
  | { kind: 'method'; method: MethodPlan }
  | { kind: 'action'; action: ActionPlan }
  | { kind: 'join'; methods: readonly string[] }
  /** `places` are the positions as the workflow names them. */
  | { kind: 'park'; places: readonly string[]; positions: readonly string[] }
  | (EventWait & { kind: 'wait_for' })
  /** `otherwise` is null if the workflow does not say what happens for a value without a case. */
  | (EventWait & { kind: 'branch'; cases: ReadonlyMap<string, StepList>; otherwise: StepList | null })
  | { kind: 'while_more_work'; body: StepList }
  | { kind: 'if'; condition: Condition; then: StepList; otherwise: StepList }
  /** Without `until`, all rounds are done. */
  | { kind: 'repeat'; rounds: number; until: Condition | undefined; body: StepList }
  | { kind: 'delay'; seconds: number }
  | { kind: 'until_temperature'; device: string; within: number; timeout: number }
)

/** The custom event for which a step waits. `timeout` in s; 0 waits for ever. */
export type EventWait = { event: string; timeout: number; across_groups?: boolean | undefined }

export type StepList = { path: string; steps: readonly StepPlan[] }

export type MethodPlan = {
  name: string
  /** For example `methods.shake_it`. */
  path: string
  actions: readonly ActionPlan[]
  /** The threads that own the method, by name. */
  owners: readonly string[]
  /** The labware of its actions by template, without that of the owner. */
  labware: ReadonlySet<string>
  /** The events that the method emits itself, when its first action starts and when all are done. */
  emits: { on_start?: Emission[] | Emitting | undefined; on_end?: Emission[] | Emitting | undefined }
}

export type ActionPlan = {
  /** Unique in a method. */
  name: string
  /** For example `methods.shake_it[0]`. */
  path: string
  /** The devices of which one is used; none for an action without a device. */
  devices: readonly string[]
  /** These devices as candidates for the scheduler. */
  candidates: readonly { device: string }[]
  /** The labware that must be at the device; `*` is that of the owner. */
  labware: readonly string[]
  /** The duration of the whole action in simulations, s, if it is given. */
  seconds: number | undefined
} & (
  | { kind: 'do'; action: Do }
  | { kind: 'emit'; action: Emit }
  | { kind: 'wait_for'; action: WaitAction }
  | { kind: 'instruct'; action: Instruct }
  /** `positions`: where the lid may be put. */
  | { kind: 'remove_lid'; action: RemoveLid; positions: readonly string[] }
  | { kind: 'put_lid'; action: PutLid }
  | { kind: 'code'; action: Code }
)

type ActionKind = ActionPlan['kind']

/** Stands for the thread's own labware. */
export const own = '*'

/** Whether an action uses labware of this template, in a method that a thread with `owner`'s labware owns. */
export function takes(action: ActionPlan, labware: string, owner: string): boolean {
  return action.labware.includes(labware) || (labware === owner && action.labware.includes(own))
}

/** Returns the other devices for an action that failed at `device`, for the detail of an incident; empty without any. */
export function otherDevices({ devices }: ActionPlan, device: string | null): { retry_on?: readonly string[] } {
  return devices.length > 1 ? { retry_on: devices.filter((one) => one !== device) } : {}
}

/** Returns the lists of steps in a step. */
export function listsIn(step: StepPlan): readonly StepList[] {
  if (step.kind === 'branch') return [...step.cases.values(), ...(step.otherwise ? [step.otherwise] : [])]
  if (step.kind === 'if') return [step.then, step.otherwise]
  return step.kind === 'while_more_work' || step.kind === 'repeat' ? [step.body] : []
}

/** Yields the steps and all nested ones. */
export function* allSteps(steps: readonly StepPlan[]): Generator<StepPlan> {
  for (const step of steps) {
    yield step
    for (const list of listsIn(step)) yield* allSteps(list.steps)
  }
}

/** Yields all actions: in methods, directly in threads, and of the run itself. */
export function* actionsOf({ methods, threads, operations }: WithActions): Generator<ActionPlan> {
  for (const { actions } of methods.values()) yield* actions
  for (const { steps } of [...threads.values(), ...(operations?.values() ?? [])])
    for (const step of allSteps(steps)) if (step.kind === 'action') yield step.action
}
type WithActions = Pick<Workflow, 'methods' | 'threads'> & Partial<Pick<Workflow, 'operations'>>

/** Yields the custom events that actions and methods emit, each with its path. The events of code are unknown. */
export function* emissionsOf(workflow: Pick<Workflow, 'methods' | 'threads'>): Generator<{ emission: Emission; path: string }> {
  for (const { kind, action, path } of actionsOf(workflow)) if (kind === 'emit') yield { emission: action, path }
  for (const { emits, path } of workflow.methods.values())
    for (const [when, emissions] of Object.entries(emits))
      if (Array.isArray(emissions)) for (const [i, emission] of emissions.entries()) yield { emission, path: `${path}.${when}[${i}]` }
}

/** Whether these steps may send for labware of this template, directly or through threads. */
export function mayFeed(steps: readonly StepPlan[], labware: string): boolean {
  return steps.some(({ feeds }) => feeds.has(labware))
}

export function kindOf(action: Action): ActionKind {
  if ('do' in action) return 'do'
  if ('emit' in action) return 'emit'
  if ('wait_for' in action) return 'wait_for'
  if ('remove_lid' in action) return 'remove_lid'
  if ('put_lid' in action) return 'put_lid'
  return 'instruct' in action ? 'instruct' : 'code'
}

/** Returns the name of the lid that closes labware of this template; undefined for labware without a lid. */
export function lidOf({ labware }: Pick<WorkflowDocument, 'labware'>, plate: string): string | undefined {
  return Object.keys(labware).find((name) => labware[name]!.kind === 'lid' && labware[name]!.on === plate)
}

/** Returns the unique name in a thread of a step, or of an action in it. */
export function itemKey(step: StepPlan, action: ActionPlan | null = null): string {
  return action ? `${step.path} ${action.path}` : step.path
}
