import { test } from 'tap'
import * as v from 'valibot'
import { VirtualClock } from '../../src/kit/clock.ts'
import { settings } from './settings.ts'
import { axesAt, configAt, poseAt } from './simulated_geometry.ts'
import { simulate } from './simulator.ts'

function simulated() {
  const clock = new VirtualClock()
  let said = ''
  const simulator = simulate({
    clock,
    settings: v.parse(settings, {}),
    send: (bytes) => {
      said += Buffer.from(bytes).toString('latin1')
    },
  })
  return {
    simulator,
    clock,
    /** Says this, and returns what was answered within this time. */
    async ask(lines: string, ms = 50): Promise<string> {
      said = ''
      simulator.receive(Buffer.from(lines, 'latin1'))
      await clock.advance(ms)
      return said
    },
  }
}

async function homed() {
  const made = simulated()
  await made.ask('hp 1 20\n', 4000)
  await made.ask('attach 1\nhome\n', 5000)
  return made
}

test('bytes in, bytes out', async (t) => {
  const { ask } = simulated()
  t.match(await ask('version\n'), /^0 TCP Command Server .*\r\n$/)
  t.equal(await ask('SYSSTATE\r\n\n'), '0 7\r\n', 'whatever the case, and an empty line is not answered')
  t.match(await ask('dance\n'), /^-2805 \*unknown command\*\r\n$/)
  t.match(await ask('attach 1\n'), /^-1046 /)
  t.equal(await ask('hp 1 20\nsysState\n', 1000), '', 'nothing is answered while the power comes on')
  t.equal(await ask('', 3000), '0\r\n0 20\r\n')
  t.match(await ask('home\n'), /^-1009 /)
  t.match(await ask('attach 1\nattach\nmoveJ 1 200 0 180 180 100\n'), /^0\r\n0 -1\r\n-1021 /)
  t.equal(await ask('home\nhalt\n', 4100), '0\r\n0\r\n', 'a stop is heard when it is homed')
  t.match(await ask('moveJ 1 999 0 180 180 100\n'), /^-1012 /)
})

test('a motion is replied to when it begins, and waitForEom parks all that comes after it', async (t) => {
  const { ask, simulator } = await homed()
  t.equal(await ask('moveJ 1 20 60 100 300 100\n'), '0\r\n')
  t.equal(simulator.world.moving, true)
  t.match(await ask('wherej\n'), /^0 (-?\d+\.\d{3} ?){5}\r\n$/)
  t.equal(await ask('waitForEom\nhalt\nwherej\n', 100), '')
  t.equal(simulator.world.moving, true, 'the stop is not heard')
  t.match(await ask('', 3000), /^0\r\n0\r\n0 20\.000 60\.000 100\.000 300\.000 100\.000\r\n$/)
})

test('a fault switches the motor power off, and a pressed emergency stop keeps it off', async (t) => {
  const { ask, simulator } = await homed()
  await ask('moveJ 1 20 60 100 300 100\n')
  simulator.setFault('jam', true)
  t.match(await ask('nop\nsysState\n'), /^-3100 .*\r\n0 5\r\n$/)
  t.match(await ask('hp 1 20\nattach 1\nmoveJ 1 20 60 100 300 100\nnop\n', 4000), /^0\r\n0\r\n0\r\n-3100 /, 'it jams again')
  simulator.setFault('jam', false)
  simulator.setFault('interlock_open', true)
  t.match(await ask('hp 1 20\nsysState\n'), /^-1028 .*\r\n0 15\r\n$/)
  simulator.setFault('interlock_open', false)
  t.match(await ask('hp 1 20\nsysState\n', 4000), /^0\r\n0 20\r\n$/)
  t.equal(simulator.setFault('overtemperature', true), false)
})

test('a pose and the axes that reach it agree, for both sides of the elbow', (t) => {
  for (const axes of [
    [150, 30, 120, 200, 100],
    [150, -40, 250, -100, 100],
    [150, 10, 60, 90, 100],
  ]) {
    const found = axesAt(poseAt(axes), configAt(axes), axes)!
    for (const [i, value] of axes.entries()) t.ok(Math.abs(value - found[i]!) < 0.001, `${axes} axis ${i + 1}`)
  }
  t.equal(axesAt({ ...poseAt([150, 30, 120, 200, 100]), x: 5000 }, 1, [0, 0, 90, 0, 100]), undefined)
  t.end()
})
