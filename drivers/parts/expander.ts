// A port expander on I2C, whose pins can stand wherever a pin of this computer can.

import type { Pin, PinUse } from '../transports/pin.ts'

export interface Expander {
  /**
   * The pin of that name, `A0` to `B7` or `P0` to `P7`. Rejects with `no_reply` when the chip does not answer. `lost` is called when
   * it is found that the chip was reset: its pins have to be opened again.
   */
  open(name: string, use: PinUse, lost?: (reason: string) => void): Promise<Pin>
}
