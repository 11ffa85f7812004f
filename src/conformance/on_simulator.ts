// A driver on its simulator, with a virtual clock.

import * as v from 'valibot'
import { type LineDriver, type PinsDriver, serialOf } from '../../drivers/driver.ts'
import { opened } from '../../drivers/own_operations.ts'
import { type SimulatedBoard, simulatedBoard } from '../../drivers/transports/simulated_board.ts'
import { type SimulatedLine, simulatedLine } from '../../drivers/transports/simulated_line.ts'
import type { Device } from '../devices/device.ts'
import { VirtualClock } from '../kit/clock.ts'

export type Bench = {
  device: Device
  line: SimulatedLine
  clock: VirtualClock
  /** All frames that the host wrote, as latin1 text. */
  written: string[]
  /** Advances the clock until the promise settles, and returns its result. */
  run<T>(promise: Promise<T>): Promise<T>
}

/** Connects the driver to its simulator. The line is open, and the instrument was just switched on. */
export async function onSimulator<Settings>(driver: LineDriver<Settings>, settings: unknown = {}): Promise<Bench> {
  const clock = new VirtualClock()
  const checked = v.parse(driver.settings, settings)
  const line = simulatedLine({ ...driver, serial: serialOf(driver, checked), settings: checked, clock, wire: clock })
  const device = opened(driver, { line, clock, settings: checked })
  const written: string[] = []
  line.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1'))
  })
  await line.open()
  return { device, line, clock, written, run: (promise) => clock.run(promise) }
}

export type PinsBench = Omit<Bench, 'line'> & { board: SimulatedBoard }

/** Connects a driver on pins to its simulator. The board is open, and nothing has been asked. */
export async function onPins<Settings>(driver: PinsDriver<Settings>, settings: unknown = {}): Promise<PinsBench> {
  const clock = new VirtualClock()
  const checked = v.parse(driver.settings, settings)
  const board = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(checked), settings: checked, clock, wire: clock })
  const device = opened(driver, { board, clock, settings: checked })
  const written: string[] = []
  board.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1'))
  })
  await clock.run(board.open())
  return { device, board, clock, written, run: (promise) => clock.run(promise) }
}

/** A signal for operations that nobody aborts. */
export const calm: AbortSignal = new AbortController().signal
