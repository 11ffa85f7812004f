// PyLabRobot's own class for METTLER TOLEDO balances weighs with our simulator.

import { byPyLabRobot } from '../../src/testing/pylabrobot.ts'
import { driver } from './driver.ts'

byPyLabRobot(
  'PyLabRobot sets the simulator up, weighs with it, tares it, sets it to zero, and is refused by it',
  { driver, settings: { load_g: 2.25 }, script: 'mettler_sics/pylabrobot.test.py' },
  (t, printed) => {
    t.same(printed, {
      ...{ serial_number: '0000000000', immediately: 2.25, stable: 2.25, tared: 0, tare: 2.25, cleared: 2.25, zero: 0 },
      unknown: 'Syntax error',
    })
  },
)
