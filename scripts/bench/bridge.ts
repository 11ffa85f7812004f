// The cost of a bridge: a question to its program, against a program that only echoes the line; stops of another device beside programs that
// misbehave; and the assay, all of whose devices are simulated over the protocol of bridges.

import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { attachedBridge } from '../../drivers/bridge/attach.ts'
import { inMemory } from '../../src/devices/descriptions.ts'
import { badPrograms } from '../../src/testing/bad_bridges.ts'
import { bench, median, type Row } from './bench.ts'
import { startChild } from './child.ts'
import { press } from './estop.ts'
import type { AssayRun } from './servers/assay_sim.ts'
import type { Stoppable } from './servers/stoppable.ts'

const library = fileURLToPath(new URL('../../src/clients/python/benchd_bridge.py', import.meta.url))
const reader = `
from benchd_bridge import Bridge

class Reader(Bridge):
    type = "reader"

    def temperature(self):
        return 22.5

Reader().serve()
`
const echo = `
import sys
for line in sys.stdin:
    sys.stdout.write(line)
    sys.stdout.flush()
`
/** The line of a question to a bridge. */
const question = `${JSON.stringify({ jsonrpc: '2.0', id: 1000, method: 'read', params: { reading: 'temperature' } })}\n`

/** Calls before those that are measured: V8 has not compiled all functions of a call after a thousand of them. */
const warmUp = 5000

/** A program is in trouble for so long before the first stop. */
const settle_ms = 500

export const bridge = bench({
  name: 'bridge',
  summary: 'a question to a program in Python; stops of another device beside bad programs; the assay over simulated bridges',
  limit: 'an echo; a good program; makespan',
  options: { rounds: 20, reads: 200, stops: 40, time_scale: 1000, only: '' },
  async run({ rounds, reads, stops, time_scale, only }) {
    const parts: Record<string, () => Promise<Row[]>> = {
      read: () => readRows(rounds, reads),
      stops: () => stopRows(stops),
      assay: () => assayRows(time_scale),
    }
    const rows: Row[] = []
    for (const [name, part] of Object.entries(parts)) if (name.includes(only)) rows.push(...(await part()))
    return rows
  },
})

/**
 * All three processes are on one processor: how far apart the scheduler puts a program from its caller decides more than both, and it does not move them
 * while the rounds last.
 */
async function readRows(rounds: number, reads: number): Promise<Row[]> {
  const processors = affinity()
  affinity('0')
  const folder = folderWith(reader)
  const [ours, theirs] = [await bridgeTo(join(folder, 'program.py')), echoing()]
  try {
    const found = { ours: [] as number[], theirs: [] as number[] }
    const take = async (count: number) => {
      found.theirs.push(...(await timesOf(theirs.ask, count)))
      found.ours.push(...(await timesOf(ours.ask, count)))
    }
    for (let i = 0; i < warmUp / reads; i++) await take(reads)
    found.ours = []
    found.theirs = []
    for (let i = 0; i < rounds; i++) await take(reads)
    const [value, limit] = [median(found.ours) * 1000, median(found.theirs) * 1000]
    return [{ what: 'read, p50', unit: 'us', value, limit, ratio: value / limit, target: { of: 'ratio', most: 2, wall: true } }]
  } finally {
    affinity(processors)
    await ours.end()
    theirs.end()
    rmSync(folder, { recursive: true })
  }
}

/** Sets the processors of the main thread, which children inherit; returns those of before. */
function affinity(wanted?: string): string {
  const args = wanted === undefined ? ['-cp', String(process.pid)] : ['-cp', wanted, String(process.pid)]
  return /: (\S+)\n/.exec(execFileSync('taskset', args, { encoding: 'utf8' }))?.[1] ?? '0'
}

async function stopRows(stops: number): Promise<Row[]> {
  const limit = await longestStop(reader, stops)
  const rows: Row[] = []
  for (const [what, [program]] of Object.entries(badPrograms)) {
    const value = await longestStop(program, stops)
    const target = { of: 'value', most: limit + 100, wall: true } as const
    rows.push({ what: `longest stop beside one that ${what}`, unit: 'ms', value, limit, ratio: value / limit, target })
  }
  return rows
}

async function longestStop(program: string, stops: number): Promise<number> {
  const folder = folderWith(program)
  const server = await startChild<Stoppable>('./servers/bridged.js', { args: [join(folder, 'program.py')] })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    await sleep(settle_ms)
    const times: number[] = []
    while (times.length < stops) {
      times.push(...(await timesOf(() => press(server.ready, agent), 1)))
      await sleep(20)
    }
    return Math.max(...times)
  } finally {
    agent.destroy()
    await server.ask({})
    await server.end()
    rmSync(folder, { recursive: true })
  }
}

async function assayRows(time_scale: number): Promise<Row[]> {
  const server = await startChild<object>('./servers/assay_sim.js', { args: [String(time_scale)] })
  try {
    const { makespan_s, seconds } = await server.ask<AssayRun>({})
    const limit = makespan_s / time_scale
    const target = { of: 'ratio', most: 1.5, wall: true } as const
    return [{ what: `smc_assay in DEVICE_SIM, ${time_scale} ×`, unit: 's', value: seconds, limit, ratio: seconds / limit, target }]
  } finally {
    await server.end()
  }
}

/** A folder with a program and the library beside it. */
function folderWith(program: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bench-bridge-'))
  copyFileSync(library, join(folder, 'benchd_bridge.py'))
  writeFileSync(join(folder, 'program.py'), program)
  return folder
}

async function timesOf(ask: () => Promise<unknown>, count: number): Promise<number[]> {
  const times: number[] = []
  while (times.length < count) {
    const from = performance.now()
    await ask()
    times.push(performance.now() - from)
  }
  return times
}

async function bridgeTo(path: string) {
  const settings = { halt: 'message', halt_s: 5 } as const
  const transport = { command: ['python3', path] }
  const { device, link } = attachedBridge(
    { device_id: 'reader-1', driver: 'bridge', type: 'reader', transport, settings },
    inMemory(undefined),
  )
  await link.open()
  await device.identify()
  return { ask: () => device.get_temperature!(), end: () => link.close() }
}

function echoing() {
  const child = spawn('python3', ['-c', echo], { stdio: ['pipe', 'pipe', 'inherit'] })
  let heard = (_line: string) => {}
  child.stdout.setEncoding('utf8').on('data', (line: string) => heard(line))
  const ask = () =>
    new Promise((resolve) => {
      heard = resolve
      child.stdin.write(question)
    })
  return { ask, end: () => child.stdin.end() }
}
