// The common parts of the tests of drivers on real lines: the operation that they disturb, and the speed of the instruments.

import * as v from 'valibot'
import { type LineDriver, serialOf } from '../../../drivers/driver.ts'
import { simulatedLine } from '../../../drivers/transports/simulated_line.ts'
import { type Name, tried } from '../../conformance/trials.ts'
import { VirtualClock } from '../../kit/clock.ts'

const usual = 20

/**
 * Returns how many times faster than real time the instrument runs. If it ran faster, the driver on a busy computer could not check in time whether it has
 * stopped. The drivers' gaps between frames and deadlines for answers stay in real time.
 */
export function paceOf({ trial }: Pick<LineDriver, 'trial'>): number {
  return trial?.pace ?? usual
}

/** Returns the operation that the tests halt and unplug on a real line. Virtual time covers all operations. */
export function operationOf(driver: LineDriver): Name {
  const clock = new VirtualClock()
  const settings = v.parse(driver.settings, {})
  const line = simulatedLine({ ...driver, serial: serialOf(driver, settings), settings, clock, wire: clock })
  const operation = tried(driver.open({ line, clock, settings }), driver.trial)
  line.simulator.powerOff()
  return operation
}
