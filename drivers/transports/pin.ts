// A GPIO pin as drivers see it. `pin_onoff.ts` and `pin_gpiod.ts` open real ones, `expander.ts` those of I2C port expanders,
// `simulated_board.ts` those of a simulator.

import type { Clock } from '../../src/kit/clock.ts'

/**
 * Names a pin of this computer: by its Broadcom number on a Raspberry Pi's header, or by the label or name of a chip (`pinctrl-bcm2711`,
 * `gpiochip0`) and the line on it.
 */
export type GpioPlace = { bcm: number } | { chip: string; line: number }

/** How a pin is used. `active_low`: the active state is the low level. */
export type PinUse = {
  mode: 'in' | 'out'
  active_low: boolean
  /** An output has this state from the first moment it is driven; inactive when left out. */
  initial?: boolean
  /** For an input; left out, whatever the board gives it. */
  pull?: 'up' | 'down'
}

export interface Pin {
  /** Whether it is active. */
  read(): Promise<boolean>
  /** Sets an output. Where that takes a bus it takes its turn there. */
  write(active: boolean): Promise<void>
  /**
   * Sets an output before it returns, ahead of whatever waits: for a stop. The answer resolves once no earlier write can
   * come after it. Throws `stop_not_sent`.
   */
  writeNow(active: boolean): Promise<void>
  /** Calls at each change of an input that is noticed, until the answer is called. Changes that follow close on another may be missed. */
  onEdge(listen: (active: boolean) => void): () => void
  /** Lets go of it; the level stays where the back end leaves it, see there. */
  close(): Promise<void>
}

/** A back end opens pins: one for each way to reach them. */
export interface PinBackend {
  readonly name: 'onoff' | 'gpiod' | 'simulated'
  /**
   * Rejects with `disconnected` and says what to do when there is no such pin or it is in use, with `config` when it cannot switch
   * the pull resistor that was asked for, and only then. `lost` is called, once, when
   * the pin fails later.
   */
  open(place: GpioPlace, use: PinUse, lost: (reason: string) => void): Promise<Pin>
}

/** Whether a back end works on this computer. `reason` is a sentence. */
export type Probe = { name: PinBackend['name']; backend: PinBackend } | { name: PinBackend['name']; reason: string }

/** The chips with the pins of a Raspberry Pi's header, all models. */
export const headerChips: readonly string[] = ['pinctrl-bcm2835', 'pinctrl-bcm2711', 'pinctrl-rp1']

/** A pin's name in messages: `GPIO 17`, `line 3 of gpiochip1`. */
export function placeInWords(place: GpioPlace): string {
  return 'bcm' in place ? `GPIO ${place.bcm}` : `line ${place.line} of ${place.chip}`
}

/** How often a pin is looked at that cannot tell by itself. */
const poll_ms = 50

/** The edges of a pin that has to be asked; until the answer is called. One that does not answer has none. */
export function polled(clock: Clock, read: () => Promise<boolean>, listen: (active: boolean) => void): () => void {
  let last: boolean | undefined
  return readAgain({ clock, ms: poll_ms }, read, (now) => {
    const before = last
    last = now ?? before
    if (before !== undefined && last !== before) listen(last!)
  })
}

/** Reads a pin again and again until the answer is called. `see` gets each reading; undefined and the error where there is none. */
export function readAgain(
  { clock, ms }: { clock: Clock; ms: number },
  read: () => Promise<boolean>,
  see: (active: boolean | undefined, error?: unknown) => void,
): () => void {
  let ended = false
  let cancel = () => {}
  const look = async () => {
    const found = await read().then(
      (active) => ({ active, error: undefined }),
      (error: unknown) => ({ active: undefined, error }),
    )
    if (ended) return
    cancel = clock.after(ms, () => void look())
    see(found.active, found.error)
  }
  void look()
  return () => {
    ended = true
    cancel()
  }
}
