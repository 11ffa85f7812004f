// `benchd` as a shell runs it: a process of its own, in a home that is empty.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

/** The program as it ships. */
export const program = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))

/** A path on which there is a `benchd`, as where it is installed or linked: commands in texts are named without `npx`. */
const linkedPath = `${programFolder(fileURLToPath(new URL('./linked', import.meta.url)), 'benchd', 'exit 1')}:${process.env.PATH}`

export type Outcome = { code: number | null; signal: string | null; stdout: string; stderr: string }

export type Running = {
  child: ChildProcessByStdio<null, Readable, Readable>
  /** The first line on stdout that matches; what the pattern's first group matched, else all. Rejects when there is none. */
  line(pattern: RegExp): Promise<string>
  ended: Promise<{ code: number | null; signal: string | null; stderr: string }>
}

/** Runs it to its end. */
export async function benchd(home: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const child = started(home, args, env)
  const [[code, signal], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, signal, stdout, stderr }
}

/** Starts it; it is killed at the end of the test. */
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
      throw new Error(`it ended without a line like ${pattern}: ${await said}`)
    },
    ended: closed.then(async ([code, signal]) => ({ code, signal, stderr: await said })),
  }
}

/** `benchd demo`, and ways to speak to it over its socket, and over the network. `topologies` are files for that folder. */
export async function demo(t: Test, { topologies = {}, scale = 1000 }: { topologies?: Record<string, string>; scale?: number } = {}) {
  const home = t.testdir({ topologies })
  const dir = ['--data-dir', `${home}/data`]
  const args = ['demo', '--port', '0', '--time-scale', String(scale), ...dir, '--topologies', `${home}/topologies`]
  const service = running(t, home, args)
  const url = await service.line(/^ +API +(http:\/\/[\d.]+:\d+)/)
  const key = await service.line(/^ +key +(bk_\S+)/)
  service.child.stdout.resume()
  const run = (...args: string[]) => benchd(home, [...args, ...dir])
  /** What a command prints with --json. */
  const json = async <Shown>(...args: string[]): Promise<Shown> => {
    const { stdout, stderr } = await run(...args, '--json')
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as Shown
  }
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    return (await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).json()
  }
  /** Asks after each event, and once a second, until it is so. */
  const until = async <Shown>(path: string, isSo: (shown: Shown) => boolean): Promise<Shown> => {
    for (let since = 0; ; ) {
      const shown = (await ask('GET', path)) as Shown
      if (isSo(shown)) return shown
      const { next_since } = (await ask('GET', `/events?since=${since}&wait=1`)) as { next_since: number }
      since = next_since
    }
  }
  return { home, dir, service, url, key, run, json, ask, until }
}

function started(home: string, args: readonly string[], env: Record<string, string>, path = program) {
  return spawn(process.execPath, [path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: linkedPath ?? '', HOME: home, ...apart(home), ...env },
  })
}

/** Variables that keep a program away from the configuration and the state of a benchd that is installed on this computer. */
function apart(home: string): Record<string, string> {
  return { CONFIGURATION_DIRECTORY: `${home}/etc`, STATE_DIRECTORY: `${home}/.local/state/benchd` }
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

/** A path with a program that says this, before all others. */
export function fakeProgram(folder: string, name: string, script: string): string {
  return `${programFolder(folder, name, script)}:${linkedPath}`
}

function programFolder(folder: string, name: string, script: string): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/${name}`, `#!/bin/sh\n${script}\n`)
  chmodSync(`${folder}/${name}`, 0o755)
  return folder
}
