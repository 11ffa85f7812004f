import { test } from 'tap'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { simulate } from './simulator.ts'

const instrument = () => switchedOn(simulate, {}, { ending: '\r\n', ms: 20 })

test('each line is acknowledged by two ok, behind the values that it asks for', async (t) => {
  const { ask } = instrument()
  t.equal(await ask('M115'), 'serial:SIM-0001 model:temp_deck_v20 version:v0.0.0-simulated\r\nok\r\nok\r\n')
  t.equal(await ask('M105'), 'T:none C:22.000\r\nok\r\nok\r\n')
  t.equal(await ask('M104 S37.5'), 'ok\r\nok\r\n')
  t.match(await ask('M105'), /^T:37.500 C:22\.\d{3}\r\nok\r\nok\r\n$/)
  t.equal(await ask('M999'), 'ok\r\nok\r\n', 'what it does not know it skips')
  t.match(await ask('M18 M105'), /^T:none C:22\.\d{3}\r\nok\r\nok\r\n$/, 'codes of one line are done in their order')
})

test('it replaces a target outside of its range, cools below the room, and forgets all without power', async (t) => {
  const { ask, clock, simulator } = instrument()
  t.match(await ask('M104 S150'), /^Target temperature too high.*\r\nok\r\nok\r\n$/)
  t.match(await ask('M105'), /^T:99.000 /)
  await ask('M104 S4')
  await clock.advance(3_600_000)
  t.match(await ask('M105'), /^T:4.000 C:4.000/)
  simulator.powerOff()
  t.match(await ask('M105'), /^T:none /)
})

test('an overheated module says so every two seconds, and takes no target', async (t) => {
  const { ask, clock, simulator, said } = instrument()
  simulator.setFault('overtemperature', true)
  await clock.advance(4100)
  t.same(said, Array(3).fill('Temperature module overheated! Deactivating.\r\n'))
  await ask('M104 S60')
  t.match(await ask('M105'), /^T:none C:102.000/)
  simulator.powerOff()
})
