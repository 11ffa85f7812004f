// Imports the flow of src/clients/recipes into Node-RED, which runs it against a simulated bench. `node dist/scripts/contract/node_red.js FOLDER`,
// where FOLDER is the prefix that npm installed Node-RED into. Prints `N passed, N failed`.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { silent } from '../../src/kit/log.ts'
import { freePort } from '../../src/kit/ports.ts'
import { startService } from '../../src/main.ts'
import { benchConfig } from '../../src/testing/http.ts'
import { lossyProxy } from '../../src/testing/lossy_proxy.ts'
import { mosquitto } from '../../src/testing/mosquitto.ts'

type Service = Awaited<ReturnType<typeof startService>>

const program = join(process.argv[2] ?? '', 'node_modules/node-red/red.js')
const flow = fileURLToPath(new URL('../../../src/clients/recipes/node_red_flow.json', import.meta.url))
const nodes: { id: string; type: string; name?: string }[] = JSON.parse(readFileSync(flow, 'utf8'))

let passed = 0
let failed = 0

/** The output of Node-RED, and what waits for a line of it. */
const output: string[] = []
let waiting: (() => void)[] = []

const folder = mkdtempSync(join(tmpdir(), 'benchd-node-red-'))
const benchPort = await freePort()
const redPort = await freePort()
const admin = `http://127.0.0.1:${redPort}`
let service: Service | undefined
let red: ChildProcess | undefined
const atTheEnd: (() => unknown)[] = []
const lifetime = { teardown: (call: () => unknown) => void atTheEnd.push(call) }
const broker = await mosquitto(lifetime)
/** Node-RED uses the bench through this proxy, which loses the first answer about a shake. */
const proxy = await lossyProxy(lifetime, benchPort, (what, times) => what.endsWith(' shake') && times === 1)
let api_key = ''

if (existsSync(program)) {
  try {
    await story()
  } catch (error) {
    failed += 1
    console.log(`NOT OK - ${error instanceof Error ? error.stack : error}`)
  }
  if (red) await ended(red)
  await service?.close()
} else {
  failed += 1
  console.log(`NOT OK - there is no ${program}`)
}
for (const end of atTheEnd) await end()
rmSync(folder, { recursive: true })
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0

async function story(): Promise<void> {
  service = await opened()
  const made = await service.bench.keys.create({ name: 'Node-RED', scope: 'operate' })
  api_key = made.api_key
  red = await started()
  const imported = await post(`${admin}/flows`, nodes)
  check('Node-RED takes the flow', imported.status === 204, await imported.text())
  await told('connection', 'The bench answers.')

  await told('state', 'shaker-1 is not_initialized')
  await inject('Initialize shaker-1')
  await told('done', 'initialize of shaker-1 is done: shaker-1: initialized')
  await told('state', 'shaker-1 is ready')
  await inject('Lock the plate')
  await told('done', 'lock_plate of shaker-1 is done: shaker-1: plate locked')
  await inject('Shake for 10 s')
  await told('done', 'shake of shaker-1 is done: ')
  const { operations } = (await of('/api/operations?device_id=shaker-1')) as { operations: { operation: string }[] }
  const times = operations.filter(({ operation }) => operation === 'shake').length
  check('the bench shook once, though the answer was lost and the request repeated', times === 1 && asks('shake') === 2, `${times}`)

  service.bench.hub.incident('STORAGE', 'the lid of centrifuge-1 is open')
  await told('incident', 'the lid of centrifuge-1 is open')
  await overMqtt()
  await overRestarts(service)
  await stops()
  await fails()
}

/** The tab that listens to a broker, which is disabled in the file. */
async function overMqtt(): Promise<void> {
  await post(
    `${admin}/flows`,
    nodes.map((node) => (node.type === 'tab' ? { ...node, disabled: false } : node)),
  )
  await told('availability by MQTT', 'online')
  await told('state by MQTT', 'centrifuge-1 is not_initialized')
  service!.bench.hub.incident('STORAGE', 'the lid of sealer-1 is open')
  await told('incident by MQTT', 'the lid of sealer-1 is open')
}

/** Events of before and after a restart, of the bench and of Node-RED, come once and in order. */
async function overRestarts(first: Service): Promise<void> {
  first.bench.hub.emit('CUSTOM.before.EMITTED', {})
  await told('event', 'CUSTOM.before.EMITTED')
  await first.close()
  await told('connection', 'The bench does not answer (')
  service = await opened()
  service.bench.hub.emit('CUSTOM.after.EMITTED', {})
  await told('event', 'CUSTOM.after.EMITTED')
  await told('connection', 'The bench answers.', 2)
  await ended(red!)
  service.bench.hub.emit('CUSTOM.meanwhile.EMITTED', {})
  red = await started()
  await told('event', 'CUSTOM.meanwhile.EMITTED')
  const events = output.flatMap((line) => /\[debug:event\] CUSTOM\.(\w+)/.exec(line)?.[1] ?? [])
  check('the cursor outlasts a restart of either side', `${events}` === 'before,after,meanwhile', `${events}`)
}

async function stops(): Promise<void> {
  await inject('Initialize shaker-1')
  await told('done', 'initialize of shaker-1 is done', 2)
  await inject('Lock the plate')
  await told('done', 'lock_plate of shaker-1 is done', 2)
  const order = { device_id: 'shaker-1', operation: 'shake', params: { speed: 500, duration: 86_000 } }
  await inject('Shake for 10 s', order)
  while ((await state()) !== 'busy');
  await inject('Stop every device')
  await told('stopped', 'all devices stopped')
  check('the bench is stopped', (await state()) === 'stopped', 'it is not')
  await told('operation failed', 'shake of shaker-1: stopped')
  await told('state', 'shaker-1 is stopped')
}

async function fails(): Promise<void> {
  await inject('Shake for 10 s')
  await told('operation failed', 'shaker-1 was stopped')
  await inject('Initialize shaker-1')
  await told('done', 'initialize of shaker-1 is done', 3)
  await inject('Lock the plate')
  await told('done', 'lock_plate of shaker-1 is done', 3)
  await post(`http://127.0.0.1:${benchPort}/api/sim/devices/shaker-1/faults`, { fault: 'no_reply' })
  await inject('Shake for 10 s')
  await told('operation failed', 'shaker-1: no reply within')
  await service!.close()
  service = undefined
  const asked = proxy.seen.length
  await inject('Initialize shaker-1')
  await inject('Stop every device')
  await told('stop failed', 'The stop failed (')
  const tried = proxy.seen.slice(asked).filter((what) => what === '/api/stop').length
  check('the stop was tried three times', tried === 3, `${tried} times`)
  await told('operation failed', 'initialize of shaker-1 is not asked for again')
}

async function opened(): Promise<Service> {
  const config = await benchConfig({
    time_scale: 20,
    listen: { host: '127.0.0.1', port: benchPort },
    mqtt: { url: broker.url },
  })
  return startService(config, { data_dir: join(folder, 'bench'), log: silent })
}

/** Starts Node-RED, and waits until it runs its flows. */
async function started(): Promise<ChildProcess> {
  const userDir = join(folder, 'red')
  const settings = join(folder, 'settings.js')
  writeFileSync(
    settings,
    `module.exports = ${JSON.stringify({
      ...{ uiHost: '127.0.0.1', uiPort: redPort, userDir, flowFile: 'flows.json' },
      ...{ contextStorage: { default: { module: 'localfilesystem' } }, telemetry: { enabled: false, updateNotification: false } },
    })}`,
  )
  const ofBroker = { BENCHD_MQTT_HOST: '127.0.0.1', BENCHD_MQTT_PORT: `${broker.port}` }
  const env = { PATH: process.env.PATH, HOME: folder, BENCHD_URL: `${proxy.url}/`, BENCHD_API_KEY: api_key, ...ofBroker }
  const child = spawn(process.execPath, [program, '--settings', settings], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  createInterface({ input: child.stdout }).on('line', (line) => {
    output.push(line)
    console.log(`     ${line}`)
    for (const look of waiting) look()
  })
  const from = output.length
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('Node-RED has ended')))
  gone.catch(() => undefined)
  await Promise.race([gone, line((text, n) => n >= from && text.includes('Started flows'))])
  return child
}

/** Resolves with the first line that fits, also with one that came before. */
function line(fits: (text: string, index: number) => boolean): Promise<string> {
  return new Promise((resolve) => {
    let next = 0
    const look = () => {
      for (; next < output.length; next += 1) {
        if (!fits(output[next]!, next)) continue
        waiting = waiting.filter((other) => other !== look)
        resolve(output[next]!)
        return
      }
    }
    waiting.push(look)
    look()
  })
}

/** Waits until the debug node of that name has said the text for the nth time. */
async function told(name: string, text: string, times = 1): Promise<void> {
  let seen = 0
  const found = await line((said) => said.includes(`[debug:${name}] `) && said.includes(text) && ++seen === times)
  check(`${name}: ${text}`, true, found)
}

async function inject(name: string, payload?: object): Promise<void> {
  const { id } = nodes.find((node) => node.type === 'inject' && node.name === name)!
  const props = payload && { __user_inject_props__: [{ p: 'payload', v: JSON.stringify(payload), vt: 'json' }] }
  const { status } = await post(`${admin}/inject/${id}`, props ?? {})
  check(`inject ${name}`, status === 200, `${status}`)
}

function post(url: string, body: unknown): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', 'Node-RED-Deployment-Type': 'full', 'X-API-Key': api_key }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Returns how often Node-RED has asked for an operation. */
function asks(operation: string): number {
  return proxy.seen.filter((what) => what.endsWith(` ${operation}`)).length
}

/** Asks the bench itself. */
async function of(path: string): Promise<unknown> {
  return (await fetch(`http://127.0.0.1:${benchPort}${path}`, { headers: { 'X-API-Key': api_key } })).json()
}

async function state(): Promise<string> {
  return ((await of('/api/devices/shaker-1')) as { state: string }).state
}

function check(name: string, holds: boolean, found: string): void {
  if (holds) passed += 1
  else failed += 1
  console.log(holds ? `ok - ${name}` : `NOT OK - ${name}: ${found}`)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGINT')
  await gone
}
