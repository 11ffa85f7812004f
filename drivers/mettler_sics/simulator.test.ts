import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './settings.ts'
import { SimulatedBalance } from './simulator.ts'

const instrument = (load_g: number) =>
  switchedOn((at) => new SimulatedBalance(at), v.parse(settings, { load_g }), { ending: '\r\n', ms: 200 })

test('a load settles and drifts', async (t) => {
  const { ask, simulator, clock } = instrument(0)
  t.equal(await ask('SI'), 'S S     0.0000 g\r\n')
  simulator.pan.put(50)
  t.match(await ask('SI'), /^S D +\d+\.\d{4} g\r\n$/)
  t.equal(await ask('S', 1000), '', 'it waits')
  t.match(await ask('', 2000), /^S S +(49\.9|50\.0)\d{3} g\r\n$/)
  await clock.advance(60_000)
  const before = simulator.pan.net
  await clock.advance(600_000)
  t.ok(simulator.pan.net > before && simulator.pan.net - before < 0.01, `${simulator.pan.net - before} g in ten minutes`)
})

test('it is tared and set to zero, at once or when stable', async (t) => {
  const { ask, simulator } = instrument(3)
  t.equal(await ask('T'), 'T S     3.0000 g\r\n')
  t.equal(await ask('TA'), 'TA A     3.0000 g\r\n')
  t.equal(await ask('SI'), 'S S     0.0000 g\r\n')
  t.equal(await ask('TAC'), 'TAC A\r\n')
  t.equal(await ask('Z'), 'Z A\r\n')
  t.equal(await ask('SI'), 'S S     0.0000 g\r\n')
  simulator.pan.put(5)
  t.match(await ask('TI'), /^TI D/)
  t.match(await ask('ZI'), /^ZI D/)
  simulator.pan.put(100)
  t.equal(await ask('ZI', 3000), 'ZI D\r\n', 'it is still near zero')
})

test('it says what is out of range, busy, or unknown', async (t) => {
  const { ask, simulator, clock } = instrument(221)
  t.equal(await ask('SI'), 'S +\r\n')
  t.equal(await ask('T'), 'T +\r\n')
  t.equal(await ask('Z'), 'Z +\r\n')
  simulator.pan.put(-30)
  await clock.advance(5000)
  t.equal(await ask('S'), 'S -\r\n')
  t.equal(await ask('T'), 'T -\r\n')
  t.equal(await ask('Z'), 'Z -\r\n')
  t.equal(await ask('dance'), 'ES\r\n')
  t.equal(await ask('S 5'), 'ES\r\n')
  t.ok(simulator.setFault('jam', true))
  t.equal(await ask('S'), '')
  t.equal(await ask('T'), 'T I\r\n', 'it does one thing at a time')
  t.equal(await ask('I4'), 'I4 A "0000000000"\r\n')
  t.equal(await ask('@'), 'I4 A "0000000000"\r\n')
  t.equal(await ask('', 60_000), '', 'what was cancelled is not answered')
  t.equal(await ask('S', 60_000), 'S I\r\n')
  t.notOk(simulator.setFault('overtemperature', true))
  await ask('S')
  simulator.powerOff()
  t.equal(clock.timers, 0)
})
