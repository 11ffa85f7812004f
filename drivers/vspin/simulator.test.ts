import { test } from 'tap'
import * as v from 'valibot'
import { VirtualClock } from '../../src/kit/clock.ts'
import { inputsOf, servoOf } from './nmc.ts'
import { Settings } from './settings.ts'
import { simulate } from './simulator.ts'

/** The instrument on a bench: frames in as hexadecimal text, what came back as hexadecimal text. */
function instrument() {
  const clock = new VirtualClock()
  let baud = 19200
  let answer = ''
  const send = (bytes: Uint8Array) => {
    answer += Buffer.from(bytes).toString('hex')
  }
  const simulator = simulate({ clock, settings: v.parse(Settings, {}), baud: () => baud, send })
  const say = (frame: string) => {
    answer = ''
    simulator.receive(Buffer.from(frame, 'hex'))
    return answer
  }
  return {
    simulator,
    clock,
    say,
    setBaud(rate: number) {
      baud = rate
    },
    /** Both modules with their addresses and all their status items, the valves switched by the outputs. */
    addressed() {
      for (const frame of ['aa002101ff21', 'aa002102ff22', 'aa01121f32', 'aa02120317', 'aa0220df0809']) say(frame)
    },
    enabled() {
      for (const frame of ['aa0117021a', 'aa0117041c', 'aa01170119', 'aa010b0c']) say(frame)
    },
    servo: () => servoOf(Buffer.from(say('aa010e0f'), 'hex')),
  }
}

test('modules take their addresses one after the other, and there are two', async (t) => {
  const { say } = instrument()
  t.equal(say('aa002101ff21'), '1111', 'the servo: no power, and a position error')
  t.equal(say('aa01132034'), '11000a1b')
  t.equal(say('aa02132035'), '')
  t.equal(say('aa002102ff22'), '0000')
  t.equal(say('aa02132035'), '00020103')
  t.equal(say('aa002103ff23'), '')
})

test('what comes between frames is skipped', async (t) => {
  t.equal(instrument().say(`${'00'.repeat(20)}aa000e0e${'00'.repeat(8)}`), '1111')
})

test('a frame with a wrong checksum is not obeyed, and told in the status', async (t) => {
  const { say, addressed } = instrument()
  addressed()
  t.equal(say('aa01121f33').slice(0, 2), '13')
  t.equal(say('aa010e0f').slice(0, 2), '11')
})

test('to all there is no answer, and after a reset none for a while', async (t) => {
  const { say, addressed, clock } = instrument()
  addressed()
  t.equal(say('aaff0e0d'), '')
  t.equal(say('aaff0f0e'), '')
  t.equal(say('aa002101ff21'), '')
  await clock.advance(500)
  t.equal(say('aa002101ff21'), '1111')
})

test('at another speed than its own it does not understand', async (t) => {
  const { say, addressed, setBaud } = instrument()
  addressed()
  t.equal(say('aaff1a142d'), '')
  t.equal(say('aa010e0f'), '')
  setBaud(57600)
  t.equal(say('aa010e0f').length, 28)
})

test('status items are told as they were defined, or once as they are asked for', async (t) => {
  const { say, addressed } = instrument()
  t.equal(say('aa000e0e').length, 4)
  addressed()
  t.equal(say('aa010e0f').length, 28)
  t.equal(say('aa02120317').length, 10)
  t.equal(say('aa01130014').length, 4)
})

test('the door opens when its valves say so, in the time that air takes', async (t) => {
  const { say, addressed, clock, simulator } = instrument()
  addressed()
  const inputs = () => inputsOf(Buffer.from(say('aa020e10'), 'hex'))
  t.same(inputs(), { settled: true, bucketLocked: false, doorOpen: false, doorUnlocked: false })

  say('aa022600072f')
  await clock.advance(100)
  t.equal(inputs().settled, false)
  await clock.advance(5000)
  t.same(inputs(), { settled: true, bucketLocked: true, doorOpen: true, doorUnlocked: true })
  say('aa022600052d')
  await clock.advance(5000)
  t.same(inputs(), { settled: true, bucketLocked: true, doorOpen: false, doorUnlocked: true })
  say('aa0226000028')
  await clock.advance(5000)
  t.same(inputs(), { settled: true, bucketLocked: false, doorOpen: false, doorUnlocked: false })
  t.equal(simulator.world.door, 'closed')
})

test('valves whose pins are inputs do not switch', async (t) => {
  const { say, addressed, clock, simulator } = instrument()
  addressed()
  say('aa0220ff0f30')
  say('aa022600072f')
  await clock.advance(5000)
  t.equal(simulator.world.door, 'closed')
})

test('it speeds up at 97 rpm in a second, counts backwards on its tachometer, and stops at its final position', async (t) => {
  const { say, addressed, enabled, servo, clock, simulator } = instrument()
  addressed()
  enabled()
  say('aa010001')
  // 1,000,000 counts, 600 rpm, full acceleration.
  say('aa01d49740420f00c3f528009303000073')
  await clock.advance(2000)
  t.ok(Math.abs((simulator.world.rpm as number) - 193.5) < 2, `${simulator.world.rpm} rpm`)
  t.match(servo(), { status: 0x08, velocity: -13 })

  await clock.advance(30_000)
  t.match(servo(), { status: 0x09, velocity: 0, position: 1_000_000 })
})

test('it homes on the index and says so by a bit that goes away', async (t) => {
  const { say, addressed, enabled, servo, clock } = instrument()
  addressed()
  enabled()
  say('aa010001')
  say('aa0194b61283000012010000f3')
  t.equal(say('aa01192842').slice(0, 2), '88')
  await clock.advance(9000)
  const { status, home, position } = servo()
  t.equal(status, 0x09)
  t.equal(home, 8000 - 2345)
  t.ok(position > home && position < home + 200)
})

test('a rotor that is held, and one whose door is not locked, are not driven', async (t) => {
  for (const outputs of ['aa0226000129', 'aa022600042c']) {
    const { say, addressed, enabled, servo, clock } = instrument()
    addressed()
    say(outputs)
    await clock.advance(1000)
    enabled()
    say('aa0194b61283000012010000f3')
    await clock.advance(1000)
    t.match(servo(), { status: 0x19, position: 0 }, outputs)
  }
})
