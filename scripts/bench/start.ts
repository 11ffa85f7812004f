// From the start of the process to its first answer: CPU time, beside a Node that has nothing to do.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { demoBench } from '../../src/examples/demo_bench.ts'
import { bench, childrenCpu, median, type Row } from './bench.ts'

/**
 * `benchd serve` on the demo's four simulated devices, and the demo itself, which opens the workflows too, as they ship. CPU time is what the kernel counts for the whole process,
 * from its start until it is killed at its first answer; so is that of `node -e 0`.
 */
export const start = bench({
  name: 'start',
  summary: 'from the start to the first answer of /health; memory when idle',
  limit: 'node -e 0',
  options: { rounds: 10, idle: 3 },
  async run({ rounds, idle }) {
    const folder = mkdtempSync(join(tmpdir(), 'benchd-start-'))
    try {
      const config = join(folder, 'config.json')
      writeFileSync(config, JSON.stringify(demoBench))
      let starts = 0
      // A folder that was left by a kill three times means safe mode.
      const where = () => ['--host', '127.0.0.1', '--port', '0', '--data-dir', join(folder, String(++starts))]
      const serve = () => [benchd, 'serve', '--config', config, ...where()]
      return [
        ...(await startRows(
          { 'benchd serve': serve, 'benchd demo': () => [benchd, 'demo', ...where()], [floor]: () => ['-e', sameModules] },
          rounds,
          folder,
        )),
        ...(await idleRows(startOf(serve(), cacheOf('benchd serve', folder)), idle, startOf([await smallHono(folder)]))),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

const benchd = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))

const floor = 'a program that loads the same modules of Node and answers'
/** As little as a service can do with them: it listens, and knows one answer. */
const sameModules = `
for (const name of ['crypto', 'events', 'fs', 'fs/promises', 'http', 'module', 'net', 'os', 'path', 'perf_hooks', 'stream/promises', 'util', 'vm', 'zlib']) require(name)
const server = require('http').createServer((_request, response) => response.end('{}'))
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))
`
const most: Record<string, number> = { 'benchd serve': 1.6, 'benchd demo': 2 }

/** Each command keeps its compiled code in a place of its own, as on a bench, where one of them is the service. */
async function startRows(commands: Record<string, () => string[]>, rounds: number, folder: string): Promise<Row[]> {
  const bare: Spent[] = []
  const ours = Object.entries(commands).map(([name, args]) => ({
    name,
    start: () => startOf(args(), cacheOf(name, folder)),
    spent: [] as Spent[],
  }))
  for (const { start } of ours) await compiled(start())
  for (let i = 0; i < rounds; i++) {
    bare.push(
      await spentBy(
        () => startOf(['-e', '0']),
        (child) => once(child, 'exit'),
      ),
    )
    for (const { start, spent } of ours) spent.push(await spentBy(start, firstAnswer))
  }
  const limit = { cpu_ms: mean(bare.map(({ cpu_ms }) => cpu_ms)), wall_ms: median(bare.map(({ wall_ms }) => wall_ms)) }
  return ours.flatMap(({ name, spent }): Row[] => {
    const cpu_ms = mean(spent.map(({ cpu_ms }) => cpu_ms))
    const wall_ms = median(spent.map(({ wall_ms }) => wall_ms))
    const target = name in most ? { target: { of: 'ratio', most: most[name]! } as const } : {}
    return [
      { what: `CPU, ${name}`, unit: 'ms', value: cpu_ms, limit: limit.cpu_ms, ratio: cpu_ms / limit.cpu_ms, ...target },
      { what: `until the first answer, ${name}`, unit: 'ms', value: wall_ms, limit: limit.wall_ms, ratio: wall_ms / limit.wall_ms },
    ]
  })
}

/** As every start but the first finds it: ended in order, it keeps what was compiled. */
async function compiled(child: ChildProcess): Promise<void> {
  await firstAnswer(child)
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}

type Spent = { cpu_ms: number; wall_ms: number }

const cacheOf = (command: string, folder: string) => join(folder, `cache of ${command}`)

/** `cache` is where the code is kept that V8 has compiled. */
function startOf(args: readonly string[], cache?: string): ChildProcess {
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, CACHE_DIRECTORY: cache } })
}

async function spentBy(start: () => ChildProcess, done: (child: ChildProcess) => Promise<unknown>): Promise<Spent> {
  const before = childrenCpu()
  const began = performance.now()
  const child = start()
  await done(child)
  const wall_ms = performance.now() - began
  await killed(child)
  return { cpu_ms: childrenCpu() - before, wall_ms }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** Resolves once `/health` of the address that it prints says that all is well. */
async function firstAnswer(child: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const [url] = /http:\/\/[\d.]+:\d+/.exec(line) ?? []
    if (!url) continue
    const { status } = await fetch(`${url}/health`)
    if (status === 200) return
    throw new Error(`/health answered ${status}`)
  }
  throw new Error('benchd ended before it listened')
}

/** The hundredths even out over the rounds; in a median they would not. */
function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

async function idleRows(serve: ChildProcess, seconds: number, small: ChildProcess): Promise<Row[]> {
  const idle = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  const started = [small, serve]
  try {
    for (const child of started) await firstAnswer(child)
    await wait(seconds * 1000)
    const [limit, hono, value] = [idle, ...started].map(rss) as [number, number, number]
    const what = 'RSS when idle, benchd serve'
    return [
      { what, unit: 'MiB', value, limit, ratio: value / limit, target: { of: 'value', most: 62 } },
      {
        what: `${what} beside a bundle of Hono and valibot`,
        unit: 'MiB',
        value,
        limit: hono,
        ratio: value / hono,
        target: { of: 'ratio', most: 1.08 },
      },
    ]
  } finally {
    for (const child of [idle, ...started]) await killed(child)
  }
}

/** Makes one file of `servers/small_hono.js` in the folder, as the service is bundled, and answers its path. */
async function smallHono(folder: string): Promise<string> {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input: fileURLToPath(new URL('servers/small_hono.js', import.meta.url)),
    platform: 'node',
    logLevel: 'warn',
  })
  const file = join(folder, 'small_hono.cjs')
  await bundle.write({ file, format: 'cjs' })
  await bundle.close()
  return file
}

function rss({ pid }: ChildProcess): number {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}
