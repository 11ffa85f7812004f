import { test } from 'tap'
import { balanceOn, balanceTests, weigh, weight } from '../../src/testing/drivers/balance.ts'
import { calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

const bench = (chosen?: object) => balanceOn(driver, chosen)

balanceTests(bench, 'SI\r\n', ['T\r\n', 'Z\r\n'])

test('it tells who it is, and is woken and cancelled at initialize', async (t) => {
  const b = await onSimulator(driver)
  const identity = { model: 'XS204 Simulated', serial_number: '0000000000', firmware_version: '5.00 11.28.0.493.142' }
  t.same(await b.run(b.device.identify()), identity)
  t.notOk(b.written.includes('@\r\n'), 'a question changes nothing')
  t.same(await b.run(b.device.initialize({}, calm)), { identity })
  t.ok(b.written.includes('@\r\n'))
})

test('a tare or a zero that it cannot do now is told in words, and is no fault', async (t) => {
  const b = await bench({ load_g: 100 })
  await t.rejects(b.run(b.device.zero!({}, calm)), {
    code: 'interlock',
    message: /^it cannot be set to zero: there is too much on it; see/,
  })
  b.put(-30)
  await b.clock.advance(5000)
  await t.rejects(b.run(b.device.tare!({}, calm)), { code: 'interlock', message: /cannot be tared: its value is below zero/ })
  b.put(0)
  b.line.setFault('jam')
  await t.rejects(b.run(b.device.tare!({}, calm)), { code: 'interlock', message: /busy or was not stable in time/ })
})

test('other units of mass are converted, and what is none is refused', async (t) => {
  const b = await bench()
  for (const [said, grams] of [
    ['S S      1.500 kg', 1500],
    ['S S     12.500 mg', 0.0125],
    ['S S    -250.00 µg', -0.00025],
    ['S S      2.000 ct', 0.4],
    ['S S      1.000 oz', 28.349523125],
  ] as const) {
    b.hand.change((_, send) => send(Buffer.from(`${said}\r\n`, 'latin1')))
    t.same(await weight(b), { weight: grams, stable: true }, said)
  }
  b.hand.change((_, send) => send(Buffer.from('S S        253 PCS\r\n')))
  await t.rejects(weigh(b), { code: 'interlock', message: /^it weighs in PCS; set its unit to g/ })
})

test('each refusal and each fault is told in words', async (t) => {
  const b = await bench()
  for (const [said, words] of [
    ['ES', /does not know the command SI \(ES\); see that its interface is set to MT-SICS/],
    ['ET', /received the command SI with errors \(ET\); see that baud/],
    ['EL', /cannot carry out the command SI \(EL\); see its display/],
    ['S L', /refused the command SI as not allowed/],
    ['S S Error 10b', /reports error 10 \(its memory of settings has failed\)\. Call the service/],
    ['S S Error 77t', /error 77 \(its meaning is not known to benchd\)/],
    ['S ?', /answered|no reply/],
  ] as const) {
    b.hand.change((_, send) => send(Buffer.from(`${said}\r\n`)))
    await t.rejects(weight(b), { message: words }, said)
    b.hand.leave()
    await b.run(b.device.check())
  }
  b.hand.replace(/S D|S S/, 'S I')
  await t.rejects(weight(b), { code: 'interlock', message: /^it is busy; wait/ })
})

test('a stop cancels a tare that waits, without waiting for an answer', async (t) => {
  const b = await bench()
  b.line.setFault('jam')
  const taring = b.device.tare!({}, calm)
  taring.catch(() => {})
  await b.clock.advance(5000)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['@\r\n'])
  await halting
  await t.rejects(b.run(taring), { code: 'stopped' })
  b.line.clearFaults()
  await b.clock.advance(60_000)
  t.equal(b.line.simulator.world.tare, 0, 'it is not tared later')
  b.line.setFault('unplug')
  await t.resolves(b.device.halt())
})
