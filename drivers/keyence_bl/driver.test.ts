import { test } from 'tap'
import { tampered } from '../../src/conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

async function bench(chosen: object = {}): Promise<Bench> {
  const bench = await onSimulator(driver, chosen)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

const scan = ({ device, run }: Pick<Bench, 'device' | 'run'>) => run(device.scan!({}, calm))

test('it begins a scan, takes the code, and ends the scan', async (t) => {
  const b = await bench()
  t.same(await b.run(b.device.barcode!()), { barcode: null })
  t.same(await scan(b), { barcode: 'PLATE-0001' })
  t.same(await scan(b), { barcode: 'PLATE-0002' })
  t.same(b.written, ['LON\r', 'LOFF\r', 'LON\r', 'LOFF\r'])
  t.same(await b.run(b.device.barcode!()), { barcode: 'PLATE-0002' })
  t.same(await b.run(b.device.identify()), { model: 'BL', serial_number: null, firmware_version: null })
})

test('a scan that reads nothing fails in time, and what the reader says to its end is not the answer to the next one', async (t) => {
  const b = await bench({ timeout_s: 2, codes: ['', 'PLATE-9'] })
  await t.rejects(scan(b), { code: 'interlock', message: /^it read no code within 2 s; see that the code faces the reader/ })
  t.equal(b.line.simulator.world.laser, false)
  t.same(await scan(b), { barcode: 'PLATE-9' })
})

test('a reader that is not there is told from one that sees no code', async (t) => {
  const b = await bench({ timeout_s: 2 })
  b.line.setFault('no_reply')
  await t.rejects(scan(b), { code: 'no_reply', message: /see that it is switched on/ })
})

test('what it answers in place of a code is told in words', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  for (const [said, words] of [
    ['ERROR', /^it read no code; see/],
    ['NG', /^it cannot read now \(NG\); see that its lamp is on/],
    ['ERR99', /^it refused LON and reports ERR99 \(it could not carry the command out\)\. Switch it off and on/],
    ['ERR42', /ERR42 \(its meaning is not known to benchd\)\. Look ERR42 up in the manual of the BL reader/],
  ] as const) {
    hand.replace(/PLATE-\d+/, said)
    await t.rejects(scan({ device, run }), { code: said === 'ERROR' ? 'interlock' : 'device_failed', message: words }, said)
  }
  t.same(await run(device.barcode!()), { barcode: null }, 'none of these is a code')
})

test('a code that comes by itself is the newest, and no answer to a question', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run, clock } = await onSimulator(same)
  await run(device.initialize({}, calm))
  hand.say(Buffer.from('BY-HAND\r'))
  await clock.advance(100)
  t.same(await run(device.barcode!()), { barcode: 'BY-HAND' })
  t.same(await scan({ device, run }), { barcode: 'PLATE-0001' })
})

test('a motor that does not run is told at initialize', async (t) => {
  const b = await bench()
  b.line.setFault('jam')
  await t.rejects(scan(b), { code: 'device_failed', message: /cannot read now/ })
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'device_failed', message: /its motor does not run; see/ })
  b.line.clearFaults()
  await b.run(b.device.initialize({}, calm))
  t.same(await scan(b), { barcode: 'PLATE-0001' })
})

test('a stop switches the laser off, and is confirmed at once', async (t) => {
  const b = await bench({ codes: [''] })
  const scanning = b.device.scan!({}, calm)
  scanning.catch(() => {})
  await b.clock.advance(500)
  t.equal(b.line.simulator.world.laser, true)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['LOFF\r'])
  await halting
  await t.rejects(b.run(scanning), { code: 'stopped' })
  await b.clock.advance(500)
  t.equal(b.line.simulator.world.laser, false)
  t.same(b.written, ['LOFF\r'])
})
