import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './settings.ts'
import { simulate } from './simulator.ts'

const instrument = () => switchedOn(simulate, v.parse(settings, {}), { ending: '\r' })

test('a run locks, mixes for its time, and unlocks', async (t) => {
  const { ask, simulator, clock } = instrument()
  t.equal(await ask('*02,030,1200*'), 'Parameters Set\r')
  t.equal(await ask('*04*', 1000), 'Running Sample\r')
  t.equal(await ask('*01*', 2000), 'Locking\r')
  t.equal(await ask('*01*', 29_000), 'Mixing\r')
  t.ok(simulator.world.moving)
  t.equal(await ask('*03*', 1000), 'Mixing\r', 'it does one thing at a time')
  await clock.advance(2000)
  t.equal(await ask('*01*', 5000), 'Unlocking\r')
  t.equal(await ask('*01*'), 'Run Complete\r')
  t.notOk(simulator.world.moving)
})

test('homing and the clamp say when they are done', async (t) => {
  const { ask, simulator } = instrument()
  t.equal(await ask('*03*', 6000), 'Initializing\rInitialize Complete\r')
  t.equal(await ask('*10*', 6000), 'Home Complete\r')
  t.equal(await ask('*15*'), 'Clamp Open\r')
  t.equal(await ask('*12*', 1000), '')
  t.match(simulator.world, { moving: true, clamp: 'Moving' })
  t.equal(await ask('', 3000), 'Clamp Closed\r')
  t.equal(await ask('*11*', 4000), 'Clamp Open\r')
})

test('a stop is answered at once, while the table still turns', async (t) => {
  const { ask, simulator, clock } = instrument()
  await ask('*02,999,1200*')
  await ask('*04*', 10_000)
  t.equal(await ask('*06*'), 'Standby\r')
  t.equal(await ask('*01*'), 'Mixing\r')
  t.ok(simulator.world.moving)
  await clock.advance(5000)
  t.equal(await ask('*01*'), 'Standby\r')
  t.notOk(simulator.world.moving)
  await ask('*04*', 10_000)
  simulator.powerOff()
  t.equal(clock.timers, 0)
})

test('it refuses what is out of range, and a jam stops it until the error is cleared', async (t) => {
  const { ask, simulator } = instrument()
  for (const bad of ['*02,000,1000*', '*02,010,9999*', '*02,10,1000*', '*04*']) t.equal(await ask(bad), 'Invalid Parameters\r', bad)
  for (const unknown of ['*99*', 'DANCE', '*1*']) t.equal(await ask(unknown), '', unknown)
  await ask('*02,010,1000*')
  await ask('*04*', 5000)
  t.ok(simulator.setFault('jam', true))
  t.equal(await ask('*01*'), 'Motor Fault\r')
  t.equal(await ask('*05*'), 'Motor Fault\r')
  t.notOk(simulator.world.moving)
  simulator.setFault('jam', false)
  t.equal(await ask('*05*'), 'Standby\r')
  t.notOk(simulator.setFault('overtemperature', true))
})
