import { test } from 'tap'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { simulate } from './simulator.ts'

const instrument = (model: 'GEN1' | 'GEN2') => switchedOn(simulate, { model }, { ending: '\r\n', ms: 20 })

test('GEN2 repeats the code in its answers', async (t) => {
  const { ask } = instrument('GEN2')
  t.equal(await ask('M115'), 'M115 FW:v0.0.0-simulated HW:Opentrons-thermocycler-gen2 SerialNo:SIM-0001 OK\n')
  t.equal(await ask('M119'), 'M119 Lid:closed Seal:engaged OK\n')
  t.equal(await ask('M105'), 'M105 T:none C:22.00 H:none Total_H:none At_target?:0 OK\n')
  t.equal(await ask('M141'), 'M141 T:none C:22.00 OK\n')
  t.equal(await ask('M104 S95 H30'), 'M104 OK\n')
  t.match(await ask('M105'), /^M105 T:95.00 C:22.\d\d H:30.00 Total_H:30.00 At_target\?:0 OK\n$/)
  t.equal(await ask('M104 S0'), 'M104 OK\n')
  t.match(await ask('M105'), /^M105 T:none /, 'a target of 0 is off')
  t.equal(await ask('M104'), 'ERR003:unhandled gcode OK\n')
  t.equal(await ask('M128'), 'ERR507:lid:Lid must be opened OK\n')
})

test('GEN1 answers with values and two ok', async (t) => {
  const { ask } = instrument('GEN1')
  t.equal(await ask('M115'), 'serial:SIM-0001 model:v02 version:v0.0.0-simulated\r\nok\r\nok\r\n')
  t.equal(await ask('M119'), 'Lid:closed\r\nok\r\nok\r\n')
  t.equal(await ask('M105'), 'T:none C:22.000 H:none Total_H:none At_target?:0\r\nok\r\nok\r\n')
  t.equal(await ask('M141'), 'T:none C:22.000\r\nok\r\nok\r\n')
  t.equal(await ask('M140'), 'ok\r\nok\r\n')
  t.match(await ask('M141'), /^T:105.000 /, 'the lid has a target of its own')
  t.equal(await ask('M104'), 'ERROR:Arg error\r\nok\r\nok\r\n')
  t.match(await ask('M104 S95 H30 M105'), /^T:95.000 C:22.\d{3} H:30 Total_H:30 At_target\?:0\r\nok\r\nok\r\n$/)
})

test('the time at a temperature runs when the block is near it, and stays at 0', async (t) => {
  for (const [model, near] of [
    ['GEN1', 1.5],
    ['GEN2', 1],
  ] as const) {
    const { ask, clock, simulator } = instrument(model)
    await ask('M104 S62 H10')
    const hold = async () => Number(/ H:(\S+)/.exec(await ask('M105'))?.[1])
    while (Math.abs((simulator.world.temperature as number) - 62) > near + 0.1) await clock.advance(50)
    t.equal(await hold(), 10, `${model}: not yet`)
    await clock.advance(5500)
    t.ok((await hold()) > 4 || model === 'GEN1')
    t.ok((await hold()) < 6, model)
    await clock.advance(6000)
    t.equal(await hold(), 0)
    t.match(await ask('M105'), /T:62.0/, 'the target stays')
  }
})

test('the lid moves for a while: GEN1 hears nothing meanwhile, and GEN2 refuses another motion', async (t) => {
  const gen1 = instrument('GEN1')
  t.equal(await gen1.ask('M126', 1000), '')
  t.equal(await gen1.ask('M119', 1000), '')
  t.equal(await gen1.ask('M18', 30_000), 'ok\r\nok\r\nLid:open\r\nok\r\nok\r\nok\r\nok\r\n', 'all is answered in the end')
  const gen2 = instrument('GEN2')
  t.equal(await gen2.ask('M126', 1000), '')
  t.equal(await gen2.ask('M119'), 'M119 Lid:closed Seal:in_between OK\n')
  t.equal(await gen2.ask('M127'), 'ERR501:lid:Lid motor busy OK\n')
  await gen2.clock.advance(5000)
  t.equal(await gen2.ask('M119'), 'M119 Lid:in_between Seal:in_between OK\n')
  t.equal(await gen2.ask('M18', 30_000), 'M18 OK\nM126 OK\n')
  t.equal(await gen2.ask('M119'), 'M119 Lid:open Seal:retracted OK\n')
  t.equal(await gen2.ask('M126'), 'M126 OK\n', 'it is open')
})

test('what breaks', async (t) => {
  const gen1 = instrument('GEN1')
  await gen1.ask('M104 S95')
  gen1.said.length = 0
  gen1.simulator.setFault('overtemperature', true)
  await gen1.clock.advance(2100)
  t.match(gen1.said, [/^Error:System too hot\. T1: 118.0000\t.*\r\n$/, /^Error:System too hot/])
  t.match(await gen1.ask('M104 S95'), /^Error:Cannot set temperature when system is in error\r\nok\r\nok\r\n$/)
  t.match(gen1.simulator.world, { heating: false })
  const gen2 = instrument('GEN2')
  gen2.simulator.setFault('overtemperature', true)
  await gen2.clock.advance(20)
  t.same(gen2.said, ['async ERR212:Front center thermistor overtemp OK\n'])
  t.match(await gen2.ask('M14'), /^ERR212:/)
  t.equal(await gen2.ask('M18'), 'M18 OK\n')
  gen2.simulator.setFault('jam', true)
  t.match(await gen2.ask('M126', 20_000), /^ERR502:lid:Lid motor fault OK/)
  t.match(await gen2.ask('M119'), /Lid:in_between/)
  gen1.simulator.powerOff()
})
