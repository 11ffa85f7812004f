// Makes a device with its link: a serial port or pins of this computer, or a simulation.

import type { Device, Link } from '../src/devices/device.ts'
import type { Clock } from '../src/kit/clock.ts'
import { type AnyDriver, isOnPins, type LineDriver, serialOf } from './driver.ts'
import { type Guard, guarded } from './guarded.ts'
import { guardedDevice } from './guarded_device.ts'
import { opened } from './own_operations.ts'
import { board, type Hardware } from './transports/board.ts'
import { joined } from './transports/joined_lines.ts'
import type { Line, OnWire, SerialSettings, TcpSettings } from './transports/line.ts'
import { serialPort } from './transports/serial_port.ts'
import { simulatedBoard } from './transports/simulated_board.ts'
import { simulatedLine } from './transports/simulated_line.ts'
import type { Breakable } from './transports/simulation.ts'
import { tcpLine } from './transports/tcp_line.ts'

export type Attached = { device: Device; link: Link & { onWire(watch: OnWire): void } }
/** A device whose driver is guarded. `fail` ends what it does, for an error of its driver that is found elsewhere. */
export type AttachedAndGuarded = Attached & { fail?(error: unknown): void }

/** The end of an instrument's line: at a serial port of this computer, or on the network, at a serial box or the instrument itself. */
export type LineTransport = { kind: 'serial'; path: string } | { kind: 'tcp'; host: string; port: number }
/** The line of a serial driver; for a driver on pins only the kind, since its settings name the pins. */
export type RealTransport = LineTransport | { kind: 'pins' }

type Attaching = {
  transport: RealTransport
  settings: unknown
  clock: Clock
  hardware: Hardware
  /** For a driver of the lab's own. */
  guard?: Guard | undefined
}

/** Makes the device without opening its link. `hardware` gives the pins and buses, shared by all devices. The transport fits the driver. */
export function attached(driver: AnyDriver, { transport, settings, clock, hardware, guard }: Attaching): AttachedAndGuarded {
  if (isOnPins(driver)) {
    const link = board(driver.plan(settings), hardware, clock)
    return { device: opened(driver, { board: link, clock, settings }), link }
  }
  if (transport.kind === 'pins') throw new Error('a driver on a line was given pins')
  const serial = serialOf(driver, settings)
  const link =
    transport.kind === 'tcp' ? networkLine({ ...driver, serial }, transport) : serialPort({ ...transport, serial: onPort(serial) })
  return onLine(driver, { link, clock, settings, guard })
}

type OnLine = { link: Line; clock: Clock; settings: unknown; guard: Guard | undefined }

/** Makes the device at the end of a line. */
function onLine(driver: LineDriver, { link, clock, settings, guard }: OnLine): AttachedAndGuarded {
  if (!guard) return { device: opened(driver, { line: link, clock, settings }), link }
  const { line, clock: time, enter, fail } = guarded(link, clock, guard)
  const wrap = (device: Device) => guardedDevice(device, enter)
  return { device: enter(() => opened(driver, { line, clock: time, settings }, wrap)), link: line, fail }
}

/** Makes the line of a driver on the network: all connections to the instrument itself, or the one to its serial box. */
export function networkLine(
  { serial, tcp }: { serial?: SerialSettings | undefined; tcp?: TcpSettings | undefined },
  place: { host: string; port: number; clock?: Clock },
): Line {
  if (!tcp) return tcpLine({ ...place, serial })
  const connection = () => tcpLine(place)
  const { further = [] } = tcp
  if (further.length === 0) return connection()
  return joined(connection(), Object.fromEntries(further.map((name) => [name, connection()])))
}

/** Returns the settings of the port. Throws for an instrument that has none: the configuration was checked. */
function onPort(serial: SerialSettings | undefined): SerialSettings {
  if (serial === undefined) throw new Error('a driver of an instrument on the network was given a serial port')
  return serial
}

/** Makes a simulated device. `clock` is the instrument's time, `wire` the real time. */
export function simulated(
  driver: AnyDriver,
  { settings, clock, wire, guard }: { settings: unknown; clock: Clock; wire: Clock; guard?: Guard | undefined },
): AttachedAndGuarded & { breakable: Breakable } {
  if (isOnPins(driver)) {
    const link = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(settings), settings, clock, wire })
    return { device: opened(driver, { board: link, clock, settings }), link, breakable: link }
  }
  const link = simulatedLine({ ...driver, serial: serialOf(driver, settings), settings, clock, wire })
  return { ...onLine(driver, { link, clock, settings, guard }), breakable: link }
}
