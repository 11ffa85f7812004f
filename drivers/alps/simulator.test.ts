import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { alpsModels, type Model, ultrasealModels } from './models.ts'
import { simulate } from './simulator.ts'

/** Past the time in which it is deaf. */
async function switchedOn(model: Model, echo = false) {
  const clock = new VirtualClock()
  const said: string[] = []
  const settings = { model, echo }
  const simulator = simulate({ clock, settings, send: (bytes) => said.push(Buffer.from(bytes).toString('latin1')) })
  const ask = async (text: string) => {
    said.length = 0
    simulator.receive(Buffer.from(`${text}\r`))
    await clock.advance(30)
    return said.join('')
  }
  if (await ask('?')) throw new Error('it heard before it could')
  await clock.advance(3000)
  return { clock, simulator, ask }
}

test('it takes what is in its range, and says so as the manual has it', async (t) => {
  const { ask } = await switchedOn(alpsModels['3000'])
  t.equal(await ask('A160'), 'ok\r')
  t.equal(await ask('A200'), 'err\r')
  t.equal(await ask('A50'), 'err\r')
  t.equal(await ask('C'), '160\r')
  t.equal(await ask('B25'), 'ok\r')
  t.equal(await ask('B04'), 'err\r')
  t.equal(await ask('D'), '25\r')
  t.match(await ask('F'), /^02\d\r$/)
  t.equal(await ask('SO'), 'syntax error\r')
})

test('one that echoes puts the question in front', async (t) => {
  const { ask } = await switchedOn(alpsModels['3000'], true)
  t.equal(await ask('A160'), 'A160ok\r')
  t.equal(await ask('?'), '?00\r')
})

test('a new set point is in the status a while later, and a seal is refused until the block is there', async (t) => {
  const { ask, clock } = await switchedOn(alpsModels['3000'])
  await ask('A100')
  t.equal(await ask('?'), '00\r')
  await clock.advance(2000)
  t.equal(await ask('?'), '08\r')
  t.equal(await ask('S'), 'err\r')
  await clock.advance(300_000)
  t.equal(await ask('?'), '00\r')
  t.equal(await ask('S'), 'ok\r')
})

test('while it seals it is busy, and it tells so', async (t) => {
  const { ask, clock, simulator } = await switchedOn(alpsModels['300'])
  await ask('B30')
  await ask('S')
  t.equal(await ask('?'), '05\r')
  t.equal(await ask('S'), 'err\r')
  await clock.advance(5000)
  t.equal(await ask('?'), '00\r')
  t.match(simulator.world, { seals: 1, pressed: false })
})

test('a 5000 says that it is not initialized until it was, and tells its version in two lines', async (t) => {
  const { ask, clock } = await switchedOn(alpsModels['5000'])
  t.equal(await ask('?'), '20\r')
  t.equal(await ask('SI'), 'err\r')
  t.equal(await ask('I'), 'ok\r')
  t.equal(await ask('?'), '24\r')
  await clock.advance(10_000)
  t.equal(await ask('?'), '00\r')
  t.equal(await ask('V'), 'SIMULATED\rV1.00\r')
})

test('an XT Pro is parked when its shuttle is in, and is stopped by a reset', async (t) => {
  const { ask, clock, simulator } = await switchedOn(ultrasealModels['XT Pro'])
  await ask('P')
  await clock.advance(2000)
  t.equal(await ask('?'), '40\r')
  await ask('U')
  await ask('R')
  t.match(simulator.world, { moving: false, shuttle: 'between' })
})
