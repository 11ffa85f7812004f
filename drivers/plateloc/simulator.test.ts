import { test } from 'tap'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { simulate } from './simulator.ts'

const instrument = () => switchedOn(simulate, {}, { ending: '\r', ms: 30 })

test('it refuses what is out of range, and what it does not know', async (t) => {
  const { ask } = instrument()
  t.equal(await ask('ST 0.235'), 'STAK\r')
  t.equal(await ask('ST 0.236'), 'STNK(Desired Temperature is Out of Range)\r')
  t.equal(await ask('ST 175'), 'STNK(Desired Temperature is Out of Range)\r')
  t.equal(await ask('SS 0.05'), 'SSAK\r')
  t.equal(await ask('SS 0.121'), 'SSNK(Desired Time is Out of Range)\r')
  t.equal(await ask('XX 00'), 'XXNK(Unknown Command)\r')
})

test('a cycle goes in, presses as long as was set, comes out, and is complete then', async (t) => {
  const { ask, clock, simulator } = instrument()
  await ask('SO 00')
  await clock.advance(4000)
  await ask('SS 0.50')
  t.equal(await ask('GO 00'), 'GOAK\r')
  t.equal(await ask('SO 00'), 'SONK(Busy)\r')
  await clock.advance(4000)
  t.match(simulator.world, { pressed: true, stage: 'in' })
  t.equal(await ask('CC 00'), 'CCNK\r')
  await clock.advance(7000)
  t.match(simulator.world, { pressed: false, seals: 1, stage: 'between' })
  await clock.advance(4000)
  t.equal(await ask('CC 00'), 'CCAK\r')
  t.match(simulator.world, { moving: false, stage: 'out' })
})

test('a cycle does not begin before the block has its temperature', async (t) => {
  const { ask, clock } = instrument()
  await ask('ST 0.100')
  t.equal(await ask('GO 00'), 'GONK(Not at Temperature)\r')
  await clock.advance(300_000)
  t.equal(await ask('GO 00'), 'GOAK\r')
})

test('an abort ends a cycle, and leaves a stage that was sent by itself', async (t) => {
  const { ask, clock, simulator } = instrument()
  await ask('GO 00')
  await ask('AC 00')
  t.match(simulator.world, { moving: false, pressed: false })
  await ask('SO 00')
  await ask('AC 00')
  t.equal(simulator.world.moving, true)
  await clock.advance(4000)
  t.match(simulator.world, { moving: false, stage: 'out' })
})
