// `benchd bundle`: makes a support bundle. Parts that cannot be collected are listed in it.

import { execFile } from 'node:child_process'
import { text as textOf } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Bundle } from '../care/bundle.ts'
import type { Wish } from '../care/service_pieces.ts'
import type { stateTexts } from '../care/state_texts.ts'
import { readText } from '../kit/files.ts'
import { indented } from '../kit/json.ts'
import { packageVersion } from '../kit/package_version.ts'
import { ask, open, type Service, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { journalOf } from './journal.ts'
import { offline } from './offline.ts'
import { configPath, dataDir } from './places.ts'
import { print } from './table.ts'

const mostLines = 2000

const bundle = command({
  name: 'bundle',
  summary: 'Pack a support bundle without secrets: configuration, health, log, events, wire logs of faulted devices',
  operands: ['[FILE]'],
  options: {
    config: { type: 'string', value: 'FILE', help: 'Configuration; default /etc/benchd/config.json' },
    ...serviceOptions,
  },
  example: 'benchd bundle',
  async run({ options, operands: [file] }) {
    const { bundleName, contentsOf, writeBundle } = await import('../care/bundle.ts')
    const at = new Date()
    const path = await freePath(file ?? '.', bundleName(at))
    const gathered = await gather(serviceOf(options), options)
    await writeBundle(path, gathered, at)
    if (options.json) print(JSON.stringify({ path, pieces: gathered.pieces.map(({ name }) => name), missing: gathered.missing }))
    else print(`${contentsOf(gathered, at)}\n${path}`)
  },
})

export const commands = [bundle]

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
      // The files of this computer do not describe a remote service.
      if (!isFar && error instanceof CliError && error.exit === 'unreachable') return false
      throw error
    },
  )
  const local = ofThisMachine(places)
  const { adminPieces, gathered, servicePieces } = await import('../care/service_pieces.ts')
  const text = async (path: string) => textOf(await open(service, 'GET', path))
  const asked = isThere ? await servicePieces(text) : ofFolder(places)
  if (!isFar) return gathered([...local, ...asked], isThere ? [] : [{ name: 'health.json', why: 'no service answers here' }])
  const far = [...adminPieces(text), ...asked]
  const isHad = (name: string) => far.some((one) => one.name === name)
  const why = 'no service gives it over the network: run benchd bundle at its computer'
  return gathered(
    far,
    local.flatMap(({ name }) => (isHad(name) ? [] : [{ name, why }])),
  )
}

function ofThisMachine(places: Places): Wish[] {
  return [
    { name: 'versions.json', what: 'benchd, Node, packages, kernel', get: versions },
    { name: 'config.json', what: 'the configuration', get: () => config(places.config) },
    { name: 'doctor.json', what: 'what benchd doctor finds', get: () => doctor(places) },
    { name: 'journal.txt', what: `the newest ${mostLines} lines of the log`, get: journal },
  ]
}

/** The pieces from the folder, used when no service answers. */
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

/** Runs the doctor as a separate program, whose failure does not affect the bundle. */
async function doctor(places: Places): Promise<string> {
  const where = Object.entries({ config: places.config, 'data-dir': places['data-dir'] })
  const words = where.flatMap(([option, value]) => (value === undefined ? [] : [`--${option}`, value]))
  const run = promisify(execFile)(process.execPath, [process.argv[1] ?? '', 'doctor', '--json', ...words], { timeout: 60_000 })
  // The doctor exits with 1 after findings, which are in its output.
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
