// The inserts of an operator into a run: a step before or after another step of a thread, or an action before or after another action of a method.
// An insert passes all checks of a workflow. It takes its place at once, or when a branch, a loop or a new thread brings its anchor.

import { LabError } from '../../errors.ts'
import { checked } from '../../kit/schema.ts'
import type { Action } from '../plans/action_schema.ts'
import { compileWorkflow } from '../plans/compile.ts'
import { actionsIn, JsonStep, type Step } from '../plans/documents.ts'
import { wrong } from '../plans/mistakes.ts'
import { type ActionPlan, allSteps, itemKey, listsIn, type StepPlan, type Workflow } from '../plans/plan.ts'
import { Entry } from '../state/entry.ts'
import type { InsertState, ThreadState } from '../state/run.ts'
import type { Frame } from '../threads/frame.ts'
import type { MethodRun } from '../threads/method.ts'
import type { LabwareThread, RunPorts } from '../threads/thread.ts'
import { ahead, isCalled, itemsOf, mustBeOne, mustBeThere, type NamedItem } from './step_names.ts'

type Anchor = { before: string } | { after: string }
export type InsertRequest = Anchor & { item: unknown }

type Where = 'before' | 'after'

/** The most inserts of one run, because each is compiled together with all earlier ones. */
const mostInserts = 500

/** `paths` has the insert's path in each lane where it may be placed. */
type Insert = { readonly entry: Entry<'insert'>; readonly paths: ReadonlyMap<string, string> }

type Run = RunPorts & { readonly stall: { reconsider(): void }; live(): LabwareThread[] }

export class Inserts {
  readonly #execution: Run
  readonly #all: Insert[] = []
  /** The inserted steps of each lane. They are compiled after the document's own steps, so each has its own path and name. */
  readonly #added = new Map<string, Step[]>()
  readonly #steps = new Map<string, StepPlan>()
  readonly #actions = new Map<string, ActionPlan>()
  readonly #lists = new Map<string, readonly StepPlan[]>()

  constructor(execution: Run) {
    this.#execution = execution
  }

  /**
   * Inserts an item in each live thread that has the anchor ahead; if none has, in the first thread that will. Returns where, in words. Throws `invalid`
   * for an item that does not fit there, `not_found` for an anchor that can never come, `conflict` for an ambiguous anchor or above the limit.
   */
  put(request: InsertRequest): string {
    this.#execution.stall.reconsider()
    if (this.#all.length >= mostInserts)
      throw new LabError(
        'conflict',
        `this run already has ${mostInserts} inserts, which is the limit; submit further work as another workflow`,
      )
    const where = 'before' in request ? 'before' : 'after'
    const anchor = 'before' in request ? request.before : request.after
    const item = checked(JsonStep, request.item, 'item')
    const found = this.#execution.live().flatMap((thread) => (thread.plan.part ? [] : anchorsIn(thread, { anchor, where })))
    const lanes = [...new Set(found.length > 0 ? found.map(laneOf) : this.#lanesInWorkflow(anchor))]
    const insert = this.#add({ number: this.#all.length, anchor, where, item, is_done: false, lanes }, item)
    for (const named of found) this.#await(named, insert)
    this.#execution.state.writeSoon()
    if (found.length > 0) return `it is inserted ${where} ${found.map(({ name }) => name).join(', ')}`
    return `no thread has ${anchor} ahead now; it is inserted ${where} ${anchor} when a thread has`
  }

  /** Gives a new thread the inserts that wait for a thread of its plan. */
  spawned(thread: LabwareThread): void {
    for (const insert of this.#all) {
      const { is_done, anchor } = insert.entry.state
      if (is_done || this.#isAwaited(insert)) continue
      const named = ahead(thread).find((item) => isCalled(item, anchor) && insert.paths.has(laneOf(item)))
      if (named) this.#await(named, insert)
    }
  }

  /** Places the inserts that wait for the steps or the method that the thread has just entered. */
  opened(thread: LabwareThread): void {
    for (const awaited of thread.state.awaited) {
      if (!this.#place(thread, awaited)) continue
      this.#all[awaited.insert]!.entry.set({ is_done: true })
      thread.set({ awaited: thread.state.awaited.filter((other) => other !== awaited) })
    }
  }

  /** Reports the inserts whose anchors no thread reached. */
  reportUnresolved(): void {
    for (const { entry, paths } of this.#all) {
      const { anchor, where, is_done } = entry.state
      const sentence = `${this.#nameAt([...paths.values()][0]!)} was to be inserted ${where} ${anchor}, which no thread reached`
      if (!is_done) this.#execution.events.incident('UNRESOLVED_ANCHOR_INSERT', sentence, null, { severity: 'WARNING' })
    }
  }

  /** Returns an inserted step. Throws `conflict` if there is none. */
  stepAt(path: string): StepPlan {
    return known(this.#steps, path)
  }

  /** Returns an inserted action. Throws `conflict` if there is none. */
  actionAt(path: string): ActionPlan {
    return known(this.#actions, path)
  }

  /** Returns the steps inside an inserted step. */
  listAt(path: string): readonly StepPlan[] | undefined {
    return this.#lists.get(path)
  }

  /** Restores the inserts. They must be sorted by their numbers, because each is compiled with those before it. */
  restore(saved: readonly InsertState[]): void {
    for (const state of saved) this.#add(state, checked(JsonStep, state.item, 'an insert'))
  }

  /** Lists the lanes (threads and methods) of the workflow that contain the anchor. */
  #lanesInWorkflow(anchor: string): string[] {
    const all = [...this.#execution.workflow.threads.values()].flatMap(({ name, steps }) =>
      [...itemsOf(steps, name)].map((item) => ({ ...item, lane: item.action ? laneOfMethod(item.step) : `threads.${name}` })),
    )
    const called = all.filter((item) => isCalled(item, anchor))
    mustBeThere(called, anchor, all)
    return called.map(({ lane }) => lane)
  }

  /** Adds an insert to all its lanes or to none. Throws `invalid`, naming the place in the document. */
  #add(state: InsertState, item: Step): Insert {
    const before = new Map(this.#added)
    try {
      const paths = new Map(state.lanes.map((lane) => [lane, this.#addTo(lane, item)]))
      const insert = { entry: new Entry(this.#execution.state, 'insert', state, `${state.number}`), paths }
      this.#all.push(insert)
      return insert
    } catch (error) {
      for (const lane of state.lanes) this.#added.set(lane, before.get(lane) ?? [])
      throw error
    }
  }

  /** Compiles the item into a lane. Returns its path there. */
  #addTo(lane: string, item: Step): string {
    const before = this.#added.get(lane) ?? []
    const workflow = this.#compiled(lane, [...before, item])
    const { plan, path } = newest(workflow, lane)
    this.#added.set(lane, [...before, called(item, plan.name)])
    if (lane.startsWith('methods.')) this.#actions.set(path, plan as ActionPlan)
    else this.#know(plan as StepPlan)
    return path
  }

  #know(step: StepPlan): void {
    this.#steps.set(step.path, step)
    for (const inner of allSteps([step])) for (const { path, steps } of listsIn(inner)) this.#lists.set(path, steps)
  }

  #compiled(lane: string, added: readonly Step[]): Workflow {
    const { document, topology } = this.#execution.workflow
    const name = lane.slice(lane.indexOf('.') + 1)
    if (lane.startsWith('methods.')) {
      const method = document.methods[name]!
      const actions = [...actionsIn(method), ...added.map((step) => actionOf(step))]
      const methods = { ...document.methods, [name]: Array.isArray(method) ? actions : { ...method, actions } }
      return compileWorkflow({ ...document, methods }, topology, 'the insert', 'typescript', { isInsert: true })
    }
    const thread = document.threads[name]!
    const threads = { ...document.threads, [name]: { ...thread, steps: [...thread.steps, ...added] } }
    return compileWorkflow({ ...document, threads }, topology, 'the insert', 'typescript', { isInsert: true })
  }

  #await(named: NamedItem, insert: Insert): void {
    const { thread, step, action } = named
    const path = insert.paths.get(laneOf(named))!
    const { number } = insert.entry.state
    thread.set({ awaited: [...thread.state.awaited, { insert: number, key: itemKey(step, action), path }] })
    this.opened(thread)
  }

  #isAwaited(insert: Insert): boolean {
    return this.#execution.live().some(({ state }) => state.awaited.some((one) => one.insert === insert.entry.state.number))
  }

  /** Places a waiting insert. Returns false if no open lane of the thread has its place. */
  #place(thread: LabwareThread, { insert, key, path }: ThreadState['awaited'][number]): boolean {
    const { where } = this.#all[insert]!.entry.state
    const [stepPath, actionPath] = key.split(' ')
    if (actionPath !== undefined) {
      const { method } = thread
      const isIn = method && thread.frames.at(-1)?.steps[thread.frames.at(-1)!.next]?.path === stepPath
      return isIn
        ? placeAction(method, {
            at: method.actions.findIndex(({ path }) => path === actionPath),
            where,
            plan: this.actionAt(path),
          })
        : false
    }
    return thread.frames.some((frame, depth) => {
      const at = frame.steps.findIndex(({ path }) => path === stepPath)
      const isTaken = depth < thread.frames.length - 1 || isIn(thread, frame)
      return placeStep(frame, { at, where, plan: this.stepAt(path), isTaken })
    })
  }

  #nameAt(path: string): string {
    return (this.#steps.get(path) ?? this.#actions.get(path))!.name
  }
}

/** Whether the thread has begun the next step of its innermost frame. */
function isIn({ step, method, action, joining }: LabwareThread, { steps, next }: Frame): boolean {
  return method !== null || action !== null || joining !== null || (step !== null && step === steps[next])
}

type At<Plan> = { at: number; where: Where; plan: Plan }

function placeStep(frame: Frame, { at: anchor, where, plan, isTaken }: At<StepPlan> & { isTaken: boolean }): boolean {
  if (anchor === -1) return false
  const at = where === 'before' ? anchor : anchor + 1
  const isPast = at < frame.next || (at === frame.next && isTaken)
  if (isPast && !frame.isLoop) return false
  frame.insert(at, plan, { isPast })
  return true
}

function placeAction(method: MethodRun, { at: anchor, where, plan }: At<ActionPlan>): boolean {
  if (anchor === -1) return false
  const at = where === 'before' ? anchor : anchor + 1
  if (at < method.next || (at === method.next && method.isTaken)) return false
  method.insert(at, plan)
  return true
}

/** Finds the anchor in a thread, if a step can still be inserted there. Throws `conflict` for several. */
function anchorsIn(thread: LabwareThread, { anchor, where }: Pick<InsertState, 'anchor' | 'where'>): NamedItem[] {
  const called = ahead(thread).filter(
    (item) => isCalled(item, anchor) && (where === 'after' || item.standing === 'ahead' || isInLoop(item)),
  )
  mustBeOne(called, anchor)
  return called
}

function isInLoop({ thread, step, action }: NamedItem): boolean {
  return action === null && thread.frames.some(({ isLoop, steps }) => isLoop && steps.includes(step))
}

function laneOf({ thread, step, action }: NamedItem): string {
  return action ? laneOfMethod(step) : `threads.${thread.plan.name}`
}

function laneOfMethod(step: StepPlan): string {
  return `methods.${step.kind === 'method' ? step.method.name : ''}`
}

/** Returns the last plan of a lane. */
function newest({ methods, threads }: Workflow, lane: string): { plan: StepPlan | ActionPlan; path: string } {
  const name = lane.slice(lane.indexOf('.') + 1)
  const plan = lane.startsWith('methods.') ? methods.get(name)!.actions.at(-1)! : threads.get(name)!.steps.at(-1)!
  return { plan, path: plan.path }
}

function actionOf(step: Step): Action {
  if ('action' in step) return step.action
  throw wrong('item', 'a method holds only actions: {"action": {…}}')
}

/** Fixes the step's name, so that later inserts do not change it. */
function called(item: Step, name: string): Step {
  return 'action' in item ? { ...item, name, action: { ...item.action, name } } : { ...item, name }
}

function known<Plan>(plans: ReadonlyMap<string, Plan>, path: string): Plan {
  const plan = plans.get(path)
  if (!plan) throw new LabError('conflict', `there is no insert at ${path}`)
  return plan
}
