import { test } from 'tap'
import { type Hand, tampered } from '../../src/conformance/tampered.ts'
import type { Params } from '../../src/devices/operations.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { targetOf } from '../../src/testing/moves.ts'
import { driver } from './driver.ts'
import { poseAt } from './simulated_geometry.ts'

type Made = Bench & { hand: Hand }
const axisNumbers = { base: 0, shoulder: 1, elbow: 2, wrist: 3, rail: 5 }

async function ready(settings: object = {}): Promise<Made> {
  const { driver: same, hand } = tampered(driver)
  const made = await onSimulator(same, settings)
  await made.run(made.device.initialize({}, calm))
  made.written.length = 0
  return { ...made, hand }
}

/** Jogs for so long, and ends it. */
async function jogged({ device, clock, run }: Made, params: Params<'jog'>, ms = 1000): Promise<string | undefined> {
  const jogging = device.jog!(params, calm)
  await clock.advance(ms)
  device.end!().catch(() => undefined)
  return run(jogging)
}

const axesOf = ({ line }: Made) => line.simulator.world.axes as number[]
const motions = ({ written }: Made) => written.filter((frame) => /^move/.test(frame)).map((frame) => frame.trim())

test('a jog goes in steps of at most 2 mm or 1 degree, the next one only after the last was seen to end', async (t) => {
  for (const { axis, most } of [
    { axis: 'base', most: 2 },
    { axis: 'shoulder', most: 1 },
    { axis: 'wrist', most: 1 },
    { axis: 'x', most: 2 },
    { axis: 'y', most: 2 },
    { axis: 'yaw', most: 1 },
  ] as const) {
    const made = await ready()
    let isUnderWay = false
    const early: string[] = []
    made.line.onWire((direction, bytes) => {
      const frame = Buffer.from(bytes).toString()
      isUnderWay = made.line.simulator.world.moving === true
      if (direction === 'to_device' && /^move/.test(frame) && isUnderWay) early.push(frame)
    })
    const before = axesOf(made)
    const poseBefore = made.line.simulator.world.pose as Record<string, number>
    t.match(await jogged(made, { axis, direction: '+', speed: 20 }), new RegExp(`^jogged ${axis} by \\+\\d`), axis)
    t.same(early, [], axis)
    const steps = motions(made)
    t.ok(steps.length > 2, `${axis}: ${steps.length} steps`)
    const is = axis in axisNumbers
    const values = is ? steps.map((step) => Number(step.split(' ')[2 + axisNumbers[axis as 'base']])) : []
    for (const [i, value] of values.entries()) {
      const from = i === 0 ? before[axisNumbers[axis as 'base']]! : values[i - 1]!
      t.ok(value > from && value - from <= most + 0.001, `${axis}: ${from} to ${value}`)
    }
    const pose = made.line.simulator.world.pose as Record<string, number>
    if (!is) t.ok(pose[axis]! > poseBefore[axis]!, `${axis}: ${poseBefore[axis]} to ${pose[axis]}`)
    if (axis === 'x') t.ok(Math.abs(pose.y! - poseBefore.y!) < 0.1, 'along a straight line')
  }
})

test('the speed of a jog is that of its profile, up to 20 %, and slow jogs have small steps', async (t) => {
  const made = await ready()
  await jogged(made, { axis: 'base', direction: '-', speed: 5 })
  t.match(
    made.written.filter((frame) => frame.startsWith('Profile')),
    ['Profile 3 5 0 100 100 0.1 0.1 0 0\n'],
  )
  const [first, second] = motions(made).map((step) => Number(step.split(' ')[2]))
  t.equal(Math.round((second! - first!) * 1000), -500)
})

test('when a jog is let go, halt is written in the same turn, the arm stands, and nothing is latched', async (t) => {
  for (let ms = 150; ms < 400; ms += 7) {
    const made = await ready()
    const { device, clock, run, written, line } = made
    const jogging = device.jog!({ axis: 'base', direction: '+', speed: 20 }, calm)
    await clock.advance(ms)
    const asked = clock.now()
    device.end!().catch(() => undefined)
    t.equal(written.at(-1), '\nhalt\n', `${ms} ms`)
    await clock.advance(1)
    t.equal(line.simulator.world.moving, false, `${ms} ms`)
    t.match(await run(jogging), /^jogged base by \+/, `${ms} ms`)
    t.ok(clock.now() - asked < 400, `${clock.now() - asked} ms until that is seen`)
    const moved = motions(made).length
    await run(device.check())
    await run(device.pick!(targetOf({ at: 'pad', pose: poseAt([150, -20, 90, 100, 0]), elbow: 'right' }), calm))
    t.ok(motions(made).length > moved, 'it takes moves at once')
    line.simulator.powerOff()
  }
})

test('a jog ends where the axis ends, which is no fault; one that cannot begin there is refused', async (t) => {
  const made = await ready()
  const { device, run } = made
  t.match(
    await run(device.jog!({ axis: 'base', direction: '+', speed: 20 }, calm)),
    /^jogged base by \+20[01]\.?\d* mm; it goes no further$/,
  )
  await t.rejects(run(device.jog!({ axis: 'base', direction: '+', speed: 20 }, calm)), { code: 'invalid', message: /-1012/ })
  await run(device.check())
})

test('a stop, a fault and a lost answer end a jog, and no step begins after it', async (t) => {
  for (const how of ['stop', 'jam', 'cut'] as const) {
    const made = await ready()
    const { device, clock, run, line, hand } = made
    const jogging = device.jog!({ axis: 'elbow', direction: '+', speed: 20 }, calm)
    await clock.advance(300)
    if (how === 'jam') line.setFault('jam')
    if (how === 'cut') hand.cut()
    const halted = how === 'stop' ? device.halt() : Promise.resolve()
    await t.rejects(run(jogging), { code: { stop: 'stopped', jam: 'device_failed', cut: 'no_reply' }[how] }, how)
    await run(halted)
    const steps = motions(made).length
    await clock.advance(5000)
    t.equal(motions(made).length, steps, how)
    t.equal(line.simulator.world.moving, false, how)
  }
})

test('a robot on a rail is jogged along its joints and its rail, since a pose does not say where the rail stands', async (t) => {
  const made = await ready({ rail: true })
  t.same(made.device.choices, { axis: ['z', 'base', 'shoulder', 'elbow', 'wrist', 'rail'] })
  const { rail } = axisNumbers
  const before = axesOf(made)[rail]!
  await jogged(made, { axis: 'rail', direction: '+', speed: 10 })
  t.ok(axesOf(made)[rail]! > before)
})

test('free drive frees the joints that cannot fall, and holds them again at its end, at a stop and at initialize', async (t) => {
  const made = await ready()
  const { device, clock, run, line } = made
  const free = () => line.simulator.world.free
  const driving = device.free_drive!({}, calm)
  await clock.advance(1000)
  t.same(free(), [2, 3, 4], 'not the column')
  device.end!().catch(() => undefined)
  t.match(await run(driving), /its joints were free, except the column; it holds its position again/)
  t.same(free(), [])

  const second = device.free_drive!({}, calm)
  second.catch(() => undefined)
  await clock.advance(1000)
  await run(device.halt())
  await t.rejects(second, { code: 'stopped' })
  t.same(free(), [], 'after a stop')

  line.write(Buffer.from('freemode 2\n', 'latin1'))
  await clock.advance(50)
  t.same(free(), [2], 'left by a service that was killed')
  await run(device.initialize({}, calm))
  t.same(free(), [])
})

test('the column is freed where the settings say that it holds, and an emergency stop ends free drive as a fault', async (t) => {
  const { device, clock, run, line } = await ready({ column_holds: true })
  const driving = device.free_drive!({}, calm)
  driving.catch(() => undefined)
  await clock.advance(1000)
  t.same(line.simulator.world.free, [1, 2, 3, 4])
  line.setFault('interlock_open')
  await t.rejects(run(driving), { code: 'device_failed' })
  await run(device.halt())
})

test('it goes slowly to a teachpoint or above it, through gateways and access, with its fingers as they are', async (t) => {
  const made = await ready()
  const { device, run, written, line } = made
  const joints = { base: 150, shoulder: 30, elbow: 120, wrist: 200, rail: 0, gripper: 0 }
  const way = { at: 'nest', joints, via: [{ at: 'gate', joints: { ...joints, base: 300 } }] }
  await run(device.go_to!({ teachpoint: 'nest', offset_z: 40, way }, calm))
  t.same(
    written.filter((frame) => /^(Profile|move|grip|Gr|Rel)/i.test(frame)).map((frame) => frame.trim()),
    [
      ...['Profile 3 20 0 100 100 0.1 0.1 0 0', 'moveJ 3 300.000 30.000 120.000 200.000 100.000'],
      ...['Profile 3 20 0 100 100 0.1 0.1 0 0', 'moveJ 3 250.000 30.000 120.000 200.000 100.000'],
      ...['Profile 3 20 0 50 50 0.1 0.1 0 -1', 'moveJ 3 190.000 30.000 120.000 200.000 100.000'],
    ],
  )
  t.equal(axesOf(made)[0], 190)
  const moves = () => written.filter((frame) => /^move/.test(frame)).map((frame) => frame.trim().split(' ').slice(2).join(' '))
  const before = moves().length
  await run(device.go_to!({ teachpoint: 'gate', offset_z: 0, way: { at: 'gate', joints: { ...joints, wrist: 210 } } }, calm))
  t.same(
    moves()
      .slice(before, before + 3)
      .map((move) => move.split(' ')[0]),
    ['250.000', '300.000', '250.000'],
    'it leaves by the way that it came',
  )
  t.equal(axesOf(made)[0], 150)
  t.match(line.simulator.world, { gripper: 'empty', moving: false })
  await t.rejects(run(device.go_to!({ teachpoint: 'away', offset_z: 0, way: null }, calm)), { code: 'not_found' })
})

test('nothing is moved by hand before it is initialized', async (t) => {
  const { device, run, written } = await onSimulator(driver)
  for (const [name, params] of [
    ['jog', { axis: 'base', direction: '+', speed: 10 }],
    ['free_drive', {}],
    [
      'go_to',
      { teachpoint: 'a', offset_z: 0, way: { at: 'a', joints: { base: 200, shoulder: 0, elbow: 90, wrist: 180, rail: 0, gripper: 0 } } },
    ],
  ] as const)
    await t.rejects(run(device[name]!(params as never, calm) as Promise<unknown>), { code: 'not_initialized' }, name)
  t.same(
    written.filter((frame) => /^(move|free)/.test(frame)),
    [],
  )
})
