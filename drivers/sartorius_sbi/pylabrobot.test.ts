// PyLabRobot's own class for Sartorius balances weighs with our simulator.

import { byPyLabRobot } from '../../src/testing/pylabrobot.ts'
import { driver } from './driver.ts'

for (const line of ['16', '22'])
  byPyLabRobot(
    `PyLabRobot sets the simulator up, weighs with it, tares it and sets it to zero, in lines of ${line} characters`,
    { driver, settings: { load_g: 2.25, line }, script: 'sartorius_sbi/pylabrobot.test.py' },
    (t, printed) => {
      t.same(printed, { serial_number: '00000000', model: 'ENTRIS224-1S', weight: 2.25, tared: 0, zero: 0 })
    },
  )
