// PyLabRobot's XArm6 as a transporter of the bench, over a stand-in of the SDK of the arm: with a stand-in of PyLabRobot's class, and with PyLabRobot itself
// where `PYLABROBOT` names a checkout. `XARM_SDK` may name a checkout of the SDK, whose methods are then compared with the stand-in.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Test, test } from 'tap'
import { programFile, until } from '../../testing/bridges.ts'
import { openService } from '../../testing/http.ts'
import { targetOf } from '../../testing/moves.ts'
import { noPython } from '../../testing/python.ts'

const { PYLABROBOT, XARM_SDK } = process.env

/** The methods of the SDK that PyLabRobot and the bridge call. The arm outlives the connection; a file `gone` beside the module cuts it. */
const sdk = `
import os, time
from types import SimpleNamespace

FOLDER = os.path.dirname(__file__)
robot = SimpleNamespace(state=2, mode=0, units=850, start=[0.0] * 6, goal=[0.0] * 6, began=0.0, ends=0.0)

def note(words):
    with open(os.path.join(FOLDER, "log"), "a") as log:
        log.write(words + "\\n")

def gone(): return os.path.exists(os.path.join(FOLDER, "gone"))

def at():
    if time.monotonic() >= robot.ends: return list(robot.goal)
    part = (time.monotonic() - robot.began) / (robot.ends - robot.began)
    return [a + (b - a) * part for a, b in zip(robot.start, robot.goal)]

class XArmAPI:
    def __init__(self, port=None, is_radian=False, do_not_open=False, **kwargs):
        if gone(): raise Exception("connect socket failed")
        self.open = True
        note("connects")
    @property
    def connected(self):
        self.open = self.open and not gone()
        return self.open
    def disconnect(self): self.open = False
    def get_state(self): return (0, 1 if time.monotonic() < robot.ends else robot.state) if self.connected else (-1, "xArm is not connect")
    def set_state(self, state=0):
        if not self.connected: return -1
        note(f"state {state}")
        if state == 4: robot.goal, robot.ends, robot.state = at(), 0, 4
        else: robot.state = 2
        return 0
    def set_mode(self, mode=0, detection_param=0):
        if not self.connected: return -1
        note(f"mode {mode}")
        robot.mode = mode
        return 0
    def emergency_stop(self): self.set_state(4)
    def _obeys(self): return 0 if self.connected else -1
    def clean_error(self): return self._obeys()
    def clean_warn(self): return self._obeys()
    def motion_enable(self, enable=True, servo_id=None): return self._obeys()
    def set_gripper_mode(self, mode, **kwargs): return self._obeys()
    def set_gripper_enable(self, enable, **kwargs): return self._obeys()
    def set_gripper_position(self, pos, wait=False, speed=None, auto_enable=False, timeout=None, **kwargs):
        if not self.connected: return -1
        note(f"grips {pos}")
        # A plate of 85 mm lies between the fingers.
        robot.units = max(pos, 151) if PLATE else pos
        return 0
    def get_gripper_position(self, **kwargs): return (0, robot.units) if self.connected else (-1, None)
    def get_position(self, is_radian=None): return (0, at()) if self.connected else (-1, None)
    def get_servo_angle(self, servo_id=None, is_radian=None, is_real=False): return (0, [*at(), 0.0]) if self.connected else (-1, None)
    def set_position(self, x=None, y=None, z=None, roll=None, pitch=None, yaw=None, radius=None, speed=None, mvacc=None, mvtime=None, relative=False, is_radian=None, wait=False, timeout=None, **kwargs):
        return self._go([x, y, z, roll, pitch, yaw], f"goes to {x:g} {y:g} {z:g} {roll:g} {pitch:g} {yaw:g} at {speed:g}")
    def set_servo_angle(self, servo_id=None, angle=None, speed=None, mvacc=None, mvtime=None, relative=False, is_radian=None, wait=False, timeout=None, radius=None, **kwargs):
        return self._go(angle[:6], f"turns to {[round(each, 2) for each in angle[:6]]} at {speed:g}")
    def _go(self, goal, words):
        if not self.connected: return -1
        if robot.state >= 4: return -2
        if goal[0] > 700: return -8
        note(words)
        robot.start, robot.goal, robot.began = at(), goal, time.monotonic()
        robot.ends = robot.began + TAKES
        while time.monotonic() < robot.ends:
            if not self.connected: return -1
            time.sleep(0.005)
        return -9 if robot.state >= 4 else 0
`

/** PyLabRobot's class as far as the bridge calls it. */
const standIn = `
import asyncio
from types import SimpleNamespace
from pylabrobot.resources import Coordinate, Rotation

class XArm6Error(Exception):
    def __init__(self, code, message):
        self.code = code
        super().__init__(f"XArm6Error {code}: {message}")

class XArm6:
    def __init__(self, ip: str, tcp_offset=None, tcp_load=None, gripper_min_mm: float = 71.0, gripper_max_mm: float = 150.0, closed_threshold_mm: float = 73.0):
        self._ip, self._arm, self.closed_threshold_mm = ip, None, closed_threshold_mm
    async def _call_sdk(self, func, *args, op="", num_retries=0, **kwargs):
        result = await asyncio.get_running_loop().run_in_executor(None, lambda: func(*args, **kwargs))
        code, data = result if isinstance(result, tuple) else (result, None)
        if code: raise XArm6Error(code, f"Failed during {op}")
        return data
    async def setup(self, skip_gripper_init: bool = False):
        from xarm.wrapper import XArmAPI
        self._arm = XArmAPI(self._ip)
        await self.stop_freedrive_mode()
    async def stop(self):
        if self._arm is not None:
            await self._call_sdk(self._arm.disconnect)
            self._arm = None
    async def move_gripper(self, width: float, force_sensing: bool = False):
        await self._call_sdk(self._arm.set_gripper_position, round((min(width, 150) - 71) / 79 * 850), wait=True, speed=0)
    async def is_gripper_closed(self) -> bool:
        return 71 + await self._call_sdk(self._arm.get_gripper_position) / 850 * 79 <= self.closed_threshold_mm
    async def request_gripper_pose(self):
        x, y, z, *turned = await self._call_sdk(self._arm.get_position)
        return SimpleNamespace(location=Coordinate(x, y, z), rotation=Rotation(*turned))
    async def move_to_location(self, location, rotation, speed: float = 100.0, mvacc: float = 2000.0):
        at = {"x": location.x, "y": location.y, "z": location.z, "roll": rotation.x, "pitch": rotation.y, "yaw": rotation.z}
        await self._call_sdk(self._arm.set_position, **at, speed=speed, mvacc=mvacc, wait=True, op="set_position")
    async def move_to_joint_position(self, position, speed: float = 50.0, mvacc: float = 500.0):
        angles = list(await self._call_sdk(self._arm.get_servo_angle))
        for axis, value in position.items(): angles[axis - 1] = value
        await self._call_sdk(self._arm.set_servo_angle, angle=angles, speed=speed, mvacc=mvacc, wait=True, op="set_servo_angle")
    async def request_joint_position(self): return dict(zip(range(1, 7), await self._call_sdk(self._arm.get_servo_angle)))
    async def start_freedrive_mode(self, free_axes): await self._set_mode(2)
    async def stop_freedrive_mode(self): await self._set_mode(0)
    async def _set_mode(self, mode):
        await self._call_sdk(self._arm.set_mode, mode)
        await self._call_sdk(self._arm.set_state, 0)
`

type Library = 'stand-in' | 'PyLabRobot'

/** Writes the SDK and, unless PyLabRobot itself is used, the stand-in; returns the folder and how Python is started there. */
function programs(t: Test, library: Library, { takes = 0.02, plate = true } = {}) {
  const folder = dirname(programFile(t, ''))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(`${folder}/${path}`), { recursive: true })
    writeFileSync(`${folder}/${path}`, text)
  }
  write('xarm/__init__.py', '')
  write('xarm/wrapper.py', `TAKES, PLATE = ${takes}, ${plate ? 'True' : 'False'}\n${sdk}`)
  if (library === 'stand-in') {
    for (const room of ['', '/ufactory']) write(`pylabrobot${room}/__init__.py`, '')
    write('pylabrobot/ufactory/xarm6/__init__.py', standIn)
    const resources =
      'from collections import namedtuple\nCoordinate = namedtuple("Coordinate", "x y z")\nRotation = namedtuple("Rotation", "x y z")\n'
    write('pylabrobot/resources/__init__.py', resources)
  }
  return { folder, python: library === 'stand-in' ? ['python3'] : ['env', `PYTHONPATH=${PYLABROBOT}`, 'python3'] }
}

async function setup(t: Test, library: Library, options = {}) {
  const { folder, python } = programs(t, library, options)
  const words = ['pylabrobot.ufactory.xarm6.XArm6', 'ip=192.168.1.113', 'closed_threshold_mm=84', '--open', '100', '--closed', '80']
  const command = [...python, `${folder}/benchd_bridge.py`, 'pylabrobot', ...words]
  const device = { device_id: 'xarm-1', driver: 'bridge', type: 'transporter', transport: { kind: 'bridge', command } }
  const { ask, bench } = await openService(t, { devices: [device] })
  const instrument = bench.registry.find('xarm-1')
  await until(() => instrument.info().identity ?? instrument.info().fault)
  const log = () => (existsSync(`${folder}/xarm/log`) ? readFileSync(`${folder}/xarm/log`, 'utf8').trim().split('\n') : [])
  const call = (operation: string, json: object = {}) => ask('POST', `/api/devices/xarm-1/${operation}`, { json })
  return { ask, instrument, log, call, gone: `${folder}/xarm/gone` }
}

/** A test of a library; that of PyLabRobot itself is skipped where there is none. */
function each(name: string, body: (t: Test, library: Library) => Promise<unknown>): void {
  test(`${name}: a stand-in`, { skip: noPython }, (t) => body(t, 'stand-in'))
  const skip = noPython || (!PYLABROBOT && 'PYLABROBOT names no checkout')
  test(`${name}: PyLabRobot itself`, { skip }, (t) => body(t, 'PyLabRobot'))
}

const pose = { x: 300, y: 100, z: 40, yaw: 90, pitch: 0, roll: 180 }
const level = { ...pose, pitch: 90, roll: 0 }
const gate = { at: 'gate', pose: { ...pose, z: 300 } }

each('an XArm6 picks and places by gateways and access patterns, and shows that it has', async (t, library) => {
  const { instrument, log, call, ask } = await setup(t, library)
  t.equal((await call('initialize')).status, 200)
  await t.rejects(instrument.carry('pick', targetOf({ at: 'pad', pose })), {
    code: 'interlock',
    message: /nobody knows whether its gripper/,
  })
  t.equal((await call('perform', { operation: 'open_gripper' })).status, 200)
  const access = { access_type: 'horizontal', horizontal_clearance: 80, gripper_offset: 3 } as const
  await instrument.carry('pick', targetOf({ at: 'nest', pose: level, via: [gate], access }))
  await instrument.carry('place', targetOf({ at: 'pad', pose }))
  t.same(
    log().filter((line) => /^(goes|grips)/.test(line)),
    [
      ...['grips 312', 'grips 312', 'goes to 300 100 300 180 0 90 at 100'],
      ...['goes to 300 20 43 0 90 90 at 100', 'goes to 300 100 43 0 90 90 at 100', 'grips 97', 'goes to 300 20 43 0 90 90 at 100'],
      ...['goes to 300 100 300 180 0 90 at 100', 'goes to 300 100 90 180 0 90 at 100', 'goes to 300 100 40 180 0 90 at 100'],
      ...['grips 312', 'goes to 300 100 90 180 0 90 at 100'],
    ],
  )
  t.match((await ask('GET', '/api/devices/xarm-1/pose')).body, { coords: { z: 90, roll: 180 } })
})

each('a stop ends the move of an XArm6, which begins no other, and is seen to stand', async (t, library) => {
  const { instrument, log, call } = await setup(t, library, { takes: 30 })
  await call('initialize')
  await call('perform', { operation: 'open_gripper' })
  const picking = instrument.carry('pick', targetOf({ at: 'pad', pose }))
  picking.catch(() => undefined)
  await until(() => log().some((line) => line.startsWith('goes to')))
  const before = log().length
  await call('stop')
  await until(() => !instrument.condition.halts.mayBeOn)
  t.match(await picking, { success: false })
  t.same(log().slice(before), ['state 4'])
  t.equal(instrument.state, 'stopped')
  t.match(await call('initialize'), { status: 200 })
  t.equal(instrument.state, 'ready')
})

each('an XArm6 whose connection is gone is stopped over a new one as soon as there is one', async (t, library) => {
  const { instrument, log, call, gone } = await setup(t, library, { takes: 30 })
  await call('initialize')
  await call('perform', { operation: 'open_gripper' })
  const picking = instrument.carry('pick', targetOf({ at: 'pad', pose }))
  picking.catch(() => undefined)
  await until(() => log().some((line) => line.startsWith('goes to')))
  writeFileSync(gone, '')
  t.match((await call('stop')).body, { success: false })
  await picking.catch(() => undefined)
  t.ok(instrument.condition.halts.mayBeOn)
  const before = log().length
  rmSync(gone)
  await until(() => !instrument.condition.halts.mayBeOn)
  t.same(log().slice(before), ['connects', 'state 4'])
})

each(
  'an XArm6 refuses what it cannot reach as taught before anything moves, and fails where its gripper closes on nothing',
  async (t, library) => {
    const { instrument, log, call } = await setup(t, library, { plate: false })
    await call('initialize')
    await call('perform', { operation: 'open_gripper' })
    const before = log().length
    const access = { access_type: 'horizontal' } as const
    await t.rejects(instrument.carry('pick', targetOf({ at: 'pad', pose, access })), { message: /the gripper points up or down/ })
    const joints = { base: 0, shoulder: 0, elbow: 0, wrist: 0, rail: 0, gripper: 0 }
    await t.rejects(instrument.carry('pick', targetOf({ at: 'pad', joints })), { message: /taught in joint coordinates/ })
    t.equal(log().length, before)
    await t.rejects(instrument.carry('pick', targetOf({ at: 'pad', pose })), {
      code: 'device_failed',
      message: /its gripper closed on nothing/,
    })
  },
)

each('a person jogs an XArm6, sends it to a point, and leads it by hand until a stop', async (t, library) => {
  const { folder, python } = programs(t, library)
  const code = `
import asyncio, json
from benchd_bridge import Invalid
from benchd_bridge_arms import arm_of
from pylabrobot.ufactory.xarm6 import XArm6
point = {"name": "pad", "coord_type": "cartesian", "coords": ${JSON.stringify(pose)}, "elbow": None, "access": None, "gateways": []}
async def main():
    arm = arm_of(XArm6("192.168.1.113"), 100, 72)
    await arm.home()
    await arm.jog("x", 2, 20)
    await arm.jog("base", 1, 10)
    await arm.go_to("pad", point, 10, 20)
    try: await arm.jog("x", 500, 20)
    except Invalid as error: print(json.dumps(error.hint))
    await arm.free_drive(True)
    await arm.halt()
    print(json.dumps([(await arm.where())["state"], (await arm.where())["gripper"], arm.describe()["skills"]]))
asyncio.run(main())
for widths in ((100, 80), (100, None)):
    try: arm_of(XArm6("192.168.1.113"), *widths)
    except ValueError as error: print(json.dumps(str(error)[:9]))
print(json.dumps(arm_of(object(), None, None)))`
  const said = execFileSync('env', [...python, '-c', code], { cwd: folder, encoding: 'utf8' })
    .trim()
    .split('\n')
  t.same(
    said.map((line) => JSON.parse(line)),
    ['jog it back', ['stopped', null, ['gateway', 'access']], '--closed ', 'an arm ne', null],
  )
  const log = readFileSync(`${folder}/xarm/log`, 'utf8').trim().split('\n')
  t.same(log.slice(log.findIndex((line) => line.startsWith('goes'))), [
    ...['goes to 2 0 0 0 0 0 at 100', 'turns to [3.0, 0.0, 0.0, 0.0, 0.0, 0.0] at 18'],
    ...['goes to 300 100 90 180 0 90 at 100', 'goes to 300 100 50 180 0 90 at 100', 'mode 2', 'state 0', 'state 4', 'mode 0'],
  ])
})

test('the SDK has the methods and the parameters of the stand-in', {
  skip: noPython || (!XARM_SDK && 'XARM_SDK names no checkout'),
}, (t) => {
  const folder = t.testdir({ 'stand_in.py': `TAKES, PLATE = 0, True\n${sdk}` })
  const code = `
import inspect, json, sys, stand_in
from xarm.wrapper import XArmAPI
wrong = []
for name, method in inspect.getmembers(stand_in.XArmAPI, inspect.isfunction):
    if name.startswith("_"): continue
    real = getattr(XArmAPI, name, None)
    if real is None or not set(inspect.signature(method).parameters) - {"kwargs"} <= set(inspect.signature(real).parameters): wrong.append(name)
print(json.dumps(wrong))`
  const env = { ...process.env, HOME: folder, PYTHONPATH: `${folder}:${XARM_SDK}` }
  t.same(JSON.parse(execFileSync('python3', ['-c', code], { encoding: 'utf8', env }).trim().split('\n').at(-1) ?? ''), [])
  t.end()
})
