// Events in a steady flow, to try clients and to measure: through the hub, as the engine's own.

import type { Clock } from '../kit/clock.ts'
import type { Hub } from './hub.ts'

type Flow = {
  /** Events in a second. */
  rate: number
  seconds: number
  execution_id?: string | undefined
}

type Events = Pick<Hub, 'emit'> & { log: { readonly waiting: number } }

const tick_ms = 5
/** The number of events that are fired before others may have the event loop. */
const mostAtOnce = 64
/** No more are fired while so many wait for the card: the rate falls to what that takes. */
const mostWaiting = 20_000

/** A flow of events, one at a time; each event is `SIM.load.EMITTED` with a counter `n`, from 0, in its context. */
export class Load {
  readonly #hub: Events
  readonly #clock: Clock
  /** Goes up with each flow: what was planned for the one before is not done any more. */
  #turn = 0

  constructor(hub: Events, clock: Clock) {
    this.#hub = hub
    this.#clock = clock
  }

  /** Takes the place of the flow before. */
  start(flow: Flow): void {
    this.stop()
    this.#flow(flow, this.#turn, this.#clock.now(), 0)
  }

  stop(): void {
    this.#turn++
  }

  #flow(flow: Flow, turn: number, began: number, sent: number): void {
    if (turn !== this.#turn) return
    const { rate, seconds, execution_id } = flow
    const gone = Math.min(seconds, (this.#clock.now() - began) / 1000)
    const due = Math.floor(rate * gone)
    const room = Math.max(0, mostWaiting - this.#hub.log.waiting)
    const next = Math.min(due, sent + Math.min(mostAtOnce, room))
    for (let n = sent; n < next; n++) this.#hub.emit('SIM.load.EMITTED', { n }, execution_id)
    if (next < due && room > 0) setImmediate(() => this.#flow(flow, turn, began, next))
    else if (gone < seconds || next < due) this.#clock.after(tick_ms, () => this.#flow(flow, turn, began, next))
  }
}
