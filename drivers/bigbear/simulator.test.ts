import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { simulate } from './simulator.ts'

function switchedOn() {
  const clock = new VirtualClock()
  const said: string[] = []
  const simulator = simulate({ clock, settings: {}, send: (bytes) => said.push(Buffer.from(bytes).toString('latin1')) })
  const ask = async (text: string) => {
    said.length = 0
    simulator.receive(Buffer.from(`${text}\r`, 'latin1'))
    await clock.advance(20)
    return said.join('')
  }
  return { clock, simulator, ask }
}

test('it speeds up, runs, slows down and stands, and says which', async (t) => {
  const { ask, clock, simulator } = switchedOn()
  t.equal(await ask('Q'), 'STOP\r')
  t.equal(await ask('V1400'), '')
  t.equal(await ask('G'), '')
  t.equal(await ask('Q'), 'RAMP+\r')
  await clock.advance(2000)
  t.equal(await ask('Q'), 'RUN\r')
  t.equal(simulator.world.speed, 1400)
  await ask('S')
  t.equal(await ask('Q'), 'RAMP-\r')
  await clock.advance(2000)
  t.equal(await ask('Q'), 'STOP\r')
})

test('it finds home from rest only, and a start leaves it', async (t) => {
  const { ask, clock, simulator } = switchedOn()
  await ask('F')
  t.match(simulator.world, { moving: true, home: false })
  await clock.advance(3000)
  t.match(simulator.world, { moving: false, home: true })
  await ask('G')
  t.equal(await ask('F'), '?:\r')
  t.match(simulator.world, { moving: true, home: false })
})

test('it refuses what it does not know', async (t) => {
  const { ask, simulator } = switchedOn()
  for (const text of ['V59', 'V3571', 'A11', 'V', 'hello', '@1Q']) t.equal(await ask(text), '?:\r', text)
  t.equal(await ask('A7'), '')
  t.equal(simulator.world.acceleration, 7)
})
