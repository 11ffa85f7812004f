// What a driver on pins gets instead of a line: the pins and parts of its plan, by name, opened and closed as one.

import type { Link } from '../../src/devices/device.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { I2cBus, I2cDevice } from './i2c.ts'
import type { OnWire } from './line.ts'
import type { GpioPlace, Pin, PinUse } from './pin.ts'

/** `open` rejects with `disconnected` and names the pin or bus that cannot be had. Parts that do not answer are the driver's to notice. */
export interface Board extends Link {
  /** Runs at the speed of the wires, which no simulation makes faster. */
  readonly clock: Clock
  /** The pin of that name in the plan, which need not be open yet: then its methods reject with `disconnected`. */
  pin(name: string): Pin
  part(name: string): I2cDevice
  /** Whether the plan has a pin or a part of that name. */
  has(name: string): boolean
  /** Sees all that passes: `enable = 1`, `i2c 1 0x60 00 00` to the device, what was read to the host. */
  onWire(watch: OnWire): void
}

/** Where pins and buses come from: this computer, or a simulation. One for all boards: a bus is one bus, whoever uses it. */
export interface Hardware {
  openPin(place: GpioPlace, use: PinUse, lost: (reason: string) => void): Promise<Pin>
  /** The same object for the same number. */
  bus(number: number): I2cBus
}
