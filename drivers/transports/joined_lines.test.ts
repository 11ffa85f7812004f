import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { openBox } from '../../src/testing/drivers/box.ts'
import { networkLine } from '../attach.ts'
import { furtherOf } from './joined_lines.ts'
import type { Line } from './line.ts'

const tcp = { port: 1000, further: ['abort'] }

test('the connections of an instrument are open together, carry their own bytes, and are lost together', async (t) => {
  const heard: string[] = []
  let wake = () => {}
  const instrument = await openBox((bytes, connection) => {
    heard.push(`${connection} ${Buffer.from(bytes)}`)
    wake()
  }, 2)
  const line = networkLine({ tcp, serial: undefined }, { host: '127.0.0.1', port: instrument.port, clock: new VirtualClock() })
  t.teardown(async () => {
    await line.close()
    await instrument.close()
  })
  const further = furtherOf(line, 'abort')
  t.equal(line.isNetwork, true)
  t.match(line.advice, /its network cable, and that no other client is connected to it/)
  t.throws(() => furtherOf(line, 'other'), /no further connection other/)
  t.throws(() => further.write(Buffer.from('x')), { code: 'disconnected' })
  await line.open()

  const seen: string[] = []
  line.onWire((direction, bytes) => seen.push(`${direction} ${Buffer.from(bytes)}`))
  const hears = async (count: number) => {
    while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve))
  }
  line.write(Buffer.from('spin'))
  await hears(1)
  further.write(Buffer.from('abort'))
  await hears(2)
  const [first, second] = heard.map((words) => Number(words[0]))
  t.strictSame(
    heard.map((words) => words.slice(2)),
    ['spin', 'abort'],
  )
  t.not(first, second)
  t.equal(instrument.connections, 2)
  const answers = Promise.all([said(line), said(further)])
  instrument.send(Buffer.from('turns'), first)
  instrument.send(Buffer.from('stops'), second)
  t.same(await answers, ['turns', 'stops'])
  t.same(seen.slice(0, 2), ['to_device spin', 'to_device abort'])

  const lost = Promise.all([lossOf(line), lossOf(further)])
  instrument.reset()
  for (const reason of await lost) t.match(reason, /was disconnected/)
  t.same([line.state, further.state], ['lost', 'lost'])
  t.throws(() => further.write(Buffer.from('x')), { code: 'disconnected' })
  await line.open()
  t.same([line.state, further.state], ['open', 'open'])
  await line.close()
  t.same([line.state, further.state], ['closed', 'closed'])
})

test('an instrument that is not there, or a line that is closed while it is being opened, leaves no connection open', async (t) => {
  const instrument = await openBox(() => {}, 2)
  const line = networkLine({ tcp, serial: undefined }, { host: '127.0.0.1', port: instrument.port })
  await instrument.setFault('refuse')
  await t.rejects(line.open(), { code: 'disconnected', message: /refuses the connection; see its port/ })
  t.same([line.state, furtherOf(line, 'abort').state], ['closed', 'closed'])
  await instrument.mend()
  const opening = line.open()
  const closing = line.close()
  await t.rejects(opening, { code: 'disconnected', message: /was closed while it was being opened/ })
  await closing
  t.equal(line.state, 'closed')
  await instrument.close()
})

function said(line: Line): Promise<string> {
  return new Promise((resolve) => line.onBytes((bytes) => resolve(Buffer.from(bytes).toString())))
}

function lossOf(line: Line): Promise<string> {
  return new Promise((resolve) => line.onLost(resolve))
}
