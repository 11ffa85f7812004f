// PyLabRobot's own class for GenoGrinders drives our simulator.

import { byPyLabRobot } from '../../src/testing/pylabrobot.ts'
import { driver } from './driver.ts'

byPyLabRobot(
  'PyLabRobot sets the simulator up, moves its clamp, shakes, stops it and is refused by it',
  { driver, time_scale: 5, script: 'genogrinder/pylabrobot.test.py' },
  (t, printed, { world }) => {
    t.match(printed, {
      ...{ state: 'Standby', clamp: ['open', 'closed', 'open'], after: 'Run Complete', at_rest: 'Standby' },
      refused: 'Instrument did not set parameters',
    })
    t.match(world, { moving: false, clamp: 'Open' })
  },
)
