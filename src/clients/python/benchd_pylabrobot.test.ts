// The backends of PyLabRobot: held against the recorded shape of its interfaces, and every method tried against simulated instruments. Where `PYLABROBOT`
// names a checkout, they are tried under PyLabRobot's own frontends, and the recorded names are compared with it.

import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { bridgeTo, programFile, until } from '../../testing/bridges.ts'
import { openService } from '../../testing/http.ts'
import { noPython, printed, withPython } from '../../testing/python.ts'

const { PYLABROBOT } = process.env
const withPyLabRobot = { skip: noPython || (!PYLABROBOT && 'PYLABROBOT names no checkout') }

const shapes = readFileSync(new URL('../../../../src/clients/python/pylabrobot_shapes.json', import.meta.url), 'utf8')

/** Interfaces with the recorded names stand in for PyLabRobot: every method of theirs is abstract. */
const standIn = `
import sys, types
from abc import ABC, abstractmethod
shapes = json.loads(r'''${shapes}''')["classes"]
for name, shape in shapes.items():
    members = {method: abstractmethod(lambda self: None) for method in shape["methods"]}
    members.update({property_: property(abstractmethod(lambda self: None)) for property_ in shape["properties"]})
    module = types.ModuleType(f"pylabrobot.{shape['module']}.backend")
    setattr(module, name, type(ABC)(name, (ABC,), members))
    for path in ("pylabrobot", f"pylabrobot.{shape['module']}"): sys.modules.setdefault(path, types.ModuleType(path))
    sys.modules[module.__name__] = module
`

const compared = `
import inspect
def differing(ours, shape):
    for name, wanted in shape["methods"].items():
        method = getattr(ours, name)
        if not inspect.iscoroutinefunction(method): yield f"{name} is not async"
        given = inspect.signature(method).parameters.values()
        if [one.name for one in given if one.kind is one.POSITIONAL_OR_KEYWORD][1:] != wanted: yield f"{name} takes other parameters"
    for name in shape["properties"]:
        if not isinstance(inspect.getattr_static(ours, name), property): yield f"{name} is no property"
import benchd_pylabrobot as backends
for name, shape in shapes.items():
    ours = getattr(backends, "Benchd" + name.replace("Backend", ""))
    theirs = sys.modules[f"pylabrobot.{shape['module']}.backend"] if USED else None
    say([name, list(differing(ours, shape)), isinstance(ours("x", bench), getattr(theirs, name)) if theirs else object in ours.__mro__])
`

withPython(
  'each backend has the methods and parameters of the interface, is one where PyLabRobot is there, and stands alone where it is not',
  async (t) => {
    const { url, secrets } = await openService(t)
    const expected = Object.keys(JSON.parse(shapes).classes).map((name) => [name, [], true])
    t.same(await printed(t, { url, key: secrets.read }, `${standIn}\nUSED = True\n${compared}`), expected)
    const alone = `import sys\nshapes = json.loads(r'''${shapes}''')["classes"]\nUSED = False\n${compared}`
    t.same(await printed(t, { url, key: secrets.read }, alone), expected)
  },
)

const devices = [
  ['shaker-1', 'opentrons_heater_shaker'],
  ['sealer-1', 'a4s'],
  ['centrifuge-1', 'vspin'],
  ['peeler-1', 'xpeel'],
  ['cooler-1', 'bioshake'],
].map(([device_id, driver]) => ({
  ...{ device_id, driver, transport: { kind: 'simulated' } },
  ...(driver === 'bioshake' && { settings: { model: 'Q1' } }),
}))

withPython('every method does what it says on simulated instruments', async (t) => {
  const { url, secrets, bench } = await openService(t, { devices, time_scale: 50 })
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `
import asyncio
from benchd_pylabrobot import *
state = lambda id: bench[id].info()["state"]
last = lambda id: bench[id].info()["last_operation"]
async def main():
    shaker = BenchdHeaterShaker("shaker-1")
    try: await shaker.start_shaking(500)
    except Refused as error: say(error.reason)
    await shaker.setup()
    await shaker.setup()
    if shaker.supports_locking: await shaker.lock_plate()
    await shaker.start_shaking(speed=500)
    say(state("shaker-1"))
    await shaker.shake(speed=600)
    say(bench["shaker-1"].info()["operation"]["name"])
    await shaker.stop_shaking()
    await shaker.stop_shaking()
    say([state("shaker-1"), last("shaker-1")["params"]["speed"], last("shaker-1")["ended_early"]])
    await shaker.unlock_plate()
    await shaker.set_temperature(50)
    say([type(await shaker.get_current_temperature()).__name__, shaker.supports_active_cooling, BenchdHeaterShaker("cooler-1").supports_active_cooling])
    await shaker.set_temperature(50)
    # Its latch is open: the heater is switched off nevertheless.
    await shaker.start_shaking(500)
    try: await shaker.deactivate()
    except Refused as error: say(bench["shaker-1"].info()["heating"])
    await shaker.lock_plate()
    await shaker.start_shaking(500)
    await shaker.deactivate()
    say([state("shaker-1"), bench["shaker-1"].info()["heating"], bench["shaker-1"].info()["operation"]["name"]])
    await shaker.stop_shaking()
    say(last("shaker-1")["params"]["speed"])
    await shaker.stop()
    say(shaker.serialize())
    sealer = BenchdSealer("sealer-1", bench)
    await sealer.setup()
    await sealer.open()
    await sealer.close()
    await sealer.set_temperature(150)
    say((await sealer.get_temperature()) > 0)
    # At the pace of tests the plate may not get hot in time: what counts is what was asked of it.
    try: await sealer.seal(temperature=170, duration=2)
    except DeviceFailed: pass
    say(last("sealer-1")["params"])
    spinner = BenchdCentrifuge("centrifuge-1", bench)
    await spinner.setup()
    await spinner.open_door()
    await spinner.close_door()
    try: await spinner.spin(g=500, duration=5, acceleration=0.8, deceleration=0.8)
    except NotImplementedError as error: say(str(error)[:57])
    await spinner.spin(g=500, duration=5)
    say(last("centrifuge-1")["params"])
    for name in ("lock_door", "unlock_door", "lock_bucket", "unlock_bucket", "go_to_bucket1", "go_to_bucket2"):
        try: await getattr(spinner, name)()
        except NotImplementedError as error: say(str(error)[:6])
    peeler = BenchdPeeler("peeler-1", bench)
    await peeler.setup()
    await peeler.peel()
    say(last("peeler-1")["operation"])
    await peeler.restart()
    say(last("peeler-1")["operation"])
asyncio.run(main())
`,
  )
  t.same(said, [
    'not_initialized',
    'busy',
    'shake',
    ['ready', 600, true],
    ['float', false, true],
    null,
    ['busy', null, 'shake'],
    500,
    { type: 'BenchdHeaterShaker', device_id: 'shaker-1' },
    true,
    { temperature: 170, duration: 2 },
    'centrifuge-1 takes no acceleration and deceleration with ',
    { g: 500, duration: 5 },
    ...Array<string>(6).fill('benchd'),
    'peel',
    'initialize',
  ])
  t.equal(bench.registry.find('centrifuge-1').info().state, 'ready')
})

const spinner = `
from benchd_bridge import Bridge, operation

class Spinner(Bridge):
    type = "centrifuge"
    model = "MicroSpin"

    @operation(seconds=("duration", 10), units={"g": "×g", "duration": "s"}, maximum={"g": 2000})
    def spin(self, g: float, duration: float, acceleration: float = 0.8, deceleration: float = 0.8) -> dict:
        """Spin the plates"""
        return {"spun": [g, duration, acceleration, deceleration]}

    def imbalance(self) -> float: return 0.25
    imbalance.__reading__ = "g"

    def halt(self): pass

Spinner().serve()
`

withPython('a plain class has the operations of its device as methods, and tells their parameters', async (t) => {
  const bridged = { ...bridgeTo(programFile(t, spinner)), device_id: 'spinner-1', type: 'centrifuge' }
  const { url, secrets, bench } = await openService(t, { devices: [...devices, bridged], time_scale: 50 })
  await until(() => bench.registry.find('spinner-1').info().identity)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `
import asyncio, inspect
from benchd_pylabrobot import BenchdCentrifuge, BenchdDevice
async def main():
    shaker = BenchdDevice("shaker-1")
    try: shaker.shake
    except AttributeError as error: say("call \`await setup()\`" in str(error))
    await shaker.setup()
    say(str(inspect.signature(shaker.shake)), shaker.shake.__doc__.split("\\n")[3])
    await shaker.lock_plate()
    say(await shaker.shake(500, duration=2))
    say(20 < await shaker.request_temperature() < 40)
    await shaker.set_temperature(50)
    await shaker.set_temperature(None)
    try: await shaker.shake(500)
    except TypeError as error: say(str(error))
    try: await shaker.shake(speed=99999, duration=1)
    except Refused as error: say(error.reason)
    try: shaker.seal
    except AttributeError as error: say(str(error))
    await shaker.halt()
    say(bench["shaker-1"].info()["state"])
    await shaker.setup()
    await shaker.stop()
    say(bench["shaker-1"].info()["state"])
    spinner = BenchdDevice("spinner-1", bench)
    await spinner.setup()
    say(await spinner.spin(g=500, duration=1, deceleration=0.5), spinner.spin.__doc__.split("\\n")[0], await spinner.request_reading("imbalance"))
    await BenchdCentrifuge("spinner-1", bench).spin(g=500, duration=1, acceleration=0.25, deceleration=0.5)
    say(bench["spinner-1"].info()["last_operation"]["params"])
asyncio.run(main())
`,
  )
  t.same(said, [
    true,
    '(speed: int, duration: float)',
    '  speed: Speed of the shaker: at least 200, at most 3000 rpm',
    null,
    true,
    "missing a required argument: 'duration'",
    'invalid',
    "shaker-1 has no 'seal'; it has close, halt, lock_plate, open, request_reading, set_temperature, setup, shake, stop, unlock_plate",
    'stopped',
    'ready',
    { spun: [500, 1, 0.8, 0.5] },
    'Spin the plates.',
    0.25,
    { g: 500, duration: 1, acceleration: 0.25, deceleration: 0.5 },
  ])
})

test('each backend works under a frontend of PyLabRobot', withPyLabRobot, async (t) => {
  const ika = { device_id: 'ika-1', driver: 'ika_shaker', transport: { kind: 'simulated' } }
  const { url, secrets, bench } = await openService(t, { devices: [...devices, ika], time_scale: 50 })
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `
import asyncio, importlib.util, sys
sys.path.insert(0, ${JSON.stringify(PYLABROBOT)})
from benchd_pylabrobot import *
from pylabrobot.resources import Coordinate
def frontend(room, name):
    for package in ("pylabrobot.legacy", "pylabrobot"):
        if importlib.util.find_spec(package): return getattr(importlib.import_module(f"{package}.{room}"), name)
Shaker, HeaterShaker = frontend("shaking", "Shaker"), frontend("heating_shaking", "HeaterShaker")
TemperatureController = frontend("temperature_controlling", "TemperatureController")
MachineBackend = next(each for each in BenchdShaker.__mro__ if each.__name__ == "MachineBackend")
state = lambda id: bench[id].info()["state"]
last = lambda id: bench[id].info()["last_operation"]
size = {"size_x": 0, "size_y": 0, "size_z": 0}
where = {**size, "child_location": Coordinate.zero()}
async def main():
    async with Shaker("shaker", backend=BenchdShaker("shaker-1"), **where) as shaker:
        await shaker.shake(speed=500.0, duration=0.1)
        say([last("shaker-1")["operation"], state("shaker-1")])
        await shaker.shake(speed=600)
        say(state("shaker-1"))
        await shaker.stop_shaking()
        copy = MachineBackend.deserialize(shaker.serialize()["backend"])
        say([type(copy).__name__, copy.device_id])
    say(state("shaker-1"))
    # A shaker without a lock is shaken, too.
    async with Shaker("ika", backend=BenchdShaker("ika-1"), **where) as shaker:
        await shaker.shake(speed=500, duration=0.1)
        say(state("ika-1"))
    both = HeaterShaker("both", backend=BenchdHeaterShaker("shaker-1"), **where)
    await both.setup()
    await both.set_temperature(50)
    await both.shake(speed=500)
    await both.set_temperature(55)
    say([bench["shaker-1"].info()["heating"] is not None, bench["shaker-1"].info()["operation"]["name"]])
    await both.stop()
    say([state("shaker-1"), bench["shaker-1"].info()["heating"]])
    async with TemperatureController("cooler", backend=BenchdTemperatureController("cooler-1"), **where) as cooler:
        # Below the temperature of the room: PyLabRobot asks whether it cools.
        await cooler.set_temperature(10)
        say([last("cooler-1")["params"], type(await cooler.get_temperature()).__name__])
    async with frontend("sealing", "Sealer")(BenchdSealer("sealer-1")) as sealer:
        await sealer.open()
        await sealer.close()
        await sealer.set_temperature(150.0)
        say(await sealer.get_temperature() > 0)
        try: await sealer.seal(temperature=170, duration=2)
        except DeviceFailed: pass
        say(last("sealer-1")["params"])
    async with frontend("centrifuge", "Centrifuge")(BenchdCentrifuge("centrifuge-1"), "spinner", **size) as spinner:
        await spinner.open_door()
        await spinner.close_door()
        await spinner.spin(g=500.0, duration=5.0)
        try: await spinner.spin(g=500, duration=5, acceleration=0.8)
        except NotImplementedError as error: say(str(error)[:28])
        try: await spinner.lock_door()
        except NotImplementedError as error: say(str(error)[:21])
        say(last("centrifuge-1")["params"])
        say(type(type(spinner).deserialize(spinner.serialize()).backend).__name__)
    async with frontend("peeling.peeler", "Peeler")(BenchdPeeler("peeler-1")) as peeler:
        await peeler.peel(parameter_set=3)
        say(last("peeler-1")["params"])
        await peeler.restart()
        say(last("peeler-1")["operation"])
asyncio.run(main())
`,
  )
  t.same(said, [
    ['unlock_plate', 'ready'],
    'busy',
    ['BenchdShaker', 'shaker-1'],
    'ready',
    'ready',
    [true, 'shake'],
    ['ready', null],
    [{ temperature: 10 }, 'float'],
    true,
    { temperature: 170, duration: 2 },
    'centrifuge-1 takes no accele',
    'benchd locks the door',
    { g: 500, duration: 5 },
    'BenchdCentrifuge',
    { parameter_set: 3, adhere: 1 },
    'initialize',
  ])
  t.equal(bench.registry.find('peeler-1').info().state, 'ready')
})

test('the recorded names are those of PyLabRobot', withPyLabRobot, async (t) => {
  const said = await printed(
    t,
    { url: 'http://127.0.0.1:1', key: undefined },
    `
import importlib, inspect, sys
sys.path.insert(0, ${JSON.stringify(PYLABROBOT)})
import pylabrobot
recorded = json.loads(r"""${shapes}""")
version = next(each for each in recorded["versions"] if each["version"] == pylabrobot.__version__)
for name, shape in recorded["classes"].items():
    theirs = getattr(importlib.import_module(f"{version['package']}.{shape['module']}.backend"), name)
    names = theirs.__abstractmethods__
    methods = {each: [*inspect.signature(getattr(theirs, each)).parameters][1:] for each in names if not isinstance(getattr(theirs, each), property)}
    extra = set(shape["methods"]) - set(methods)
    say([name, {**shape["methods"], **methods} == shape["methods"], names - set(methods) == set(shape["properties"]), sorted(extra)])
`,
  )
  const all = Object.keys(JSON.parse(shapes).classes)
  // PyLabRobot's own shakers have \`shake\`, although the interface does not ask for it.
  t.same(
    said,
    all.map((name) => [name, true, true, name.includes('Shaker') ? ['shake'] : []]),
  )
})
