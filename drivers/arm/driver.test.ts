import { test } from 'tap'
import { type Hand, tampered } from '../../src/conformance/tampered.ts'
import type { Axis } from '../../src/devices/axes.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { targetOf } from '../../src/testing/moves.ts'
import { type Arm, driver, isArm } from './driver.ts'
import type { Pose } from './protocol.ts'

const padPose: Pose = { x: 300, y: 200, z: 300, yaw: 90, pitch: 0, roll: 0 }
const shelfPose: Pose = { x: 300, y: -300, z: 300, yaw: 0, pitch: 0, roll: 0 }
const pad = { at: 'pad', pose: padPose }
const shelf = { at: 'shelf', pose: shelfPose }

async function bench(settings: unknown = {}): Promise<Bench & { arm: Arm; hand: Hand }> {
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same, settings)
  if (!isArm(bench.device)) throw new Error('the driver made no arm')
  return { ...bench, arm: bench.device, hand }
}

/** What moves it, of all that was said. */
function moves(written: string[]): string[] {
  return written.filter((frame) => /^(home|pick|place|via|jog|free|go)/.test(frame))
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
  t.same(written.slice(0, 4), ['where\n', 'who\n', 'can\n', 'home\n'])
  t.same([...new Set(written.slice(4))], ['where\n'])
  t.match(line.simulator.world, { homed: true, moving: false })
})

test('asking who it is and how it is moves nothing', async (t) => {
  const { arm, run, written, line } = await bench()
  t.match(await run(arm.identify()), { serial_number: 'SIM-0001' })
  await run(arm.check())
  t.same(written, ['who\n', 'can\n', 'where\n'])
  t.equal(line.simulator.world.homed, false)
})

test('a plate is picked at one pose and placed at another, in the time that the way takes', async (t) => {
  const { arm, run, written, line, clock } = await homed({ speed: 100 })
  const began = clock.now()
  await run(arm.pick(targetOf(pad), calm))
  t.match(line.simulator.world, { gripper: 'full', pose: padPose })
  t.ok(Math.abs(clock.now() - began - 6500) < 50, `${clock.now() - began}`)
  await run(arm.place(targetOf(shelf), calm))
  t.match(line.simulator.world, { gripper: 'empty', pose: shelfPose })
  t.same(moves(written), ['pick 300.000 200.000 300.000 90.000 0.000 0.000\n', 'place 300.000 -300.000 300.000 0.000 0.000 0.000\n'])
})

test('nothing moves before it is homed', async (t) => {
  const { arm, run, line } = await bench()
  await t.rejects(run(arm.pick(targetOf(pad), calm)), { code: 'not_initialized' })
  t.equal(line.simulator.world.moving, false)
})

test('what it cannot do is refused and nothing is done', async (t) => {
  const { arm, run } = await homed()
  await t.rejects(run(arm.place(targetOf(pad), calm)), { code: 'interlock', message: /holds nothing/ })
  await t.rejects(run(arm.pick(targetOf({ ...pad, pose: { ...padPose, x: 5000 } }), calm)), { code: 'invalid', message: /reach/ })
  await t.rejects(run(arm.pick(targetOf({ ...pad, pose: { ...padPose, yaw: Number.NaN } }), calm)), { code: 'invalid', message: /yaw/ })
  await run(arm.check())
})

test('a stop goes out at once, ends the move where it is, and only home ends that', async (t) => {
  const { arm, run, clock, written, line } = await homed({ speed: 100 })
  const moving = arm.pick(targetOf(pad), calm)
  await clock.advance(1500)
  const halted = arm.halt()
  t.equal(written.at(-1), 'stop\n')
  await t.rejects(run(moving), { code: 'stopped' })
  await run(halted)
  const { x } = line.simulator.world.pose as Pose
  t.ok(x > 100 && x < 200, `${x}`)
  t.equal(line.simulator.world.moving, false)
  await t.rejects(run(arm.pick(targetOf(pad), calm)), { code: 'not_initialized' })
  await run(arm.initialize({}, calm))
  await run(arm.pick(targetOf(pad), calm))
  t.equal(line.simulator.world.gripper, 'full')
})

test('of two moves the second waits for the first', async (t) => {
  const { arm, run, written, line } = await homed()
  const first = arm.pick(targetOf(pad), calm)
  await run(Promise.all([first, arm.place(targetOf(shelf), calm)]))
  t.equal(moves(written).length, 2)
  t.match(line.simulator.world, { gripper: 'empty', pose: shelfPose })
})

test('initialize is refused while it moves', async (t) => {
  const { arm, run, line } = await bench()
  line.simulator.receive(Buffer.from('home\n'))
  await t.rejects(run(arm.initialize({}, calm)), { code: 'interlock' })
})

test('a jam ends the move as failed, and check tells of it until it is homed', async (t) => {
  const { arm, run, clock, line } = await homed()
  const moving = arm.pick(targetOf(pad), calm)
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
      const moving = arm.pick(targetOf(pad), calm)
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
  const moving = arm.pick(targetOf(pad), calm)
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
  const moving = arm.pick(targetOf(pad), calm)
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
  await t.rejects(run(arm.pick(targetOf(pad), calm)), { code: 'no_reply', message: /within 10 s/ })
  t.ok(clock.now() - began < 11_000)
})

test('who aborts does not wait for the end of the move', async (t) => {
  const { arm, clock, run } = await homed()
  const abort = new AbortController()
  const moving = arm.pick(targetOf(pad), abort.signal)
  await clock.advance(100)
  abort.abort(new Error('enough'))
  const before = clock.now()
  await t.rejects(run(moving), { message: 'enough' })
  t.equal(clock.now(), before)
})

test('an answer to something else does not end a move', async (t) => {
  const { arm, run, clock, line } = await homed()
  const moving = arm.pick(targetOf(pad), calm)
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
  const picking = b.arm.pick(targetOf(pad), calm)
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
    await t.rejects(run(arm.pick(targetOf(pad), calm)), { code: 'device_failed', message: words })
  })
}

const gate = { at: 'gate', pose: { ...padPose, x: 100, z: 400 } }
const hall = { at: 'hall', pose: { ...padPose, x: 0, z: 500 } }

test('a way over gateways is said before the move, and the arm comes and leaves over each of them', async (t) => {
  const { arm, clock, line, written, run } = await homed()
  const passed: string[] = []
  const spots: Record<string, Pose> = { hall: hall.pose, gate: gate.pose, pad: padPose }
  const look = () => {
    const { x, y, z } = line.simulator.world.pose as Pose
    const near = Object.entries(spots).find(([, at]) => Math.hypot(at.x - x, at.y - y, at.z - z) < 3)?.[0]
    if (near && passed.at(-1) !== near) passed.push(near)
  }
  let isOver = false
  const picking = arm.pick(targetOf({ ...pad, via: [hall, gate] }), calm).finally(() => {
    isOver = true
  })
  for (let ms = 0; ms < 20_000 && !isOver; ms += 10) {
    await clock.advance(10)
    look()
  }
  await run(picking)
  t.same(passed, ['hall', 'gate', 'pad', 'gate', 'hall'])
  t.equal(line.simulator.world.gripper, 'full')
  t.same(moves(written), [
    'via 1 0.000 200.000 500.000 90.000 0.000 0.000\n',
    'via 2 100.000 200.000 400.000 90.000 0.000 0.000\n',
    'pick 300.000 200.000 300.000 90.000 0.000 0.000 via 2\n',
  ])
})

test('the side of the elbow, the access pattern and joint coordinates stand in the line', async (t) => {
  const { arm, run, written, line } = await homed()
  const access = { access_type: 'horizontal', horizontal_clearance: 80, gripper_offset: 2.5 } as const
  await run(arm.pick(targetOf({ ...pad, elbow: 'left', access }), calm))
  t.match(line.simulator.world, { pose: { x: 300, y: 120, z: 302.5 } }, 'it stands in front of the place')
  const joints = { base: 90, shoulder: 60, elbow: -60, wrist: 0, rail: 100, gripper: 0 }
  await run(arm.place(targetOf({ at: 'rack', joints, via: [{ ...gate, elbow: 'right' }] }), calm))
  t.match(line.simulator.world, { gripper: 'empty', pose: gate.pose })
  t.same(moves(written), [
    'pick 300.000 200.000 300.000 90.000 0.000 0.000 elbow left access horizontal - 80.000 2.500\n',
    'via 1 100.000 200.000 400.000 90.000 0.000 0.000 elbow right\n',
    'place joint 90.000 60.000 -60.000 0.000 100.000 0.000 via 1\n',
  ])
  await t.rejects(run(arm.pick(targetOf({ at: 'rack', joints: { ...joints, wrist: Number.NaN } }), calm)), {
    code: 'invalid',
    message: /wrist of joint/,
  })
})

test('a stop ends a move before the nest, at it, and on the way back over a gateway', async (t) => {
  for (const [after_ms, gripper] of [
    [500, 'empty'],
    [3200, 'empty'],
    [5500, 'full'],
  ] as const) {
    const { arm, run, clock, line } = await homed()
    const picking = arm.pick(targetOf({ ...pad, via: [gate] }), calm)
    picking.catch(() => {})
    await clock.advance(after_ms)
    t.equal(line.simulator.world.moving, true)
    await run(arm.halt())
    await t.rejects(run(picking), { code: 'stopped' })
    t.match(line.simulator.world, { moving: false, gripper })
    await t.rejects(run(arm.pick(targetOf(pad), calm)), { code: 'not_initialized' })
  }
})

for (const [old, answer] of [
  ['refuses the word', 'err 1 can: no such command\n'],
  ['refuses it by no name', 'err 1 unknown: no such command\n'],
  ['says nothing', ''],
] as const)
  test(`an adapter of before that ${old} is initialized, does plain moves, and gets no word that it does not know`, async (t) => {
    const { arm, run, hand, written } = await bench()
    hand.change((bytes, send) => {
      const text = Buffer.from(bytes).toString()
      if (!text.startsWith('ok can')) send(bytes)
      else if (answer) send(Buffer.from(answer))
    })
    t.equal(arm.skills, null)
    await run(arm.initialize({}, calm))
    t.same(arm.skills, new Set())
    await run(arm.pick(targetOf(pad), calm))
    const before = moves(written)
    const access = { access_type: 'vertical' } as const
    const joints = { base: 0, shoulder: 0, elbow: 0, wrist: 0, rail: 0, gripper: 0 }
    for (const [way, message] of [
      [{ ...shelf, via: [gate] }, /cannot pass a gateway, and shelf is taught with a gateway; extend its adapter/],
      [{ ...shelf, access }, /cannot come and go by an access pattern, and shelf is/],
      [{ ...shelf, elbow: 'left' }, /cannot be told to which side its elbow bends, and shelf is/],
      [{ at: 'rack', joints }, /cannot be sent to joint coordinates, and rack is taught in joint coordinates/],
    ] as const)
      await t.rejects(run(arm.place(targetOf(way), calm)), { code: 'invalid', message })
    t.same(moves(written), before)
  })

test('words in the answer to can that this host does not know are passed over', async (t) => {
  const { arm, run, hand } = await bench()
  hand.replace(/ok can .*/, 'ok can gateway spin toString')
  await run(arm.initialize({}, calm))
  t.same(arm.skills, new Set(['gateway']))
})

const slightly = { axis: 'x', direction: '+', speed: 10 } as const

test('a jog moves along one axis at its part of the full speed, and ends gently where it is let go', async (t) => {
  const { arm, run, clock, line, written } = await homed()
  const jogging = arm.jog!(slightly, calm)
  await clock.advance(2000)
  t.equal(line.simulator.world.moving, true)
  const { x } = await run(arm.pose!())
  t.ok(x > 40, `it tells its position meanwhile: ${x}`)
  const letGo = clock.now()
  t.same(await run(arm.end!()), { seconds_left: 0 })
  const message = await run(jogging)
  t.ok(clock.now() - letGo < 100, `${clock.now() - letGo} ms`)
  t.match(message, /^jogged x by \+5\d(\.\d)? mm$/)
  t.match(line.simulator.world, { moving: false, homed: true })
  t.same(moves(written), ['jog x + 10\n'])
  await run(arm.check())
  const picking = arm.pick(targetOf(pad), calm)
  await clock.advance(500)
  await t.rejects(run(arm.pose!()), { code: 'interlock' }, 'a move is not held')
  await run(picking)
})

test('each axis that the arm names can be jogged, both ways, and another is refused by it', async (t) => {
  const { arm, run, clock, line } = await homed()
  t.same(arm.choices!.axis, ['x', 'y', 'z', 'yaw', 'base', 'shoulder', 'elbow', 'wrist', 'rail'])
  for (const axis of arm.choices!.axis as Axis[])
    for (const direction of ['+', '-'] as const) {
      const before = line.simulator.world.pose
      const jogging = arm.jog!({ axis, direction, speed: 20 }, calm)
      await clock.advance(500)
      await run(arm.end!())
      const message = await run(jogging)
      t.notSame(line.simulator.world.pose, before, `${axis} ${direction}`)
      const by = ['x', 'y', 'z'].includes(axis) ? / by [+-]2[5-9](\.\d)? mm$/ : axis === 'yaw' ? / by [+-]\d+(\.\d)? °$/ : /^jogged \w+$/
      t.match(message, by)
    }
  await t.rejects(run(arm.jog!({ axis: 'roll', direction: '+', speed: 10 }, calm)), { code: 'invalid' })
})

test('a jog ends by itself at the limit of its reach, and the next one that way is refused', async (t) => {
  const { arm, run, line } = await homed()
  t.match(await run(arm.jog!({ ...slightly, speed: 20 }, calm)), /^jogged x by \+1\d\d\d(\.\d)? mm$/)
  t.equal(line.simulator.world.moving, false)
  await t.rejects(run(arm.jog!(slightly, calm)), { code: 'invalid', message: /reach of 1200 mm; jog another way/ })
  await run(arm.check())
})

test('an arm that hears nothing from its host ends a jog and a free drive by itself', async (t) => {
  for (const verb of ['jog x + 20\n', 'free\n']) {
    const { clock, line } = await homed()
    line.simulator.receive(Buffer.from(verb))
    await clock.advance(240)
    t.equal(line.simulator.world.moving, true)
    await clock.advance(60)
    t.match(line.simulator.world, { moving: false, homed: true })
  }
})

test('the driver tells an arm that it jogs that its host is there, and hears of a dead line', async (t) => {
  const { arm, run, clock, line, hand } = await homed()
  const jogging = arm.jog!(slightly, calm)
  await clock.advance(5000)
  t.equal(line.simulator.world.moving, true)
  hand.hear(() => false)
  await clock.advance(300)
  t.equal(line.simulator.world.moving, false)
  await t.rejects(run(jogging), { code: 'no_reply' })
})

test('a free drive lasts until it is ended, and the arm holds its position again', async (t) => {
  const { arm, run, clock, line, written } = await homed()
  const led = arm.free_drive!({}, calm)
  await clock.advance(10_000)
  t.equal(line.simulator.world.moving, true)
  await run(arm.end!())
  await run(led)
  t.match(line.simulator.world, { moving: false, homed: true })
  t.same(moves(written), ['free\n'])
})

test('a stop in a jog goes out at once, and only home ends it', async (t) => {
  const { arm, run, clock, line, written } = await homed()
  const jogging = arm.jog!(slightly, calm)
  await clock.advance(1000)
  const halted = arm.halt()
  t.equal(written.at(-1), 'stop\n')
  await t.rejects(run(jogging), { code: 'stopped' })
  await run(halted)
  t.match(line.simulator.world, { moving: false, homed: false })
  await t.rejects(run(arm.jog!(slightly, calm)), { code: 'not_initialized' })
})

test('a jog that is let go before its first byte moves nothing', async (t) => {
  const { arm, run, written } = await homed()
  const jogging = arm.jog!(slightly, calm)
  await run(arm.end!())
  t.equal(await run(jogging), 'jogged x by +0 mm')
  t.same(moves(written), [])
})

test('to go to a point it comes over the gateways and the access pattern, slowly, stays above it, and leaves the same way', async (t) => {
  const { arm, run, clock, line, written } = await homed()
  const way = { ...pad, via: [gate], access: { access_type: 'vertical', vertical_clearance: 80 } as const }
  const began = clock.now()
  await run(arm.go_to!({ teachpoint: 'pad', offset_z: 30, way }, calm))
  t.match(line.simulator.world, { moving: false, gripper: 'empty', pose: { x: 300, y: 200 } })
  t.equal(Math.round((line.simulator.world.pose as Pose).z), 330)
  t.ok(clock.now() - began > 7000, `${clock.now() - began} ms`)
  t.same(moves(written), [
    'via 1 100.000 200.000 400.000 90.000 0.000 0.000\n',
    'go 300.000 200.000 300.000 90.000 0.000 0.000 access vertical 80.000 - - via 1 above 30.000\n',
  ])
  const higher: number[] = []
  const going = arm.go_to!({ teachpoint: 'shelf', offset_z: 0, way: shelf }, calm)
  for (let ms = 0; ms < 8000; ms += 100) {
    await clock.advance(100)
    higher.push((line.simulator.world.pose as Pose).z)
  }
  t.ok(Math.max(...higher) > 390, 'it has left over the gateway')
  await run(going)
  t.match(line.simulator.world, { pose: shelfPose })
  await t.rejects(run(arm.go_to!({ teachpoint: 'pad', offset_z: 0, way: null }, calm)), { code: 'not_found', message: /teach it/ })
})

test('an adapter is sent a motion only if it has the skill, and its lack is explained', async (t) => {
  const { arm, run } = await bench({ can: ['gateway', 'go'] })
  t.equal(arm.jog, undefined)
  t.match(arm.lacks!('jog'), /has not been connected/)
  await run(arm.initialize({}, calm))
  t.same([arm.jog, arm.free_drive], [undefined, undefined])
  t.type(arm.go_to, 'function')
  t.match(arm.lacks!('jog'), /its adapter has no skill jog; extend it \(drivers\/arm\/README\.md says how\)/)
  t.equal(arm.lacks!('shake'), undefined)
})
