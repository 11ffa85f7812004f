import { test } from 'tap'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { simulate } from './simulator.ts'

const instrument = () => switchedOn(simulate, {}, { ending: '\r', ms: 20 })

test('it speeds up, runs, slows down and stands, and says which', async (t) => {
  const { ask, clock, simulator } = instrument()
  t.equal(await ask('Q'), 'STOP\r')
  t.equal(await ask('V1400'), '')
  t.equal(await ask('G'), '')
  t.equal(await ask('Q'), 'RAMP+\r')
  await clock.advance(2000)
  t.equal(await ask('Q'), 'RUN\r')
  t.equal(simulator.world.speed, 1400)
  await ask('S')
  t.equal(await ask('Q'), 'RAMP-\r')
  await clock.advance(2000)
  t.equal(await ask('Q'), 'STOP\r')
})

test('it finds home from rest only, and a start leaves it', async (t) => {
  const { ask, clock, simulator } = instrument()
  await ask('F')
  t.match(simulator.world, { moving: true, home: false })
  await clock.advance(3000)
  t.match(simulator.world, { moving: false, home: true })
  await ask('G')
  t.equal(await ask('F'), '?:\r')
  t.match(simulator.world, { moving: true, home: false })
})

test('it refuses what it does not know', async (t) => {
  const { ask, simulator } = instrument()
  for (const text of ['V59', 'V3571', 'A11', 'V', 'hello', '@1Q']) t.equal(await ask(text), '?:\r', text)
  t.equal(await ask('A7'), '')
  t.equal(simulator.world.acceleration, 7)
})
