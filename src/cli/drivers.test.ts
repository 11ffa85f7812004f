// Drivers of a lab's own: begun, tested, configured, used over the API and in a workflow, broken in each way, simulated, and switched off.

import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { until } from '../testing/bridges.ts'
import { benchd, running, served, spawned } from '../testing/cli.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { ask } from './client.ts'

const simulated = { kind: 'simulated' }
const arm = { device_id: 'arm-9', driver: 'simulated', type: 'transporter', transport: simulated, settings: { points: 'own' } }
const pump = { device_id: 'pump-1', driver: 'my_pump', transport: simulated }
const shaker = { device_id: 'shaker-1', driver: 'bigbear', transport: simulated }

/** A home with a new driver `my_pump` beside its configuration. */
async function home(t: Test, devices: readonly object[] = [pump, shaker]) {
  const folder = t.testdir({ topologies: {} })
  const { code, stderr } = await benchd(folder, ['drivers', 'new', 'my_pump', '--type', 'pump', '--folder', `${folder}/drivers`])
  t.equal(code, 0, stderr)
  const configure = (devices: readonly object[]) =>
    writeFileSync(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, time_scale: 100, devices }))
  configure(devices)
  const driver = `${folder}/drivers/my_pump`
  /** Changes the text of a file of the driver. */
  const change = (file: string, from: string, to: string) => {
    const text = readFileSync(join(driver, file), 'utf8')
    t.ok(text.includes(from), `${file} has ${from}`)
    writeFileSync(
      join(driver, file),
      text.replace(from, () => to),
    )
  }
  const call = <Answer>(method: string, path: string, body?: object) =>
    ask<Answer>({ socket_of: `${folder}/data` }, method as 'GET', path, body)
  const places = ['--config', `${folder}/config.json`]
  return { folder, driver, configure, change, call, places, data: ['--data-dir', `${folder}/data`] }
}

type Device = { device_id: string; state: string; unfit: string | null; fault: { error: string } | null }

test('a driver that was just begun passes its own tests and the suite of those that ship', async (t) => {
  const { folder, driver } = await home(t)
  const mistakes = await typeMistakes(driver)
  t.same(mistakes, [], 'its types are right by its own tsconfig.json')
  t.match(await benchd(folder, ['drivers', 'test', driver]), { code: 0, stdout: /^all \d+ tests passed, with \d{3} checks$/m })
  await benchd(folder, ['drivers', 'new', 'my_shaker', '--type', 'shaker', '--folder', `${folder}/drivers`])
  const { stdout } = await benchd(folder, ['drivers', 'test', `${folder}/drivers/my_shaker`, '--json'])
  t.match(JSON.parse(stdout), { failed: 0, outcomes: [{ names: ['the state is read from its line, and from no other'], failures: [] }] })
})

test('the example, written outside of the repository by the guide alone, passes as it is', async (t) => {
  const folder = t.testdir({})
  const driver = `${folder}/new_era`
  cpSync(fileURLToPath(new URL('../../../examples/driver/new_era', import.meta.url)), driver, { recursive: true })
  // A clone may be writable by its group.
  for (const file of [driver, ...readdirSync(driver).map((name) => join(driver, name))]) chmodSync(file, 0o755)
  const { code, stdout } = await benchd(folder, ['drivers', 'test', driver])
  t.equal(code, 0, stdout)
})

/** Checks the types of a driver as an editor does, by the declarations that ship. */
async function typeMistakes(driver: string): Promise<string[]> {
  const { default: ts } = await import('typescript')
  const { config } = ts.readConfigFile(`${driver}/tsconfig.json`, ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, driver)
  const found = ts.getPreEmitDiagnostics(ts.createProgram(fileNames, options))
  return found.map(({ messageText, file }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
}

test('a mistake in the types of a driver is found by the declarations that ship', async (t) => {
  const { driver, change } = await home(t)
  change('driver.ts', 'serial: { baud: 9600 }', "serial: { baud: 'fast' }")
  t.match(await typeMistakes(driver), [/driver\.ts: Type 'string' is not assignable to type 'number'/])
})

const wrong = [
  [
    'a halt that resolves without an answer',
    'await this.#exchange.interruptFor(stop, {',
    'this.#exchange.interrupt(stop)\n    if (!this) await this.#exchange.interruptFor(stop, {',
    /halt that gets no answer is not acknowledged/,
  ],
  ['a motion that is said again', 'await this.#exchange.command(run(speed', 'await this.#exchange.query(run(speed', /never said again/],
  [
    'an operation that does not look at what it does',
    'await onceStarted(() => this.#untilDone(duration, signal))',
    '',
    /does each operation|ends it|fails when its line/,
  ],
  ['an operation that goes on after a stop', 'this.#runner.stop()\n', '', /a halt in the middle of an operation/],
] as const

for (const [what, from, to, duty] of wrong)
  test(`the suite finds ${what}`, async (t) => {
    const { folder, driver, change } = await home(t)
    change('driver.ts', from, to)
    const { code, stdout } = await benchd(folder, ['drivers', 'test', driver, '--only', 'keeps what'])
    t.equal(code, 1)
    t.match(stdout, new RegExp(`^FAIL  .*${duty.source}`, 'm'))
  })

test('it is configured, its operation runs over the API and in a workflow, and what was left on is switched off', async (t) => {
  const { folder, change, configure, call, places, data } = await home(t)
  // So that the service has to end the motion, also after it was killed.
  change('driver.ts', 'features: { autonomous_timer: true }', 'features: {}')
  const sim = running(t, folder, ['sim', 'my_pump', '--pty', '--link', `${folder}/port`, '--time-scale', '20', ...places])
  const path = await sim.line(/^\/.*/)
  configure([{ ...pump, transport: { kind: 'serial', path } }, arm])
  writeFileSync(
    `${folder}/topologies/pumps.json`,
    JSON.stringify(oneArm({ name: 'pumps', arm: 'arm-9', pads: ['pad'], nests: { nest: 'pump-1' } })),
  )
  const service = running(t, folder, ['serve', ...places, ...data])
  await service.line(/listens on/)
  service.child.stdout.resume()
  await until(async () => (await call<{ identity: object | null }>('GET', '/api/devices/pump-1')).identity !== null)
  t.match(await call('GET', '/api/devices/pump-1'), { type: 'pump', driver: 'my_pump', identity: { model: 'my_pump' } })
  const { operations, readings } = await call<{ operations: { name: string }[]; readings: object[] }>(
    'GET',
    '/api/devices/pump-1/capabilities',
  )
  t.match(
    operations.find(({ name }) => name === 'run_for'),
    { summary: 'Run at a speed', returns: { speed: 'rpm' }, params: { properties: { speed: { maximum: 1000, unit: 'rpm' } } } },
  )
  t.same(readings, [{ name: 'present_speed', unit: 'rpm' }])
  await call('POST', '/api/devices/pump-1/initialize', {})
  t.match(await call('GET', '/api/devices/pump-1/readings/present_speed'), { value: 0, unit: 'rpm' })
  const perform = (params: object) => call('POST', '/api/devices/pump-1/perform', { operation: 'run_for', params })
  t.match(await perform({ speed: 300, duration: 1 }), { success: true, data: { speed: 300 } })
  await t.rejects(perform({ speed: 3000, duration: 1 }), { message: /speed must be at most 1000/ })

  await call('POST', '/api/topology/load', { name: 'pumps' })
  const methods = { pump_it: [{ do: 'run_for', on: 'pump-1', with: { speed: 400, duration: 2 } }] }
  const workflow = workflowOf('pump-it', { plate: { ...standing('pad'), steps: [{ method: 'pump_it' }] } }, { topology: 'pumps', methods })
  await call('PUT', '/api/workflows/pump-it', workflow)
  await call('POST', '/api/devices/arm-9/initialize', {})
  for (const run_mode of ['DEVICE_SIM', 'LIVE']) {
    const { execution_id } = await call<{ execution_id: string }>('POST', '/api/submissions', { workflow: 'pump-it', run_mode })
    const of = `/api/executions/${execution_id}`
    const status = async () => await call<{ status: string; threads: { thread_id: string }[] }>('GET', of)
    await until(async () => {
      const { status: now, threads } = await status()
      for (const { thread_id } of threads) await call('POST', `/api/threads/${thread_id}/placed`, {}).catch(() => undefined)
      return now === 'COMPLETED'
    })
    t.match(await call('GET', `${of}/values`), { values: [{ name: 'speed', value: 400, unit: 'rpm' }] }, run_mode)
  }

  void perform({ speed: 500, duration: 3000 }).catch(() => undefined)
  await until(async () => (await call<{ state: string }>('GET', '/api/devices/pump-1')).state === 'busy')
  const isOn = async () => (await call<{ value: number }>('GET', '/api/devices/pump-1/readings/present_speed')).value > 0
  await until(isOn)
  service.child.kill('SIGKILL')
  await service.ended
  t.match(await spawned(folder, ['safe-off', ...places, ...data]), { code: 0, stdout: 'pump-1 was left on; it is off\n' })
  sim.child.kill('SIGTERM')
  t.match(await sim.ended, { code: 0 })
})

/** The ways to break a driver, and whether its device can be used until then. */
const breaks = [
  ['at load', 'driver.ts', 'import { errorTable }', "throw new Error('broken')\nimport { errorTable }", 'unloaded'],
  ['in its profile', 'driver.ts', 'profile: () => ({', "profile: () => ({ ...JSON.parse('broken'),", 'unloaded'],
  ['at open', 'driver.ts', 'open: (at) => new Instrument(at)', "open: () => { throw new Error('broken') }", 'unloaded'],
  ['by a profile that is none', 'driver.ts', 'limits: {}, features', 'limits: 7, features', 'unloaded'],
  ['by a simulator that is none', 'driver.ts', '  simulate,\n})', '  simulate: () => null as never,\n})', 'unloaded'],
  ['by a promise of its module', 'driver.ts', 'const look_ms', "Promise.reject(new Error('broken'))\nconst look_ms", 'unloaded'],
  ['by a device without halt', 'driver.ts', 'async halt()', 'async halts()', 'unloaded'],
  [
    'in an operation',
    'driver.ts',
    '    // A command that moves',
    "    if (signal) throw new Error('broken')\n    // A command that moves",
    'operation',
  ],
  [
    'by values that no record can hold',
    'driver.ts',
    '    // A command that moves',
    "    if (signal) return { speed: 1n, broken: 'broken' } as never\n    // A command that moves",
    'operation',
  ],
  [
    'while bytes come in',
    'driver.ts',
    'framer: nextLine',
    "framer: (buffer) => { if (buffer.includes('RUN')) throw new Error('broken'); return nextLine(buffer) }",
    'operation',
  ],
  [
    'in a timer',
    'driver.ts',
    '    // A command that moves',
    "    this.at.clock.after(10, () => { throw new Error('broken') })\n    // A command that moves",
    'operation',
  ],
] as const

for (const [where, file, from, to, kind] of breaks)
  test(`a driver that breaks ${where} disables its device alone, which says so`, async (t) => {
    const { folder, change, call } = await home(t)
    change(file, from, to)
    const { words } = await served(t, folder)
    const device = () => call<Device>('GET', '/api/devices/pump-1')
    t.match(await call('POST', '/api/devices/shaker-1/initialize', {}), { success: true })
    const shaking = call('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 30 })
    if (kind === 'unloaded') {
      t.match(await device(), {
        state: 'disconnected',
        unfit: /its driver my_pump could not be used: .*(broken|no method halt|a wrong profile\.limits|no simulator)/,
      })
      await t.rejects(call('POST', '/api/devices/pump-1/initialize', {}), { message: /pump-1: its driver my_pump could not be used/ })
      await t.rejects(call('POST', '/api/devices/pump-1/stop', {}), { message: /red button/ })
      t.ok(words.some((line) => line.startsWith('pump-1 cannot be used')))
    } else {
      await call('POST', '/api/devices/pump-1/initialize', {})
      const params = { speed: 500, duration: 60 }
      await t.rejects(call('POST', '/api/devices/pump-1/perform', { operation: 'run_for', params }), { message: /broken|no JSON/ })
      t.match(await device(), { fault: { error: /broken|no JSON/ } })
    }
    t.match(await shaking, { success: true }, 'another device goes on')
  })

/** Things that go wrong where nobody waits for them. Most leave no trace of the driver in their stack. */
const strays = [
  ['a promise that is rejected', "void Promise.reject(new Error('broken'))", /its driver failed \(broken\)/],
  ['a text in a timer of Node', "setTimeout(() => { throw 'broken' }, 20)", /its driver failed \(broken\)/],
  ['a text in a promise', "void Promise.reject('broken')", /its driver failed \(.*broken/s],
  [
    'a socket without a listener',
    'void import("node:net").then(({ connect }) => connect(1, "127.0.0.1"))',
    /its driver failed \(connect ECONN/,
  ],
  [
    'a question for whose answer it does not wait',
    "void this.#exchange.query('NIX', { deadline_ms: 200, accepts: () => false })",
    /its driver failed \(no reply/,
  ],
] as const

for (const [what, code, message] of strays)
  test(`what a driver throws where nobody waits for it does not end the service: ${what}`, async (t) => {
    const { folder, change, call, places, data } = await home(t)
    change('driver.ts', '    // A command that moves', `    ${code}\n    // A command that moves`)
    const service = running(t, folder, ['serve', ...places, ...data])
    await service.line(/listens on/)
    service.child.stdout.resume()
    for (const device of ['shaker-1', 'pump-1']) await call('POST', `/api/devices/${device}/initialize`, {})
    const shaking = call('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 30 })
    const params = { speed: 500, duration: 60 }
    await t.rejects(call('POST', '/api/devices/pump-1/perform', { operation: 'run_for', params }), {
      message,
    })
    t.match(await shaking, { success: true })
    service.child.kill('SIGTERM')
    t.match(await service.ended, { code: 0 })
  })

test('a halt that returns no promise keeps no other device from being stopped', async (t) => {
  const { folder, change, call } = await home(t)
  change('driver.ts', 'async halt(): Promise<void> {', 'halt(): never { return undefined as never }\n  async halts(): Promise<void> {')
  await served(t, folder)
  await call('POST', '/api/devices/shaker-1/initialize', {})
  const shaking = call('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 3000 }).catch((error) => error)
  t.match(await call('POST', '/api/stop', {}), {
    devices: [
      { device_id: 'pump-1', success: false },
      // A busy computer may confirm the stop later than the answer waits.
      { device_id: 'shaker-1', success: Boolean },
    ],
  })
  t.match(await shaking, { message: /stop/ })
})

test('rubbish in place of an identity is a fault of its device alone', async (t) => {
  const { folder, change, call } = await home(t)
  change('driver.ts', 'return readIdentity(answer)!', 'return { model: 7n } as never')
  await served(t, folder)
  await until(async () => (await call<Device>('GET', '/api/devices/pump-1')).fault !== null)
  t.match(await call('GET', '/api/devices/pump-1'), {
    fault: { error: /its driver gave a wrong identify\.model: .* look for the mistake/ },
  })
  t.match(await call('POST', '/api/devices/shaker-1/initialize', {}), { success: true })
})

test('a driver that keeps the event loop is named in the log', async (t) => {
  const { folder, change, call } = await home(t)
  change(
    'driver.ts',
    '    // A command that moves',
    '    for (const end = Date.now() + 400; Date.now() < end; ) {}\n    // A command that moves',
  )
  const { words } = await served(t, folder)
  await call('POST', '/api/devices/pump-1/initialize', {})
  await call('POST', '/api/devices/pump-1/perform', { operation: 'run_for', params: { speed: 500, duration: 1 } })
  t.ok(
    words.some((line) => /^pump-1: its driver my_pump kept this service from everything else for \d+ ms/.test(line)),
    words.join('\n'),
  )
})

test('code that others may change is not run, and the reason is in every list', async (t) => {
  const { folder, driver, call, places } = await home(t)
  chmodSync(`${driver}/protocol.ts`, 0o666)
  await served(t, folder)
  const why = /the service runs no code from .*protocol\.ts, because other users may write to it/
  t.match(await call('GET', '/api/devices/pump-1'), { state: 'disconnected', unfit: why })
  t.match(await benchd(folder, ['config', 'check', `${folder}/config.json`]), {
    code: 0,
    stdout: /pump-1 cannot be used: the service runs no code/,
  })
  const { stdout } = await benchd(folder, ['drivers', 'list', ...places, '--json'])
  const { drivers } = JSON.parse(stdout) as { drivers: { driver: string }[] }
  t.match(
    drivers.find((one) => one.driver === 'my_pump'),
    { source: 'folder', problem: why },
  )
  const doctor = await benchd(folder, ['doctor', ...places, '--data-dir', `${folder}/data`, '--json'])
  t.match(doctor.stdout, /its driver my_pump cannot be used/)
})

test('a reload takes up a driver, and its code when that has changed; nothing is loaded that no device names', async (t) => {
  const { folder, driver, configure, change, call } = await home(t, [shaker])
  const marked = globalThis as { loads?: number }
  marked.loads = 0
  change('driver.ts', 'import { errorTable }', 'globalThis.loads++\nimport { errorTable }')
  await served(t, folder)
  t.match(await call('GET', '/api/drivers'), {
    drivers: [...Array(25).fill({ source: 'shipped' }), { driver: 'my_pump', source: 'folder' }],
  })
  t.equal(marked.loads, 0)
  await call('POST', '/api/devices/shaker-1/initialize', {})
  const shaking = call('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 60 })
  configure([shaker, pump])
  await call('POST', '/api/system/reload', {})
  t.equal(marked.loads, 1)
  t.match(await call('POST', '/api/devices/pump-1/initialize', {}), { success: true })
  await call('POST', '/api/system/reload', {})
  t.equal(marked.loads, 1, 'code that is the same is not loaded again')
  change('driver.ts', "summary: 'Run at a speed'", "summary: 'Run on'")
  await call('POST', '/api/system/reload', {})
  t.equal(marked.loads, 2)
  const { operations } = await call<{ operations: { name: string }[] }>('GET', '/api/devices/pump-1/capabilities')
  t.match(
    operations.find(({ name }) => name === 'run_for'),
    { summary: 'Run on' },
  )
  t.match(await shaking, { success: true }, 'no other device was disturbed')
  rmSync(driver, { recursive: true })
  await t.rejects(call('POST', '/api/system/reload', {}), { message: /devices\[1\]\.driver must be one of/ })
})

test('a driver may be an installed package in JavaScript; a name of ours wins', async (t) => {
  const { folder, driver, configure, call, places } = await home(t)
  const installed = `${folder}/drivers/node_modules/benchd-driver-my_pump`
  mkdirSync(installed, { recursive: true })
  const { default: ts } = await import('typescript')
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }
  const strip = (code: string) => ts.transpileModule(code, { compilerOptions }).outputText
  for (const file of ['driver', 'protocol', 'errors', 'simulator'])
    writeFileSync(`${installed}/${file}.js`, strip(readFileSync(`${driver}/${file}.ts`, 'utf8')).replaceAll(/'(\.\/\w+)\.ts'/g, "'$1.js'"))
  writeFileSync(
    `${installed}/package.json`,
    JSON.stringify({ name: 'benchd-driver-my_pump', version: '1.2.3', type: 'module', exports: './driver.js' }),
  )
  rmSync(driver, { recursive: true })
  cpSync(installed, `${folder}/drivers/bigbear`, { recursive: true })
  configure([pump, shaker])
  const { words } = await served(t, folder)
  t.match(await call('POST', '/api/devices/pump-1/initialize', {}), { success: true })
  t.ok(words.some((line) => /^shaker-1: benchd has a driver bigbear of its own; that in .* is not used/.test(line)))
  const { stdout } = await benchd(folder, ['drivers', 'list', ...places])
  t.match(stdout, /^my_pump +pump +1\.2\.3 +\S+benchd-driver-my_pump$/m)
  t.match(stdout, /^bigbear +- +- +\S+drivers\/bigbear +not used: benchd has a driver of this name; rename it$/m)
})
