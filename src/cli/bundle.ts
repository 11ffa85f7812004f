// `benchd bundle`: gathers what helps to understand a bench from afar; what cannot be had is named in it, and keeps nothing else out.

import { execFile } from 'node:child_process'
import { text as textOf } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Bundle, Piece } from '../care/bundle.ts'
import type { stateTexts } from '../care/state_texts.ts'
import { messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import { readText } from '../kit/files.ts'
import { packageVersion } from '../kit/package_version.ts'
import { ask, open, type Service, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { journalOf } from './journal.ts'
import { offline } from './offline.ts'
import { configPath, dataDir } from './places.ts'
import { print } from './table.ts'

const mostLines = 2000
const mostEvents = 2000
/** Back in time until there are enough, in seconds. */
const windows = [600, 3600, 86_400, 30 * 86_400]

const bundle = command({
  name: 'bundle',
  summary: 'Pack what helps others to help, without any secret: configuration, health, log, events, wire logs of faulted devices',
  operands: ['[FILE]'],
  options: {
    config: { type: 'string', value: 'FILE', help: 'Configuration; default /etc/benchd/config.json' },
    ...serviceOptions,
  },
  example: 'benchd bundle',
  async run({ options, operands: [file] }) {
    const { contentsOf, writeBundle } = await import('../care/bundle.ts')
    const at = new Date()
    const path = await freePath(file ?? '.', `benchd-bundle-${at.toISOString().replace(/[-:]|\.\d+/g, '')}.tar.gz`)
    const gathered = await gather(serviceOf(options), options)
    await writeBundle(path, gathered, at)
    if (options.json) print(JSON.stringify({ path, pieces: gathered.pieces.map(({ name }) => name), missing: gathered.missing }))
    else print(`${contentsOf(gathered, at)}\n${path}`)
    return 0
  },
})

export const commands = [bundle]

type Wish = Omit<Piece, 'text'> & { get(): Promise<string> }
type Places = { config?: string; 'data-dir'?: string }

async function freePath(file: string, name: string): Promise<string> {
  const { freeFile } = await import('../kit/archive.ts')
  return freeFile(file, name)
}

async function gather(service: Service, places: Places): Promise<Bundle> {
  const isFar = 'url' in service
  const isThere = await ask(service, 'GET', '/api/system').then(
    () => true,
    (error) => {
      // The files here say nothing about a service elsewhere.
      if (!isFar && error instanceof CliError && error.exit === 'unreachable') return false
      throw error
    },
  )
  const local = ofThisMachine(places)
  const asked = isThere ? [...ofService(service), ...(await ofDevices(service))] : ofFolder(places)
  const wishes = isFar ? asked : [...local, ...asked]
  const pieces: Piece[] = []
  const missing: { name: string; why: string }[] = isThere ? [] : [{ name: 'health.json', why: 'no service answers here' }]
  if (isFar)
    missing.push(...local.map(({ name }) => ({ name, why: 'no service gives it over the network: run benchd bundle at its computer' })))
  for (const { name, what, get } of wishes) {
    try {
      pieces.push({ name, what, text: await get() })
    } catch (error) {
      missing.push({ name, why: messageOf(error) })
    }
  }
  return { pieces, missing }
}

function ofThisMachine(places: Places): Wish[] {
  return [
    { name: 'versions.json', what: 'benchd, Node, packages, kernel', get: versions },
    { name: 'config.json', what: 'the configuration', get: () => config(places.config) },
    { name: 'doctor.json', what: 'what benchd doctor finds', get: () => doctor(places) },
    { name: 'journal.txt', what: `the newest ${mostLines} lines of the log`, get: journal },
  ]
}

function ofService(service: Service): Wish[] {
  const answer = (path: string) => async () => indented(await ask(service, 'GET', path))
  return [
    { name: 'health.json', what: 'GET /health', get: answer('/health') },
    { name: 'system.json', what: 'GET /api/system', get: answer('/api/system') },
    { name: 'ports.json', what: 'serial ports', get: answer('/api/system/ports') },
    { name: 'incidents.json', what: 'incidents', get: answer('/api/incidents') },
    { name: 'executions.json', what: 'runs', get: answer('/api/executions') },
    { name: 'metrics.txt', what: 'GET /metrics', get: async () => textOf(await open(service, 'GET', '/metrics')) },
    { name: 'events.jsonl', what: `the newest events, ${mostEvents} at most`, get: () => newestEvents(service) },
  ]
}

async function ofDevices(service: Service): Promise<Wish[]> {
  const { devices } = await ask<{ devices: { device_id: string }[] }>(service, 'GET', '/api/devices')
  const infos = await Promise.all(
    devices.map(({ device_id }) => ask<{ device_id: string; fault: object | null }>(service, 'GET', `/api/devices/${device_id}`)),
  )
  const faulted = infos.filter(({ fault }) => fault !== null).map(({ device_id }) => device_id)
  return [
    { name: 'devices.json', what: 'state of each device', get: async () => indented(infos) },
    ...faulted.map((device_id) => ({
      name: `wire/${device_id}.json`,
      what: `the last words with ${device_id}, which has a fault`,
      get: async () => indented(await ask(service, 'GET', `/api/devices/${device_id}/wire`)),
    })),
  ]
}

/** Where no service answers. */
function ofFolder(places: Places): Wish[] {
  const get = (text: keyof typeof stateTexts) => () => offline(dataDir(places['data-dir']), 'state text', { text })
  return [
    { name: 'state.txt', what: 'names and sizes of the files of the state', get: get('listing') },
    { name: 'incidents.jsonl', what: 'incidents', get: get('incidents') },
    { name: 'events.jsonl', what: 'the end of the event log', get: get('events') },
  ]
}

async function versions(): Promise<string> {
  const [{ boardOf }, { HostFiles }] = await Promise.all([import('../care/host.ts'), import('../kit/host_files.ts')])
  const files = new HostFiles()
  const names = ['hono', '@hono/node-server', 'valibot', 'serialport', '@serialport/bindings-cpp', 'onoff', 'epoll', 'i2c-bus', 'amaro']
  return indented({
    benchd: packageVersion(),
    node: process.versions,
    arch: process.arch,
    packages: Object.fromEntries(await Promise.all(names.map(async (name) => [name, await installed(name)]))),
    ...(await boardOf(files)),
    os: await files.text('/etc/os-release'),
  })
}

async function installed(name: string): Promise<string> {
  const path = new URL(`../../../node_modules/${name}/package.json`, import.meta.url)
  return readText(path.pathname).then(
    (text) => (JSON.parse(text) as { version: string }).version,
    () => 'not here, or part of the program',
  )
}

async function config(named: string | undefined): Promise<string> {
  const { configWithoutSecrets } = await import('../care/bundle.ts')
  const path = configPath(named)
  return configWithoutSecrets(await readText(path), path)
}

/** A program of its own: whatever becomes of it, the rest is packed. */
async function doctor(places: Places): Promise<string> {
  const where = Object.entries({ config: places.config, 'data-dir': places['data-dir'] })
  const words = where.flatMap(([option, value]) => (value === undefined ? [] : [`--${option}`, value]))
  const run = promisify(execFile)(process.execPath, [process.argv[1] ?? '', 'doctor', '--json', ...words], { timeout: 60_000 })
  // The doctor ends with 1 when something is not well, and has said what.
  const { stdout } = await run.catch((error: { stdout?: string; stderr?: string }) => {
    if (!error.stdout) throw new Error(error.stderr?.trim() || 'it did not run')
    return { stdout: error.stdout }
  })
  return indented(JSON.parse(stdout))
}

async function journal(): Promise<string> {
  const lines: string[] = []
  for await (const { at, level, message } of journalOf({ lines: mostLines }))
    lines.push(`${new Date(at * 1000).toISOString()} ${level} ${message}\n`)
  if (lines.length === 0) throw new Error('the journal has nothing of benchd')
  return lines.join('')
}

async function newestEvents(service: Service): Promise<string> {
  let newest: RuntimeEvent[] = []
  for (const window_s of windows) {
    newest = await eventsSince(service, Date.now() / 1000 - window_s)
    if (newest.length >= mostEvents) break
  }
  return newest.map((event) => `${JSON.stringify(event)}\n`).join('')
}

async function eventsSince(service: Service, since: number): Promise<RuntimeEvent[]> {
  let newest: RuntimeEvent[] = []
  for (let from = since; ; ) {
    const path = `/events?since=${from}&limit=${mostEvents}`
    const { events, next_since } = await ask<{ events: RuntimeEvent[]; next_since: number }>(service, 'GET', path)
    newest = [...newest, ...events].slice(-mostEvents)
    if (events.length < mostEvents) return newest
    from = next_since
  }
}

function indented(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
