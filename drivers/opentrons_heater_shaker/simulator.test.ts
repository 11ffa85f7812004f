import { test } from 'tap'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { simulate } from './simulator.ts'

const instrument = () => switchedOn(simulate, {}, { ending: '\n', ms: 20 })

test('it says what it is, how fast, how warm and where its latch is', async (t) => {
  const { ask } = instrument()
  t.equal(await ask('M115'), 'M115 FW:v0.0.0-simulated HW:simulated SerialNo:SIM-0001 OK\n')
  t.equal(await ask('M123'), 'M123 C:0 T:0 OK\n')
  t.equal(await ask('M105'), 'M105 C:22.00 T:None OK\n')
  t.equal(await ask('M241'), 'M241 STATUS:IDLE_UNKNOWN OK\n')
  t.match(await ask('M999'), /^ERR003:/)
})

test('it neither shakes nor goes home unless its latch is closed, and shakes only at speeds that it knows', async (t) => {
  const { ask } = instrument()
  t.match(await ask('M3 S500'), /^ERR126:main motor:plate lock not closed \(required\)/)
  t.match(await ask('G28'), /^ERR126:/)
  await ask('M243', 3000)
  t.match(await ask('M3 S100'), /^ERR120:/)
  t.match(await ask('M3 S3001'), /^ERR120:/)
  t.equal(await ask('M3 S500'), 'M3 OK\n')
})

test('the latch answers when it has arrived, and does not open while the table turns or is not at home', async (t) => {
  const { ask, clock, simulator } = instrument()
  t.equal(await ask('M243'), '')
  t.equal(await ask('M241'), 'M241 STATUS:CLOSING OK\n')
  await clock.advance(3000)
  t.equal(await ask('M241'), 'M241 STATUS:IDLE_CLOSED OK\n')
  await ask('M3 S500', 1000)
  t.match(await ask('M242'), /^ERR124:/)
  await ask('M3 S0', 2000)
  t.match(await ask('M242'), /^ERR123:/)
  t.equal(await ask('G28', 3000), 'G28 OK\n')
  t.equal(await ask('M242', 3000), 'M242 OK\n')
  t.match(simulator.world, { latch: 'IDLE_OPEN', moving: false })
})

test('what breaks is told unasked', async (t) => {
  const { ask, simulator, said, clock } = instrument()
  await ask('M243', 3000)
  await ask('M3 S500', 1000)
  said.length = 0
  simulator.setFault('jam', true)
  simulator.setFault('overtemperature', true)
  await clock.advance(20)
  t.same(said, ['async ERR111:main motor:unable to move OK\n', 'async ERR203:heater:thermistor a overtemp OK\n'])
  t.match(simulator.world, { moving: false, heating: false })
  for (const code of ['M123', 'M3 S0', 'G28']) t.match(await ask(code), /^ERR111:/, 'it keeps the error of its motor')
})

test('while it goes home it takes no other speed, and no temperature beyond 100 °C', async (t) => {
  const { ask, clock } = instrument()
  await ask('M243', 3000)
  await ask('G28')
  t.match(await ask('M3 S0'), /^ERR127:/)
  t.match(await ask('M123'), /^M123 C:200 /)
  await clock.advance(3000)
  t.equal(await ask('M3 S0'), 'M3 OK\n')
  t.match(await ask('M104 S150'), /^ERR213:/)
  t.equal(await ask('M104 S95'), 'M104 OK\n')
})
