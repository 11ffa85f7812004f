// Threads go on one step at a time, a few in each turn of the event loop: so that a stop, a request and the log get their turns too.

/**
 * More in one turn costs the others: 16 make a run of 1,000 threads faster by a twentieth, and everybody else waits twice as long for the event loop. Four
 * make it slower by a sixth, for each turn has its own write to the log.
 */
const stepsPerTurn = 8

type StepQueueOptions = {
  /** Resolves when there is room for what the steps will emit; undefined while there is. */
  backpressure?(): Promise<unknown> | undefined
  /** Nothing is left to be done at this moment. Returns whether it made something to do. */
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

  /** Calls it in one of the next turns; first come, first served. */
  push(step: () => void): void {
    this.#waiting.push(step)
    this.wake()
  }

  /** Resolves in one of the next turns. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.push(resolve))
  }

  /** Looks in the next turn whether there is something to do. */
  wake(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#run())
  }

  /** Nothing is idle until the answer was called: something outside is under way. */
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
    // Changes that the steps have caused are seen in the next turn.
    if (wasBusy) this.wake()
    else if (this.#held === 0 && this.#options.onIdle?.()) this.wake()
  }

  /** Takes the next step and lets go of it at once: a long list that has grown old would keep all steps that are done. */
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
