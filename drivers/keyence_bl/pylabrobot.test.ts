// PyLabRobot's own class for Keyence readers reads codes from our simulator.

import { byPyLabRobot } from '../../src/testing/pylabrobot.ts'
import { driver } from './driver.ts'

byPyLabRobot(
  'PyLabRobot sets the simulator up, reads codes from it, and ends a scan',
  { driver, settings: { codes: ['PLATE-A', 'PLATE-B', ''] }, script: 'keyence_bl/pylabrobot.test.py' },
  (t, printed, { world }) => {
    t.same(printed, { codes: ['PLATE-A', 'PLATE-B'], ended: 'ERROR' })
    t.match(world, { laser: false, seen: 3 })
  },
)
