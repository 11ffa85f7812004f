import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './settings.ts'
import { simulate } from './simulator.ts'

const instrument = (chosen: object = {}) => switchedOn(simulate, v.parse(settings, chosen))

test('without a trigger the codes come by themselves, in turn', async (t) => {
  const { clock, simulator, said } = instrument({ codes: ['A', 'B'] })
  await clock.advance(12_500)
  t.same(said, ['A\r\n', 'B\r\n', 'A\r\n'])
  t.match(simulator.world, { moving: false, heating: false })
  simulator.powerOff()
  t.equal(clock.timers, 0)
})

test('with a trigger a code comes for each, in pieces of any size', async (t) => {
  const { clock, said, hear, simulator } = instrument({ trigger: 'LON\\r', release: 'LOFF\\r', no_read: 'NG', codes: ['A', ''] })
  await clock.advance(60_000)
  t.same(said, [])
  for (const letter of 'xxLON\r') hear(letter)
  t.equal(simulator.world.scanning, true)
  await clock.advance(500)
  t.same(said, ['A\r\n'])
  hear('LOFF\r')
  t.same(said, ['A\r\n'], 'a scan that is over is not ended')
  hear('LON\r')
  await clock.advance(5000)
  t.equal(said.length, 1, 'nothing is there to be read')
  hear('LOFF\r')
  t.same(said, ['A\r\n', 'NG\r\n'])
  t.equal(clock.timers, 0)
  t.notOk(simulator.setFault('jam', true))
})
