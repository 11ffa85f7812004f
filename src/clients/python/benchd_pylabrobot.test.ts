// The backends of PyLabRobot: held against the recorded shape of its interfaces, and every method tried against simulated instruments.

import { readFileSync } from 'node:fs'

import { openService } from '../../testing/http.ts'
import { printed, withPython } from '../../testing/python.ts'

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
    await shaker.deactivate()
    say([state("shaker-1"), bench["shaker-1"].info()["heating"]])
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
    await spinner.spin(g=500, duration=5, acceleration=0.8, deceleration=0.8)
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
    ['ready', null],
    { type: 'BenchdHeaterShaker', device_id: 'shaker-1' },
    true,
    { temperature: 170, duration: 2 },
    { g: 500, duration: 5 },
    ...Array<string>(6).fill('benchd'),
    'peel',
    'initialize',
  ])
  t.equal(bench.registry.find('centrifuge-1').info().state, 'ready')
})
