import { test } from 'tap'
import { type Hand, tampered } from '../../src/testing/drivers/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { type Arm, driver, isArm } from './driver.ts'
import type { Pose } from './protocol.ts'

const pad: Pose = { x: 300, y: 200, z: 300, yaw: 90, pitch: 0, roll: 0 }
const shelf: Pose = { x: 300, y: -300, z: 300, yaw: 0, pitch: 0, roll: 0 }

async function bench(settings: unknown = {}): Promise<Bench & { arm: Arm; hand: Hand }> {
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same, settings)
  if (!isArm(bench.device)) throw new Error('the driver made no arm')
  return { ...bench, arm: bench.device, hand }
}

/** What moves it, of all that was said. */
function moves(written: string[]): string[] {
  return written.filter((frame) => /^(home|pick|place)/.test(frame))
}

async function homed(settings: unknown = {}) {
  const made = await bench(settings)
  await made.run(made.arm.initialize({}, calm))
  made.written.length = 0
  return made
}

test('initialize says who it is and homes it', async (t) => {
  const { arm, run, written, line } = await bench()
  const identity = { model: 'simulated-arm', serial_number: 'SIM-0001', firmware_version: '1.0' }
  t.same(await run(arm.initialize({}, calm)), { identity })
  t.same(written.slice(0, 3), ['where\n', 'who\n', 'home\n'])
  t.same([...new Set(written.slice(3))], ['where\n'])
  t.match(line.simulator.world, { homed: true, moving: false })
})

test('asking who it is and how it is moves nothing', async (t) => {
  const { arm, run, written, line } = await bench()
  t.match(await run(arm.identify()), { serial_number: 'SIM-0001' })
  await run(arm.check())
  t.same(written, ['who\n', 'where\n'])
  t.equal(line.simulator.world.homed, false)
})

test('a plate is picked at one pose and placed at another, in the time that the way takes', async (t) => {
  const { arm, run, written, line, clock } = await homed({ speed: 100 })
  const began = clock.now()
  await run(arm.pick(pad, calm))
  t.match(line.simulator.world, { gripper: 'full', pose: pad })
  t.ok(Math.abs(clock.now() - began - 6500) < 50, `${clock.now() - began}`)
  await run(arm.place(shelf, calm))
  t.match(line.simulator.world, { gripper: 'empty', pose: shelf })
  t.same(moves(written), ['pick 300.000 200.000 300.000 90.000 0.000 0.000\n', 'place 300.000 -300.000 300.000 0.000 0.000 0.000\n'])
})

test('nothing moves before it is homed', async (t) => {
  const { arm, run, line } = await bench()
  await t.rejects(run(arm.pick(pad, calm)), { code: 'not_initialized' })
  t.equal(line.simulator.world.moving, false)
})

test('what it cannot do is refused and nothing is done', async (t) => {
  const { arm, run } = await homed()
  await t.rejects(run(arm.place(pad, calm)), { code: 'interlock', message: /holds nothing/ })
  await t.rejects(run(arm.pick({ ...pad, x: 5000 }, calm)), { code: 'invalid', message: /reach/ })
  await t.rejects(run(arm.pick({ ...pad, yaw: Number.NaN }, calm)), { code: 'invalid', message: /yaw/ })
  await run(arm.check())
})

test('a stop goes out at once, ends the move where it is, and only home ends that', async (t) => {
  const { arm, run, clock, written, line } = await homed({ speed: 100 })
  const moving = arm.pick(pad, calm)
  await clock.advance(1500)
  const halted = arm.halt()
  t.equal(written.at(-1), 'stop\n')
  await t.rejects(run(moving), { code: 'stopped' })
  await run(halted)
  const { x } = line.simulator.world.pose as Pose
  t.ok(x > 100 && x < 200, `${x}`)
  t.equal(line.simulator.world.moving, false)
  await t.rejects(run(arm.pick(pad, calm)), { code: 'not_initialized' })
  await run(arm.initialize({}, calm))
  await run(arm.pick(pad, calm))
  t.equal(line.simulator.world.gripper, 'full')
})

test('of two moves the second waits for the first', async (t) => {
  const { arm, run, written, line } = await homed()
  const first = arm.pick(pad, calm)
  await run(Promise.all([first, arm.place(shelf, calm)]))
  t.equal(moves(written).length, 2)
  t.match(line.simulator.world, { gripper: 'empty', pose: shelf })
})

test('initialize is refused while it moves', async (t) => {
  const { arm, run, line } = await bench()
  line.simulator.receive(Buffer.from('home\n'))
  await t.rejects(run(arm.initialize({}, calm)), { code: 'interlock' })
})

test('a jam ends the move as failed, and check tells of it until it is homed', async (t) => {
  const { arm, run, clock, line } = await homed()
  const moving = arm.pick(pad, calm)
  await clock.advance(500)
  t.equal(line.setFault('jam'), true)
  await t.rejects(run(moving), { code: 'device_failed', message: /in its way/ })
  await t.rejects(run(arm.check()), { code: 'device_failed' })
  await t.rejects(run(arm.initialize({}, calm)), { code: 'device_failed' })
  line.clearFaults()
  await run(arm.initialize({}, calm))
  await run(arm.check())
})

test('faults that an arm cannot have are refused', async (t) => {
  const { line } = await bench()
  t.equal(line.setFault('overtemperature'), false)
  t.equal(line.setFault('interlock_open'), false)
})

test('a line that dies while it moves is noticed within two seconds, and the move is not sent again', async (t) => {
  for (const fault of ['no_reply', 'half_reply', 'garbage'] as const) {
    for (const late_ms of [50, 300, 500, 740]) {
      const { arm, run, line, written, clock } = await homed({ speed: 1 })
      const moving = arm.pick(pad, calm)
      moving.catch(() => undefined)
      await clock.advance(5000 + late_ms)
      const died = clock.now()
      line.setFault(fault)
      await t.rejects(run(moving), { code: 'no_reply', message: /does not answer while it moves/ })
      t.ok(clock.now() - died <= 2000, `${fault}, ${clock.now() - died} ms`)
      t.equal(moves(written).length, 1)
    }
  }
})

test('one answer that gets lost while it moves ends nothing', async (t) => {
  const { arm, run, line, clock } = await homed({ speed: 50 })
  const moving = arm.pick(pad, calm)
  moving.catch(() => undefined)
  await clock.advance(2000)
  line.setFault('no_reply')
  await clock.advance(400)
  line.clearFaults()
  await run(moving)
  t.equal(line.simulator.world.gripper, 'full')
})

test('an answer that is late does not end the next move', async (t) => {
  const { arm, run, clock, hand, line } = await homed({ speed: 50 })
  const moving = arm.pick(pad, calm)
  await clock.advance(1000)
  hand.say(Buffer.from('ok pick\n'))
  await clock.advance(200)
  t.equal(line.simulator.world.moving, true)
  await run(moving)
  t.match(line.simulator.world, { gripper: 'full', moving: false })
})

test('a move that takes too long is given up', async (t) => {
  const { arm, run, clock } = await homed({ speed: 1, move_timeout_s: 10 })
  const began = clock.now()
  await t.rejects(run(arm.pick(pad, calm)), { code: 'no_reply', message: /within 10 s/ })
  t.ok(clock.now() - began < 11_000)
})

test('who aborts does not wait for the end of the move', async (t) => {
  const { arm, clock, run } = await homed()
  const abort = new AbortController()
  const moving = arm.pick(pad, abort.signal)
  await clock.advance(100)
  abort.abort(new Error('enough'))
  const before = clock.now()
  await t.rejects(run(moving), { message: 'enough' })
  t.equal(clock.now(), before)
})

test('an answer to something else does not end a move', async (t) => {
  const { arm, run, clock, line } = await homed()
  const moving = arm.pick(pad, calm)
  await clock.advance(1000)
  line.simulator.receive(Buffer.from('where\nhome\n'))
  await run(moving)
  t.equal(line.simulator.world.gripper, 'full')
})

test('an arm that restarts by itself, or is stopped at the arm, is not ready any more', async (t) => {
  for (const [happens, message] of [
    [(b: Bench) => b.line.simulator.powerOff(), /restarted by itself/],
    [(b: Bench) => b.line.simulator.receive(Buffer.from('stop\n')), /somebody stopped it/],
  ] as const) {
    const b = await homed()
    await b.run(b.arm.check())
    happens(b)
    await t.rejects(b.run(b.arm.check()), { code: 'device_failed', message })
    await b.run(b.arm.initialize({}, calm))
    await b.run(b.arm.check())
    await b.run(b.arm.halt())
    await b.run(b.arm.check())
  }
})

test('an arm that restarts in the midst of a move ends the move within two seconds', async (t) => {
  const b = await homed()
  const picking = b.arm.pick(pad, calm)
  picking.catch(() => {})
  await b.clock.advance(1000)
  b.line.simulator.powerOff()
  const began = b.clock.now()
  await t.rejects(b.run(picking), { code: 'device_failed', message: /restarted by itself/ })
  t.ok(b.clock.now() - began < 2000, `${b.clock.now() - began} ms`)
})

for (const [found, words] of [
  ['idle 300.000 200.000 300.000 90.000 0.000 0.000 empty', /its gripper is empty/],
  ['error 300.000 200.000 300.000 90.000 0.000 0.000 full', /it is error/],
  ['unhomed 0.000 0.000 0.000 0.000 0.000 0.000 empty', /it is unhomed/],
] as const) {
  test(`a pick that the arm calls done while it says ${found.slice(0, 7)}…${found.slice(-5)} has failed`, async (t) => {
    const { arm, run, hand } = await homed()
    let isDone = false
    hand.change((bytes, send) => {
      const text = Buffer.from(bytes).toString()
      isDone ||= text === 'ok pick\n'
      send(isDone && text.startsWith('ok where') ? Buffer.from(`ok where ${found}\n`) : bytes)
    })
    await t.rejects(run(arm.pick(pad, calm)), { code: 'device_failed', message: words })
  })
}
