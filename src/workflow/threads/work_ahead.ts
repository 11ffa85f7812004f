// The work that a thread has left, for a forecast: its visits with the labware that they need, its waits, and what it does for methods of other threads. No code
// of the workflow is executed.

import { type ActionPlan, type MethodPlan, own, type StepList, type StepPlan } from '../plans/plan.ts'
import { type Expected, expected, temperatureOf } from './action/seconds.ts'
import { caseAhead, mayBeOfCode, roundsAhead, sideAhead, type Why } from './branches_ahead.ts'
import { type Scope, scopeOf } from './channels.ts'
import { tipsOf } from './next_stops.ts'
import type { Walker } from './steps_ahead.ts'
import type { LabwareThread } from './thread.ts'

/** A part of the work, with names. */
export type WorkAhead =
  | {
      kind: 'visit'
      name: string
      devices: readonly string[]
      seconds: readonly number[]
      brings: readonly { template: string; tips: number }[]
      method: string | null
      temperature: number | null
      isPark: boolean
    }
  | { kind: 'over'; feeds: readonly string[] }
  | { kind: 'pass'; name: string; seconds: number }
  | { kind: 'wait'; name: string; event: string; scope: Scope }
  | { kind: 'emit'; event: string; scope: Scope }
  | { kind: 'serve'; name: string; methods: readonly string[] }
  | { kind: 'loop'; body: readonly WorkAhead[] }

/** Hears what a forecast assumes. */
export interface Assumptions {
  /** The duration of an action at one of its devices. */
  lasts(action: ActionPlan, device: string | null, from: Expected): void
  goes(step: StepPlan, way: string, why: Why): void
  /** An event is taken as emitted, because the code of the workflow may emit it. */
  emitted(event: string): void
}

/** A thread, or one that is yet to come. */
export type Walked = Pick<LabwareThread, 'execution' | 'environment' | 'origin' | 'plan'> & {
  readonly labware: { readonly template: string }
  readonly state?: LabwareThread['state']
  readonly method?: LabwareThread['method']
  readonly step?: LabwareThread['step']
  /** How often the thread has seen an event. */
  seen?(event: string): number
}

/** The most parts of the work of one labware. */
const mostParts = 2000

export class WorkWalk implements Walker {
  works: WorkAhead[] = []
  readonly #thread: Walked
  readonly #assumed: Assumptions
  #parts = 0
  /** Whether the present step is part of a method of another thread, so that it is not told again. */
  #isServing: boolean

  constructor(thread: Walked, assumed: Assumptions, isServing = false) {
    this.#thread = thread
    this.#assumed = assumed
    this.#isServing = isServing
  }

  take(step: StepPlan): void {
    if (++this.#parts > mostParts) return
    const isServed = this.#isServing && step.kind === 'join'
    this.#isServing = false
    if (isServed) return
    const { origin } = this.#thread
    switch (step.kind) {
      case 'method':
        this.#emits(step.method.emits.on_start)
        for (const action of step.method.actions) this.#act(action, step.method)
        this.#over(step.method, step.feeds)
        break
      case 'action':
        this.#act(step.action, null)
        this.works.push({ kind: 'over', feeds: [...step.feeds] })
        break
      case 'join':
        this.works.push({ kind: 'serve', name: step.name, methods: step.methods })
        break
      case 'park':
        this.#visit(step.name, { devices: step.positions, seconds: step.positions.map(() => 0), isPark: true })
        break
      case 'delay':
        this.works.push({ kind: 'pass', name: step.name, seconds: step.seconds })
        break
      case 'wait_for':
        this.#wait(step.event, scopeOf(origin, step.across_groups), this.#thread.seen?.(step.event) ?? 0)
        break
      case 'branch': {
        const { list, way, why } = caseAhead(this.#thread, step)
        if (why !== 'value') {
          this.#wait(step.event, scopeOf(origin, step.across_groups), 0)
          this.#assumed.goes(step, way, why)
        }
        this.#all(list)
        break
      }
      case 'if': {
        const { list, way, why } = sideAhead(this.#thread, step)
        if (why !== 'value') this.#assumed.goes(step, way, why)
        this.#all(list)
        break
      }
      case 'repeat':
        this.roundsLeft(step, 0)
        break
      case 'while_more_work':
        this.works.push({ kind: 'loop', body: this.#inside(step.body.steps) })
        break
      case 'until_temperature':
        break
    }
  }

  /** The present action counts with the place where the labware is. */
  begun(): void {}

  act(plan: ActionPlan): void {
    this.#act(plan, this.#presentMethod)
  }

  get #presentMethod(): MethodPlan | null {
    return this.#thread.method?.plan ?? null
  }

  over(method: MethodPlan): void {
    const step = this.#thread.step
    this.#over(method, step?.feeds ?? new Set())
  }

  pass(seconds: number): void {
    if (seconds > 0) this.works.push({ kind: 'pass', name: 'delay', seconds })
  }

  roundsLeft(step: Extract<StepPlan, { kind: 'repeat' }>, begun: number): void {
    const { rounds, why } = roundsAhead(this.#thread, step)
    if (step.until) this.#assumed.goes(step, `${rounds} rounds`, why)
    for (let round = begun; round < rounds && this.#parts <= mostParts; round++) this.#all(step.body)
  }

  again(steps: readonly StepPlan[]): void {
    this.works.push({ kind: 'loop', body: this.#inside(steps) })
  }

  #inside(steps: readonly StepPlan[]): WorkAhead[] {
    const outside = this.works
    this.works = []
    for (const step of steps) this.take(step)
    const inside = this.works
    this.works = outside
    return inside
  }

  #all(list: StepList | undefined): void {
    for (const step of list?.steps ?? []) this.take(step)
  }

  #over({ emits }: MethodPlan, feeds: ReadonlySet<string>): void {
    this.#emits(emits.on_end)
    this.works.push({ kind: 'over', feeds: [...feeds] })
  }

  #emits(emissions: MethodPlan['emits']['on_start']): void {
    if (!Array.isArray(emissions)) return
    for (const { emit, across_groups } of emissions) this.#emit(emit, across_groups)
  }

  #emit(event: string, across_groups: boolean | undefined): void {
    this.works.push({ kind: 'emit', event, scope: scopeOf(this.#thread.origin, across_groups) })
  }

  /** Adds a wait for an event, unless it was published since the thread last saw it, or the code of the workflow may emit it. */
  #wait(event: string, scope: Scope, seen: number): void {
    const { execution } = this.#thread
    if ((execution.channels.latest(event, scope)?.count ?? 0) > seen) return
    if (mayBeOfCode(execution.workflow, event)) this.#assumed.emitted(event)
    else this.works.push({ kind: 'wait', name: event, event, scope })
  }

  #act(plan: ActionPlan, method: MethodPlan | null): void {
    const { labware, state, origin } = this.#thread
    // A person may have chosen the device.
    const devices = state?.retry_on?.path === plan.path ? [state.retry_on.device] : plan.devices
    if (plan.kind === 'emit') {
      this.#emit(plan.action.emit, plan.action.across_groups)
      return
    }
    if (plan.kind === 'wait_for')
      this.#wait(plan.action.wait_for, scopeOf(origin, plan.action.across_groups), this.#thread.seen?.(plan.action.wait_for) ?? 0)
    const known = (devices.length > 0 ? devices : [null]).map((device) => ({ device, ...expected(this.#thread, plan, device) }))
    if (plan.kind !== 'wait_for') for (const { device, ...from } of known.slice(0, 1)) this.#assumed.lasts(plan, device, from)
    const seconds = known.map((one) => one.seconds)
    if (devices.length === 0) {
      if (plan.kind !== 'wait_for') this.works.push({ kind: 'pass', name: plan.name, seconds: seconds[0]! })
      return
    }
    const others = plan.labware.filter((template) => template !== own && template !== labware.template)
    const brings = others.map((template) => ({ template, tips: method ? tipsOf(method, template) : 0 }))
    this.#visit(plan.name, { devices, seconds, brings, method: method?.name ?? null, temperature: temperatureOf(this.#thread, plan) })
  }

  #visit(
    name: string,
    { devices, seconds, brings = [], method = null, temperature = null, isPark = false }: Partial<Extract<WorkAhead, { kind: 'visit' }>>,
  ): void {
    this.works.push({ kind: 'visit', name, devices: devices!, seconds: seconds!, brings, method, temperature, isPark })
  }
}
