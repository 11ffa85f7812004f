// Whether anything in a run can still move: looked at when all its threads wait.

import { isBlocked } from '../threads/thread.ts'
import type { Execution } from './execution.ts'

export class Stall {
  readonly #execution: Execution
  /** Threads that wait for others. */
  #blocked = 0
  #isLooking = false
  /** What nobody could get past, for a run that stands because of it. */
  picture: string | null = null

  constructor(execution: Execution) {
    this.#execution = execution
  }

  /** A thread began or ended to wait for others. */
  blocked(more: 1 | -1): void {
    this.#blocked += more
    if (more > 0) this.suspect()
  }

  /** Looks in one of the next turns; also when another run has ended, and left something in the way. */
  suspect(): void {
    if (this.#blocked < this.#execution.liveCount || this.#isLooking) return
    this.#isLooking = true
    this.#execution.world.steps.push(() => {
      this.#isLooking = false
      this.#look()
    })
  }

  /** An operator has seen to it: the same again is told again. */
  forget(): void {
    this.picture = null
  }

  #look(): void {
    const { paused, isOver, threads } = this.#execution
    const live = this.#execution.live()
    if (paused || isOver || live.length === 0) return
    const waits = live.map(({ waiting, name }) => ({ waiting, name }))
    if (!waits.every(({ waiting }) => waiting && isBlocked(waiting))) return
    const obstacles = waits.flatMap(({ waiting }) => waiting!.obstacles())
    if (obstacles.some(({ thread_id }) => thread_id !== null && !threads.has(thread_id))) return
    const picture = waits.map(({ waiting, name }) => `${name} waits for ${waiting!.what}`).join('; ')
    if (picture === this.picture) return
    this.picture = picture
    this.#execution.incident('SYSTEM_STALL', `nothing can move any more: ${picture}`, null, { recovery_action: 'RESUME_EXECUTION' })
    this.#execution.pause('system')
  }
}
