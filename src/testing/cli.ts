// Runs `benchd` as a shell does, in an empty home: as a function in the process of the test, which is fast, or as a separate process for tests of
// signals, terminals or another user.

import './apart.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { run } from '../cli/run.ts'
import { readConfig } from '../config.ts'
import { demoConfig, prepareDemo } from '../examples/demo.ts'
import { silent } from '../kit/log.ts'
import { startService } from '../main.ts'

/** The program as it ships. */
export const program = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))

/** A PATH with a `benchd` on it, as after an installation, so that texts name commands without `npx`. */
const linkedPath = `${programFolder(fileURLToPath(new URL('./linked', import.meta.url)), 'benchd', 'exit 1')}:${process.env.PATH}`
process.env.PATH = linkedPath

export type Outcome = { code: number | null; signal: string | null; stdout: string; stderr: string }

export type Running = {
  child: ChildProcessByStdio<null, Readable, Readable>
  /** Resolves with the first line on stdout that matches: with the first group of the pattern, else the whole line. Rejects if there is none. */
  line(pattern: RegExp): Promise<string>
  ended: Promise<{ code: number | null; signal: string | null; stderr: string }>
}

/** The properties of `process` that a command inside the test process sees instead of the test's own. */
type Surroundings = Pick<NodeJS.Process, 'argv' | 'env'> & { stdin: Readable; stdout: Writable; stderr: Writable }
const surroundings = new AsyncLocalStorage<Surroundings>()
for (const name of ['argv', 'env', 'stdin', 'stdout', 'stderr'] as const) {
  const own = Object.getOwnPropertyDescriptor(process, name)!
  const get = () => surroundings.getStore()?.[name] ?? (own.get ? own.get.call(process) : own.value)
  Object.defineProperty(process, name, { get, configurable: true, enumerable: true })
}
// Each command gets a new connection, because the next one may find another service at the same address.
http.globalAgent = new http.Agent()

/** Runs a command to its end, in this process. */
export async function benchd(home: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const out: string[] = []
  const err: string[] = []
  const seen = {
    argv: [process.execPath, program, ...args],
    env: environmentOf(home, env),
    stdin: Readable.from([]),
    stdout: pageOf(out),
    stderr: pageOf(err),
  }
  // Node reads the home directly from the environment of the process.
  process.env.HOME = home
  const code = await surroundings.run(seen, () => run(args))
  return { code, signal: null, stdout: out.join(''), stderr: err.join('') }
}

/** Returns a stream that is not a terminal and keeps what is written. */
function pageOf(parts: string[]): Writable {
  return new Writable({
    decodeStrings: false,
    write(part: string | Buffer, _encoding, done) {
      parts.push(String(part))
      done()
    },
  })
}

/** Runs a command to its end, as a separate process. */
export async function spawned(home: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const child = started(home, args, env)
  const [[code, signal], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, signal, stdout, stderr }
}

/** Starts a command as a separate process, which is killed at the end of the test. */
export function running(t: Test, home: string, args: readonly string[], env: Record<string, string> = {}, path = program): Running {
  const child = started(home, args, env, path)
  const closed = once(child, 'close')
  const said = text(child.stderr)
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    async line(pattern) {
      for (let next = await lines.next(); !next.done; next = await lines.next()) {
        const found = pattern.exec(next.value)
        if (found) return found[1] ?? found[0]
      }
      throw new Error(`the command ended without a line like ${pattern}: ${await said}`)
    },
    ended: closed.then(async ([code, signal]) => ({ code, signal, stderr: await said })),
  }
}

/** `benchd serve` in this process, on the configuration and the data folder of that home. `words` are those of its log. */
export async function served(t: Test, home: string, { config = `${home}/config.json`, data_dir = `${home}/data` } = {}) {
  const read = () => readConfig(config)
  const words: string[] = []
  const keep = (message: string) => words.push(message)
  const folders = { data_dir, source: { path: config, read }, topologies: `${dirname(config)}/topologies` }
  const { url, close } = await startService(await read(), { ...folders, log: { info: keep, warn: keep, error: keep } })
  t.teardown(() => close())
  return { url, close, words }
}

type Demo = { topologies?: Record<string, string>; scale?: number }

/** The bench of `benchd demo` in this process, and ways to speak to it. `topologies` are files for that folder. */
export async function demo(t: Test, { topologies = {}, scale = 1000 }: Demo = {}) {
  const home = t.testdir({ topologies })
  const config = await demoConfig(scale)
  const listen = { ...config.listen, port: 0 }
  const folders = { data_dir: `${home}/data`, topologies: `${home}/topologies` }
  const service = await startService({ ...config, listen }, { ...folders, log: silent })
  t.teardown(() => service.close())
  return { service, ...speaking(home, service.url, await prepareDemo(service.bench), benchd) }
}

/** `benchd demo` as a process of its own, and commands that are processes too. */
export async function spawnedDemo(t: Test, { topologies = {}, scale = 1000 }: Demo = {}) {
  const home = t.testdir({ topologies })
  const args = ['demo', '--port', '0', '--time-scale', String(scale), '--data-dir', `${home}/data`, '--topologies', `${home}/topologies`]
  const service = running(t, home, args)
  const url = await service.line(/^ +API +(http:\/\/[\d.]+:\d+)/)
  const key = await service.line(/^ +key +(bk_\S+)/)
  service.child.stdout.resume()
  return { service, ...speaking(home, url, key, spawned) }
}

/** Ways to speak to a service over its socket, and over the network. */
function speaking(home: string, url: string, key: string, called: typeof benchd) {
  const dir = ['--data-dir', `${home}/data`]
  const run = (...args: string[]) => called(home, [...args, ...dir])
  /** Returns what a command prints with --json. */
  const json = async <Shown>(...args: string[]): Promise<Shown> => {
    const { stdout, stderr } = await run(...args, '--json')
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as Shown
  }
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    return (await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).json()
  }
  /** Repeats the request after each event, and once a second, until the answer satisfies `isSo`. */
  const until = async <Shown>(path: string, isSo: (shown: Shown) => boolean): Promise<Shown> => {
    for (let since = 0; ; ) {
      const shown = (await ask('GET', path)) as Shown
      if (isSo(shown)) return shown
      const { next_since } = (await ask('GET', `/events?since=${since}&wait=1`)) as { next_since: number }
      since = next_since
    }
  }
  return { home, dir, url, key, run, json, ask, until }
}

function started(home: string, args: readonly string[], env: Record<string, string>, path = program) {
  return spawn(process.execPath, [path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environmentOf(home, env),
  })
}

/** Returns an environment that keeps a program away from the configuration and the state of an installed benchd. */
function environmentOf(home: string, more: Record<string, string>): Record<string, string> {
  const folders = { CONFIGURATION_DIRECTORY: `${home}/etc`, STATE_DIRECTORY: `${home}/.local/state/benchd` }
  return { PATH: linkedPath, HOME: home, ...folders, ...more }
}

/** A workflow on the demo's bench that asks a person to look at the plate, in one of these steps. */
export function patient(steps: readonly object[]) {
  return {
    format: 1,
    name: 'patient',
    topology: 'demo',
    labware: { plate: { type: '96-well' } },
    methods: { ask: [{ instruct: 'look at the plate' }] },
    threads: {
      plate: { labware: 'plate', start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' }, steps },
    },
    start: ['plate'],
  }
}

/** Returns a PATH whose first entry has a program that runs this script. */
export function fakeProgram(folder: string, name: string, script: string): string {
  return `${programFolder(folder, name, script)}:${linkedPath}`
}

function programFolder(folder: string, name: string, script: string): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/${name}`, `#!/bin/sh\n${script}\n`)
  chmodSync(`${folder}/${name}`, 0o755)
  return folder
}
