// A workflow that was checked, with everything it names looked up: what a run goes by.

import type { Action, Code, Do, Emission, Emit, Emitting, Instruct, ThreadTemplate, WaitAction, WorkflowDocument } from './documents.ts'
import type { Topology } from './topology.ts'

export type Workflow = {
  document: WorkflowDocument
  name: string
  topology: Topology
  /** SHA-256 of its canonical JSON, functions as their source. */
  hash: string
  /** The document holds functions, so only its own file can give it again. */
  hasCode: boolean
  /** Whether no action takes more than one labware. */
  isAlone: boolean
  form: 'json' | 'typescript'
  methods: ReadonlyMap<string, MethodPlan>
  threads: ReadonlyMap<string, ThreadPlan>
  /** The thread that carries a labware, both by the names of their templates. */
  carrier(labware: string): string | undefined
}

export type ThreadPlan = {
  name: string
  template: ThreadTemplate
  /** The template of the labware it carries. */
  labware: string
  start: { position: string; mode: ThreadTemplate['start']['mode'] }
  /** Any of these. */
  end: { positions: readonly string[]; mode: ThreadTemplate['end']['mode'] }
  steps: readonly StepPlan[]
  /** Every list of steps in it, by its path: `threads.plate.steps`, `threads.plate.steps[2].cases.complete`. */
  lists: ReadonlyMap<string, readonly StepPlan[]>
}

export type StepPlan = {
  /** Unique in a thread. */
  name: string
  /** `threads.plate.steps[2].cases.complete[0]` */
  path: string
  /** The labware that is sent for in this step or because of it: by the methods it owns, and by the threads these bring along. */
  feeds: ReadonlySet<string>
} & (
  | { kind: 'method'; method: MethodPlan }
  | { kind: 'action'; action: ActionPlan }
  | { kind: 'join'; methods: readonly string[] }
  | { kind: 'park'; positions: readonly string[] }
  | { kind: 'wait_for'; event: string; timeout: number }
  | { kind: 'branch'; event: string; timeout: number; cases: ReadonlyMap<string, StepList>; otherwise: StepList }
  | { kind: 'while_more_work'; body: StepList }
)

export type StepList = { path: string; steps: readonly StepPlan[] }

export type MethodPlan = {
  name: string
  /** `methods.shake_it` */
  path: string
  actions: readonly ActionPlan[]
  /** The threads that do it, by name. */
  owners: readonly string[]
  /** All that its actions want to be there, by template; without what is its owner's own in any case. */
  labware: ReadonlySet<string>
  /** The events that the method emits itself, when its first action starts and when all are done. */
  emits: { on_start?: Emission[] | Emitting | undefined; on_end?: Emission[] | Emitting | undefined }
}

export type ActionPlan = {
  /** Unique in a method. */
  name: string
  /** `methods.shake_it[0]` */
  path: string
  /** The devices of which one is taken; none for an action that needs no device. */
  devices: readonly string[]
  /** These devices, as the scheduler is asked for them. */
  candidates: readonly { device: string }[]
  /** The labware that must be at the device; `*` is the labware of the thread that owns the method. */
  labware: readonly string[]
  /** The duration of the whole action where nothing is driven, s, if somebody gave one. */
  seconds: number | undefined
} & (
  | { kind: 'do'; action: Do }
  | { kind: 'emit'; action: Emit }
  | { kind: 'wait_for'; action: WaitAction }
  | { kind: 'instruct'; action: Instruct }
  | { kind: 'code'; action: Code }
)

type ActionKind = ActionPlan['kind']

/** Stands for the thread's own labware, whatever that is. */
export const own = '*'

/** Whether labware of this template must be there, for an action of a method that a thread with `owner`'s labware does. */
export function takes(action: ActionPlan, labware: string, owner: string): boolean {
  return action.labware.includes(labware) || (labware === owner && action.labware.includes(own))
}

/** The other devices at which an action can be done that failed at `device`, for the detail of an incident; empty where there are none. */
export function otherDevices({ devices }: ActionPlan, device: string | null): { retry_on?: readonly string[] } {
  return devices.length > 1 ? { retry_on: devices.filter((one) => one !== device) } : {}
}

/** The lists of steps in a step. */
export function listsIn(step: StepPlan): readonly StepList[] {
  if (step.kind === 'branch') return [...step.cases.values(), step.otherwise]
  return step.kind === 'while_more_work' ? [step.body] : []
}

/** The steps, and those in them, to any depth. */
export function* allSteps(steps: readonly StepPlan[]): Generator<StepPlan> {
  for (const step of steps) {
    yield step
    for (const list of listsIn(step)) yield* allSteps(list.steps)
  }
}

/** Every action there is, in a method or bare. */
export function* actionsOf({ methods, threads }: Pick<Workflow, 'methods' | 'threads'>): Generator<ActionPlan> {
  for (const { actions } of methods.values()) yield* actions
  for (const { steps } of threads.values()) for (const step of allSteps(steps)) if (step.kind === 'action') yield step.action
}

/** Whether labware of this template may be sent for, directly or by the threads it brings along, before these steps are done. */
export function mayFeed(steps: readonly StepPlan[], labware: string): boolean {
  return steps.some(({ feeds }) => feeds.has(labware))
}

export function kindOf(action: Action): ActionKind {
  if ('do' in action) return 'do'
  if ('emit' in action) return 'emit'
  if ('wait_for' in action) return 'wait_for'
  return 'instruct' in action ? 'instruct' : 'code'
}

/** The name of a step, or of an action in it, for a thread: once, whatever lane it stands in. */
export function itemKey(step: StepPlan, action: ActionPlan | null = null): string {
  return action ? `${step.path} ${action.path}` : step.path
}
