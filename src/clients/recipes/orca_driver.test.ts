// The drivers for Orca, on a stand-in of its driver layer. `ORCA` may name a checkout of cheshire-drivers, on whose interfaces they run then, too.

import { test } from 'tap'
import { demo } from '../../testing/cli.ts'
import { openService } from '../../testing/http.ts'
import { noPython, printed, withPython } from '../../testing/python.ts'
import { mistakesIn, noMypy, ranRecipe, reach, recipes, standIns } from '../../testing/recipes.ts'

const { ORCA } = process.env

const begun = `
import asyncio
from types import SimpleNamespace as Request
from cheshire_drivers import interfaces
from orca_driver import BenchCentrifuge, BenchSealer, BenchShaker, BenchWorkflows
async def failed(call):
    try: await call
    except Exception as error: return [type(error).__name__, str(error)]
async def busy():
    async for kind, id, value in AsyncBench.from_env().live():
        if (kind, id) == ("device", "shaker-1") and value["state"] == "busy": return
async def shaking():
    shaker = BenchShaker("shaker-1")
    await shaker.initialize()
    await shaker.lock_plate()
    shaken = asyncio.ensure_future(shaker.shake(500, 90000))
    await busy()
    return shaker, shaken
def last(id):
    done = bench[id].info()["last_operation"]
    return [done["operation"], done["params"]]
`

/** The drivers work with the values of one interface and the requests of the other. */
const trial = `
async def main():
    shaker, sealer, centrifuge = BenchShaker("shaker-1"), BenchSealer("sealer-1"), BenchCentrifuge("centrifuge-1")
    kinds = [interfaces.IShakerDriver, interfaces.ISealerDriver, interfaces.ICentrifugeDriver]
    say([isinstance(driver, kind) for driver, kind in zip([shaker, sealer, centrifuge], kinds)], isinstance(BenchWorkflows(), interfaces.IProtocolRunnerDriver))
    say(shaker.is_initialized)
    for driver in (shaker, sealer, centrifuge): await driver.initialize()
    say(shaker.is_initialized, shaker.supports_locking)
    await shaker.close()
    say(last("shaker-1")[0])
    await shaker.shake(500, 10)
    say(last("shaker-1"))
    await shaker.shake(Request(speed=600, duration=5))
    say(last("shaker-1"))
    await shaker.shake(speed=700, duration=5)
    say(last("shaker-1"))
    await shaker.unlock_plate(Request())
    await shaker.lock_plate()
    await shaker.set_temperature(40)
    say(type(await shaker.get_temperature()).__name__)
    await sealer.open()
    await sealer.close()
    # At the pace of tests the plate may not get hot in time: what counts is what was asked of it.
    await failed(sealer.seal(Request(temperature=170, duration=3)))
    say(last("sealer-1"))
    await centrifuge.open()
    await centrifuge.close()
    await centrifuge.centrifuge(Request(g=500, duration=10))
    say(last("centrifuge-1"))
asyncio.run(main())
`
const worked = [
  ...[[true, true, true], true],
  ...[false, true, true],
  'lock_plate',
  ['shake', { speed: 500, duration: 10 }],
  ['shake', { speed: 600, duration: 5 }],
  ['shake', { speed: 700, duration: 5 }],
  'float',
  ['seal', { temperature: 170, duration: 3 }],
  ['centrifuge', { g: 500, duration: 10 }],
]

withPython('each driver does on simulated instruments what its interface says', async (t) => {
  const { url, secrets } = await openService(t)
  t.same(await ranRecipe(t, { url, key: secrets.operate }, begun + trial), worked)
})

withPython('an error has the sentence of the bench, and a class by which Orca decides whether it asks again', async (t) => {
  const { url, secrets } = await openService(t)
  const program = `
async def main():
    shaker, sealer = BenchShaker("shaker-1"), BenchSealer("sealer-1")
    say(await failed(shaker.shake(500, 10)))
    await shaker.initialize()
    say(await failed(shaker.shake(5, 10)), shaker.is_initialized)
    await sealer.initialize()
    bench.request("POST", "/api/sim/devices/sealer-1/faults", {"fault": "jam"})
    say(await failed(sealer.seal(170, 3)), sealer.is_initialized)
    with bench.lock("shaker-1"): say(await failed(BenchShaker("shaker-1", AsyncBench(bench.url, OTHER)).lock_plate()))
asyncio.run(main())
`
  const said = await ranRecipe(t, { url, key: secrets.admin }, `OTHER = "${secrets.operate}"\n${begun}${program}`)
  t.match(said, [
    ['DriverRejectedError', 'shaker-1 is not initialized; POST /api/devices/shaker-1/initialize first'],
    ...[['DriverRejectedError', 'speed 5 rpm is outside what shaker-1 takes: 200 to 3000 rpm'], true],
    ...[['DriverError', /^sealer-1 reports error 12 \(shuttle jammed\)/], false],
    ['DriverRefusedError', /shaker-1/],
  ])
})

withPython('a stop ends the call as failed, stop_shaking lets it return, and a cancelled call leaves nothing at work', async (t) => {
  const { url, secrets, bench } = await openService(t, { time_scale: 100 })
  const shaker = bench.registry.find('shaker-1')
  const program = `
async def main():
    shaker, shaken = await shaking()
    await shaker.stop_shaking()
    await shaken
    say(last("shaker-1"), bench["shaker-1"].info()["state"])
    shaken = asyncio.ensure_future(shaker.shake(500, 90000))
    await busy()
    shaken.cancel()
    try: await shaken
    except asyncio.CancelledError: say("cancelled", bench["shaker-1"].info()["state"], bench["shaker-1"].info()["last_operation"]["ended_early"])
    shaken = asyncio.ensure_future(shaker.shake(500, 90000))
    await busy()
    # On a busy computer the instrument may confirm the stop later than the answer waits.
    await failed(shaker.stop())
    say(await failed(shaken), shaker.is_initialized, bench["shaker-1"].info()["state"])
    async def unconfirmed(): return {"success": False, "message": "no answer yet"}
    shaker._device = Request(stop=unconfirmed)
    say(await failed(shaker.stop()))
asyncio.run(main())
`
  const said = await ranRecipe(t, { url, key: secrets.operate }, begun + program)
  t.match(said, [
    ...[['shake', { duration: 90000 }], 'ready'],
    ...['cancelled', 'ready', true],
    ...[['DriverError', 'shake of shaker-1: stopped; see that it is safe, then initialize the device'], false, 'stopped'],
    ['RuntimeError', 'shaker-1 did not confirm the stop: no answer yet. Look at the device.'],
  ])
  t.equal(shaker.info().state, 'stopped')
})

withPython('a cancelled call raises where neither its end nor a stop arrives, and another program ends the shaking', async (t) => {
  const { url, secrets } = await openService(t, { time_scale: 100 })
  const program = `
import benchd
def lost(*_): raise benchd.Unreachable("the network is gone", reason="unreachable")
async def main():
    shaker, shaken = await shaking()
    there = benchd.Operation.end, benchd.Device.stop
    benchd.Operation.end, benchd.Device.stop = lost, lost
    shaken.cancel()
    say(await failed(shaken), shaker.is_initialized, bench["shaker-1"].info()["state"])
    benchd.Operation.end, benchd.Device.stop = there
    await BenchShaker("shaker-1").stop_shaking()
    while bench["shaker-1"].info()["operation"]: await asyncio.sleep(0.02)
    say(bench["shaker-1"].info()["last_operation"]["ended_early"])
asyncio.run(main())
`
  const said = await ranRecipe(t, { url, key: secrets.operate }, begun + program)
  t.same(said, [['DriverError', 'the network is gone'], false, 'busy', true])
})

/** Initializes the devices of the demo. */
const initialized = 'for device in bench.devices(): bench[device["device_id"]].initialize()\n'

withPython('a workflow is a protocol: it ends, or it is held with the reason', async (t) => {
  const { url, key } = await demo(t)
  const program = `
async def main():
    workflows = BenchWorkflows()
    say(await failed(workflows.run_protocol("nope", {})))
    await workflows.prepare_for_place(Request())
    await workflows.run_protocol(Request(protocol_filepath="seal-and-spin", params={"speed": 600}))
    say([run["status"] for run in bench.runs()])
    bench.request("POST", "/api/sim/devices/sealer-1/faults", {"fault": "jam"})
    say(await failed(workflows.run_protocol("seal-and-spin", {})))
asyncio.run(main())
`
  const said = await ranRecipe(t, { url, key }, `${begun}${initialized}${program}`)
  const held = /^The run \w{8} of seal-and-spin is held by an error\. plate: sealer-1 reports error 12 .*\. Decide about it at the bench\.$/
  t.match(said, [['DriverRejectedError', /^there is no workflow "nope"/], ['COMPLETED'], ['RuntimeError', held]])
})

withPython('a run whose call is cancelled is aborted', async (t) => {
  const { url, key } = await demo(t, { scale: 20 })
  const program = `
async def main():
    running = asyncio.ensure_future(BenchWorkflows().run_protocol("seal-and-spin", {}))
    async for kind, id, value in AsyncBench.from_env().live():
        if kind == "device" and value["state"] == "busy": break
    running.cancel()
    try: await running
    except asyncio.CancelledError: say("cancelled")
    say(bench.run(bench.runs()[0]["execution_id"]).wait()["status"])
asyncio.run(main())
`
  t.same(await ranRecipe(t, { url, key }, `${begun}${initialized}${program}`), ['cancelled', 'ABORTED'])
})

test('the recipe passes mypy --strict on the stand-in, and a wrong call is found', { skip: noMypy }, (t) => {
  const program = 'from orca_driver import BenchShaker\nshaker = BenchShaker("shaker-1")\n'
  const [mistake, ...others] = mistakesIn(t, 'orca_driver.py', `${program}shaker.seal(170, 3)\n`)
  t.match(mistake, /program\.py:3: error: "BenchShaker" has no attribute "seal"/)
  t.same(others, [])
  t.end()
})

/** Imports the interfaces of the checkout alone: its `__init__` imports PyLabRobot. */
const real = `
${reach(recipes)}
import types
package = types.ModuleType("cheshire_drivers")
package.__path__ = [${JSON.stringify(`${ORCA}/src/cheshire_drivers`)}]
sys.modules["cheshire_drivers"] = package
`
const withOrca = { skip: noPython || (!ORCA && 'ORCA names no checkout') }

test('the drivers work on the interfaces of Orca itself', withOrca, async (t) => {
  const { url, secrets } = await openService(t)
  t.same(await printed(t, { url, key: secrets.operate }, real + begun + trial), worked)
})

test('the interfaces of Orca have the names of the stand-in', withOrca, async (t) => {
  const names = `
from cheshire_drivers import interfaces
for name in ["IShakerDriver", "ISealerDriver", "ITempSettableDriver", "ITempGettableDriver", "ICentrifugeDriver", "IProtocolRunnerDriver"]:
    say([name, sorted(getattr(interfaces, name).__abstractmethods__)])
`
  const read = (before: string) => printed(t, { url: 'http://127.0.0.1:1', key: undefined }, before + names)
  t.same(await read(real), await read(reach([standIns])))
})
