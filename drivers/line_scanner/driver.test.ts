import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import { oneDevice } from '../../src/testing/devices.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { serialOf } from '../driver.ts'
import { driver } from './driver.ts'
import { settings } from './settings.ts'

const onTrigger = { trigger: String.raw`\x16T\r`, release: String.raw`\x16U\r` }

async function bench(chosen: object = {}): Promise<Bench> {
  const bench = await onSimulator(driver, chosen)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

const scan = ({ device, run }: Bench) => run(device.scan!({}, calm))
const last = ({ device, run }: Bench) => run(device.barcode!())

test('it moves and heats nothing, and its port is that of the settings', (t) => {
  const chosen = v.parse(settings, { baud: 115_200, framing: '7E1' })
  t.match(driver.profile(chosen), { limits: {}, features: { motionless: true } })
  t.same(serialOf(driver, chosen), { baud: 115_200, data_bits: 7, parity: 'even', stop_bits: 1 })
  t.same(serialOf(driver, v.parse(settings, {})), { baud: 9600, data_bits: 8, parity: 'none', stop_bits: 1 })
  t.throws(() => v.parse(settings, { trigger: String.raw`\q` }), /must be text with the escapes/)
  t.throws(() => v.parse(settings, { baud: 9601 }))
  t.end()
})

test('without a trigger a scan waits for the code that comes next, and writes nothing', async (t) => {
  const b = await bench()
  t.same(await last(b), { barcode: null })
  t.same(await scan(b), { barcode: 'PLATE-0001' })
  t.same(await last(b), { barcode: 'PLATE-0001' })
  await b.clock.advance(4500)
  t.same(await last(b), { barcode: 'PLATE-0002' }, 'a code that comes by itself counts')
  t.same(await scan(b), { barcode: 'PLATE-0003' }, 'and is not the answer to a later scan')
  t.same(b.written, [])
  b.line.simulator.powerOff()
})

test('with a trigger it scans on demand, and ends the scan', async (t) => {
  const b = await bench(onTrigger)
  await b.clock.advance(60_000)
  t.same(await last(b), { barcode: null })
  t.same(await scan(b), { barcode: 'PLATE-0001' })
  t.same(await scan(b), { barcode: 'PLATE-0002' })
  t.same(b.written, ['\x16T\r', '\x16U\r', '\x16T\r', '\x16U\r'])
})

test('a scan that reads nothing fails in time, ends the scan, and the next one works', async (t) => {
  const b = await bench({ ...onTrigger, timeout_s: 3, codes: ['', 'PLATE-9'] })
  const began = b.clock.now()
  await t.rejects(scan(b), { code: 'device_failed', message: /^it read no code within 3 s; see that the code faces the scanner/ })
  t.ok(b.clock.now() - began < 3500)
  t.same([...new Set(b.written)], ['\x16T\r', '\x16U\r'])
  t.same(await last(b), { barcode: null })
  t.same(await scan(b), { barcode: 'PLATE-9' })
})

test('what a scanner says at the end of a scan in vain is not taken for the answer to the next one', async (t) => {
  const b = await bench({ ...onTrigger, timeout_s: 2, no_read: 'NR', codes: ['', 'PLATE-9'] })
  await t.rejects(scan(b), { code: 'interlock' })
  t.same(await scan(b), { barcode: 'PLATE-9' })
})

test('a scanner that says that it read nothing ends the scan at once', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run, clock } = await onSimulator(same, { ...onTrigger, no_read: 'NR', codes: [''] })
  const scanning = device.scan!({}, calm)
  scanning.catch(() => {})
  await clock.advance(500)
  hand.say(Buffer.from('NR\r\n'))
  await t.rejects(run(scanning), { code: 'interlock', message: /^it read no code; see/ })
  t.ok(clock.now() < 1000)
  t.same(await run(device.barcode!()), { barcode: null })
})

test('the rest of a code that broke off is no part of the next one', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run, clock, line } = await onSimulator(same, onTrigger)
  hand.say(Buffer.from('PLATE-00'))
  await clock.advance(1500)
  t.same(await run(device.scan!({}, calm)), { barcode: 'PLATE-0001' })
  hand.say(Buffer.from('PLATE-00'))
  await clock.advance(100)
  line.setFault('unplug')
  line.clearFaults()
  await line.open()
  t.same(await run(device.scan!({}, calm)), { barcode: 'PLATE-0002' })
})

test('bytes of another speed are no code, and the sentence says so', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run, clock } = await onSimulator(same, { ...onTrigger, codes: [''] })
  for (const [bytes, words] of [
    [Buffer.from([0x50, 0xd0, 0xfe, 0x0d]), /no text; see that baud and framing/],
    [new Uint8Array(5000).fill(0x78), /more than 4 KiB without a suffix; see that suffix/],
  ] as const) {
    const scanning = device.scan!({}, calm)
    scanning.catch(() => {})
    await clock.advance(100)
    hand.say(bytes)
    await clock.advance(6000)
    await t.rejects(run(scanning), { code: 'device_failed', message: words })
  }
  const waiting = device.scan!({}, calm)
  waiting.catch(() => {})
  await clock.advance(9500)
  hand.say(Buffer.from('PLATE-7'))
  await clock.advance(1000)
  await t.rejects(run(waiting), { message: /sent something that the suffix of its settings does not end/ })
})

test('prefix and suffix of the settings are no part of a code', async (t) => {
  const b = await bench({ ...onTrigger, prefix: String.raw`\x02A:`, suffix: String.raw`\x03`, codes: ['A:1', 'B\r\n2'] })
  t.same(await scan(b), { barcode: 'A:1' })
  await t.rejects(scan(b), { message: /no text/ }, 'a control character inside')
})

test('a stop ends the scan, and is confirmed without a port too', async (t) => {
  const b = await bench({ ...onTrigger, codes: [''] })
  const scanning = b.device.scan!({}, calm)
  scanning.catch(() => {})
  await b.clock.advance(500)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['\x16U\r'])
  await b.run(halting)
  await t.rejects(scanning, { code: 'stopped' })
  b.line.setFault('unplug')
  await t.resolves(b.run(b.device.halt()))
  await t.rejects(b.run(b.device.check()), { code: 'disconnected', message: /see its cable/ })
  await t.rejects(scan(b), { code: 'disconnected' })
  await b.clock.advance(1000)
  t.equal(b.clock.timers, 0)
})

test('it says nothing about itself', async (t) => {
  const b = await bench(onTrigger)
  t.equal(await b.run(b.device.identify()), null)
  await b.run(b.device.check())
  t.same(b.written, [])
})

test('its silence means nothing, since it cannot be asked', async (t) => {
  const { clock, instrument, start, perform } = await oneDevice(t, driver)
  await start()
  await perform('initialize', {})
  await clock.advance(60_000)
  t.match(instrument.info(), { state: 'ready', heard_at: null })
})
