import { test } from 'tap'
import { WireLog } from './wire_log.ts'

test('frames are kept in order, with their direction, hex and text', (t) => {
  let now = 1_000_000
  const wire = new WireLog(() => now)
  wire.note('to_device', Buffer.from('getShakeState\r'))
  now += 100
  wire.note('to_host', Buffer.from('3'))
  now += 5
  wire.note('to_host', Buffer.from('\r\n'))
  t.same(wire.frames(), [
    { at: 1000, direction: 'to_device', hex: '6765745368616b6553746174650d', text: 'getShakeState.' },
    { at: 1000.1, direction: 'to_host', hex: '330d0a', text: '3..' },
  ])
  t.end()
})

test('the last 200 are kept, and an answer without end is cut', (t) => {
  const wire = new WireLog(() => 0)
  for (let n = 0; n < 300; n++) wire.note('to_device', Buffer.from(String(n)))
  t.equal(wire.frames().length, 200)
  t.equal(wire.frames()[0]?.text, '100')
  for (let n = 0; n < 300; n++) wire.note('to_host', Buffer.alloc(100, 'x'))
  t.equal(wire.frames().at(-1)?.text.length, 1024)
  t.end()
})

test('what was said before a fault stays until that is cleared', (t) => {
  const wire = new WireLog(() => 0)
  wire.note('to_device', Buffer.from('a'))
  wire.keepForFault()
  wire.note('to_device', Buffer.from('b'))
  t.equal(wire.faultFrames?.length, 1)
  wire.forgetFault()
  t.equal(wire.faultFrames, null)
  t.end()
})
