import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { simulate } from './simulator.ts'

function instrument() {
  const clock = new VirtualClock()
  let said = ''
  const simulator = simulate({ clock, settings: { address: 'T' }, send: (bytes) => (said += Buffer.from(bytes).toString('latin1')) })
  const ask = async (text: string) => {
    said = ''
    simulator.receive(Buffer.from(text, 'latin1'))
    await clock.advance(100)
    return said
  }
  return { simulator, clock, ask }
}

test('after power-on each setting is refused until the fault register is read', async (t) => {
  const { ask } = instrument()
  t.equal(await ask('\x04T\x0200524=0604\x03\x0f'), 'T\x15')
  t.equal(await ask('\x04T00685\x05'), 'T\x0200685=0001\x03\x04')
  t.equal(await ask('\x04T\x0200524=0604\x03\x0f'), 'T\x06')
  t.ok((await ask('\x04T00524\x05')).startsWith('T\x0200524=0604\x03'))
})

test('another address, a wrong check character and an unknown parameter', async (t) => {
  const { ask } = instrument()
  await ask('\x04T00685\x05')
  t.equal(await ask('\x04A00634\x05'), '')
  t.equal(await ask('\x04T\x0200524=0604\x03\x0e'), 'T\x15')
  t.ok((await ask('\x04T00685\x05')).includes('=0008\x03'))
  t.equal(await ask('\x04T00999\x05'), 'T\x15')
  t.ok((await ask('\x04T00685\x05')).includes('=0020\x03'))
})

test('a check character that is an EOT ends its telegram', async (t) => {
  const { ask } = instrument()
  await ask('\x04T00685\x05')
  t.equal(await ask('\x04T\x0200601=0049\x03\x04'), 'T\x06')
  t.ok((await ask('\x04T00601\x05')).startsWith('T\x0200601=0049\x03'))
})
