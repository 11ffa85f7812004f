// A GPIO pin for drivers. `pin_onoff.ts` and `pin_gpiod.ts` open real ones, `expander.ts` those of I2C port expanders,
// `simulated_board.ts` those of a simulator.

import type { Clock } from '../../src/kit/clock.ts'

/**
 * Names a pin of this computer: by its Broadcom number on a Raspberry Pi's header, or by the label or name of a chip (`pinctrl-bcm2711`,
 * `gpiochip0`) and the line on it.
 */
export type GpioPlace = { bcm: number } | { chip: string; line: number }

/** The use of a pin. `active_low`: the active state is the low level. */
export type PinUse = {
  mode: 'in' | 'out'
  active_low: boolean
  /** The first state of an output; by default inactive. */
  initial?: boolean
  /** The pull of an input; by default that of the board. */
  pull?: 'up' | 'down'
}

export interface Pin {
  /** Whether it is active. */
  read(): Promise<boolean>
  /** Sets an output. A pin on a bus waits for its turn. */
  write(active: boolean): Promise<void>
  /**
   * Sets an output before it returns, ahead of waiting writes, for a stop. The promise resolves when no earlier write can
   * follow. Throws `stop_not_sent`.
   */
  writeNow(active: boolean): Promise<void>
  /** Calls the listener at each noticed change of an input, until the returned function is called. Changes in quick succession may be missed. */
  onEdge(listen: (active: boolean) => void): () => void
  /** Closes the pin. The level afterwards depends on the back end. */
  close(): Promise<void>
}

/** A way to reach the pins of this computer. */
export interface PinBackend {
  readonly name: 'onoff' | 'gpiod' | 'simulated'
  /**
   * Opens a pin. Rejects with `disconnected` and the next step if there is no such pin or it is in use, with `config` only if it cannot set
   * the requested pull resistor. `lost` is called, once, when
   * the pin fails later.
   */
  open(place: GpioPlace, use: PinUse, lost: (reason: string) => void): Promise<Pin>
}

/** Whether a back end works on this computer. `reason` is a sentence. */
export type Probe = { name: PinBackend['name']; backend: PinBackend } | { name: PinBackend['name']; reason: string }

/** The chips of the header on all models of the Raspberry Pi. */
export const headerChips: readonly string[] = ['pinctrl-bcm2835', 'pinctrl-bcm2711', 'pinctrl-rp1']

/** A pin's name in messages: `GPIO 17`, `line 3 of gpiochip1`. */
export function placeInWords(place: GpioPlace): string {
  return 'bcm' in place ? `GPIO ${place.bcm}` : `line ${place.line} of ${place.chip}`
}

/** The polling interval of a pin without edge detection. */
const poll_ms = 50

/** Polls a pin and calls the listener at each change, until the returned function is called. A pin that does not answer has none. */
export function polled(clock: Clock, read: () => Promise<boolean>, listen: (active: boolean) => void): () => void {
  let last: boolean | undefined
  return readAgain({ clock, ms: poll_ms }, read, (now) => {
    const before = last
    last = now ?? before
    if (before !== undefined && last !== before) listen(last!)
  })
}

/** Polls a pin until the returned function is called. `see` gets each reading, or undefined and the error. */
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
