import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './settings.ts'
import { simulate } from './simulator.ts'

const instrument = (codes: string[]) => switchedOn(simulate, v.parse(settings, { codes }), { ms: 1000 })

test('it reads on a trigger, in turn, and answers nothing to the trigger itself', async (t) => {
  const { ask, simulator } = instrument(['A', 'B'])
  t.equal(await ask('LON\r', 300), '')
  t.match(simulator.world, { moving: false, heating: false, laser: true })
  t.equal(await ask('', 300), 'A\r')
  t.equal(simulator.world.laser, false)
  t.equal(await ask('LON\r\n'), 'B\r')
  t.equal(await ask('LOFF\r'), '', 'nothing is left to end')
  t.equal(await ask('DANCE\r'), '')
})

test('without a code it looks on until it is told to end', async (t) => {
  const { ask, simulator, clock } = instrument([''])
  t.equal(await ask('LON\r', 60_000), '')
  t.equal(await ask('LOFF\r'), 'ERROR\r')
  await ask('LON\r')
  simulator.powerOff()
  t.equal(clock.timers, 0)
})

test('it tells its motor, and reads nothing without it', async (t) => {
  const { ask, simulator } = instrument(['A'])
  t.equal(await ask('RMOTOR\r'), 'MOTORON\r')
  t.ok(simulator.setFault('jam', true))
  t.equal(await ask('RMOTOR\r'), 'MOTOROFF\r')
  t.equal(await ask('LON\r'), 'NG\r')
  t.notOk(simulator.setFault('overtemperature', true))
})
