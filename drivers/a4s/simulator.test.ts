import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { checksum } from './protocol.ts'
import { simulate } from './simulator.ts'

function switchedOn() {
  const clock = new VirtualClock()
  const said: string[] = []
  const simulator = simulate({ clock, settings: {}, send: (bytes) => said.push(Buffer.from(bytes).toString('latin1')) })
  /** What it answers, without the status that comes with the answer. */
  const ask = (text: string) => {
    said.length = 0
    simulator.receive(Buffer.from(text, 'latin1'))
    return said.map((group) => group.replace(/^\*T[^!]*!/, ''))
  }
  return { clock, said, simulator, ask }
}

test('it speaks once a second, unasked', async (t) => {
  const { clock, said } = switchedOn()
  await clock.advance(3000)
  t.equal(said.length, 4)
  const body = 'T00:00:03=0250,0,0,00,00,188,000'
  t.equal(said[3], `*${body}${checksum(body)}!\r`)
})

test('it takes zz, a real checksum, two stars, a missing = and three digits', (t) => {
  const { ask, simulator } = switchedOn()
  t.same(ask('*00DH=0170zz!'), ['*Y00PM!\r'])
  t.same(ask('*00DH=0165MB!'), ['*N01AG!\r'])
  t.same(ask(`*00DH=0165${checksum('00DH=0165')}!`), ['*Y00PM!\r'])
  t.same(ask('*00DH=180zz!'), ['*Y00PM!\r'])
  t.equal(simulator.world.set_point, 180)
  t.same(ask('**00MOzz!'), ['*Y00PM!\r'])
  t.equal(simulator.world.moving, true)
  t.end()
})

test('the heater is switched by frames without an end, and the next frame is read all the same', (t) => {
  const { ask, simulator } = switchedOn()
  ask('*00DH=0170zz!')
  t.same(ask('*00H0ZZ*00DT=0030zz!'), ['*Y00PM!\r', '*Y00PM!\r'])
  t.equal(simulator.world.heating, false)
  ask('*00H1ZZ')
  t.equal(simulator.world.heating, true)
  t.end()
})

test('it refuses what it does not know, what is not for it, and what is out of range', (t) => {
  const { ask } = switchedOn()
  t.same(ask('*00QQ=zz!'), ['*N00AH!\r'])
  t.same(ask('*01DT=0030zz!'), ['*N01AG!\r'])
  t.same(ask('*00DH=0049zz!'), ['*N01AG!\r'])
  t.same(ask('*00DH=0201zz!'), ['*N01AG!\r'])
  t.same(ask('*00DT=30zz!'), ['*N01AG!\r'])
  t.end()
})

test('while it moves it is busy for all that moves it', (t) => {
  const { ask } = switchedOn()
  ask('*00MO=zz!')
  for (const frame of ['*00MO=zz!', '*00MC=zz!', '*00GS=zz!']) t.match(ask(frame), [/^\*X00..!\r$/])
  t.end()
})

test('after a reset it tells its tag and its counter', (t) => {
  const { ask } = switchedOn()
  t.match(ask('*00SR=zz!'), [/^\*D515A=0000000000,0000000000..!\r$/, '*Y00PM!\r'])
  t.end()
})

test('a cycle goes in, presses as long as was set, comes out, finishes and is idle', async (t) => {
  const { ask, clock, simulator, said } = switchedOn()
  ask('*00DT=0050zz!')
  ask('*00MO=zz!')
  await clock.advance(3000)
  ask('*00GS=zz!')
  await clock.advance(2999)
  t.match(simulator.world, { pressed: false, shuttle: 'middle' })
  await clock.advance(2)
  t.match(simulator.world, { pressed: true, shuttle: 'closed' })
  await clock.advance(6998)
  t.match(simulator.world, { pressed: true, seals: 0 })
  await clock.advance(2)
  t.match(simulator.world, { pressed: false, seals: 1, shuttle: 'middle' })
  await clock.advance(6000)
  t.match(simulator.world, { moving: false, shuttle: 'open' })
  t.match(said.at(-1), /,0,0,00,00,186,000..!\r$/)
})

test('noise does not pile up in it, and it understands what comes after', (t) => {
  const { ask } = switchedOn()
  ask(`*${'x'.repeat(10_000)}`)
  ask('y'.repeat(10_000))
  t.same(ask('*00DT=0030zz!'), ['*Y00PM!\r'])
  t.end()
})

test('switched off it holds no timer', async (t) => {
  const { clock, simulator, ask, said } = switchedOn()
  ask('*00GS=zz!')
  simulator.powerOff()
  said.length = 0
  await clock.advance(60_000)
  t.same(said, [])
})
