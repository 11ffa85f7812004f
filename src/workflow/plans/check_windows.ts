// Checks the time windows between actions: no route from one to the next takes longer than allowed.

import { inSeconds } from '../../kit/seconds.ts'
import { wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { type ActionPlan, listsIn, type StepPlan, type ThreadPlan, takes } from './plan.ts'
import { Hops } from './timing.ts'

/** Throws `invalid`, naming the place. If several actions may come next, one that can be in time is enough. */
export function checkWindows(draft: Draft): void {
  for (const thread of draft.threads.values()) new Windows(draft, thread).before(thread.steps, [])
}

/** The actions that may come next; none at the end of the journey. */
type Nexts = readonly ActionPlan[]

class Windows {
  readonly #draft: Draft
  readonly #thread: ThreadPlan
  readonly #hops: Hops

  constructor(draft: Draft, thread: ThreadPlan) {
    this.#draft = draft
    this.#thread = thread
    this.#hops = new Hops(draft.topology.document)
  }

  /** Checks the steps from the last to the first, and returns their possible first actions. `next` follows the steps. */
  before(steps: readonly StepPlan[], next: Nexts): Nexts {
    return steps.reduceRight((after: Nexts, step) => this.#step(step, after), next)
  }

  #step(step: StepPlan, next: Nexts): Nexts {
    switch (step.kind) {
      case 'method':
        return this.#actions(step.method.actions, next)
      case 'action':
        return this.#actions([step.action], next)
      case 'join':
        return step.methods.flatMap((name) => this.#joined(name, next))
      case 'branch':
      case 'if':
        return listsIn(step).flatMap(({ steps }) => this.before(steps, next))
      case 'repeat':
        return this.before(step.body.steps, step.rounds === 1 ? next : [...next, ...this.before(step.body.steps, next)])
      case 'while_more_work':
        return [...next, ...this.before(step.body.steps, [...next, ...this.before(step.body.steps, next)])]
      default:
        return next
    }
  }

  #actions(actions: readonly ActionPlan[], next: Nexts): Nexts {
    return actions.reduceRight((after: Nexts, action) => {
      if (!this.#wantsLabware(action)) return after
      this.#check(action, after)
      return [action]
    }, next)
  }

  /** Leaves out methods that the thread joins, because their windows belong to the owner. */
  #joined(method: string, next: Nexts): Nexts {
    const { labware } = this.#thread
    const first = this.#draft.methods.get(method)!.actions.find((action) => action.devices.length > 0 && action.labware.includes(labware))
    return first ? [first] : next
  }

  #wantsLabware(action: ActionPlan): boolean {
    return action.devices.length > 0 && takes(action, this.#thread.labware, this.#thread.labware)
  }

  #check({ action, devices, path }: ActionPlan, next: Nexts): void {
    const allowed_s = 'max_wait_after' in action ? action.max_wait_after : undefined
    if (allowed_s === undefined || next.length === 0) return
    const ways = next.flatMap((after) =>
      devices.flatMap((from) => after.devices.map((to) => ({ from, to, seconds: this.#seconds(from, to) }))),
    )
    const best = ways.reduce((one, other) => (other.seconds < one.seconds ? other : one))
    if (best.seconds <= allowed_s) return
    throw wrong(
      `${this.#draft.where}: ${path}.max_wait_after`,
      `the way from ${best.from} to ${best.to} takes ${inSeconds(best.seconds)}, and ${inSeconds(allowed_s)} are allowed; allow more, or say what the transporters take`,
    )
  }

  #seconds(from: string, to: string): number {
    if (from === to) return 0
    const { graph } = this.#draft.topology
    const ways = graph.positionsOf(from).flatMap((a) => graph.positionsOf(to).map((b) => this.#hops.way(graph.route(a.name, b.name))))
    return Math.min(...ways)
  }
}
