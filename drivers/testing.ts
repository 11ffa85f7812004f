// A device on its simulator, on a clock that tests turn by hand.

import * as v from 'valibot'
import type { Device } from '../src/devices/device.ts'
import { VirtualClock } from '../src/kit/clock.ts'
import type { Driver, PinsDriver } from './driver.ts'
import { type SimulatedBoard, simulatedBoard } from './transports/simulated_board.ts'
import { type SimulatedLine, simulatedLine } from './transports/simulated_line.ts'

export type Bench = {
  device: Device
  line: SimulatedLine
  clock: VirtualClock
  /** All that the host wrote, frame by frame, as latin1 text. */
  written: string[]
  /** Lets the operation take the time it needs, and answers what it answers. */
  run<T>(promise: Promise<T>): Promise<T>
}

/** Puts the driver on its simulator. The line is open, the instrument just switched on. */
export async function onSimulator<Settings>(driver: Driver<Settings>, settings: unknown = {}): Promise<Bench> {
  const clock = new VirtualClock()
  const checked = v.parse(driver.settings, settings)
  const line = simulatedLine({ simulate: driver.simulate, settings: checked, serial: driver.serial, clock, wire: clock })
  const device = driver.open({ line, clock, settings: checked })
  const written: string[] = []
  line.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1'))
  })
  await line.open()
  return { device, line, clock, written, run: (promise) => clock.run(promise) }
}

export type PinsBench = Omit<Bench, 'line'> & { board: SimulatedBoard }

/** Puts a driver on pins on its simulation. The board is open, and nothing has been asked. */
export async function onPins<Settings>(driver: PinsDriver<Settings>, settings: unknown = {}): Promise<PinsBench> {
  const clock = new VirtualClock()
  const checked = v.parse(driver.settings, settings)
  const board = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(checked), settings: checked, clock, wire: clock })
  const device = driver.open({ board, clock, settings: checked })
  const written: string[] = []
  board.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1'))
  })
  await clock.run(board.open())
  return { device, board, clock, written, run: (promise) => clock.run(promise) }
}

/** For operations that nobody aborts. */
export const calm: AbortSignal = new AbortController().signal
