// A port expander on I2C, whose pins replace pins of this computer.

import type { Pin, PinUse } from '../transports/pin.ts'

export interface Expander {
  /**
   * Opens the pin `A0` to `B7` or `P0` to `P7`. Rejects with `no_reply` if the chip does not answer. `lost` is called when
   * a reset of the chip is detected, after which its pins have to be opened again.
   */
  open(name: string, use: PinUse, lost?: (reason: string) => void): Promise<Pin>
}
