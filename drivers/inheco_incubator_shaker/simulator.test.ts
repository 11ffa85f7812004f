import { test } from 'tap'
import * as v from 'valibot'
import { VirtualClock } from '../../src/kit/clock.ts'
import { settings } from './models.ts'
import { request } from './protocol.ts'
import { simulate } from './simulator.ts'

function switchedOn(chosen: object = {}) {
  const clock = new VirtualClock()
  const checked = v.parse(settings, chosen)
  const said: Buffer[] = []
  const simulator = simulate({ clock, settings: checked, send: (bytes) => said.push(Buffer.from(bytes)) })
  const hear = async (bytes: Uint8Array, ms = 20) => {
    said.length = 0
    simulator.receive(bytes)
    await clock.advance(ms)
    return Buffer.concat(said).toString('hex')
  }
  return { clock, simulator, hear, ask: (command: string, ms = 20) => hear(request(command, checked), ms) }
}

test('a reading is answered in blocks between headers, and an order by header, error and 60 alone', async (t) => {
  const { ask } = switchedOn()
  t.equal(await ask('RTS'), 'b231b22060')
  t.equal(await ask('RFV2'), 'b253494d2d30303031b22060')
  t.equal(await ask('RFV0'), 'b256302e302073696db2756c61746564b22060', 'two blocks')
  t.equal(await ask('SHE0'), 'b22060')
  t.equal(await ask('XYZ'), 'b22260')
})

test('nothing acts before AID', async (t) => {
  const { ask } = switchedOn()
  t.equal(await ask('REE'), 'b231b22060')
  t.equal(await ask('AOD'), 'b22760')
  t.equal(await ask('AID'), 'b22060')
  t.equal(await ask('REE'), 'b230b22060')
})

test('the drawer takes its time and answers when it has arrived', async (t) => {
  const { ask, simulator, clock } = switchedOn()
  await ask('AID')
  t.equal(await ask('AOD', 1000), '')
  t.match(simulator.world, { moving: true })
  await clock.advance(5000)
  t.match(simulator.world, { moving: false, drawer: 'open' })
  t.equal(await ask('RDS'), 'b231b22060')
  t.equal(await ask('ASEND'), 'b22d60', 'it does not shake with an open drawer')
})

test('what SSP sets is taken over only when it starts from rest', async (t) => {
  const { ask, simulator, clock } = switchedOn()
  await ask('AID')
  await ask('SSP20,20,100,100,90')
  await ask('ASEND')
  await clock.advance(5000)
  t.match(simulator.world, { speed: 600, amplitude_mm: 2 })
  await ask('SSP10,10,200,200,90')
  await ask('ASEND')
  await clock.advance(5000)
  t.match(simulator.world, { speed: 600, amplitude_mm: 2 })
  await ask('ASE0')
  t.equal(await ask('RSE'), 'b232b22060', 'it slows down')
  await clock.advance(5000)
  t.equal(await ask('RSE'), 'b230b22060')
  await ask('ASEND')
  await clock.advance(5000)
  t.match(simulator.world, { speed: 1200, amplitude_mm: 1 })
})

test('it refuses what is out of range, what is damaged, and hears neither for others nor noise', async (t) => {
  const { ask, hear } = switchedOn()
  await ask('AID')
  t.equal(await ask('SSP31,20,100,100,90'), 'b22360')
  t.equal(await ask('SSP20,20,100,100'), 'b22360')
  t.equal(await ask('STT900'), 'b22360')
  const damaged = Buffer.from(request('RTS', { dip: 2, unit: 0 }))
  damaged.writeUInt8(damaged.at(-1)! ^ 1, damaged.length - 1)
  t.equal(await hear(damaged), 'b22460')
  t.equal(await hear(request('RTS', { dip: 3, unit: 0 })), '')
  t.equal(await hear(request('RTS', { dip: 2, unit: 1 })), '')
  t.equal(await hear(Buffer.from([1, 2, 3, 0xff])), '')
  t.equal(await ask('RTS'), 'b231b22060')
})

test('what known hosts read out is answered, by a unit that has a shaker also about that', async (t) => {
  const { ask } = switchedOn()
  const any = ['RCM', 'RDM', 'RDC1', 'RDC2', 'RCD', 'RDA0,0', 'RDA0,1', 'RPC1', 'RPC2', 'RMT', 'RMT1', 'RDT']
  const shaker = ['RFX0', 'RFX1', 'RFY0', 'RFY1', 'RAX0', 'RAX1', 'RAX2', 'RAY0', 'RAY1', 'RAY2', 'RPS']
  for (const command of [...any, ...shaker]) t.match(await ask(command), /^b2.+b22060$/, command)
  await ask('SSP20,10,100,100,45')
  t.equal(await ask('RFX0'), `b2${Buffer.from('100').toString('hex')}b22060`)
  t.equal(await ask('RPS'), `b2${Buffer.from('45').toString('hex')}b22060`)
  const plain = switchedOn({ model: 'MP' })
  for (const command of any) t.match(await plain.ask(command), /^b2.+b22060$/, command)
  for (const command of shaker) t.equal(await plain.ask(command), 'b22260', command)
})
