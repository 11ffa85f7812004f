import { test } from 'tap'
import { balanceOn, balanceTests, weight } from '../../src/testing/drivers/balance.ts'
import { calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'
import type { Settings } from './settings.ts'

const bench = (chosen?: object) => balanceOn(driver, chosen)

for (const line of ['16', '22']) balanceTests((chosen) => bench({ ...chosen, line }), '\x1bP\r\n', ['\x1bT\r\n', '\x1bV\r\n'])

test('it tells who it is, and its port is that of the settings', async (t) => {
  const b = await onSimulator(driver)
  t.same(await b.run(b.device.identify()), { model: 'ENTRIS224-1S', serial_number: '00000000', firmware_version: '00-37-09' })
  t.same(b.written, ['\x1bP\r\n', '\x1bx1_\r\n', '\x1bx2_\r\n', '\x1bx3_\r\n'])
  t.match(driver.serialOf?.({ baud: 19_200, framing: '8N1' } as Settings), { baud: 19_200, parity: 'none' })
})

test('a value without a unit is not taken for grams', async (t) => {
  const b = await bench({ load_g: 0 })
  b.put(100)
  await t.rejects(weight(b), { code: 'interlock', message: /tells its unit only when it is stable; wait/ })
})

test('a tare or a zero that the balance did not do is told', async (t) => {
  const b = await bench({ load_g: 50, stable_s: 5 })
  await t.rejects(b.run(b.device.zero!({}, calm)), {
    code: 'interlock',
    message: /^it was told to set itself to zero, and still shows 50.* g; see its display/,
  })
  b.hand.hear((frame) => !frame.includes('T'))
  await t.rejects(b.run(b.device.tare!({}, calm)), { code: 'interlock', message: /told to tare, and still shows 50/ })
  b.hand.leave()
  b.line.setFault('jam')
  await t.rejects(b.run(b.device.tare!({}, calm)), { code: 'interlock', message: /^it was not stable within 5 s/ })
})

test('what it cannot weigh is told in words', async (t) => {
  const b = await bench()
  for (const [said, code, words] of [
    ['Stat     ERR 055', 'interlock', /overloaded/],
    ['Stat     ERR 054', 'interlock', /underloaded/],
    ['Stat     ERR 010', 'device_failed', /reports ERR 010 \(it cannot be tared, because an application/],
    ['Stat     ERR 099', 'device_failed', /ERR 099 \(its meaning is not known to benchd\)\. Look ERR 099 up/],
    ['Stat     SYS.ERR', 'device_failed', /reports SYS\.ERR \(its system data are damaged\); call the service/],
    ['Stat       OFF', 'device_failed', /^it is in standby; switch it on/],
    ['+      253 pcs', 'interlock', /^it weighs in pcs; set its unit to g/],
  ] as const) {
    b.hand.change((_, send) => send(Buffer.from(`${said}\r\n`)))
    await t.rejects(weight(b), { code, message: words }, said)
  }
  b.hand.change((_, send) => send(Buffer.from('Stat      Cal.\r\n')))
  await t.rejects(weight(b), { code: 'interlock', message: /busy/ })
})

test('after a stop nothing is tared any more, and the stop is confirmed at once', async (t) => {
  const b = await bench({ load_g: 50 })
  const taring = b.device.tare!({}, calm)
  taring.catch(() => {})
  b.written.length = 0
  await b.device.halt()
  await t.rejects(b.run(taring), { code: 'stopped' })
  await b.clock.advance(10_000)
  t.notOk(
    b.written.some((frame) => frame.includes('T')),
    b.written.join(),
  )
  t.equal(b.line.simulator.world.tare, 0)
  b.line.setFault('unplug')
  await t.resolves(b.device.halt())
})
