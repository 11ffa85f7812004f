import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { type Test, test } from 'tap'
import { drivers } from '../../drivers/index.ts'
import { serveOnPty } from '../../drivers/serve.ts'
import { ask } from './client.ts'

const benchd = new URL('./main.js', import.meta.url).pathname
const run = promisify(execFile)

/** A service of its own process, with a shaker on a pseudo-terminal of ours. */
async function serving(t: Test) {
  const ending: (() => unknown)[] = []
  t.teardown(async () => {
    for (const end of ending.reverse()) await end()
  })
  const folder = t.testdir()
  const served = await serveOnPty(await drivers.bioshake(), {}, { time_scale: 20 })
  ending.push(() => served.close())
  const device = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'serial', path: served.path } }
  await writeFile(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [device] }))
  const places = ['--config', `${folder}/config.json`, '--data-dir', `${folder}/data`]
  const start = async () => {
    const child = spawn(process.execPath, [benchd, 'serve', ...places], { stdio: ['ignore', 'pipe', 'inherit'] })
    ending.push(() => child.kill('SIGKILL'))
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('listens on')) break
    child.stdout.resume()
    return child
  }
  const call = (path: string, body: object = {}) => ask({ socket_of: `${folder}/data` }, 'POST', `/api/devices/shaker-1/${path}`, body)
  return { served, start, call, places }
}

async function heated(call: (path: string, body?: object) => Promise<unknown>): Promise<void> {
  await call('initialize')
  await call('set_temperature', { temperature: 60 })
}

test('what was left on when the service was killed is switched off, once', async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  t.equal(served.simulator.world.heating, true)
  service.kill('SIGKILL')
  await once(service, 'exit')
  t.equal(served.simulator.world.heating, true)
  const { stdout } = await run(process.execPath, [benchd, 'safe-off', ...places])
  t.equal(stdout, 'shaker-1 was left on; it is off\n')
  t.equal(served.simulator.world.heating, false)
  t.equal((await run(process.execPath, [benchd, 'safe-off', ...places])).stdout, '', 'and then there is nothing to do')
})

test('a device that does not answer is named, and stays to be switched off', async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  service.kill('SIGKILL')
  await once(service, 'exit')
  served.setFault('unplug')
  await t.rejects(run(process.execPath, [benchd, 'safe-off', ...places]), {
    code: 1,
    stdout: /shaker-1 may still be on: use its red button/,
  })
})

test('a service that is told to end switches off by itself', async (t) => {
  const { served, start, call, places } = await serving(t)
  const service = await start()
  await heated(call)
  service.kill('SIGTERM')
  await once(service, 'exit')
  t.equal(served.simulator.world.heating, false)
  t.equal((await run(process.execPath, [benchd, 'safe-off', ...places])).stdout, '')
})
