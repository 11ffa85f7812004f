// The stops that a thread has left, with their durations, as far as they can be foretold: the input of a plan. No code of the workflow is executed.

import { type ActionPlan, type StepList, type StepPlan, takes } from '../plans/plan.ts'
import { movesOf } from '../plans/timing.ts'
import { windowAfter } from './action/claims.ts'
import { expectedSeconds } from './action/seconds.ts'
import { caseAhead, roundsAhead, sideAhead } from './branches_ahead.ts'
import { goThrough, type Walker } from './steps_ahead.ts'
import type { LabwareThread } from './thread.ts'

/** A stop at one of these devices or positions. `seconds` has one entry for each. */
export type StopAhead = { devices: readonly string[]; seconds: number[]; within_s: number | null }

/** The stops ahead. `first_s`: seconds that pass before the first of them, where the labware stands now. */
export type WayAhead = { first_s: number; stops: StopAhead[] }

/** Returns the seconds that the operations of `before` still take, for which the threads of the run wait. */
export function secondsBefore({ execution }: Pick<LabwareThread, 'execution'>): number {
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
  goThrough(thread, walk)
  return walk.isKnown ? walk : undefined
}

/** The most steps of one labware in a plan, with those of all rounds. */
const mostSteps = 2000

class Walk implements WayAhead, Walker {
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
        this.#rounds(step, 0)
        break
      case 'if':
        this.#all(sideAhead(this.#thread, step).list)
        break
      case 'branch':
        this.#all(caseAhead(this.#thread, step).list)
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
    if (devices.length === 0)
      this.pass(plan.kind === 'remove_lid' || plan.kind === 'put_lid' ? this.#lidSeconds() : expectedSeconds(this.#thread, plan, null))
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

  begun(plan: ActionPlan): void {
    this.before = plan
  }

  /** A loop over work that comes does not end before it. */
  again(): void {
    this.isKnown = false
  }

  roundsLeft(step: Extract<StepPlan, { kind: 'repeat' }>, begun: number): void {
    this.#rounds(step, begun)
  }

  #rounds(step: Extract<StepPlan, { kind: 'repeat' }>, begun: number): void {
    const rounds = roundsAhead(this.#thread, step).rounds
    for (let round = begun; round < rounds && this.isKnown; round++) this.#all(step.body)
  }

  /** The usual time of a transporter, because nobody knows yet which one moves the lid. */
  #lidSeconds(): number {
    const { document } = this.#thread.execution.workflow.topology
    const moves = Object.values(movesOf(document, this.#thread.environment.durations)).map(({ seconds }) => seconds)
    return Math.max(0, ...moves.map(({ pick, move, place }) => pick + move + place))
  }

  #all(list: StepList | undefined): void {
    for (const step of list?.steps ?? []) this.take(step)
  }
}
