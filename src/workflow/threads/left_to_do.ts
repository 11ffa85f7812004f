// The stops that a thread has left, with their durations, as far as they can be foretold: the input of a plan. No code of the workflow is executed.

import { holds } from '../plans/conditions.ts'
import { type ActionPlan, type StepList, type StepPlan, takes } from '../plans/plan.ts'
import { windowAfter } from './action/claims.ts'
import { expectedSeconds } from './action/seconds.ts'
import { scopeOf } from './channels.ts'
import type { LabwareThread } from './thread.ts'

/** A stop at one of these devices or positions. `seconds` has one entry for each. */
export type StopAhead = { devices: readonly string[]; seconds: number[]; within_s: number | null }

/** The stops ahead. `first_s`: seconds that pass before the first of them, where the labware stands now. */
export type WayAhead = { first_s: number; stops: StopAhead[] }

/** Returns the seconds that the operations of `before` still take, for which the threads of the run wait. */
function secondsBefore({ execution }: LabwareThread): number {
  const { before } = execution.operations
  if (!before || before.isOver) return 0
  const [frame] = before.frames
  const actions = (frame?.steps.slice(frame.next) ?? []).flatMap((step) => (step.kind === 'action' ? step.action : []))
  return actions.reduce((sum, action) => sum + expectedSeconds(before, action, action.devices[0]!), 0)
}

/** Returns the way ahead of a thread after its present action; undefined if it depends on other threads, or does not end. */
export function wayAhead(thread: LabwareThread): WayAhead | undefined {
  const walk = new Walk(thread)
  walk.pass(secondsBefore(thread))
  const { action, method, frames } = thread
  if (action && action.device !== null) walk.before = action.plan
  else if (action) walk.act(action.plan)
  for (const plan of method?.actions.slice(method.next + (action ? 1 : 0)) ?? []) walk.act(plan)
  for (let depth = frames.length - 1; depth >= 0; depth--) {
    const { steps, next, isLoop } = frames[depth]!
    if (isLoop) return undefined
    // The innermost step is the one that the thread is in, of which the rest of its method is already counted.
    const isCounted = depth < frames.length - 1 || method !== null || action !== null
    if (!isCounted && thread.state.delay) walk.pass(Math.max(0, thread.delayEnds_ms - thread.environment.clock.now()) / 1000)
    else if (!isCounted && steps[next]) walk.take(steps[next])
    const around = depth < frames.length - 1 ? steps[next] : undefined
    if (around?.kind === 'repeat') walk.roundsLeft(around)
    for (const step of steps.slice(next + 1)) walk.take(step)
  }
  return walk.isKnown ? walk : undefined
}

/** The most steps of one labware in a plan, with those of all rounds. */
const mostSteps = 2000

class Walk implements WayAhead {
  first_s = 0
  readonly stops: StopAhead[] = []
  isKnown = true
  /** The action before the next one. */
  before: ActionPlan | null = null
  readonly #thread: LabwareThread
  #taken = 0

  constructor(thread: LabwareThread) {
    this.#thread = thread
  }

  take(step: StepPlan): void {
    if (++this.#taken > mostSteps) this.isKnown = false
    if (!this.isKnown) return
    switch (step.kind) {
      case 'method':
        for (const action of step.method.actions) this.act(action)
        break
      case 'action':
        this.act(step.action)
        break
      case 'park':
        this.stops.push({ devices: step.positions, seconds: step.positions.map(() => 0), within_s: null })
        this.before = null
        break
      case 'delay':
        this.pass(step.seconds)
        break
      case 'repeat':
        for (let round = 0; round < step.rounds && this.isKnown; round++) this.#all(step.body)
        break
      case 'if':
        this.#all(this.#side(step))
        break
      case 'branch':
        this.#all(step.otherwise ?? [...step.cases.values()][0])
        break
      case 'wait_for':
      case 'until_temperature':
        break
      default:
        // A join, or a loop over work that comes.
        this.isKnown = false
    }
  }

  act(plan: ActionPlan): void {
    const { labware, state } = this.#thread
    // A person may have chosen the device.
    const devices = state.retry_on?.path === plan.path ? [state.retry_on.device] : plan.devices
    const seconds = devices.map((device) => expectedSeconds(this.#thread, plan, device))
    if (plan.labware.some((template) => !takes({ ...plan, labware: [template] } as ActionPlan, labware.template, labware.template)))
      this.isKnown = false
    const last = this.stops.at(-1)
    if (devices.length === 0) this.pass(plan.seconds ?? 0)
    else if (last && last.devices.join() === devices.join()) for (const [i, more] of seconds.entries()) last.seconds[i]! += more
    else this.stops.push({ devices, seconds, within_s: (this.before && windowAfter(this.before, labware.template)) ?? null })
    this.before = plan
  }

  /** Adds time that the labware spends where it stands. */
  pass(seconds: number): void {
    const last = this.stops.at(-1)
    if (last) last.seconds = last.seconds.map((before) => before + seconds)
    else this.first_s += seconds
  }

  /** Takes the rounds of a repeat that have not begun. */
  roundsLeft({ path, rounds, body }: Extract<StepPlan, { kind: 'repeat' }>): void {
    const begun = this.#thread.state.rounds.find((one) => one.path === path)?.count ?? rounds
    for (let round = begun; round < rounds && this.isKnown; round++) this.#all(body)
  }

  #all(list: StepList | undefined): void {
    for (const step of list?.steps ?? []) this.take(step)
  }

  /** Returns the side of a condition that is taken with the values that were saved, else with the declared examples. */
  #side({ condition, then, otherwise }: Extract<StepPlan, { kind: 'if' }>): StepList {
    const { execution, origin } = this.#thread
    const examples = execution.workflow.document.values ?? {}
    const exampleOf = (name: string) => examples[name]!.example
    try {
      return holds(condition, (name) => execution.values.find(name, scopeOf(origin)) ?? exampleOf(name)) ? then : otherwise
    } catch {
      // A saved value cannot be compared: the run will hold the thread there.
      return holds(condition, exampleOf) ? then : otherwise
    }
  }
}
