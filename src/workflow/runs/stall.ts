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
    if (!isBlockedWhole(this.#execution)) return
    const { threads } = this.#execution
    const live = this.#execution.live()
    const obstacles = live.flatMap(({ waiting }) => waiting!.obstacles())
    const isElsewhere = obstacles.some(({ thread_id }) => thread_id !== null && !threads.has(thread_id))
    if (isElsewhere && !this.#execution.beside().every(isBlockedWhole)) return
    const picture = live.map(({ waiting, name }) => `${name} waits for ${waiting!.what}`).join('; ')
    if (picture === this.picture) return
    this.picture = picture
    this.#execution.incident('SYSTEM_STALL', `nothing can move any more: ${picture}`, null, { recovery_action: 'RESUME_EXECUTION' })
    this.#execution.pause('system')
  }
}

/** All that moves in it waits for others. One that is paused goes on when somebody says so. */
function isBlockedWhole(execution: Execution): boolean {
  const live = execution.live()
  return !execution.paused && !execution.isOver && live.length > 0 && live.every(({ waiting }) => waiting && isBlocked(waiting))
}
