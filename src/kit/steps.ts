// A queue of steps of threads, a few in each turn of the event loop, so that a stop, requests and the log get their turns too.

/**
 * Steps in one turn: 16 make a run of 1,000 threads faster by a twentieth, but all others wait twice as long for the event loop. Four
 * make it slower by a sixth, because each turn has its own write to the log.
 */
const stepsPerTurn = 8

type StepQueueOptions = {
  /** Resolves when there is room for the events of steps; undefined if there is. */
  backpressure?(): Promise<unknown> | undefined
  /** Called when nothing is left to do. Returns whether it has made new work. */
  onIdle?(): boolean
}

export class StepQueue {
  readonly #options: StepQueueOptions
  #waiting: (() => void)[] = []
  #next = 0
  #scheduled = false
  #held = 0

  constructor(options: StepQueueOptions = {}) {
    this.#options = options
  }

  /** Queues a step for one of the next turns, first in, first out. */
  push(step: () => void): void {
    this.#waiting.push(step)
    this.wake()
  }

  /** Resolves in one of the next turns. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.push(resolve))
  }

  /** Checks in the next turn whether there is work. */
  wake(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#run())
  }

  /** Prevents `onIdle` until the returned function is called, because outside work is under way. */
  hold(): () => void {
    this.#held++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#held--
      this.wake()
    }
  }

  #run(): void {
    const room = this.#options.backpressure?.()
    if (room) {
      const goOn = () => setImmediate(() => this.#run())
      room.then(goOn, goOn)
      return
    }
    this.#scheduled = false
    for (let left = stepsPerTurn; left > 0 && this.#next < this.#waiting.length; left--) this.#shift()()
    if (this.#next < this.#waiting.length) {
      this.#forgetDone()
      this.wake()
      return
    }
    const wasBusy = this.#next > 0
    this.#waiting = []
    this.#next = 0
    // Changes by the steps are seen in the next turn.
    if (wasBusy) this.wake()
    else if (this.#held === 0 && this.#options.onIdle?.()) this.wake()
  }

  /** Takes the next step and drops its reference at once, because a long old list would keep all done steps in memory. */
  #shift(): () => void {
    const step = this.#waiting[this.#next]!
    this.#waiting[this.#next++] = done
    return step
  }

  #forgetDone(): void {
    if (this.#next < 1024) return
    this.#waiting = this.#waiting.slice(this.#next)
    this.#next = 0
  }
}

function done(): void {}
