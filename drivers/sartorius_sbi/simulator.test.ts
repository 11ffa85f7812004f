import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './settings.ts'
import { SimulatedBalance } from './simulator.ts'

const instrument = (chosen: object) => switchedOn((at) => new SimulatedBalance(at), v.parse(settings, chosen))

test('its lines have 16 or 22 characters, and no unit while it is not stable', async (t) => {
  for (const [line, ahead] of [
    ['16', ''],
    ['22', 'N     '],
  ] as const) {
    const { ask, simulator, clock } = instrument({ line, load_g: 12.5 })
    t.equal(await ask('\x1bP\r\n'), `${ahead}+  12.5000 g  \r\n`)
    t.equal((await ask('P\r\n')).length, Number(line), 'the escape is optional')
    simulator.pan.put(-5)
    const unstable = await ask('\x1bP\r\n')
    t.match(unstable, /^(N {5})?[+-] +\d+\.\d{4} {4}\r\n$/)
    t.equal(unstable.length, Number(line))
    simulator.pan.put(500)
    await clock.advance(5000)
    const high = await ask('\x1bP\r\n')
    t.equal(high.trim().replace(/^Stat +/, ''), 'High')
    t.equal(high.length, Number(line))
    simulator.pan.put(-500)
    await clock.advance(5000)
    t.match(await ask('\x1bP\r\n'), /Low/)
  }
})

test('it does what it is told when it is stable, and answers nothing to that', async (t) => {
  const { ask, simulator, clock } = instrument({ load_g: 100 })
  t.equal(await ask('\x1bV\r\n'), '')
  t.match(await ask('\x1bP\r\n'), /100\.0000 g/, 'too far from zero')
  t.equal(await ask('\x1bT\r\n'), '')
  t.match(await ask('\x1bP\r\n'), /\+ +0\.0000 g/)
  simulator.pan.put(110)
  await ask('\x1bU\r\n')
  t.match(await ask('\x1bP\r\n'), /\d {4}\r\n$/, 'it waits')
  t.match(await ask('', 3000), /^$/)
  t.match(await ask('\x1bP\r\n'), /\+ +0\.0\d{3} g/)
  t.ok(simulator.setFault('jam', true))
  await ask('\x1bT\r\n')
  simulator.powerOff()
  t.equal(clock.timers, 0)
  t.notOk(simulator.setFault('overtemperature', true))
})

test('it tells who it is, and passes over what it does not know', async (t) => {
  const { ask } = instrument({})
  t.equal(await ask('\x1bx1_\r\n\x1bx2_\r\n\x1bx3_\r\n\x1bDANCE\r\n'), 'ENTRIS224-1S\r\n00000000\r\n00-37-09\r\n')
})
