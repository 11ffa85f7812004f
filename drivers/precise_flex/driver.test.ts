import { test } from 'tap'
import type { Device } from '../../src/devices/device.ts'
import type { Joints, MoveTarget, Way } from '../../src/devices/way.ts'
import type { LabError } from '../../src/errors.ts'
import { type Hand, tampered } from '../../src/testing/drivers/tampered.ts'
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

const questions = /^(wherej|wherec|destJ 1|sysState|nop|Speed|version|mode 0|selectRobot|attach|pd)\b/

/** What it was told to do, of all that was said. */
function orders(written: string[]): string[] {
  return written.map((frame) => frame.trim()).filter((frame) => !questions.test(frame))
}

test('initialize says who it is, and switches on, attaches and homes it only where it is not so already', async (t) => {
  const { arm, run, written, line } = await bench()
  const identity = { model: 'PF400 simulated', serial_number: 'SIM-0001', firmware_version: 'TCP Command Server 3.0D4 simulated' }
  t.same(await run(arm.initialize({}, calm)), { identity })
  const profiles = ['Profile 1 50 0 100 100 0.1 0.1 0 0', 'Profile 2 20 0 50 50 0.1 0.1 0 -1']
  t.same(orders(written), ['hp 1 20', 'home', ...profiles])
  t.ok(written.includes('attach 1\n'))
  t.same(written.slice(0, 3), ['version\n', 'mode 0\n', 'selectRobot 1\n'])
  t.match(line.simulator.world, { homed: true, powered: true, moving: false })
  written.length = 0
  await run(arm.initialize({}, calm))
  t.same(orders(written), profiles, 'a second time it is so already')
  t.notOk(written.includes('attach 1\n'))
})
