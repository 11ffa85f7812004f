// Serves a driver's simulator to other programs: on a pseudo-terminal as a serial port, or on a TCP port.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import * as v from 'valibot'
import { type Clock, scaled, systemClock } from '../src/kit/clock.ts'
import type { Driver } from './driver.ts'
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
  driver: Driver<Settings>,
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

/** Serves the simulator on this port of 127.0.0.1, or on any free one for 0. One client is served at a time, as by most serial boxes. */
export async function serveOnTcp<Settings>(
  driver: Driver<Settings>,
  settings: unknown,
  { port, time_scale = 1, clock = systemClock }: { port: number; time_scale?: number; clock?: Clock },
): Promise<{ port: number; simulator: Simulator; close(): Promise<void> }> {
  let client: Socket | undefined
  const simulator = driver.simulate({
    clock: scaled(clock, time_scale),
    wire: clock,
    settings: v.parse(driver.settings, settings),
    send: (bytes) => client?.write(bytes),
  })
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined)
    if (client) {
      socket.end('Port already in use\r\n')
      return
    }
    client = socket
    socket.on('data', (bytes) => simulator.receive(bytes))
    socket.on('close', () => {
      client = undefined
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    simulator,
    async close() {
      simulator.powerOff()
      client?.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
