// The Python client as people use it: Debian's python3 against a service on a port, through a line that breaks.

import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { withOperations } from '../../../scripts/clients/python.ts'
import type { Document } from '../../../scripts/clients/typescript.ts'
import { demoBench, demoTeachpoints } from '../../examples/demo_bench.ts'
import { openapi } from '../../http/openapi.ts'
import { routes } from '../../http/routes.ts'
import { silent } from '../../kit/log.ts'
import { startService } from '../../main.ts'
import { atTheEnd, benchConfig, openService } from '../../testing/http.ts'
import { printed, python, source, type Where, withPython } from '../../testing/python.ts'

test('what is made from the routes is as the routes are', (t) => {
  t.equal(source, withOperations(source, openapi(routes) as Document), 'npm run generate')
  t.throws(() => withOperations('no marks', openapi(routes) as Document), /no marks/)
  t.end()
})

withPython('None switches heat off, and a number that JSON does not have is refused before it is sent', async (t) => {
  const { url, secrets } = await openService(t)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `
shaker = bench["shaker-1"]
shaker.initialize()
shaker.set_temperature(temperature=60)
for wrong in (float("nan"), float("inf")):
    try: shaker.set_temperature(temperature=wrong)
    except ValueError as error: say(str(error)[:65])
say(shaker.info()["heating"]["target"])
say(shaker.set_temperature(temperature=None)["result"]["message"])
say(shaker.info()["heating"], shaker.info()["state"])
`,
  )
  const refusal = 'the request cannot be written as JSON, and nothing was sent: Out '
  t.same(said, [refusal, refusal, 60, 'shaker-1: heater switched off', null, 'ready'])
})

withPython('operations wait, errors have a class and a word, and a device is kept for a block', async (t) => {
  const { url, secrets } = await openService(t)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `
def refused(call):
    try: call()
    except BenchError as error: return [type(error).__name__, error.reason, error.status]
shaker = bench["shaker-1"]
say([device["device_id"] for device in bench.devices()][:2])
say(refused(lambda: shaker.shake(speed=500, duration=1)))
say(shaker.initialize()["result"]["success"])
shaker.lock_plate()
say(shaker.shake(speed=500, duration=10)["params"])
running = shaker.shake.start(speed=500, duration=3000)
say(refused(lambda: shaker.shake(speed=500, duration=1)))
running.end()
say(running.wait()["ended_early"], running.end()["status"])
running = shaker.shake.start(speed=500, duration=3000)
shaker.stop()
say(refused(running.wait))
shaker.initialize()
shaker.unlock_plate()
say(refused(lambda: shaker.shake(speed=500, duration=1)))
say(refused(lambda: bench["shaker-9"].info()), refused(lambda: bench["spare-1"].shake(speed="fast", duration=1)))
with bench.lock("sealer-1", note="calibration") as sealer: say(sealer.info()["lock"]["note"])
say(sealer.info()["lock"])
say(shaker.get_temperature() == shaker.temperature(), bench["arm-1"].pose()["coord_type"], refused(bench["spare-1"].pose))
try: shaker.jump
except AttributeError as error: say(str(error)[:24], "temperature()" in str(error))
try: shaker.shake(500, 1)
except TypeError as error: say(str(error)[:53])
say(repr(bench)[:12], repr(shaker), repr(running)[:26], repr(bench.run("x")), repr(AsyncBench("http://x"))[:24])
`,
  )
  t.match(said, [
    ['shaker-1', 'sealer-1'],
    ['Refused', 'not_initialized', 409],
    true,
    { speed: 500, duration: 10 },
    ['Busy', 'busy', 409],
    true,
    'ended',
    ['DeviceFailed', 'stopped', null],
    ['Refused', 'interlock', null],
    ['Refused', 'not_found', 404],
    ['Refused', 'invalid', 400],
    'calibration',
    null,
    ...[true, 'cartesian', ['Refused', 'invalid', 400]],
    ...["a device has no 'jump'; ", true],
    'shake takes its parameters by name, as in shake(speed',
    ...["Bench('http:", "bench['shaker-1']", '<shake of shaker-1, ended,', "bench.run('x')", "async Bench('http://x')"],
  ])
})

withPython('samples are a file, a text, rows or a DataFrame; mistakes come with row and column', async (t) => {
  const { url, secrets } = await openService(t)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `
import pathlib, tempfile
class Frame:
    columns = ["group", "barcode", "speed"]
    class index: name = None
    def to_dict(self, how): return [{"group": "a", "barcode": "P-1", "speed": float("nan")}, {"group": "b", "barcode": "P-2", "speed": 600.0}]
text = "group;barcode;speed\\nä;P-1;\\nb;P-2;600\\n".replace("ä", "a")
path = pathlib.Path(tempfile.mkdtemp()) / "plates.csv"
path.write_bytes(text.encode("cp1252"))
groups = [bench.check_samples("seal-and-spin", samples)["groups"] for samples in (str(path), path, text, Frame())]
say(groups[0], all(one == groups[0] for one in groups))
try: bench.submit("seal-and-spin", mode="PURE_SIM", samples=[{"speed": "fast"}, {"sped": 1}])
except Refused as error: say(error.reason, [(one["row"], one["header"]) for one in error.mistakes])
say(bench.submit("seal-and-spin", mode="PURE_SIM", samples=[{"speed": 600}]).wait()["status"])
say(bench.simulate("seal-and-spin", mode="PURE_SIM", samples="speed\\n600\\n")["verdict"])
`,
  )
  const groups = [
    { group_id: 'a', members: { plate: { barcode: 'P-1' } } },
    { group_id: 'b', members: { plate: { barcode: 'P-2' } }, variables: { speed: 600 } },
  ]
  const mistakes = [
    [1, 'sped'],
    [2, 'speed'],
  ]
  t.same(said, [groups, true, 'invalid', mistakes, 'COMPLETED', 'completes'])
})

/** Debian's, for which its package of pandas is; another Python may come first on the path. */
const interpreter = '/usr/bin/python3'
const noPandas = spawnSync(interpreter, ['-c', 'import pandas']).status !== 0 && 'there is no pandas'

test('a DataFrame of pandas is a sheet, and so is what it writes', { skip: noPandas }, async (t) => {
  const { url, secrets } = await openService(t)
  const said = await printed(
    t,
    { url, key: secrets.operate, interpreter },
    `
import pandas
frame = pandas.DataFrame({"barcode": ["P-1", "P-2"], "speed": [500, None]})
named = frame.assign(group=["a", "b"]).set_index("group")
say([bench.check_samples("seal-and-spin", one)["groups"] for one in (frame, frame.to_csv(), named, named.to_csv(sep=";", decimal=","))])
`,
  )
  const groups = (...names: string[]) => [
    { group_id: names[0], members: { plate: { barcode: 'P-1' } }, variables: { speed: 500 } },
    { group_id: names[1], members: { plate: { barcode: 'P-2' } } },
  ]
  t.same(said, [[groups('g1', 'g2'), groups('g1', 'g2'), groups('a', 'b'), groups('a', 'b')]])
})

withPython('a run is submitted, awaited and explained; the same with asyncio', async (t) => {
  const { url, secrets } = await openService(t)
  const said = await printed(
    t,
    { url, key: secrets.admin },
    `
bench.request("POST", "/api/topology/load", {"name": "demo"})
say(bench.simulate("seal-and-spin", mode="PURE_SIM")["verdict"])
run = bench.submit("seal-and-spin", mode="PURE_SIM", variables={"speed": 600})
say(run.wait()["status"], run.why(), run.blockers(), bench.runs()[0]["execution_id"] == run.execution_id)
kinds = set()
for kind, id, value in bench.live():
    kinds.add(kind)
    if {"service", "device", "topology", "run"} <= kinds: break
say(sorted(kinds)[0])
import asyncio
async def main():
    async with AsyncBench.from_env() as other:
        say((await other["sealer-1"].initialize())["operation"])
        async with other.lock("sealer-1"): say((await other["sealer-1"].info())["lock"]["owner"])
        run = await other.submit("seal-and-spin", mode="PURE_SIM")
        say((await run.wait())["status"])
        async for kind, id, value in other.live():
            say(kind)
            break
asyncio.run(main())
`,
  )
  t.match(said, ['completes', 'COMPLETED', [], [], true, 'device', 'initialize', 'python', 'COMPLETED', 'service'])
})

withPython('a run that an error holds is answered when asked for, and decided about by the name of its thread', async (t) => {
  const { url, secrets, bench } = await openService(t, { devices: demoBench.devices })
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  const said = await printed(
    t,
    { url, key: secrets.admin },
    `
bench.request("POST", "/api/topology/load", {"name": "demo"})
for device in bench.devices(): bench[device["device_id"]].initialize()
bench.request("POST", "/api/sim/devices/sealer-1/faults", {"fault": "jam"})
run = bench.submit("seal-and-spin")
say(run.wait(until_held=True)["ended_at"])
thread, = run.held()
say([thread["thread_name"], "RETRY" in thread["decisions"]])
def refused(call):
    try: call()
    except (BenchError, TimeoutError) as error: return str(error)
say(refused(lambda: run.wait(timeout=0)))
say(refused(lambda: run.recover("plaet", "RETRY")))
bench.request("DELETE", "/api/sim/devices/sealer-1/faults")
bench["sealer-1"].initialize()
info = run.info()
run.info = lambda: {"threads": [*info["threads"], {**thread, "thread_name": "lid", "waiting": {"kind": "peer", "what": "plate to end seal"}}]}
say([thread["thread_name"] for thread in run.held()])
del run.info
say(run.recover("plate", "RETRY")["message"])
say([run.wait(until_held=True)["status"], run.held()])
`,
  )
  t.match(said, [
    null,
    ['plate', true],
    /has not ended after \d+ s; an error holds plate: decide with recover\(\)/,
    /^the run has no thread 'plaet'; there is: plate \(/,
    ['plate'],
    'the decision about plate is RETRY',
    ['COMPLETED', []],
  ])
})

/** A line to the service that a test cuts: `cuts` says for each connection, in order, what becomes of it. */
async function breaking(t: Test, port: number, cuts: ('before' | 'after' | 'no')[]) {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const cut = cuts.shift() ?? 'no'
    sockets.add(near.on('error', () => undefined))
    if (cut === 'before') return near.once('data', () => near.destroy())
    const far = connect(port, '127.0.0.1')
    sockets.add(far.on('error', () => undefined))
    near.pipe(far)
    if (cut === 'after') return far.once('data', () => near.destroy())
    return far.pipe(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

withPython('an operation whose connection breaks, before it was heard or after, is done once', async (t) => {
  const { port, secrets, bench, ask } = await openService(t)
  await ask('POST', '/api/devices/shaker-1/initialize')
  for (const cuts of [['before'], ['after'], ['before', 'after', 'after', 'before']] as const) {
    const url = await breaking(t, port, [...cuts])
    const [id] = await printed(t, { url, key: secrets.operate }, 'say(bench["shaker-1"].lock_plate()["operation_id"])')
    const last = bench.registry.find('shaker-1').info().last_operation
    t.equal(last?.operation_id, id, `${cuts}: the last operation of the device is the one that was answered`)
  }
})

withPython(
  'the end of an operation is asked for again when its connection breaks, and one that the service forgot is not known',
  async (t) => {
    const { port, secrets, ask } = await openService(t)
    await ask('POST', '/api/devices/shaker-1/initialize')
    await ask('POST', '/api/devices/shaker-1/lock_plate')
    const url = await breaking(t, port, ['no', 'after', 'before'])
    const program = `
running = bench["shaker-1"].shake.start(speed=500, duration=3000)
say(running.end()["operation_id"] == running.operation_id, running.wait()["ended_early"])
running.operation_id = "forgotten"
try: running.end()
except BenchError as error: say(type(error).__name__)
`
    t.same(await printed(t, { url, key: secrets.operate }, program), [true, true, 'OutcomeUnknown'])
  },
)

withPython('what nobody can know is said and not repeated; who does not answer is unreachable', async (t) => {
  const { port, secrets } = await openService(t)
  const url = await breaking(t, port, Array<'after'>(1000).fill('after'))
  const program = 'try: bench["shaker-1"].lock_plate()\nexcept BenchError as error: say(type(error).__name__)'
  t.same(await printed(t, { url, key: secrets.operate, retry_s: 1 }, program), ['OutcomeUnknown'])
  t.same(await printed(t, { url: 'http://127.0.0.1:9', key: 'bk_x', retry_s: 1 }, program), ['Unreachable'])
})

withPython('events come without loss and without a repetition, over restarts of the service and of the program', async (t) => {
  const ending = atTheEnd(t)
  const data_dir = t.testdir({})
  const start = async (port: number) => startService(await benchConfig({ listen: { host: '127.0.0.1', port } }), { data_dir, log: silent })
  let service = await start(0)
  ending.push(() => service.close())
  const { url } = service
  const { api_key: key } = await service.bench.keys.create({ name: 'python', scope: 'read' })
  const program = `
for event in bench.events(since="last", file="${data_dir}/cursor.json"):
    if event["entity_type"] == "CUSTOM": print(event["entity_id"], flush=True)
`
  const emit = (n: number) => service.bench.hub.emit(`CUSTOM.n${n}.EMITTED`, { n })
  const first = python(t, { url, key }, program)
  // The first connection breaks off before its first event.
  while (!existsSync(`${data_dir}/cursor.json`)) await sleep(10)
  await service.close()
  service = await start(Number(new URL(url).port))
  for (const n of [1, 2]) emit(n)
  t.same([await first.line(), await first.line()], ['n1', 'n2'])
  await service.close()
  service = await start(Number(new URL(url).port))
  for (const n of [3, 4]) emit(n)
  t.same([await first.line(), await first.line()], ['n3', 'n4'])
  emit(5)
  t.equal(await first.line(), 'n5')
  while (!readFileSync(`${data_dir}/cursor.json`, 'utf8').includes('"')) await sleep(10)
  first.child.kill('SIGKILL')
  await first.ended
  for (const n of [6, 7]) emit(n)
  const second = python(t, { url, key }, program)
  const after = [await second.line()]
  // It may have been ended between an event and the note of it: that event comes again, and no other.
  if (after[0] === 'n5') after[0] = await second.line()
  t.same([...after, await second.line()], ['n6', 'n7'])
  second.child.kill('SIGKILL')
  await second.ended
})

withPython('of 5,000 events a second none is lost or repeated, with a cursor', async (t) => {
  const { url, secrets } = await openService(t)
  const program = `
import threading
def load(): bench.request("POST", "/api/sim/load", {"rate": 5000, "seconds": 1})
threading.Thread(target=load).start()
seen = []
for event in bench.events(file="cursor.json"):
    if event["event_name"] == "SIM.load.EMITTED": seen.append(event["context"]["n"])
    if len(seen) == 5000: break
say(seen == list(range(5000)))
`
  t.same(await printed(t, { url, key: secrets.operate }, program), [true])
})

withPython('the import loads what every client needs, and besides that what makes a random id', async (t) => {
  const program = `
import subprocess, sys
def loaded(what): return set(json.loads(subprocess.check_output([sys.executable, "-c", f"{what}; print(json.dumps(list(sys.modules)))"], text=True)))
say(sorted(loaded("import sys, json, benchd") - loaded("import sys, json, http.client, ssl, contextlib, pathlib, threading, typing")))
`
  const [besides] = await printed(t, { url: 'http://127.0.0.1:9', key: undefined }, program)
  const expected = ['__future__', '_uuid', 'benchd', 'platform', 'uuid']
  t.same(
    (besides as string[]).filter((name) => !expected.includes(name)),
    [],
  )
})

withPython('a program that is slower than the events misses none of them', async (t) => {
  const { url, secrets, bench } = await openService(t)
  const slow = python(
    t,
    { url, key: secrets.read },
    `
seen = []
for event in bench.events():
    if event["entity_type"] != "CUSTOM": continue
    seen.append(event["context"]["n"])
    if len(seen) == 1: print("first", flush=True); last = int(input())
    if seen[-1] == last: break
print(seen == list(range(last + 1)))
`,
  )
  while (bench.hub.streams.subscribers === 0) await sleep(10)
  const text = 'x'.repeat(4000)
  let n = 0
  const emit = () => bench.hub.emit('CUSTOM.n.EMITTED', { n: n++, text })
  emit()
  t.equal(await slow.line(), 'first')
  // More than the sockets and the queue of the stream hold.
  for (let heap = 0; heap < 12; heap++) await bench.hub.stored(Array.from({ length: 500 }, emit).at(-1)!)
  slow.child.stdin.write(`${n - 1}\n`)
  t.equal(await slow.line(), 'True')
  t.ok(bench.hub.streams.dropped > 0)
})

withPython('a key that is not good, credentials that others may read, and no bench at all are told in words', async (t) => {
  const { url } = await openService(t)
  const failing = async (where: Where, program = 'bench.devices()') => {
    const { ended } = python(t, where, program)
    return (await ended).stderr.trimEnd().split('\n').at(-1)
  }
  t.match(await failing({ url, key: 'bk_wrong' }), /^benchd\.Refused: the header X-API-Key/)
  t.match(await failing({ url: 'bench-1:8520', key: 'k' }), /is not the address of a bench; write it as http:/)
  t.match(await failing({ url: '', key: undefined }), /no bench is named: set BENCHD_URL .*benchd key pair --url URL/)
})

withPython('a certificate is known by its fingerprint; with another, or without one, no key is sent', async (t) => {
  const folder = mkdtempSync(`${tmpdir()}/benchd-tls-`)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync(fileURLToPath(new URL('../../../../scripts/make-cert.sh', import.meta.url)), [folder])
  const { port, service, secrets, bench } = await openService(t, {
    listen: { host: '127.0.0.1', port: 0, tls: { cert: `${folder}/cert.pem`, key: `${folder}/key.pem` } },
  })
  const [url, key] = [`https://localhost:${port}`, secrets.operate]
  const program = 'try: say(len(bench.devices()))\nexcept Refused as error: say(error.reason)'
  t.same(await printed(t, { url, key, fingerprint: service.fingerprint! }, program), [bench.registry.all().length])
  t.same(await printed(t, { url, key, fingerprint: 'ab:cd' }, program), ['fingerprint'])
  t.same(await printed(t, { url, key }, program), ['certificate'])
})

withPython('a key that ends meanwhile is told, and the events end with it', async (t) => {
  const { url, bench } = await openService(t)
  const { api_key: key, key_id } = await bench.keys.create({ name: 'short', scope: 'read' })
  const follower = python(
    t,
    { url, key },
    'try:\n    for event in bench.events(): pass\nexcept Refused as error: print(error.status, flush=True)',
  )
  while (bench.hub.streams.subscribers === 0) await sleep(10)
  await bench.keys.revoke(key_id)
  t.equal(await follower.line(), '401')
  t.equal((await follower.ended).code, 0)
})

withPython('a connection that is cut anywhere in the answer leads to one operation, and to its record', async (t) => {
  const { port, secrets, ask } = await openService(t)
  await ask('POST', '/api/devices/shaker-1/initialize')
  let length = 0
  let cut = 0
  const repeated = new Set<string>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.once('data', (request: Buffer) => {
      far.write(request)
      near.pipe(far)
      const [, key] = /Idempotency-Key: (\S+)/i.exec(request.toString()) ?? []
      if (key === undefined || repeated.has(key)) return far.pipe(near)
      repeated.add(key)
      return far.once('data', (answer: Buffer) => {
        length = answer.length
        near.end(answer.subarray(0, cut))
        cut += 7
        far.destroy()
      })
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const program = `
import benchd, sys
benchd._PAUSES_S = (0.0,)
for line in sys.stdin: say(bench["shaker-1"].unlock_plate()["operation_id"])
`
  const { child, line, ended } = python(t, { url, key: secrets.operate }, `import json\nsay = lambda it: print(json.dumps(it))\n${program}`)
  const ids = new Set<unknown>()
  let said: string | undefined
  do {
    child.stdin.write('\n')
    said = await line()
    if (said !== undefined) ids.add(JSON.parse(said))
  } while (said !== undefined && cut < length)
  child.stdin.end()
  t.match(await ended, { code: 0, stderr: '' })
  t.ok(ids.size > 50, `${ids.size} places`)
  const { text } = await ask('GET', '/metrics')
  t.match(text, new RegExp(`^benchd_device_operations_total\\{.*"unlock_plate".*\\} ${ids.size}$`, 'm'), 'each was done once')
})

withPython('an answer of which a byte comes now and then is given up', async (t) => {
  const server = createServer((near) => {
    near.on('error', () => undefined).write('HTTP/1.1 200 OK\r\nX-Slow: ')
    const dripping = setInterval(() => near.write('x'), 20)
    near.on('close', () => clearInterval(dripping)).resume()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const program = `
import os
slow = Bench(os.environ["BENCHD_URL"], "bk_x", timeout=0.1)
for call in (slow.devices, slow["shaker-1"].lock_plate):
    try: call()
    except BenchError as error: say(type(error).__name__)
`
  t.same(await printed(t, { url, key: 'bk_x', retry_s: 1 }, program), ['Unreachable', 'OutcomeUnknown'])
})

withPython('a held operation is renewed while the block runs, ends gently with it, and by itself when the program is killed', async (t) => {
  const { bench, url, secrets } = await openService(t, { time_scale: 20 })
  const arm = bench.registry.find('arm-1')
  await arm.perform('initialize', {})
  let renewals = 0
  const renew = arm.renew.bind(arm)
  arm.renew = (...asked) => {
    renewals++
    renew(...asked)
  }
  const program = `
import asyncio, sys
with bench.held("arm-1", "free_drive", every=0.01) as operation:
    print(operation.record["operation"])
    sys.stdin.readline()
print(operation.record["result"]["message"])
async def main():
    async with AsyncBench.from_env() as other:
        async with other.held("arm-1", "free_drive") as operation:
            print(operation.record["status"])
asyncio.run(main())
try:
    with bench.held("arm-1", "free_drive"): bench["arm-1"].stop()
except DeviceFailed as error: print(error.reason)
bench["arm-1"].initialize()
with bench.held("arm-1", "jog", {"axis": "yaw", "direction": "+", "speed": 1}):
    print("jogs")
    sys.stdin.readline()
`
  const { child, line } = python(t, { url, key: secrets.operate }, program)
  t.equal(await line(), 'free_drive')
  while (renewals < 5) await sleep(10)
  t.equal(arm.state, 'busy')
  child.stdin.write('\n')
  t.match(await line(), /^arm-1: led by hand.*; its caller ended it$/)
  t.equal(await line(), 'running')
  t.equal(await line(), 'stopped')
  t.equal(await line(), 'jogs')
  child.kill('SIGKILL')
  while (arm.operation.run) await new Promise((resolve) => setTimeout(resolve, 10))
  t.match(arm.info(), { state: 'ready', fault: null, last_operation: { operation: 'jog', result: { success: true } } })
})
