import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Test, t, test } from 'tap'
import type { Driver } from '../../drivers/driver.ts'
import { drivers, type SerialDriverName } from '../../drivers/index.ts'
import { serveOnPty } from '../../drivers/serve.ts'
import { whileNobodyServes } from '../kit/folder_lock.ts'
import { bridgeTo, programFile, reader } from '../testing/bridges.ts'
import { program } from '../testing/cli.ts'
import { noPython } from '../testing/python.ts'
import { ask } from './client.ts'

type Serving = { name?: SerialDriverName; on_restart?: 'halt' | 'leave'; driver?: Driver }

const run = promisify(execFile)
/** All at once: they mostly wait. */
t.jobs = 8

/** A service of its own process, with a shaker, or another instrument, on a pseudo-terminal of ours. */
async function serving(t: Test, { name = 'bioshake', on_restart = 'halt', driver }: Serving = {}) {
  const ending: (() => unknown)[] = []
  t.teardown(async () => {
    for (const end of ending.reverse()) await end()
  })
  const folder = t.testdir()
  // By a name that nobody else gets: the number of a pseudo-terminal that is gone goes to the next one, and a service that still looks for the
  // old one would open it.
  const served = await serveOnPty(driver ?? (await drivers[name]()), {}, { time_scale: 20, link: `${folder}/port` })
  ending.push(() => served.close())
  const device = { device_id: 'shaker-1', driver: name, on_restart, transport: { kind: 'serial', path: served.path } }
  await writeFile(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [device] }))
  const places = ['--config', `${folder}/config.json`, '--data-dir', `${folder}/data`]
  const start = async () => {
    const child = spawn(process.execPath, [program, 'serve', ...places], { stdio: ['ignore', 'pipe', 'inherit'] })
    ending.push(() => child.kill('SIGKILL'))
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('listens on')) break
    child.stdout.resume()
    return child
  }
  const call = (path: string, body: object = {}) => ask({ socket_of: `${folder}/data` }, 'POST', `/api/devices/shaker-1/${path}`, body)
  return { served, start, call, places }
}

async function until(passes: () => boolean): Promise<void> {
  while (!passes()) await setTimeout(10)
}

async function heated(call: (path: string, body?: object) => Promise<unknown>): Promise<void> {
  await call('initialize')
  await call('set_temperature', { temperature: 60 })
}

test('what was left on when the service was killed is switched off, once', { buffered: true }, async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  t.equal(served.simulator.world.heating, true)
  service.kill('SIGKILL')
  await once(service, 'exit')
  t.equal(served.simulator.world.heating, true)
  const { stdout } = await run(process.execPath, [program, 'safe-off', ...places])
  t.equal(stdout, 'shaker-1 was left on; it is off\n')
  t.equal(served.simulator.world.heating, false)
  t.equal((await run(process.execPath, [program, 'safe-off', ...places])).stdout, '', 'and then there is nothing to do')
})

test('a device that does not answer is named, and stays to be switched off', { buffered: true }, async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  service.kill('SIGKILL')
  await once(service, 'exit')
  served.setFault('unplug')
  await t.rejects(run(process.execPath, [program, 'safe-off', ...places]), {
    code: 1,
    stdout: /shaker-1 may still be on: use its red button/,
  })
})

test('a service that is told to end switches off by itself', { buffered: true }, async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  service.kill('SIGTERM')
  await once(service, 'exit')
  t.equal(served.simulator.world.heating, false)
  t.equal((await run(process.execPath, [program, 'safe-off', ...places])).stdout, '')
})

test('also when its terminal goes, when it is signalled in another way, and when nobody reads what it says any more', {
  buffered: true,
}, async (t) => {
  const { served, start, call } = await serving(t)
  for (const signal of ['SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGPWR'] as const) {
    const service = await start()
    await heated(call)
    t.equal(served.simulator.world.heating, true)
    service.stdout.destroy()
    service.kill(signal)
    t.same(await once(service, 'exit'), [0, null], signal)
    t.equal(served.simulator.world.heating, false, signal)
  }
})

test('two signals soon after each other are one, as Ctrl-C comes under npm: it switches off, and ends in order', {
  buffered: true,
}, async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  const said: string[] = []
  service.stdout.on('data', (bytes) => said.push(String(bytes)))
  service.kill('SIGINT')
  await setTimeout(10)
  service.kill('SIGINT')
  t.same(await once(service, 'exit'), [130, null])
  t.equal(served.simulator.world.heating, false)
  t.notMatch(said.join(''), /again/)
  t.equal((await run(process.execPath, [program, 'safe-off', ...places])).stdout, '')
})

test('a further signal, a second after the first, ends a service at once that still waits', { buffered: true }, async (t) => {
  const { places } = await serving(t)
  const [, , , data_dir = ''] = places
  const exit = await whileNobodyServes(data_dir, async () => {
    const service = spawn(process.execPath, [program, 'serve', ...places], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => service.kill('SIGKILL'))
    const lines = createInterface({ input: service.stdout })
    const said: string[] = []
    lines.on('line', (line) => said.push(line))
    await until(() => said.some((line) => line.includes('a command works on the data folder')))
    const ended = once(service, 'exit')
    const again = setInterval(() => service.kill('SIGTERM'), 100)
    const [code, signal] = await ended
    clearInterval(again)
    return { code, signal, said: said.join(' ') }
  })
  t.match(exit, { code: 1, signal: null, said: /SIGTERM again: ending at once/ })
})

test('beside a service that runs nothing is touched', { buffered: true }, async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  await t.rejects(run(process.execPath, [program, 'safe-off', ...places]), {
    code: 75,
    stdout: '',
    stderr: /a benchd runs on the data folder/,
  })
  t.equal(served.simulator.world.heating, true)
  service.kill('SIGKILL')
  await once(service, 'exit')
  const { stdout } = await run(process.execPath, [program, 'safe-off', ...places])
  t.equal(stdout, 'shaker-1 was left on; it is off\n', 'it is written down still that it is on')
})

/** A shaker without a timer of its own that shakes for a long time, and whose service is killed. */
async function killedInAShake(t: Test, on_restart: 'halt' | 'leave' = 'halt') {
  const made = await serving(t, { name: 'opentrons_heater_shaker', on_restart })
  const { served, start, call } = made
  const service = await start()
  await call('initialize')
  await call('lock_plate')
  call('shake', { speed: 500, duration: 80_000 }).catch(() => undefined)
  await until(() => served.simulator.world.moving)
  service.kill('SIGKILL')
  await once(service, 'exit')
  t.equal(served.simulator.world.moving, true, 'it shakes on')
  return made
}

test('a shaker whose time the host keeps stands after `safe-off` when the service was killed in a run', { buffered: true }, async (t) => {
  const { served, places } = await killedInAShake(t)
  const { stdout } = await run(process.execPath, [program, 'safe-off', ...places])
  t.equal(stdout, 'shaker-1 was left on; it is off\n')
  await until(() => !served.simulator.world.moving)
})

test('where nothing ran `safe-off`, the next start halts it, and moves nothing', { buffered: true }, async (t) => {
  const { served, start } = await killedInAShake(t)
  await start()
  await until(() => !served.simulator.world.moving)
  t.equal(served.simulator.world.latch, 'IDLE_CLOSED', 'nor has anything else been done')
})

test('a service that is told to end in a run halts what it keeps the time of', { buffered: true }, async (t) => {
  const { served, start, call } = await serving(t, { name: 'opentrons_heater_shaker' })
  const service = await start()
  await call('initialize')
  await call('lock_plate')
  const shaking = call('shake', { speed: 500, duration: 80_000 })
  await until(() => served.simulator.world.moving)
  service.kill('SIGTERM')
  t.match(await shaking.catch((error) => error), /stopping/)
  await once(service, 'exit')
  await until(() => !served.simulator.world.moving)
})

test('an instrument that does not hear at first is waited for', { buffered: true }, async (t) => {
  const alps = await drivers.alps()
  let isDeaf = () => false
  const simulate: Driver['simulate'] = (at) => {
    const sealer = alps.simulate(at)
    return {
      receive: (bytes) => isDeaf() || sealer.receive(bytes),
      setFault: (fault, present) => sealer.setFault(fault, present),
      powerOff: () => sealer.powerOff(),
      get world() {
        return sealer.world
      },
    }
  }
  const { served, start, call, places } = await serving(t, { name: 'alps', driver: { ...alps, simulate } })
  const service = await start()
  await call('initialize')
  await call('set_temperature', { temperature: 160 })
  service.kill('SIGKILL')
  await once(service, 'exit')
  let hearsAt: number | undefined
  isDeaf = () => {
    hearsAt ??= performance.now() + 3500
    return performance.now() < hearsAt
  }
  t.equal(served.simulator.world.heating, true)
  const { stdout } = await run(process.execPath, [program, 'safe-off', ...places])
  t.equal(stdout, 'shaker-1 was left on; it is off\n')
  t.equal(served.simulator.world.heating, false)
})

test('a program that was left on behind a device is started again, and halted', { skip: noPython, buffered: true }, async (t) => {
  const path = programFile(t, reader)
  const folder = t.testdir()
  await writeFile(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [bridgeTo(path)] }))
  const places = ['--config', `${folder}/config.json`, '--data-dir', `${folder}/data`]
  const service = spawn(process.execPath, [program, 'serve', ...places], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => service.kill('SIGKILL'))
  for await (const line of createInterface({ input: service.stdout })) if (line.includes('listens on')) break
  service.stdout.resume()
  const base = '/api/devices/reader-1'
  const call = (path: string, body: object = {}) =>
    ask({ socket_of: `${folder}/data` }, 'POST', `${base}/${path}`, body, { headers: { Prefer: 'respond-async' } })
  const words = () => readFileSync(`${path}.log`, 'utf8').trim().split('\n')
  await ask({ socket_of: `${folder}/data` }, 'POST', `${base}/initialize`)
  await call('perform', { operation: 'wait', params: { duration: 600 } })
  await until(() => words().includes('wait'))
  service.kill('SIGKILL')
  await once(service, 'exit')
  const { stdout } = await run(process.execPath, [program, 'safe-off', ...places])
  t.equal(stdout, 'reader-1 was left on; it is off\n')
  t.same(words(), ['initialize', 'wait', 'halt'])
})
