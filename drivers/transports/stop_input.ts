// A contact on a pin that stops all devices. Like STOP ALL, it is not a safety function.

import { LabError, messageOf } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Hardware } from './board.ts'
import type { Pin } from './pin.ts'
import type { ContactWiring } from './wiring.ts'

/**
 * Wire the contact so that a cut wire is active: to ground, opening when pressed, `active_low` false. If the back end cannot
 * switch the pull resistor on, add an external one.
 */
type StopInputPlace = ContactWiring

type StopInput = {
  /** Says why a press would not be noticed now; undefined if it would. */
  readonly trouble: string | undefined
  close(): Promise<void>
}

type Listener = {
  /** Called when the input is active, also at the start and after a failure. */
  pressed(): void
  /** Called once when the pin can no longer be read. */
  failed(reason: string): void
}

type Opens = Pick<Hardware, 'openPin'>

const again_ms = 2000
/** The polling interval, since an edge may be lost. */
const poll_ms = 100

/** Opens the pin, and retries until it can be opened. */
export function stopInput(place: StopInputPlace, hardware: Opens, clock: Clock, listener: Listener): StopInput {
  let trouble: string | undefined
  let held: Held | undefined
  let closing: Promise<void> = Promise.resolve()
  let closed = false
  let cancel = () => {}

  const letGo = () => {
    const last = held
    held = undefined
    if (last) closing = last.letGo()
    return closing
  }
  const fail = (reason: string) => {
    if (closed) return
    if (trouble === undefined) listener.failed(reason)
    trouble = reason
    void letGo()
    cancel()
    cancel = clock.after(again_ms, () => void open())
  }
  const open = async () => {
    await closing
    if (closed) return
    const mine = new Held(clock, listener.pressed, (reason) => held === mine && fail(reason))
    held = mine
    try {
      await mine.open(place, hardware)
      if (held === mine) trouble = undefined
    } catch (error) {
      mine.lost(messageOf(error))
    }
  }
  void open()

  return {
    get trouble() {
      return trouble
    },
    async close() {
      closed = true
      cancel()
      await letGo()
    },
  }
}

/** The pin from its opening to its loss. */
class Held {
  readonly #clock: Clock
  readonly #pressed: () => void
  readonly lost: (reason: string) => void
  #pin: Pin | undefined
  #opening: Promise<void> | undefined
  #active = false
  #ended = false
  #unwatch = () => {}
  #cancel = () => {}

  constructor(clock: Clock, pressed: () => void, lost: (reason: string) => void) {
    this.#clock = clock
    this.#pressed = pressed
    this.lost = lost
  }

  open(place: StopInputPlace, hardware: Opens): Promise<void> {
    this.#opening = this.#open(place, hardware)
    return this.#opening
  }

  async letGo(): Promise<void> {
    this.#ended = true
    this.#cancel()
    this.#unwatch()
    await this.#opening?.catch(() => undefined)
    await this.#pin?.close().catch(() => undefined)
  }

  async #open(place: StopInputPlace, hardware: Opens): Promise<void> {
    const pin = await contact(place, hardware, this.lost)
    this.#pin = pin
    if (this.#ended) return
    this.#unwatch = pin.onEdge((active) => this.#note(active))
    await this.#look(pin)
  }

  async #look(pin: Pin): Promise<void> {
    this.#note(await pin.read())
    if (this.#ended) return
    this.#cancel = this.#clock.after(poll_ms, () => {
      this.#look(pin).catch((error) => this.lost(messageOf(error)))
    })
  }

  #note(active: boolean): void {
    if (this.#ended) return
    const isNew = active && !this.#active
    this.#active = active
    if (isNew) this.#pressed()
  }
}

/** Opens the contact with a pull-up, or without one if the back end rejects that with `config`. */
async function contact({ active_low, ...place }: StopInputPlace, hardware: Opens, lost: (reason: string) => void): Promise<Pin> {
  const use = { mode: 'in', active_low } as const
  try {
    return await hardware.openPin(place, { ...use, pull: 'up' }, lost)
  } catch (error) {
    if (!(error instanceof LabError) || error.code !== 'config') throw error
    return hardware.openPin(place, use, lost)
  }
}
