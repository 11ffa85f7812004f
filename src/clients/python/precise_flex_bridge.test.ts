// PyLabRobot's PreciseFlex as a transporter of the bench: with a stand-in that has its signatures, and with PyLabRobot itself where `PYLABROBOT` names a checkout.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { type Test, test } from 'tap'
import { programFile, until } from '../../testing/bridges.ts'
import { openService } from '../../testing/http.ts'
import { targetOf } from '../../testing/moves.ts'
import { noPython, withPython } from '../../testing/python.ts'

/** The methods that the bridge calls, with their parameters in PyLabRobot. */
const standIn = `
import asyncio, time
from types import SimpleNamespace

def note(words):
    with open(__file__ + ".log", "a") as log:
        log.write(words + "\\n")

class Socket:
    def __init__(self, arm): self.arm, self.is_open = arm, False
    async def setup(self): self.is_open = True
    async def stop(self): self.is_open = False
    async def write(self, data, timeout=None):
        if not self.is_open: raise RuntimeError("not set up; call setup() first")
        note(f"writes {data!r}")
        self.arm.ends, self.arm.goal = 0, self.arm.joints()
    async def readline(self, timeout=None):
        await asyncio.sleep(0.01)
        raise asyncio.TimeoutError()

class PreciseFlex:
    def __init__(self, host: str, gripper_length: float, gripper_z_offset: float, closed_gripper_position: float, port: int = 10100, timeout: int = 20):
        self.io = Socket(self)
        self.profile_index = 1
        self.start, self.goal, self.began, self.ends = [0.0] * 4, [0.0] * 4, 0, 0
        self.width, self.holds, self.busy = 80.0, False, 0
    def joints(self):
        if time.monotonic() >= self.ends: return list(self.goal)
        part = (time.monotonic() - self.began) / (self.ends - self.began)
        return [a + (b - a) * part for a, b in zip(self.start, self.goal)]
    async def send_command(self, command: str) -> str:
        self.busy += 1
        await asyncio.sleep(0.001)
        if self.busy > 1: note("two commands at once")
        self.busy -= 1
        return {"wherej": " ".join(map(str, self.joints())), "hp": "1", "IsFullyClosed": "-1" if self.width < 62 else "0"}.get(command, "")
    async def setup(self, skip_home: bool = False): await self.io.setup(); note("setup")
    async def set_response_mode(self, mode): note(f"mode {mode}")
    async def request_profile_speed(self, profile_index: int) -> float: return 50.0
    async def set_profile_speed(self, profile_index: int, speed_pct: float): note(f"speed {speed_pct:g}")
    async def select_robot(self, robot_number: int): note(f"selects {robot_number}")
    async def request_power_state(self) -> int: return int(await self.send_command("hp"))
    async def is_gripper_closed(self) -> bool: return int(await self.send_command("IsFullyClosed")) == -1
    async def move_gripper(self, width: float, force_sensing: bool = False):
        note(f"grips {width} {force_sensing}")
        self.width = width if PLATE or not force_sensing else 60.0
    async def move_to_joint_position(self, position, speed_pct=None):
        note(f"joints {[position[axis] for axis in sorted(position)]}")
        self._begin([position[axis] for axis in (1, 2, 3, 4)])
    async def move_to_location(self, location, direction, speed_pct=None, orientation=None, wrist=None, rail_position=None):
        note(f"goes to {location.x:g} {location.y:g} {location.z:g} {direction:g} {orientation}")
        self._begin([location.z, location.x, location.y, direction])
    def _begin(self, goal):
        self.start, self.goal, self.began = self.joints(), goal, time.monotonic()
        self.ends = self.began + TAKES
    async def request_joint_position(self):
        while time.monotonic() < self.ends: await asyncio.sleep(0.005); await self.send_command("wherej")
        return dict(zip((1, 2, 3, 4), self.joints()))
    async def request_gripper_pose(self):
        z, x, y, yaw = self.joints()
        return SimpleNamespace(location=SimpleNamespace(x=x, y=y, z=z), rotation=SimpleNamespace(x=-180, y=90, z=yaw))
`

async function setup(t: Test, { takes = 0.02, plate = true } = {}) {
  const folder = dirname(programFile(t, ''))
  for (const name of ['pylabrobot', 'pylabrobot/brooks', 'pylabrobot/brooks/precise_flex', 'pylabrobot/resources'])
    mkdirSync(`${folder}/${name}`)
  const arm = `${folder}/pylabrobot/brooks/precise_flex/__init__.py`
  writeFileSync(arm, `TAKES, PLATE = ${takes}, ${plate ? 'True' : 'False'}\n${standIn}`)
  for (const name of ['', '/brooks']) writeFileSync(`${folder}/pylabrobot${name}/__init__.py`, '')
  writeFileSync(
    `${folder}/pylabrobot/resources/__init__.py`,
    'from collections import namedtuple\nCoordinate = namedtuple("Coordinate", "x y z")\n',
  )
  const words = [
    'host=192.168.0.1',
    'gripper_length=162',
    'gripper_z_offset=0',
    'closed_gripper_position=60',
    '--open',
    '132',
    '--closed',
    '125',
  ]
  const command = ['python3', `${folder}/benchd_bridge.py`, 'pylabrobot', 'pylabrobot.brooks.precise_flex.PreciseFlex', ...words]
  const device = { device_id: 'flex-1', driver: 'bridge', type: 'transporter', transport: { kind: 'bridge', command } }
  const { ask, bench } = await openService(t, { devices: [device] })
  const instrument = bench.registry.find('flex-1')
  await until(() => instrument.info().identity ?? instrument.info().fault)
  const log = () => (existsSync(`${arm}.log`) ? readFileSync(`${arm}.log`, 'utf8').trim().split('\n') : [])
  const call = (operation: string, json: object = {}) => ask('POST', `/api/devices/flex-1/${operation}`, { json })
  return { ask, instrument, log, call }
}

const pose = { x: 300, y: 100, z: 40, yaw: 90, pitch: 0, roll: 0 }
const gate = { at: 'gate', joints: { base: 200, shoulder: 10, elbow: 20, wrist: 30, rail: 0, gripper: 0 } }

withPython("PyLabRobot's PreciseFlex picks and places by gateways and access patterns, and shows that it has", async (t) => {
  const { instrument, log, call, ask } = await setup(t)
  t.equal((await call('initialize')).status, 200)
  await t.rejects(instrument.carry('pick', targetOf({ at: 'pad', pose })), {
    code: 'interlock',
    message: /nobody knows whether its gripper/,
  })
  t.equal((await call('perform', { operation: 'open_gripper' })).status, 200)
  const access = { access_type: 'horizontal', horizontal_clearance: 80, gripper_offset: 3 } as const
  await instrument.carry('pick', targetOf({ at: 'pad', pose, elbow: 'left', via: [gate], access }))
  await instrument.carry('place', targetOf({ at: 'gate', joints: gate.joints }))
  t.same(log(), [
    ...['setup', 'grips 132.0 False', 'grips 132.0 False', 'joints [200, 10, 20, 30]'],
    ...[
      'goes to 300 20 43 90 left',
      'goes to 300 100 43 90 left',
      'grips 125.0 True',
      'goes to 300 20 43 90 left',
      'joints [200, 10, 20, 30]',
    ],
    ...['joints [250, 10, 20, 30]', 'joints [200, 10, 20, 30]', 'grips 132.0 False', 'joints [250, 10, 20, 30]'],
  ])
  t.match((await ask('GET', '/api/devices/flex-1/pose')).body, { coords: { z: 250 } })
})

withPython('a stop writes halt past the move, which begins no further motion, and the arm is seen to stand', async (t) => {
  const { instrument, log, call } = await setup(t, { takes: 30 })
  t.equal((await call('initialize')).status, 200)
  await call('perform', { operation: 'open_gripper' })
  const picking = instrument.carry('pick', targetOf({ at: 'pad', pose }))
  picking.catch(() => undefined)
  await until(() => log().some((line) => line.startsWith('goes to')))
  await call('stop')
  await until(() => !instrument.condition.halts.mayBeOn)
  t.match(await picking, { success: false })
  t.equal(log().filter((line) => line.startsWith('goes to')).length, 1)
  t.ok(log().includes("writes b'\\nhalt\\n'"))
  t.equal(instrument.state, 'stopped')
})

withPython('a gripper that closes on nothing fails the pick', async (t) => {
  const { instrument, call } = await setup(t, { plate: false })
  await call('initialize')
  await call('perform', { operation: 'open_gripper' })
  await t.rejects(instrument.carry('pick', targetOf({ at: 'pad', pose })), {
    code: 'device_failed',
    message: /its gripper closed on nothing/,
  })
})

withPython('an arm that a person jogged moves at its usual speed again', async (t) => {
  const folder = dirname(programFile(t, ''))
  writeFileSync(`${folder}/stand_in.py`, `TAKES, PLATE = 0.02, True\n${standIn}`)
  const code = `
import asyncio, stand_in
from benchd_bridge_arms import arm_of
async def main():
    real = stand_in.PreciseFlex("192.168.0.1", 162, 0, 60)
    arm = arm_of(real, 132, 125)
    await arm.home()
    async def move(position, speed_pct=None): stand_in.note(f"{position} at {speed_pct:g}")
    real.move_to_joint_position = move
    await arm.jog("base", 1, 20)
    await arm.place({}, "gate", {"name": "gate", "coord_type": "joint", "coords": ${JSON.stringify(gate.joints)}, "elbow": None, "access": None, "gateways": []})
try: asyncio.run(main())
except Exception as error: print(error)
try: arm_of(type("PreciseFlex400Backend", (type("PreciseFlexBackend", (), {}),), {})(), 132, 125)
except ValueError as error: print(error)`
  const said = execFileSync('python3', ['-c', code], { cwd: folder, encoding: 'utf8' })
  t.match(said, /it stopped before it came to gate\n.* use pylabrobot\.brooks\.precise_flex\.PreciseFlex\n/)
  const log = readFileSync(`${folder}/stand_in.py.log`, 'utf8').trim().split('\n')
  t.same(log, ['setup', '{1: 1.0, 2: 0.0, 3: 0.0, 4: 0.0} at 20', 'speed 50', '{1: 250, 2: 10, 3: 20, 4: 30} at 50'])
})

const { PYLABROBOT } = process.env

/** The controller as far as PyLabRobot needs it: it moves at once, except to a place where `shoulder` is 99. */
const controller = `
import asyncio, sys, time
joints, goal, ends, width, seen = [100.0, 0, 90, 90, 80], None, 0, 80, []
def now(): return time.monotonic()
def obey(line):
    global goal, ends, width
    word, *rest = line.split()
    if word == "wherej":
        if goal and now() >= ends: joints[:] = goal
        # Under way an axis is seen to move.
        at = [joints[0] + (0.5 * now() % 1 if goal and now() < ends else 0), *joints[1:]]
        return "0 " + " ".join(map(str, at))
    if word == "moveJ":
        goal = [float(each) for each in rest[1:6]]
        ends = now() + (60 if goal[1] == 99 else 0.05)
        print(line, flush=True)
    if word == "halt":
        goal = None
        print(line, flush=True)
    if word == "gripper":
        width = 132 if rest[0] == "1" else 125
        print(line, flush=True)
    return {"Speed": "0 1 50", "hp": "0 1", "IsFullyClosed": "0 0", "pd": "-2800 unknown"}.get(word if not (word == "hp" and rest) else "", "0")
async def talk(reader, writer):
    while line := (await reader.readline()).decode().strip() or not reader.at_eof():
        if isinstance(line, str):
            writer.write((obey(line) + "\\r\\n").encode()); await writer.drain()
async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
`

test('PyLabRobot itself moves an arm that is a transporter, and a stop halts it', {
  skip: noPython || (!PYLABROBOT && 'PYLABROBOT names no checkout'),
}, async (t) => {
  const child = spawn('python3', ['-c', controller], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const said: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line))
  const port = await until(() => said[0])
  const path = `${dirname(programFile(t, ''))}/benchd_bridge.py`
  const words = [
    'host=127.0.0.1',
    `port=${port}`,
    'gripper_length=162',
    'gripper_z_offset=0',
    'closed_gripper_position=60',
    '--open',
    '132',
    '--closed',
    '125',
  ]
  const command = ['env', `PYTHONPATH=${PYLABROBOT}`, 'python3', path, 'pylabrobot', 'pylabrobot.brooks.precise_flex.PreciseFlex', ...words]
  const device = { device_id: 'flex-1', driver: 'bridge', type: 'transporter', transport: { kind: 'bridge', command } }
  const { ask, bench } = await openService(t, { devices: [device] })
  const instrument = bench.registry.find('flex-1')
  await until(() => instrument.info().identity)
  const call = (operation: string, json: object = {}) => ask('POST', `/api/devices/flex-1/${operation}`, { json })
  t.match(await call('initialize'), { status: 200 })
  t.match(await call('perform', { operation: 'open_gripper' }), { status: 200 })
  const at = (name: string, shoulder: number) => targetOf({ at: name, joints: { ...gate.joints, shoulder } })
  t.match(await instrument.carry('pick', at('pad', 10)), { success: true })
  t.same(said.slice(1).filter((line) => !line.startsWith('gripper')).length, 3)
  const placing = instrument.carry('place', at('far', 99))
  placing.catch(() => undefined)
  await until(() => said.at(-1)?.includes(' 99'))
  await call('stop')
  await until(() => !instrument.condition.halts.mayBeOn)
  t.match(await placing, { success: false })
  t.ok(said.includes('halt'))
  t.equal(said.filter((line) => line.includes(' 99')).length, 1, 'no further motion began')
  t.match(await call('initialize'), { status: 200 })
})

test('PyLabRobot has the methods and the parameters of the stand-in', {
  skip: noPython || (!PYLABROBOT && 'PYLABROBOT names no checkout'),
}, (t) => {
  const folder = dirname(programFile(t, ''))
  writeFileSync(`${folder}/stand_in.py`, `TAKES, PLATE = 0, True\n${standIn}`)
  const code = `
import inspect, json, stand_in
from pylabrobot.brooks.precise_flex import PreciseFlex
from pylabrobot.io.socket import Socket
from pylabrobot.resources import Coordinate
wrong = []
for mine, theirs in ((stand_in.PreciseFlex, PreciseFlex), (stand_in.Socket, Socket)):
    for name, method in inspect.getmembers(mine, inspect.iscoroutinefunction):
        real = getattr(theirs, name, None)
        if real is None or not set(inspect.signature(method).parameters) <= set(inspect.signature(real).parameters): wrong.append(name)
from benchd_bridge_arms import arm_of
from pylabrobot.legacy.arms.precise_flex import PreciseFlex400Backend
try: arm_of(PreciseFlex400Backend("127.0.0.1"), 132, 125)
except ValueError as error: wrong += [] if "use pylabrobot.brooks" in str(error) else [str(error)]
own = [*inspect.signature(stand_in.PreciseFlex).parameters]
print(json.dumps([wrong, own == [*inspect.signature(PreciseFlex).parameters][:len(own)], Coordinate(1, 2, 3).z]))`
  const env = { ...process.env, PYTHONPATH: `${folder}:${PYLABROBOT}` }
  t.same(JSON.parse(execFileSync('python3', ['-c', code], { encoding: 'utf8', env })), [[], true, 3])
  t.end()
})
