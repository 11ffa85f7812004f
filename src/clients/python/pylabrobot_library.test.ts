// PyLabRobot's own classes behind a bridge, where `PYLABROBOT` names a checkout: all of them described, and some against its mock server, its simulations and
// our simulated instruments, whose state is the witness.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { driver } from '../../../drivers/bioshake/driver.ts'
import { serveOnPty } from '../../../drivers/serve.ts'
import { readDescription } from '../../devices/description.ts'
import { bridgeTo, programFile, until } from '../../testing/bridges.ts'
import { atTheEnd, openService } from '../../testing/http.ts'
import { noPython } from '../../testing/python.ts'

const { PYLABROBOT } = process.env
const top = fileURLToPath(new URL('../../../../', import.meta.url))
const noSerial = spawnSync('python3', ['-c', 'import serial']).status !== 0 && 'Python has no module serial'
const noLibrary = noPython || (!PYLABROBOT && 'PYLABROBOT names no checkout')

/** Writes what a simulation prints into a file, since it is all that it does, and the process of the program into another. */
const printing = `
import builtins, os
_print = builtins.print
def note(*words, **more):
    with open(os.environ["PRINTED"], "a") as file: file.write(" ".join(map(str, words)) + "\\n")
    _print(*words, **more)
builtins.print = note
with open(os.environ["PRINTED"] + ".pid", "w") as file: file.write(str(os.getpid()))
`

/** Opens a bench with a device whose program is a class of PyLabRobot. */
async function bench(t: Test, type: string, words: readonly string[], folder = dirname(programFile(t, ''))) {
  writeFileSync(`${folder}/sitecustomize.py`, printing)
  const environment = [`PYTHONPATH=${folder}:${PYLABROBOT}`, `PRINTED=${folder}/printed`]
  const command = ['env', ...environment, 'python3', `${folder}/benchd_bridge.py`, 'pylabrobot', ...words]
  const device = { ...bridgeTo(''), type, transport: { kind: 'bridge', command } }
  const { ask, bench } = await openService(t, { devices: [device] })
  const instrument = bench.registry.find('reader-1')
  const call = (operation: string, json: object = {}) => ask('POST', `/api/devices/reader-1/${operation}`, { json })
  const perform = (operation: string, params: object = {}) => call('perform', { operation, params })
  const printed = () => (existsSync(`${folder}/printed`) ? readFileSync(`${folder}/printed`, 'utf8').trim().split('\n') : [])
  await until(() => instrument.info().identity ?? instrument.info().fault)
  t.equal(instrument.info().fault, null, 'it describes itself')
  const killed = () => process.kill(Number(readFileSync(`${folder}/printed.pid`, 'utf8')), 'SIGKILL')
  return { call, perform, printed, instrument, killed }
}

test('every backend and every class of the registry is described, and the page shows that', { skip: noLibrary }, (t) => {
  const page = readFileSync(`${top}src/clients/python/PYLABROBOT.md`, 'utf8')
  const [, version, date] = /PyLabRobot (\S+) \((\S+)\)/.exec(page)!
  const { status, stdout, stderr } = spawnSync('python3', [`${top}scripts/pylabrobot_table.py`, PYLABROBOT!, date!], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
  if (readFileSync(`${PYLABROBOT}/pylabrobot/version.txt`, 'utf8').trim() === version) t.equal(stdout, page, 'the page is up to date')
  t.end()
})

test('each command of the guide names a class with its parameters and options', { skip: noLibrary || noSerial }, (t) => {
  const guide = readFileSync(`${top}drivers/README.md`, 'utf8')
  const commands = [...guide.matchAll(/"command": (\["python3", "[^"]*", "pylabrobot", [^\]]*\])/g)].map(
    ([, words = '']) => JSON.parse(words) as string[],
  )
  t.equal(commands.length, 2)
  const parts = [
    'pylabrobot.inheco.InhecoThermoShake',
    'index=1',
    ...(/control_box=\S+ control_box\.\w+=\w+/.exec(guide)?.[0].split(' ') ?? []),
  ]
  t.equal(parts.length, 4)
  for (const words of [...commands.map((command) => command.slice(3)), parts]) {
    const options = {
      env: { ...process.env, PYTHONPATH: PYLABROBOT },
      input: '{"jsonrpc":"2.0","id":1,"method":"describe"}\n',
      encoding: 'utf8',
    } as const
    const { stdout, stderr } = spawnSync('python3', [`${top}src/clients/python/benchd_bridge.py`, 'pylabrobot', ...words], options)
    t.match(stdout && JSON.parse(stdout), { result: { type: /shaker|transporter/ } }, stderr)
    if (words.includes('--limit'))
      t.match(JSON.parse(stdout).result.operations.shake.params.properties.speed, { minimum: 200, maximum: 3000 })
  }
  t.end()
})

test('the guides and the heads of the libraries name modules and classes of PyLabRobot as they are', { skip: noLibrary }, (t) => {
  const python = ['benchd_bridge.py', 'benchd_bridge_pylabrobot.py', 'benchd_bridge_arms.py'].map((name) => `src/clients/python/${name}`)
  const texts = ['drivers/README.md', 'src/clients/README.md', 'systemd/README.md', ...python].map((path) =>
    readFileSync(`${top}${path}`, 'utf8'),
  )
  const names = [...new Set(texts.join('\n').match(/(?<![\w.])pylabrobot\.[a-z]\w*(\.\w+)+/g))]
  const program = `
import importlib, sys
def there(name):
    try: return importlib.import_module(name)
    except ImportError:
        home, _, last = name.rpartition(".")
        return getattr(importlib.import_module(home), last)
for name in sys.argv[1:]:
    try: there(name)
    except Exception as error: print(name, error)`
  const { stdout } = spawnSync('python3', ['-c', program, ...names], {
    env: { ...process.env, PYTHONPATH: PYLABROBOT, PYTHONWARNINGS: 'ignore' },
    encoding: 'utf8',
  })
  t.ok(names.length > 5)
  t.equal(stdout, '')
  t.end()
})

/** Describes each class that the table has, without an object of it; arms become transporters otherwise. */
const descriptions = `
import contextlib, io, json, sys
path = sys.argv.pop(1)
scope = {"__name__": "table", "__file__": path}
with contextlib.redirect_stderr(io.StringIO()):
    exec(compile(open(path).read().split("rows = sorted")[0], path, "exec"), scope)
    said = {}
    for kind in scope["kinds"] | set(scope["machines"]):
        device = object.__new__(kind)
        said[kind.__name__] = scope["bridge"].pylabrobot_bridge(lambda: device, device=device).describe()
print(json.dumps({name: told for name, told in said.items() if told["type"] != "transporter"}))
`

test('the bench takes the description of each class', { skip: noLibrary }, (t) => {
  const args = ['-c', descriptions, `${top}scripts/pylabrobot_table.py`, PYLABROBOT!, '2026-01-01']
  const { stdout, stderr } = spawnSync('python3', args, { encoding: 'utf8', maxBuffer: 2 ** 28 })
  const said = Object.entries(JSON.parse(stdout || '{}'))
  t.ok(said.length > 50, stderr)
  for (const [name, description] of said) t.doesNotThrow(() => readDescription(description), name)
  t.end()
})

/** Serves PyLabRobot's mock of a MicroSpin, and tells its state when it is asked. */
const microspin = `
import asyncio, json, sys
from pylabrobot.legacy.centrifuge.highres.mock_server import MicroSpinMockServer
async def main():
    server = await MicroSpinMockServer().start()
    print(json.dumps(server.port), flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        state = server.state
        print(json.dumps({"spinning": state.spinning, "homed": state.homed, "aborted": state.abort_latched}), flush=True)
asyncio.run(main())
`

/** A cable to a port of this computer, which can be pulled. */
async function cable(t: Test, to: number) {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined).on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  const listen = async (port: number) => void (await once(server.listen(port, '127.0.0.1'), 'listening'))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const pull = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(pull)
  return { port, pull, plugIn: () => listen(port) }
}

test('the rotor of a MicroSpin stands after a stop, after an unplug and after a kill of its program', { skip: noLibrary }, async (t) => {
  const mock = spawn('python3', ['-c', microspin], { env: { ...process.env, PYTHONPATH: PYLABROBOT }, stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => mock.kill('SIGKILL'))
  const lines = createInterface({ input: mock.stdout })[Symbol.asyncIterator]()
  const state = async () => {
    mock.stdin.write('\n')
    return JSON.parse((await lines.next()).value) as { spinning: boolean; homed: boolean; aborted: boolean }
  }
  const { port, pull, plugIn } = await cable(t, JSON.parse((await lines.next()).value))
  const words = ['pylabrobot.legacy.centrifuge.MicroSpin', 'name=spin', 'host=127.0.0.1', `port=${port}`, '--halt', 'abort']
  const { call, perform, instrument, killed } = await bench(t, 'centrifuge', words)
  t.equal((await call('initialize')).status, 200)
  t.equal((await perform('home')).status, 200)
  t.equal((await state()).homed, true)
  t.match(await call('centrifuge', { g: 500, duration: 1 }), { status: 200 })
  const spin = async () => {
    t.equal((await call('initialize')).status, 200)
    t.equal((await perform('clear_button_abort')).status, 200)
    const spinning = call('centrifuge', { g: 500, duration: 6000 })
    await until(async () => (await state()).spinning)
    return spinning
  }

  let spinning = spin()
  await until(async () => (await state()).spinning)
  await call('stop')
  await until(async () => !(await state()).spinning)
  t.match(await state(), { aborted: true })
  t.match((await spinning).body, { success: false })
  await until(() => !instrument.info().may_still_be_on)

  spinning = spin()
  await until(async () => (await state()).spinning)
  pull()
  t.match(await spinning, { status: 500 })
  t.equal((await state()).spinning, true)
  await plugIn()
  await until(async () => !(await state()).spinning)
  await until(() => !instrument.info().may_still_be_on)

  spinning = spin()
  await until(async () => (await state()).spinning)
  killed()
  await spinning
  await until(async () => !(await state()).spinning)
  await until(async () => (await call('initialize')).status === 200)
})

test('a BioShake drives its simulated instrument, which stands after a stop, an unplug and a kill', {
  skip: noLibrary || noSerial,
}, async (t) => {
  const folder = dirname(programFile(t, ''))
  const served = await serveOnPty(driver, { model: '3000', acceleration: null }, { link: `${folder}/port` })
  atTheEnd(t).push(() => served.close())
  const isMoving = () => served.simulator.world.moving
  const words = ['pylabrobot.qinstruments.BioShake', `port=${folder}/port`, 'supports_shaking=true', '--halt', 'stop_shaking']
  const { call, instrument, killed } = await bench(t, 'shaker', words, folder)
  const ready = () => until(async () => (await call('initialize')).status === 200)
  await ready()
  t.match(await call('shake', { speed: 500, duration: 0.5 }), { status: 200 })
  t.equal(isMoving(), false)

  let shaking = call('shake', { speed: 500, duration: 3600 })
  await until(isMoving)
  await call('stop')
  t.match((await shaking).body, { success: false })
  await until(() => !isMoving() && !instrument.info().may_still_be_on)

  await ready()
  shaking = call('shake', { speed: 500, duration: 3600 })
  await until(isMoving)
  served.setFault('unplug')
  t.match(await shaking, { status: 500 })
  t.ok(isMoving())
  await served.clearFaults()
  await until(() => !isMoving() && !instrument.info().may_still_be_on)

  await ready()
  shaking = call('shake', { speed: 500, duration: 3600 })
  await until(isMoving)
  killed()
  await shaking
  await until(() => !isMoving())
  await ready()
})

const simulations: {
  path: string
  type: string
  words?: string[]
  operations: [name: string, params?: object][]
  halts: RegExp[]
  data?: object
}[] = [
  {
    path: 'pylabrobot.legacy.heating_shaking.HeaterShakerChatterboxBackend',
    type: 'shaker',
    words: ['--halt', 'stop_shaking,deactivate'],
    operations: [
      ['shake', { speed: 300, duration: 3600 }],
      ['set_temperature', { temperature: 37 }],
    ],
    halts: [/stopping shaking/i, /deactivat/i],
  },
  {
    path: 'pylabrobot.legacy.storage.cytomat.cytomat.CytomatChatterbox',
    type: 'incubator',
    words: ['model=C6000', 'port=/dev/null', '--call', 'set_racks={"racks": ["cytomat_rack_9mm_51"]}', '--halt', 'stop_shaking'],
    operations: [
      ['shake', { speed: 300, duration: 3600 }],
      ['take_in_plate', { plate: 'Cor_96_wellplate_360ul_Fb', site: '1/3' }],
    ],
    halts: [/cytomat ll:vd/],
  },
  {
    path: 'pylabrobot.legacy.thermocycling.ThermocyclerChatterboxBackend',
    type: 'thermocycler',
    words: ['--halt', 'deactivate_block,deactivate_lid'],
    operations: [
      ['set_block_temperature', { temperature: [95] }],
      ['run_protocol', { protocol: { stages: [{ steps: [{ temperature: [95], hold_seconds: 30 }], repeats: 2 }] }, block_max_volume: 20 }],
    ],
    halts: [/block/i, /lid/i],
  },
  {
    path: 'pylabrobot.legacy.plate_reading.PlateReaderChatterboxBackend',
    type: 'reader',
    operations: [
      ['read_absorbance', { plate: 'Cor_96_wellplate_360ul_Fb', wavelength: 450, wells: 'A1:B2' }],
      ['read_luminescence', { plate: 'Cor_96_wellplate_360ul_Fb', focal_height: 4.5 }],
    ],
    halts: [],
    data: { luminescence: [Array(12).fill(0)] },
  },
  {
    path: 'pylabrobot.legacy.liquid_handling.backends.hamilton.STAR_chatterbox.STARChatterboxBackend',
    type: 'liquid_handler',
    words: ['--call', 'set_deck={"deck": "STARDeck"}', '--halt', 'halt'],
    operations: [['request_iswap_initialization_status'], ['move_all_channels_in_z_safety']],
    halts: [],
  },
]

for (const { path, type, words = [], operations, halts, data } of simulations)
  test(`${path} is initialized, works, and is halted during each operation`, { skip: noLibrary || noSerial }, async (t) => {
    const { call, perform, printed, instrument, killed } = await bench(t, type, [path, ...words])
    const ready = () => until(async () => (await call('initialize')).status === 200)
    for (const [name, params = {}] of operations) {
      await ready()
      const before = printed().length
      const running = ['shake', 'set_temperature'].includes(name) ? call(name, params) : perform(name, params)
      await Promise.race([running, until(() => printed().length > before)])
      const stopped = await call('stop')
      if (words.includes('--halt')) t.match(stopped.body, { success: true }, `${name} is stopped`)
      for (const halt of halts) t.match(printed().slice(before).join('\n'), halt, `${name} is halted`)
      await running
    }
    await ready()
    const [name, params] = operations.at(-1)!
    if (data) t.match((await perform(name, params)).body, { success: true, data })
    killed()
    await until(() => instrument.info().fault)
    await ready()
  })
