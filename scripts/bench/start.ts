// From the start of the process to its first answer: CPU time, beside a Node that has nothing to do.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { demoBench } from '../../src/examples/demo_bench.ts'
import { bench, median, type Row, row } from './bench.ts'
import { ownFolder } from './child.ts'
import { addressOf, childrenCpu, killed, memoryOf } from './process.ts'

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
    const folder = ownFolder()
    const config = join(folder, 'config.json')
    writeFileSync(config, JSON.stringify(demoBench))
    let starts = 0
    // A folder that was left by a kill three times means safe mode.
    const where = () => ['--host', '127.0.0.1', '--port', '0', '--data-dir', join(folder, String(++starts))]
    // Each command keeps its compiled code in a place of its own, as on a bench, where one of them is the service.
    const kept = (name: string, ...words: string[]) => startOf([benchd, name, ...words, ...where()], join(folder, `cache of ${name}`))
    const serve = () => kept('serve', '--config', config)
    return [
      ...(await startRows({ 'benchd serve': { start: serve, most: 1.6 }, 'benchd demo': { start: () => kept('demo'), most: 2 } }, rounds)),
      await idleRow(serve(), idle),
    ]
  },
})

const benchd = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))

async function startRows(commands: Record<string, { start: () => ChildProcess; most: number }>, rounds: number): Promise<Row[]> {
  const bare: Spent[] = []
  const ours = Object.entries(commands).map(([name, its]) => ({ name, ...its, spent: [] as Spent[] }))
  // As every start but the first finds it: ended in order, it keeps what was compiled.
  for (const { start } of ours) {
    const child = start()
    await firstAnswer(child)
    await killed(child, 'SIGTERM')
  }
  for (let i = 0; i < rounds; i++) {
    const floor = () => startOf(['-e', '0'])
    bare.push(await spentBy(floor, (child) => once(child, 'exit')))
    for (const { start, spent } of ours) spent.push(await spentBy(start, firstAnswer))
  }
  // The hundredths of CPU time even out over the rounds; in a median they would not.
  const cpuOf = (spent: readonly Spent[]) => spent.reduce((sum, { cpu_ms }) => sum + cpu_ms, 0) / spent.length
  const wallOf = (spent: readonly Spent[]) => median(spent.map(({ wall_ms }) => wall_ms))
  return ours.flatMap(({ name, spent, most }) => [
    row(`CPU, ${name}`, 'ms', cpuOf(spent), { limit: cpuOf(bare), target: { of: 'ratio', most } }),
    row(`until the first answer, ${name}`, 'ms', wallOf(spent), { limit: wallOf(bare) }),
  ])
}

type Spent = { cpu_ms: number; wall_ms: number }

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

/** Resolves once `/health` of the address that it prints says that all is well. */
async function firstAnswer(child: ChildProcess): Promise<void> {
  const { status } = await fetch(`${await addressOf(child)}/health`)
  if (status !== 200) throw new Error(`/health answered ${status}`)
}

async function idleRow(serve: ChildProcess, seconds: number): Promise<Row> {
  const idle = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  try {
    await firstAnswer(serve)
    await wait(seconds * 1000)
    const target = { of: 'value', most: 62 } as const
    return row('RSS when idle, benchd serve', 'MiB', memoryOf(serve.pid!), { limit: memoryOf(idle.pid!), target })
  } finally {
    for (const child of [idle, serve]) await killed(child)
  }
}
