// A backend of PyLabRobot as a device of the bench. The backends are stand-ins with the recorded shape of its interfaces; no real PyLabRobot is run.

import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { bridgeTo, programFile, until } from '../../testing/bridges.ts'
import { openService } from '../../testing/http.ts'
import { withPython } from '../../testing/python.ts'

const shapes = fileURLToPath(new URL('../../../../src/clients/python/pylabrobot_shapes.json', import.meta.url))
/** The annotations of PyLabRobot's parameters, by their names. */
const types = { speed: 'float', temperature: 'float', duration: 'float', g: 'float', acceleration: 'float' }

/** A class for each recorded interface, whose methods write down that they were called, and some that the shapes do not have. */
const backends = `
import asyncio, json, os, time
from typing import Callable, List, Optional
shapes = json.load(open(os.path.join(os.path.dirname(__file__), "shapes.json")))["classes"]
types = ${JSON.stringify(types)}

def note(word):
    with open(__file__ + ".log", "a") as log:
        log.write(word + "\\n")

def method(name, params):
    scope = {"note": note}
    given = ", ".join(f"{param}: {types[param]}" for param in params)
    exec(f"async def {name}(self, {given}): note('{name} ' + str([{', '.join(params)}]))", scope)
    return scope[name]

for name, shape in shapes.items():
    members = {each: method(each, params) for each, params in shape["methods"].items()}
    members.update({each: property(lambda self: True) for each in shape["properties"]})
    globals()[name] = type(name, (), members)

class Inheco(HeaterShakerBackend):
    """A heater shaker."""
    def __init__(self, port: str, address: int = 0): note(f"made for {port!r} {address!r}")
    async def get_current_temperature(self): return 37.5
    async def measure(self, wells: List[int]): "takes a list"
    async def with_function(self, function: Callable[[int], int]): "takes what JSON cannot have"
    async def sleep(self, duration: float, why: "Optional[str]" = None): "Sleeps"; note("sleeps"); await asyncio.sleep(duration)
    def block(self, duration: float): note("blocks"); time.sleep(duration); return {"blocked": object}
    async def shake_it(self, speed: float, **kwargs): note(f"shake_it {speed}")
    async def UpperCase(self): pass
    async def _private(self): pass
    @property
    def broken(self): raise RuntimeError("looked at")
    @classmethod
    def made(cls): pass

class Stubborn(Inheco):
    async def stop_shaking(self): note("stop_shaking"); raise OSError("no such port")
`

function program(t: Test): string {
  const path = programFile(t, '')
  copyFileSync(shapes, join(dirname(path), 'shapes.json'))
  writeFileSync(join(dirname(path), 'backends.py'), backends)
  return dirname(path)
}

withPython('each interface becomes a type of device with its operations, and the methods that halt it', async (t) => {
  const folder = program(t)
  const code = `
import json, backends
from benchd_bridge_pylabrobot import pylabrobot_bridge
for name in backends.shapes:
    told = pylabrobot_bridge(getattr(backends, name)).describe()
    print(json.dumps([name, told["type"], sorted(told["operations"]), list(told["readings"]), told.get("proposed_halt"), told.get("halt")]))`
  const lines = execFileSync('python3', ['-c', code], { cwd: folder, encoding: 'utf8' }).trim().split('\n')
  const shaking = ['lock_plate', 'shake', 'start_shaking', 'stop_shaking', 'unlock_plate']
  const doors = [
    'close_door',
    'go_to_bucket1',
    'go_to_bucket2',
    'lock_bucket',
    'lock_door',
    'open_door',
    'spin',
    'unlock_bucket',
    'unlock_door',
  ]
  t.same(
    lines.map((line) => JSON.parse(line)),
    [
      ['ShakerBackend', 'shaker', ['backend_shake', ...shaking], [], ['stop_shaking'], null],
      ['TemperatureControllerBackend', 'temperature_controller', ['deactivate', 'set_temperature'], ['temperature'], ['deactivate'], null],
      [
        'HeaterShakerBackend',
        'shaker',
        ['backend_shake', 'deactivate', 'lock_plate', 'set_temperature', ...shaking.slice(1)],
        ['temperature'],
        ['stop_shaking', 'deactivate'],
        null,
      ],
      ['SealerBackend', 'sealer', ['close', 'open', 'seal', 'set_temperature'], ['temperature'], null, 'none'],
      ['CentrifugeBackend', 'centrifuge', doors, [], null, 'none'],
      ['PeelerBackend', 'peeler', ['backend_peel', 'restart'].sort(), [], null, 'none'],
    ],
  )
})

async function bench(t: Test, backend: string, type: string, ...more: string[]) {
  const folder = program(t)
  const command = ['python3', `${folder}/benchd_bridge.py`, 'pylabrobot', `backends.${backend}`, ...more]
  const device = { ...bridgeTo(''), type, transport: { kind: 'bridge', command } }
  const { ask, bench } = await openService(t, { devices: [device] })
  const log = () => (existsSync(`${folder}/backends.py.log`) ? readFileSync(`${folder}/backends.py.log`, 'utf8').trim().split('\n') : [])
  const call = (operation: string, json: object = {}) => ask('POST', `/api/devices/reader-1/${operation}`, { json })
  const perform = (operation: string, params: object = {}) => call('perform', { operation, params })
  const instrument = bench.registry.find('reader-1')
  await until(() => instrument.info().identity ?? instrument.info().fault)
  return { ask, log, call, perform, instrument }
}

withPython('a heater shaker is set up, shaken, halted by its own methods, and never by stop()', async (t) => {
  const { ask, log, call, perform, instrument } = await bench(
    t,
    'Inheco',
    'shaker',
    'port=/dev/ttyUSB0',
    'address=2',
    '--seconds',
    'block=90',
  )
  t.equal((await call('initialize')).status, 200)
  const { operations } = (await ask('GET', '/api/devices/reader-1/capabilities')).body as { operations: { name: string }[] }
  const named = (name: string) => operations.find((one) => one.name === name)
  t.match(named('sleep'), { summary: 'Sleeps', params: { properties: { duration: {}, why: { type: 'string' } }, required: ['duration'] } })
  t.match(named('block'), { typical_seconds: 90 })
  t.same(['measure', 'uppercase', '_private', 'broken', 'made', 'setup', 'stop_it', 'with_function'].filter(named), [
    'measure',
    'uppercase',
  ])
  t.match(await call('shake', { speed: 500, duration: 0.1 }), { status: 200 })
  t.match(await perform('shake_it', { speed: 300 }), { status: 200 })
  t.match((await ask('GET', '/api/devices/reader-1/get_temperature')).body, { temperature: 37.5 })
  for (const [operation, word] of [
    ['sleep', 'sleeps'],
    ['block', 'blocks'],
  ] as const) {
    const running = perform(operation, { duration: 3 })
    await until(() => log().includes(word))
    // A method in a thread cannot be ended: the stop is confirmed when it has come to its end.
    t.match((await call('stop')).body, { success: operation === 'sleep' })
    t.match((await running).body, { success: false })
    await until(async () => (await call('initialize')).status === 200)
  }
  t.equal(instrument.state, 'ready')
  const halted = ['stop_shaking []', 'deactivate []']
  const words = log()
  const until_ended = words.slice(words.indexOf('blocks') + 1, -2)
  t.same([...new Set(until_ended)], halted, 'it is halted again until its thread has ended')
  t.same(
    [...words.slice(0, words.indexOf('blocks') + 1), ...words.slice(-2)],
    [
      ...["made for '/dev/ttyUSB0' 2", 'setup []', 'start_shaking [500.0]', 'stop_shaking []', 'shake_it 300.0'],
      ...['sleeps', ...halted, 'stop []', 'setup []'],
      ...['blocks', 'stop []', 'setup []'],
    ],
  )
})

withPython('a method that halts and fails keeps no other from halting, and the stop is not confirmed', async (t) => {
  const { log, call, instrument } = await bench(t, 'Stubborn', 'shaker', 'port=x')
  await call('initialize')
  t.match((await call('stop')).body, { success: false })
  await until(() => log().includes('deactivate []'))
  t.match(log().slice(2, 4), ['stop_shaking', 'deactivate []'])
  t.match(instrument.state, /stopped|faulted|disconnected/)
})

withPython('a backend that nothing halts is shown as that', async (t) => {
  const { ask, call, perform } = await bench(t, 'SealerBackend', 'sealer')
  t.match((await ask('GET', '/api/devices/reader-1/capabilities')).body, { features: { uninterruptible: true } })
  await call('initialize')
  t.match(await call('seal', { temperature: 170, duration: 1 }), { status: 200 })
  t.match(await perform('open'), { status: 200 })
})

withPython('a backend that cannot be made is a fault that says why', async (t) => {
  const { instrument } = await bench(t, 'Nothing', 'shaker')
  t.match(
    instrument.info().fault?.error,
    /backends\.Nothing cannot be made: .*; see its name and its parameters in PyLabRobot's documentation/,
  )
})

withPython('methods become operations of every bench by their names and units, or are none', async (t) => {
  const folder = program(t)
  const code = `
import asyncio, json
from typing import Optional
from benchd_bridge_pylabrobot import Options, pylabrobot_bridge
calls = []
class Base:
    async def setup(self): pass
    async def stop(self): pass
class Incubator(Base):
    async def start_shaking(self, frequency: float):
        """Start shaking the incubator at the given frequency in Hz."""
        calls.append(["start", frequency])
    async def stop_shaking(self): calls.append(["stop"])
    async def shake(self, speed: float, duration: float): calls.append(["own"])
class Steps(Base):
    async def start_shaking(self, speed: float = 800):
        """Shake.

        speed: steps per second
        """
    async def stop_shaking(self): pass
class Nests(Base):
    async def start_shaking(self, rpm: int, nest: int = 1): calls.append(["start", rpm])
    async def stop_shaking(self, nest: int = 1): calls.append(["stop"])
class Nest(Nests):
    async def stop_shaking(self, nest: int): pass
class Tray(Base):
    async def open(self, slow: bool = False): calls.append(["open", slow])
    async def close(self, plate: Optional[str], slow: bool = False): calls.append(["close", plate, slow])
class Lid(Base):
    async def close(self, force: float): pass
class Rotor(Base):
    async def spin(self, g: float, duration: float, acceleration: float = 0.5): calls.append(["spin", g, duration, acceleration])
class Other(Base):
    async def spin(self, g: float, duration: float, acceleration: float): pass
def bridge(owner):
    return pylabrobot_bridge(owner, Options(halt=[]))
def perform(owner, name, **params):
    asyncio.run(getattr(type(made := bridge(owner)), name)(made, **params))
perform(Incubator, "shake", speed=300, duration=0)
perform(Nests, "shake", speed=300, duration=0)
perform(Tray, "open")
perform(Tray, "close")
perform(Rotor, "centrifuge", g=500, duration=1)
print(json.dumps([calls, [sorted(bridge(owner).describe()["operations"]) for owner in (Incubator, Steps, Nest, Tray, Lid, Rotor, Other)]]))`
  const [calls, operations] = JSON.parse(
    execFileSync('python3', ['-c', code], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  t.same(calls, [['start', 5], ['stop'], ['start', 300], ['stop'], ['open', false], ['close', null, false], ['spin', 500, 1, 0.5]])
  t.same(operations, [
    ['backend_shake', 'shake', 'start_shaking', 'stop_shaking'],
    ['start_shaking', 'stop_shaking'],
    ['start_shaking', 'stop_shaking'],
    ['backend_close', 'backend_open', 'close', 'open'],
    ['backend_close'],
    ['centrifuge', 'spin'],
    ['spin'],
  ])
})

withPython(
  'halts are proposed by names: motion, then heat, then the rest; never the ends of the connection, or what opens a gripper',
  async (t) => {
    const folder = program(t)
    const code = `
import json
from benchd_bridge_pylabrobot import halts_of, pylabrobot_bridge, unfinished_halts_of
def of(names, needs=()):
    members = {name: (lambda self: None) for name in names}
    scope = {}
    for name, param in needs: exec(f"async def {name}(self, {param}): pass", scope)
    return type("Device", (), {**members, **{name: scope[name] for name, _ in needs}})
def told(*args):
    owner = of(*args)
    print(json.dumps([list(map(str, halts_of(owner))), unfinished_halts_of(owner)]))
told(["turn_off", "deactivate", "stop_shaking", "setup", "stop", "home", "stop_fan", "start_shaking"])
told(["abort", "cancel", "halt", "emergency_stop", "stop_all", "clear_abort", "halt_gripper", "stop_freedrive_mode", "stop_acquisition"])
told(["deactivate_block", "deactivate_lid", "stop_temperature_control", "stop_heating_or_cooling"])
told([], [("abort_run", "block_id: int"), ("set_heater", "on: bool"), ("stop_shaking", "stack_index: int = 0")])
told(["deactivate"], [("set_heater", "on: bool")])
def left(names):
    owner = of(names)
    operations = pylabrobot_bridge(owner).describe()["operations"]
    print(json.dumps({name: told["leaves_on"] for name, told in operations.items()}))
left(["run_continuously", "backward", "request_status", "stop_all"])
left(["turn_on", "start_shaking", "stop_shaking", "deactivate"])`
    const lines = execFileSync('python3', ['-c', code], { cwd: folder, encoding: 'utf8' }).trim().split('\n')
    t.same(
      lines.map((line) => JSON.parse(line)),
      [
        [['stop_shaking', 'deactivate', 'stop_fan', 'turn_off'], {}],
        [['abort', 'cancel', 'emergency_stop', 'halt', 'stop_all'], {}],
        [['deactivate_block', 'deactivate_lid', 'stop_heating_or_cooling', 'stop_temperature_control'], {}],
        [['stop_shaking', 'set_heater={"on": false}'], { abort_run: ['block_id'] }],
        [['deactivate'], {}],
        // A single halt ends all that goes on; one of several ends a part of it.
        { run_continuously: 'heat', backward: 'motion', request_status: null, stop_all: 'no heat' },
        { turn_on: 'heat', start_shaking: 'heat', stop_shaking: null, deactivate: null },
      ],
    )
  },
)
