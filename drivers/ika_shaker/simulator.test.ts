import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './models.ts'
import { simulate } from './simulator.ts'

const instrument = (chosen: object = {}) => switchedOn(simulate, v.parse(settings, chosen), { ending: '\r\n', ms: 50 })

test('it answers what it is asked with the value and the channel, and says nothing to what it is told', async (t) => {
  const { ask } = instrument()
  t.equal(await ask('IN_NAME'), 'MATRIX ORBITAL \r\n')
  t.equal(await ask('OUT_SP_4 500'), '')
  t.equal(await ask('IN_SP_4'), '500.0 4 \r\n')
  t.equal(await ask('START_4'), '')
  t.equal(await ask('STATUS_4'), '')
  t.equal(await ask('IN_PV_2'), '22.0 2 \r\n')
})

test('it speeds up, slows down, and RESET switches all off', async (t) => {
  const { ask, clock, simulator } = instrument()
  await ask('OUT_SP_4 600')
  await ask('START_4')
  await clock.advance(2000)
  t.equal(await ask('IN_PV_4'), '600.0 4 \r\n')
  await ask('OUT_SP_2 37.5')
  await ask('START_2')
  t.match(simulator.world, { moving: true, heating: true })
  await ask('RESET')
  await clock.advance(2000)
  t.match(simulator.world, { moving: false, heating: false })
})

test('it takes no set point outside its range', async (t) => {
  const { ask } = instrument({ model: 'KS 260 control' })
  await ask('OUT_SP_4 501')
  await ask('OUT_SP_4 x')
  t.equal(await ask('IN_SP_4'), '10.0 4 \r\n')
  t.equal(await ask('IN_PV_2'), '', 'it does not heat')
})

test('its watchdog echoes its value and stops it unless it is armed again, whatever else is said', async (t) => {
  const { ask, clock, simulator } = instrument()
  await ask('OUT_SP_4 600')
  t.equal(await ask('OUT_WD1@60'), '60 \r\n')
  t.equal(await ask('OUT_WD1@5'), '')
  await ask('START_4')
  await clock.advance(55_000)
  await ask('OUT_WD1@60')
  await clock.advance(55_000)
  await ask('IN_PV_4')
  t.match(simulator.world, { moving: true, tripped: false })
  await clock.advance(7000)
  t.match(simulator.world, { moving: false, tripped: true })
  await ask('START_4')
  t.notOk(simulator.world.moving, 'it waits for RESET')
  await ask('RESET')
  await ask('START_4')
  t.ok(simulator.world.moving)
  simulator.powerOff()
})

test('a KS tells its version to IN_SOFTWARE, a MATRIX to IN_VERSION', async (t) => {
  const matrix = instrument()
  t.equal(await matrix.ask('IN_VERSION'), 'V0.0 simulated \r\n')
  t.equal(await matrix.ask('IN_SOFTWARE'), '')
  const ks = instrument({ model: 'KS 4000 i control' })
  t.equal(await ks.ask('IN_SOFTWARE'), 'V0.0 simulated \r\n')
  t.equal(await ks.ask('IN_VERSION'), '')
})
