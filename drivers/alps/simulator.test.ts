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
  await clock.advance(200)
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

test('a 5000 that failed says that it is not initialized until it was, and tells its version in two lines', async (t) => {
  const { ask, clock, simulator } = await switchedOn(alpsModels['5000'])
  t.equal(await ask('?'), '00\r')
  simulator.setFault('jam', true)
  t.equal(await ask('SI'), 'ok\r')
  t.equal(await ask('?'), '22\r')
  simulator.setFault('jam', false)
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

test('a 5000 and an ePRO take what known hosts set before a seal', async (t) => {
  const alps5000 = await switchedOn(alpsModels['5000'])
  for (const word of ['PS=05', 'FS=1', 'FS=0', 'L=119', 'DO=50']) t.equal(await alps5000.ask(word), 'ok\r', word)
  for (const word of ['PS=51', 'L=118', 'DO=09']) t.equal(await alps5000.ask(word), 'err\r', word)
  t.equal(await alps5000.ask('ECO_OFF'), 'syntax error\r')
  const epro = await switchedOn(ultrasealModels.ePRO)
  for (const word of ['ECO_OFF', 'ECO_ON', 'FS=0', 'DO=25', 'L=117']) t.equal(await epro.ask(word), 'ok\r', word)
  t.equal(await epro.ask('PS=50'), '', 'which it does not answer')
  const alps3000 = await switchedOn(alpsModels['3000'])
  t.equal(await alps3000.ask('FS=1'), 'syntax error\r')
})
