import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { simulate } from './simulator.ts'

function switchedOn() {
  const clock = new VirtualClock()
  const said: string[] = []
  const simulator = simulate({ clock, settings: {}, send: (bytes) => said.push(Buffer.from(bytes).toString('latin1')) })
  /** What it says within so long. */
  const ask = async (text: string, ms = 100) => {
    said.length = 0
    simulator.receive(Buffer.from(`${text}\r\n`))
    await clock.advance(ms)
    return said.join('')
  }
  return { clock, simulator, ask }
}

test('a motion is acknowledged at once and answered again when it is done', async (t) => {
  const { ask, simulator, clock } = switchedOn()
  t.equal(await ask('*xpeel:41'), '*ack\r\n')
  t.equal(simulator.world.moving, true)
  t.equal(await ask('', 18_300), '')
  await clock.advance(300)
  t.match(simulator.world, { moving: false, peels: 1 })
})

test('codes stay until the next motion', async (t) => {
  const { ask, simulator } = switchedOn()
  simulator.setFault('jam', true)
  t.equal(await ask('*movein', 2000), '*ack\r\n*ready:01,00,00\r\n')
  simulator.setFault('jam', false)
  t.equal(await ask('*stat'), '*ready:01,00,00\r\n')
  t.equal(await ask('*reset', 7000), '*ack\r\n*ready:00,00,00\r\n')
  t.equal(await ask('*stat'), '*ready:00,00,00\r\n')
})

test('the adhere time is a code, and seconds are refused', async (t) => {
  const { ask, simulator } = switchedOn()
  t.equal(await ask('*xpeel:42.5'), '*ready:05,00,00\r\n')
  t.equal(simulator.world.moving, false)
})

test('the tape is told without an acknowledgement, and is unknown before the first peel', async (t) => {
  const { ask } = switchedOn()
  t.equal(await ask('*tapeleft'), '*tape:99,99\r\n*ready:00,00,00\r\n')
  await ask('*xpeel:31', 20_000)
  t.equal(await ask('*tapeleft'), '*tape:29,29\r\n*ready:00,00,00\r\n')
})

test('the threshold of its seal sensor is told, and set by three digits', async (t) => {
  const { ask } = switchedOn()
  const [, before] = /^\*ack\r\n\*seal:(\d{3})\r\n\*ready:00,00,00\r\n$/.exec(await ask('*sealstat')) ?? []
  t.match(before, /./)
  for (const word of ['higher', 'lower']) t.equal(await ask(`*seal${word}:120`), '*ack\r\n*seal:120\r\n*ready:00,00,00\r\n')
  t.equal(await ask('*sealstat'), '*ack\r\n*seal:120\r\n*ready:00,00,00\r\n')
  t.equal(await ask('*sealhigher:12'), '*ready:05,00,00\r\n')
})

test('a restart says what it says when it is switched on', async (t) => {
  const { ask } = switchedOn()
  t.equal(await ask('*restart', 7000), '*ack\r\n*poweron\r\n*homing\r\n*ready:00,00,00\r\n')
})

test('each step out is 7 mm, until it is out', async (t) => {
  const { ask, simulator } = switchedOn()
  await ask('*movein', 4000)
  await ask('*moveout', 1000)
  t.equal(simulator.world.conveyor_mm, 143)
})
