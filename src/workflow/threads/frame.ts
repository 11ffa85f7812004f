// The steps that a thread goes through, with those that an operator inserted.

import type { StepPlan } from '../plans/plan.ts'
import { type FrameState, withPlace } from '../state/frame.ts'

/** The thread that goes through the steps. */
type FrameOwner = { setIn(name: 'frames', part: FrameState, members: Partial<FrameState>): void }

/** A list of steps and the thread's progress in it. A loop restarts at its end. A step that an operator inserted is done once. */
export class Frame {
  readonly path: string
  readonly isLoop: boolean
  readonly steps: StepPlan[]
  readonly #state: FrameState
  readonly #thread: FrameOwner

  /** `state` is part of the state of the thread. */
  constructor(thread: FrameOwner, state: FrameState, steps: StepPlan[]) {
    this.path = state.path
    this.isLoop = state.is_loop
    this.steps = steps
    this.#state = state
    this.#thread = thread
  }

  /** The index of the first step that is not done. */
  get next(): number {
    return this.#state.next
  }

  goTo(next: number): void {
    this.#thread.setIn('frames', this.#state, { next })
  }

  /** Advances to the next step. In a loop, an inserted step is removed after it was done. */
  advance(): void {
    const { next, inserted } = this.#state
    if (this.isLoop && inserted.some(({ at }) => at === next)) this.#remove(next)
    else this.goTo(next + 1)
  }

  #remove(gone: number): void {
    this.steps.splice(gone, 1)
    const others = this.#state.inserted.filter(({ at }) => at !== gone)
    this.#thread.setIn('frames', this.#state, { inserted: others.map(({ at, path }) => ({ at: at > gone ? at - 1 : at, path })) })
  }

  /** Inserts a step before index `at`. `isPast`: this round of the loop has passed the index, so the step is done in the next round. */
  insert(at: number, step: StepPlan, { isPast }: { isPast: boolean }): void {
    this.steps.splice(at, 0, step)
    const { next, inserted } = this.#state
    // If the insert lies before the current step, the current step's index grows by one.
    this.#thread.setIn('frames', this.#state, { inserted: withPlace(inserted, at, step.path), next: isPast ? next + 1 : next })
  }

  /** The steps that an operator inserted and that are not done. */
  get inserted(): StepPlan[] {
    return this.#state.inserted.map(({ at }) => this.steps[at]!)
  }
}
