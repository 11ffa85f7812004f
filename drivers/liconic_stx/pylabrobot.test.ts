// PyLabRobot's own class for the Liconic STX drives our simulator: PYLABROBOT names a checkout of it.

import { byPyLabRobot } from '../../src/testing/pylabrobot.ts'
import { driver } from './driver.ts'

const settings = { racks: [{ slots: 22 }, { slots: 10 }], shaker: true, speed_unit: '0.1 Hz' }

byPyLabRobot(
  'PyLabRobot sets the simulator up, stores and fetches a plate with it, sets its climate, and is refused by it',
  { driver, settings, time_scale: 20, plateAtStation: true, script: 'liconic_stx/pylabrobot.test.py' },
  (t, printed, simulator) => {
    const { temperature, ...rest } = printed as { temperature: number }
    t.ok(temperature >= 22 && temperature <= 37, 'a temperature')
    t.same(rest, {
      before: [true, false],
      stored: [false, false],
      written: ['00002', '00003', '01713', '00010'],
      fetched: [true, false],
      'station is taken': ['0', '1', '00013'],
      'its error': 'LiconicHandlerGeneralError',
      ...{ target: 30, humidity: 0.9, speed: 10 },
      unknown: ['LiconicControllerRelayError', 'LiconicControllerCommandError'],
    })
    t.same([simulator.places!.has('station'), simulator.places!.has(25)], [true, false])
  },
)
