// Serves a driver's simulator to other programs: on a pseudo-terminal as a serial port, or on a TCP port.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import * as v from 'valibot'
import { type Clock, scaled, systemClock } from '../src/kit/clock.ts'
import type { LineDriver } from './driver.ts'
import { isLineFault, passThrough } from './transports/faults.ts'
import { openPty } from './transports/pty.ts'
import type { Fault } from './transports/simulated_line.ts'
import type { Simulator } from './transports/simulator.ts'

export type Served = {
  /** The path of the terminal. */
  readonly path: string
  readonly simulator: Simulator
  /** Simulates a fault. Returns false for a fault that this instrument cannot have. */
  setFault(fault: Fault): boolean
  /** Clears the faults. An unplugged instrument is plugged in again, at another path unless there is a link. */
  clearFaults(): Promise<void>
  /** Unplugs it and switches it off. */
  close(): Promise<void>
}

/**
 * `settings` are those of the driver, unchecked. `time_scale` is the speed of the instrument's time relative to `clock`; the
 * bytes are not delayed. The instrument accepts any baud rate, because it cannot know that of the port.
 */
export async function serveOnPty<Settings>(
  driver: LineDriver<Settings>,
  settings: unknown,
  options: { time_scale?: number; link?: string; clock?: Clock } = {},
): Promise<Served> {
  const { time_scale = 1, link, clock = systemClock } = options
  const checked = v.parse(driver.settings, settings)
  const faults = new Set<Fault>()
  const plug = () => openPty(link ? { link } : {})
  let pty = await plug()
  const simulator = driver.simulate({
    clock: scaled(clock, time_scale),
    wire: clock,
    settings: checked,
    send: (bytes) => passThrough(faults, bytes, clock, (passed) => pty.write(passed)),
  })
  pty.onBytes((bytes) => simulator.receive(bytes))

  return {
    simulator,
    get path() {
      return pty.path
    },
    setFault(fault) {
      if (fault === 'unplug') void pty.close()
      else if (!isLineFault(fault) && !simulator.setFault(fault, true)) return false
      faults.add(fault)
      return true
    },
    async clearFaults() {
      const present = [...faults]
      faults.clear()
      for (const fault of present) if (fault !== 'unplug' && !isLineFault(fault)) simulator.setFault(fault, false)
      if (!present.includes('unplug')) return
      pty = await plug()
      pty.onBytes((bytes) => simulator.receive(bytes))
    },
    async close() {
      simulator.powerOff()
      await pty.close()
    },
  }
}

type TcpOptions = { port: number; host?: string; time_scale?: number; clock?: Clock }

/**
 * Serves the simulator on this port, or on any free one for 0; of 127.0.0.1, unless another address is given. An instrument on the network serves as many clients at once as it
 * has connections, and a serial box one. A further client is told so and sent away.
 */
export async function serveOnTcp<Settings>(
  driver: LineDriver<Settings>,
  settings: unknown,
  { port, host = '127.0.0.1', time_scale = 1, clock = systemClock }: TcpOptions,
): Promise<{ port: number; simulator: Simulator; close(): Promise<void> }> {
  const most = 1 + (driver.tcp?.further?.length ?? 0)
  const clients = new Map<number, Socket>()
  const simulator = driver.simulate({
    clock: scaled(clock, time_scale),
    wire: clock,
    settings: v.parse(driver.settings, settings),
    send: (bytes, connection = 0) => clients.get(connection)?.write(bytes),
  })
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined)
    const connection = Array.from({ length: most }, (_, number) => number).find((number) => !clients.has(number))
    if (connection === undefined) {
      socket.end('Port already in use\r\n')
      return
    }
    clients.set(connection, socket)
    socket.on('data', (bytes) => simulator.receive(bytes, connection))
    socket.on('close', () => clients.delete(connection))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    simulator,
    async close() {
      simulator.powerOff()
      for (const socket of clients.values()) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
