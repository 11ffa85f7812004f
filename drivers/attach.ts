// A device on what it hangs on: a serial port or pins of this computer, or its simulation.

import type { Device, Link } from '../src/devices/device.ts'
import type { Clock } from '../src/kit/clock.ts'
import { type AnyDriver, isOnPins } from './driver.ts'
import { board, type Hardware } from './transports/board.ts'
import type { OnWire } from './transports/line.ts'
import { serialPort } from './transports/serial_port.ts'
import { simulatedBoard } from './transports/simulated_board.ts'
import { simulatedLine } from './transports/simulated_line.ts'
import type { Breakable } from './transports/simulation.ts'
import { tcpLine } from './transports/tcp_line.ts'

export type Attached = { device: Device; link: Link & { onWire(watch: OnWire): void } }

/** The end of an instrument's line: at a serial port of this computer, or at a box on the network that has one. */
export type LineTransport = { kind: 'serial'; path: string } | { kind: 'tcp'; host: string; port: number }
/** A line for a driver on one, nothing but its name for one on pins: the settings say which. */
export type RealTransport = LineTransport | { kind: 'pins' }

/** Opens nothing yet. `hardware` gives the pins and buses, one for all devices. The transport is of the driver's kind. */
export function attached(
  driver: AnyDriver,
  { transport, settings, clock, hardware }: { transport: RealTransport; settings: unknown; clock: Clock; hardware: Hardware },
): Attached {
  if (isOnPins(driver)) {
    const link = board(driver.plan(settings), hardware, clock)
    return { device: driver.open({ board: link, clock, settings }), link }
  }
  if (transport.kind === 'pins') throw new Error('a driver on a line was given pins')
  const link =
    transport.kind === 'tcp' ? tcpLine({ ...transport, serial: driver.serial }) : serialPort({ ...transport, serial: driver.serial })
  return { device: driver.open({ line: link, clock, settings }), link }
}

/** `clock` is the instrument's time, `wire` ours. */
export function simulated(
  driver: AnyDriver,
  { settings, clock, wire }: { settings: unknown; clock: Clock; wire: Clock },
): Attached & { breakable: Breakable } {
  if (isOnPins(driver)) {
    const link = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(settings), settings, clock, wire })
    return { device: driver.open({ board: link, clock, settings }), link, breakable: link }
  }
  const link = simulatedLine({ simulate: driver.simulate, settings, serial: driver.serial, clock, wire })
  return { device: driver.open({ line: link, clock, settings }), link, breakable: link }
}
