// PyLabRobot's own class for the Cytomat drives our simulator: PYLABROBOT names a checkout of it.

import { byPyLabRobot } from '../../src/testing/pylabrobot.ts'
import { driver } from './driver.ts'

const settings = { model: 'Cytomat 2 C450 Shake' }

byPyLabRobot(
  'PyLabRobot sets the simulator up, stores and fetches a plate with it, shakes, and is refused by it',
  { driver, settings, time_scale: 20, plateAtStation: true, script: 'cytomat/pylabrobot.test.py' },
  (t, printed, simulator) => {
    const { temperature, ...rest } = printed as { temperature: number }
    t.ok(temperature >= 22 && temperature <= 37, 'a temperature')
    t.same(rest, {
      ...{ humidity: 95, co2: 5 },
      stored: [false, false, false, true],
      'nothing to store': 'CytomatTransferStationEmptyError',
      'no plate in the slot': 'CytomatNoMtpLoadedOnHandlerShovelError',
      fetched: [true, false, false],
      'station is taken': 'CytomatTransferStationOccupiedError',
      'no such slot': 'CytomatUnknownLocationError',
      ...{ gate: [true, false], waits: true, warning: 'NO_WARNING' },
    })
    t.same([simulator.places!.has('station'), simulator.places!.has(25)], [true, false])
  },
)
