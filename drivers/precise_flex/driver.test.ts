import { test } from 'tap'
import { type Hand, tampered } from '../../src/conformance/tampered.ts'
import type { Device } from '../../src/devices/device.ts'
import type { Grip, Joints, MoveTarget, Way } from '../../src/devices/way.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { targetOf } from '../../src/testing/moves.ts'
import { driver } from './driver.ts'
import { poseAt } from './simulated_geometry.ts'

type Arm = Required<Pick<Device, 'pick' | 'place' | 'pose'>> & Device
type Made = Bench & { arm: Arm; hand: Hand }

const joints: Joints = { base: 150, shoulder: 30, elbow: 120, wrist: 200, rail: 0, gripper: 0 }
const nest: Way = { at: 'nest', joints }
const padPose = poseAt([150, -20, 90, 100, 0])
const pad: Way = { at: 'pad', pose: padPose, elbow: 'right' }

async function bench(settings: object = {}): Promise<Made> {
  const { driver: same, hand } = tampered(driver)
  const made = await onSimulator(same, settings)
  return { ...made, arm: made.device as Arm, hand }
}

async function ready(settings: object = {}): Promise<Made> {
  const made = await bench(settings)
  await made.run(made.arm.initialize({}, calm))
  made.written.length = 0
  return made
}

function labwareOf(grip: Grip) {
  return { name: 'plate', type: '96-well', barcode: null, grip }
}

const questions = /^(wherej|wherec|destJ 1|sysState|nop|Speed|version|mode 0|selectRobot|attach|pd)\b/

/** Returns the commands that move the robot, from all that the driver wrote. */
function orders(written: string[]): string[] {
  return written.map((frame) => frame.trim()).filter((frame) => !questions.test(frame))
}

test('initialize says who it is, and switches on, attaches and homes it only where it is not so already', async (t) => {
  const { arm, run, written, line } = await bench()
  const identity = { model: 'PF400 simulated', serial_number: 'SIM-0001', firmware_version: 'TCP Command Server 3.0D4 simulated' }
  t.same(await run(arm.initialize({}, calm)), { identity })
  const profiles = ['Profile 1 50 0 100 100 0.1 0.1 0 0', 'Profile 2 20 0 50 50 0.1 0.1 0 -1']
  t.same(orders(written), ['hp 1 20', 'home', ...profiles, 'freemode -1'])
  t.ok(written.includes('attach 1\n'))
  t.same(written.slice(0, 3), ['version\n', 'mode 0\n', 'selectRobot 1\n'])
  t.match(line.simulator.world, { homed: true, powered: true, moving: false })
  written.length = 0
  await run(arm.initialize({}, calm))
  t.same(orders(written), [...profiles, 'freemode -1'], 'a second time it is so already')
  t.notOk(written.includes('attach 1\n'))
})

test('asking who it is, how it is and where it is moves nothing and switches nothing on', async (t) => {
  const { arm, run, written, line } = await bench()
  t.match(await run(arm.identify()), { serial_number: 'SIM-0001' })
  await run(arm.check())
  t.match(await run(arm.pose()), { z: 200 })
  t.same(orders(written), [])
  t.match(line.simulator.world, { homed: false, powered: false })
})

test('a plate is picked at a joint point and placed at a cartesian one, coming and leaving along a straight vertical', async (t) => {
  const { arm, run, written, line } = await ready()
  await run(arm.pick(targetOf(nest), calm))
  t.match(line.simulator.world, { gripper: 'full' })
  t.same(orders(written), [
    'moveJ 1 250.000 30.000 120.000 200.000 100.000',
    'GripOpenPos 95.500',
    'gripper 1',
    'moveJ 2 150.000 30.000 120.000 200.000 95.500',
    'GraspPlate 85.500 50 10.000',
    // The goal of the fingers is what presses them, and stays below where the plate keeps them.
    'moveJ 2 250.000 30.000 120.000 200.000 82.500',
  ])
  written.length = 0
  await run(arm.place(targetOf(pad), calm))
  t.match(line.simulator.world, { gripper: 'empty' })
  const [x, y] = [padPose.x.toFixed(3), padPose.y.toFixed(3)]
  t.same(orders(written), [
    `moveC 1 ${x} ${y} 250.000 170.000 90.000 -180.000 4097`,
    `moveC 2 ${x} ${y} 150.000 170.000 90.000 -180.000 4097`,
    'ReleasePlate 95.500 50',
    `moveC 2 ${x} ${y} 250.000 170.000 90.000 -180.000 4097`,
  ])
})

test('access, gateways and the grip of the labware are kept to', async (t) => {
  const { arm, run, written } = await ready()
  const gate = { at: 'gate', joints: { ...joints, base: 300 } }
  const access = { access_type: 'horizontal', horizontal_clearance: 50, vertical_clearance: 10, gripper_offset: 5 } as const
  const target: MoveTarget = { ...targetOf({ ...pad, via: [gate], access }), labware: labwareOf({ width: 120, force: 25 }) }
  await run(arm.pick(target, calm))
  const turn = (170 * Math.PI) / 180
  const front = `${(padPose.x - 50 * Math.cos(turn)).toFixed(3)} ${(padPose.y - 50 * Math.sin(turn)).toFixed(3)}`
  const there = `${padPose.x.toFixed(3)} ${padPose.y.toFixed(3)}`
  const rest = '170.000 90.000 -180.000 4097'
  t.same(orders(written), [
    'moveJ 1 300.000 30.000 120.000 200.000 100.000',
    `moveC 1 ${front} 165.000 ${rest}`,
    `moveC 2 ${there} 165.000 ${rest}`,
    'GripOpenPos 130.000',
    'gripper 1',
    `moveC 2 ${there} 155.000 ${rest}`,
    'GraspPlate 120.000 50 25.000',
    `moveC 2 ${there} 165.000 ${rest}`,
    `moveC 2 ${front} 165.000 ${rest}`,
    'moveJ 1 300.000 30.000 120.000 200.000 117.000',
  ])
})

test('a way that it cannot be sent without kinematics is refused before anything moves', async (t) => {
  const { arm, run, written } = await ready()
  const horizontal = { ...nest, access: { access_type: 'horizontal' } as const }
  await t.rejects(run(arm.pick(targetOf(horizontal), calm)), { code: 'invalid', message: /nest.*cartesian/ })
  await t.rejects(run(arm.pick({ ...targetOf(nest), way: null }, calm)), { code: 'not_found' })
  t.same(orders(written), [])
  await run(arm.pick(targetOf({ ...horizontal, access: { ...horizontal.access, horizontal_clearance: 0 } }), calm))
  t.equal(orders(written)[2], 'moveJ 2 150.000 30.000 120.000 200.000 95.500', 'straight from where it stands')
})

test('a robot on a rail goes to joint points alone, which say where on the rail', async (t) => {
  const { arm, run, written, line } = await ready({ rail: true })
  await t.rejects(run(arm.pick(targetOf(pad), calm)), { code: 'invalid', message: /rail/ })
  await run(arm.pick(targetOf({ ...nest, joints: { ...joints, rail: 700 } }), calm))
  t.equal(orders(written)[0], 'moveJ 1 250.000 30.000 120.000 200.000 100.000 700.000')
  t.equal((line.simulator.world.axes as number[])[5], 700)
})

test('without the PARobot module the fingers are an axis, which stands short of its goal where it holds labware', async (t) => {
  const { arm, run, written, line, hand } = await ready({ gripper: 'axis' })
  await run(arm.pick(targetOf(nest), calm))
  t.match(line.simulator.world, { gripper: 'full' })
  t.same(
    orders(written).filter((order) => /One/.test(order)),
    ['MoveOneAxis 5 95.500 1', 'MoveOneAxis 5 83.500 1'],
  )
  t.equal(orders(written).at(-1), 'moveJ 2 250.000 30.000 120.000 200.000 83.500', 'the fingers go on to press')
  await run(arm.place(targetOf(nest), calm))
  t.match(line.simulator.world, { gripper: 'empty' })
  hand.replace(/85\.500/, '83.500')
  await t.rejects(run(arm.pick(targetOf(nest), calm)), { code: 'device_failed', message: /nothing to grip at nest/ })
})

test('fingers that grip nothing leave as they came, and that is a fault', async (t) => {
  const { arm, run, written, hand } = await ready()
  hand.replace(/^0 -1\r/, '0 0\r')
  await t.rejects(run(arm.pick(targetOf(nest), calm)), { code: 'device_failed', message: /nothing to grip at nest; see that/ })
  t.same(orders(written).slice(-2), ['ReleasePlate 95.500 50', 'moveJ 2 250.000 30.000 120.000 200.000 95.500'])
})

test('a point out of reach is refused, and so is whatever comes before initialize', async (t) => {
  const { arm, run } = await bench()
  await t.rejects(run(arm.pick(targetOf(nest), calm)), { code: 'not_initialized' })
  await run(arm.initialize({}, calm))
  const far = { at: 'far', joints: { ...joints, shoulder: 170 } }
  const sentence =
    'it refused moveJ and reports error -1012 (an axis would leave its range, or is outside it). See the teachpoint, or bring'
  await t.rejects(run(arm.pick(targetOf(far), calm)), { code: 'invalid', message: new RegExp(`^${sentence.replace(/[().]/g, '\\$&')}`) })
  await run(arm.check())
  const nestThatIsFar = { at: 'low', joints: { ...joints, base: 90 } }
  const below = { ...nestThatIsFar, access: { access_type: 'vertical', gripper_offset: -90 } as const }
  await t.rejects(run(arm.pick(targetOf(below), calm)), { code: 'device_failed' }, 'once it has moved, that is a fault')
})

test('a stop goes out at once on the same connection, ends the motion where it is, and is confirmed when it stands', async (t) => {
  const { arm, run, clock, written, line } = await ready()
  const moving = arm.pick(targetOf(nest), calm)
  await clock.advance(100)
  t.equal(line.simulator.world.moving, true)
  const before = clock.now()
  const halted = arm.halt()
  t.equal(written.at(-1), '\nhalt\n')
  await t.rejects(run(moving), { code: 'stopped' })
  await run(halted)
  t.ok(clock.now() - before < 400, `${clock.now() - before} ms`)
  t.equal(line.simulator.world.moving, false)
  const [asked] = [written.slice(written.indexOf('\nhalt\n') + 1)]
  t.match(asked.filter((frame) => /wherej|sysState/.test(frame)).slice(-3), ['wherej\n', 'wherej\n', 'sysState\n'])
  await clock.advance(60_000)
  t.equal(line.simulator.world.moving, false)
  await t.rejects(run(arm.place(targetOf(pad), calm)), { code: 'not_initialized' })
})

test('it never parks the interpreter in a motion; a driver that waited by waitForEom would not stop', async (t) => {
  const { arm, run, clock, written, line } = await ready()
  await run(arm.pick(targetOf(nest), calm))
  await run(arm.place(targetOf(pad), calm))
  t.notOk(written.some((frame) => /waitForEom/i.test(frame)))
  const far = 'moveJ 2 400 -90 20 180 95'
  const stopsAfter = async (lines: string[]) => {
    for (const one of [...lines, '\nhalt']) {
      line.write(Buffer.from(`${one}\n`, 'latin1'))
      await clock.advance(50)
    }
    const isStopped = !line.simulator.world.moving
    await clock.advance(60_000)
    line.write(Buffer.from('moveJ 1 200 0 180 180 95\n', 'latin1'))
    await clock.advance(60_000)
    return isStopped
  }
  t.equal(await stopsAfter([far]), true)
  t.equal(await stopsAfter([far, 'waitForEom']), false, 'it moves on to its end')
  t.equal(await stopsAfter([far, far]), false, 'and so it does when a second motion waits')
})

test('a stop that the controller does not hear is not confirmed', async (t) => {
  const { arm, run, clock, hand, line } = await ready({ speed: 1 })
  const moving = arm.pick(targetOf(nest), calm)
  await clock.advance(300)
  hand.hear((frame) => !frame.includes('halt'))
  const halted = arm.halt()
  await t.rejects(run(moving), { code: 'stopped' })
  await t.rejects(run(halted), { code: 'device_failed', message: /still moves after a stop; use its red button/ })
  hand.leave()
  await run(arm.halt())
  t.equal(line.simulator.world.moving, false)
})

test('initialize is refused while something moves', async (t) => {
  const { arm, run, clock, line } = await ready()
  line.write(Buffer.from('moveJ 2 400 -90 20 180 95\n', 'latin1'))
  await clock.advance(100)
  await t.rejects(run(arm.initialize({}, calm)), { code: 'interlock', message: /it is moving; wait, or stop it/ })
  t.equal(line.simulator.world.moving, true)
})

test('a fault that switches the motor power off is told by its number, and initialize ends it', async (t) => {
  const { arm, run, clock, line } = await ready()
  const moving = arm.pick(targetOf(nest), calm).catch((error) => error)
  await clock.advance(300)
  line.setFault('jam')
  t.match(await run(moving), {
    code: 'device_failed',
    message: /error -3100 \(the arm is far from where it should be: it hit something\). See what/,
  })
  await t.rejects(run(arm.check()), { code: 'device_failed', message: /error -3100 / })
  line.clearFaults()
  await run(arm.initialize({}, calm))
  await run(arm.pick(targetOf(nest), calm))
})

test('a pressed emergency stop is a fault, and nothing can be initialized while it is pressed', async (t) => {
  const { arm, run, line } = await ready()
  line.setFault('interlock_open')
  await t.rejects(run(arm.check()), {
    code: 'device_failed',
    message: /its emergency stop is pressed. Release the emergency stop, then init/,
  })
  await t.rejects(run(arm.initialize({}, calm)), { code: 'interlock', message: /emergency stop/ })
  line.clearFaults()
  await run(arm.initialize({}, calm))
  await run(arm.check())
})

test('a robot that somebody detached, or that restarted, has a fault', async (t) => {
  const { arm, run, line, clock, hand } = await ready()
  line.write(Buffer.from('attach 0\n', 'latin1'))
  await clock.advance(50)
  await t.rejects(run(arm.check()), { code: 'device_failed', message: /no program has attached it/ })
  await run(arm.initialize({}, calm))
  hand.restart()
  await t.rejects(run(arm.check()), { code: 'device_failed', message: /its motor power is off/ })
})

test('an arm that stands short of its goal has failed', async (t) => {
  const { arm, run, clock, line } = await ready()
  const moving = arm.pick(targetOf(nest), calm).catch((error) => error)
  await clock.advance(100)
  line.write(Buffer.from('halt\n', 'latin1'))
  t.match(await run(moving), { code: 'device_failed', message: /it stands, and not where it was sent/ })
})

test('a move that takes too long ends', async (t) => {
  const { arm, run } = await ready({ approach_speed: 1, move_timeout_s: 5 })
  await t.rejects(run(arm.pick(targetOf(nest), calm)), { code: 'no_reply', message: /did not arrive within 5 s/ })
})

test('a stop at any moment of a pick and a place ends it, and nothing but questions is said after it', async (t) => {
  const work = async ({ arm }: Made) => {
    await arm.pick(targetOf(nest), calm)
    await arm.place(targetOf(pad), calm)
  }
  const whole = await ready()
  const began = whole.clock.now()
  await whole.run(work(whole))
  const took = whole.clock.now() - began
  for (let ms = 0; ms < took; ms += 130) {
    const made = await ready()
    const working = work(made).catch((error) => error)
    await made.clock.advance(ms)
    const halted = made.arm.halt()
    const before = made.written.length
    await made.run(halted)
    t.match(await made.run(working), { code: 'stopped' }, `at ${ms} ms`)
    t.equal(made.line.simulator.world.moving, false)
    t.same(orders(made.written.slice(before)), [])
    await made.clock.advance(20_000)
    t.equal(made.line.simulator.world.moving, false)
    made.line.simulator.powerOff()
  }
})

test('no command is said twice when its answer is lost, and the pick fails', async (t) => {
  const whole = await ready()
  await whole.run(whole.arm.pick(targetOf(nest), calm))
  const commands = orders(whole.written)
  for (const lost of new Set(commands)) {
    const made = await ready()
    const { arm, run, written, hand, line } = made
    let isLost = false
    line.onWire((direction, bytes) => {
      if (direction === 'to_host' || isLost || Buffer.from(bytes).toString().trim() !== lost) return
      isLost = true
      hand.change(() => hand.leave())
    })
    await t.rejects(run(arm.pick(targetOf(nest), calm)), { code: 'no_reply' }, lost)
    t.same(orders(written), commands.slice(0, commands.indexOf(lost) + 1))
  }
})

test('a gripper that holds something picks nothing else until it is initialized', async (t) => {
  const { arm, run, written } = await ready()
  await run(arm.pick(targetOf(nest), calm))
  written.length = 0
  await t.rejects(run(arm.pick(targetOf(pad), calm)), { code: 'interlock', message: /holds something already; place that first/ })
  t.same(orders(written), [])
  await run(arm.initialize({}, calm))
  await run(arm.pick(targetOf(pad), calm))
})

test('open fingers prove that they hold nothing, and closed fingers, a robot that moves and one without motor power prove nothing', async (t) => {
  const { arm, run, clock, line } = await ready()
  const held = (grip?: Grip) => run(arm.gripper!(grip ? labwareOf(grip) : targetOf(nest).labware))
  await run(arm.pick(targetOf(nest), calm))
  t.equal(await held(), null, 'they stand at the labware')
  await run(arm.place(targetOf(pad), calm))
  t.equal(await held(), 'empty')
  t.equal(await held({ width: 92 }), null, 'wider labware could be between them')
  const moving = arm.pick(targetOf(nest), calm)
  await clock.advance(300)
  await t.rejects(held(), { code: 'interlock', message: /it is moving; wait until it stands/ })
  await run(moving)
  await run(arm.place(targetOf(pad), calm))
  line.setFault('interlock_open')
  t.equal(await held(), null, 'somebody may have moved them by hand')
})

test('a stop between the answer before a command and that command keeps it from being said', async (t) => {
  const whole = await ready()
  await whole.run(whole.arm.pick(targetOf(nest), calm))
  const frames = [...whole.written]
  let stops = 0
  for (const [before, frame] of frames.slice(1).entries()) {
    if (orders([frame]).length === 0) continue
    for (let turns = 0; turns < 14; turns++) {
      const { arm, run, written, line } = await ready()
      let halted: Promise<void> | undefined
      let said = 0
      const stop = async () => {
        for (let turn = 0; turn < turns; turn++) await Promise.resolve()
        said = written.length
        await arm.halt()
      }
      line.onWire((direction, bytes) => {
        if (direction === 'to_host' && bytes.at(-1) === 0x0a && written.length === before + 1) halted ??= stop()
      })
      await t.rejects(run(arm.pick(targetOf(nest), calm)), { code: 'stopped' })
      await run(halted!)
      t.same(orders(written.slice(said)), ['halt'], `${frame.trim()}, ${turns} turns`)
      stops++
      line.simulator.powerOff()
    }
  }
  t.ok(stops > 80, `${stops} stops`)
})
