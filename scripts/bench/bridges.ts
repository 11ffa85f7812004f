// A bridge in Python: a question to it beside a bare echo, its description beside the start of Python, and the memory of ten of them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Descriptions } from '../../src/devices/descriptions.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { bench, median, type Row, row, rowOfRounds } from './bench.ts'
import { bridgeIn, deviceOf, operations } from './bridges/program.ts'
import { ownFolder, startChild } from './child.ts'
import { unitFlags } from './events/unit.ts'
import { memoryOf } from './process.ts'
import type { Asked, Held } from './servers/bridges.ts'

/** `pylabrobot` is a checkout, whose STAR is described too. */
export const bridges = bench({
  name: 'bridges',
  summary: 'a question to a bridge in Python, the description of the largest class, the memory of ten bridges',
  limit: 'echo, or python3 -c 0',
  options: { questions: 3000, rounds: 9, count: 10, idle: 3, pylabrobot: '' },
  async run({ questions, rounds, count, idle, pylabrobot }) {
    const command = bridgeIn(ownFolder())
    return [
      await questionRow(command, questions, rounds),
      ...(await describedRows('the largest class', command, rounds)),
      ...(pylabrobot ? await describedRows("PyLabRobot's STAR", starOf(pylabrobot), rounds) : []),
      ...(await memoryRows(count, idle)),
    ]
  },
})

/** The echo writes what it has read, and the lines are as long as those of the question. */
const echo = 'import os\nwhile piece := os.read(0, 65536): os.write(1, piece)'
const line = `${JSON.stringify({ jsonrpc: '2.0', id: 1000, method: 'read', params: { reading: 'temperature' } })}\n`

/** The programs start anew in each round: Linux leaves a pair of processes on one processor, or on two, where each answer takes three times as long. */
async function questionRow(command: readonly string[], questions: number, rounds: number): Promise<Row> {
  const done: { value: number; limit: number }[] = []
  for (let i = 0; i < rounds; i++) done.push({ limit: await echoed(questions), value: await asked(command, questions) })
  return rowOfRounds('a question, p50', 'us', done, { of: 'ratio', most: 2 })
}

async function asked(command: readonly string[], questions: number): Promise<number> {
  const { line: its, device } = deviceOf(command)
  try {
    await its.open()
    await device.identify()
    return await p50(() => device.described.read('temperature'), questions)
  } finally {
    await its.close()
  }
}

async function echoed(questions: number): Promise<number> {
  const child = spawn('python3', ['-c', echo], { stdio: ['pipe', 'pipe', 'inherit'] })
  const answer = async () => {
    child.stdin.write(line)
    await once(child.stdout, 'data')
  }
  try {
    return await p50(answer, questions)
  } finally {
    child.kill()
  }
}

async function p50(work: () => Promise<unknown>, times: number): Promise<number> {
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    const began = performance.now()
    await work()
    took.push((performance.now() - began) * 1000)
  }
  return median(took)
}

async function describedRows(name: string, command: readonly string[], rounds: number): Promise<Row[]> {
  const seconds: { value: number; limit: number }[] = []
  let bytes = 0
  const top = ownFolder()
  for (let i = 0; i < rounds; i++) {
    const folder = join(top, String(i))
    mkdirSync(folder)
    const limit = await timed(() => once(spawn('python3', ['-c', '0'], { stdio: 'ignore' }), 'exit'))
    const descriptions = await Descriptions.open(folder, { report: () => undefined, clock: systemClock })
    const { line: its, device } = deviceOf(command, descriptions.of('large-1'))
    const value = await timed(async () => {
      await its.open()
      await device.identify()
      await descriptions.settled()
    })
    bytes = statSync(`${folder}/descriptions.json`).size
    seconds.push({ value, limit })
    await its.close()
  }
  return [
    rowOfRounds(`${name}, from its start to the kept description`, 's', seconds, { of: 'value', most: 2 }),
    row(`${name}: its description`, 'kB', bytes / 1000),
  ]
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}

const library = fileURLToPath(new URL('../../../src/clients/python/benchd_bridge.py', import.meta.url))

function starOf(checkout: string): string[] {
  const star = 'pylabrobot.legacy.liquid_handling.backends.hamilton.STAR_chatterbox.STARChatterboxBackend'
  return ['env', `PYTHONPATH=${checkout}`, 'python3', library, 'pylabrobot', star]
}

/** A class of PyLabRobot has 28 operations on the average. */
const usual = 28

/** With the flags of the unit, after a collection of garbage. */
async function memoryRows(count: number, idle_s: number): Promise<Row[]> {
  const memoryWith = async (bridges: number, each: number) => {
    const service = await startChild<{ pid: number }>('servers/bridges.js', { args: [String(bridges), String(each)], flags: unitFlags })
    try {
      await wait(idle_s * 1000)
      const { heap_mib } = await service.ask<Held>({ do: 'collect' } satisfies Asked)
      return { heap_mib, rss_mib: memoryOf(service.ready.pid) }
    } finally {
      await service.ask({ do: 'close' } satisfies Asked)
      await service.end()
    }
  }
  const none = await memoryWith(0, 0)
  const some = await memoryWith(count, usual)
  const large = await memoryWith(count, operations)
  const target = { of: 'value', most: 15 } as const
  return [
    row(`${count} bridges of ${usual} operations add, RSS`, 'MiB', some.rss_mib - none.rss_mib, { target }),
    row(`${count} bridges of the largest class add, heap`, 'MiB', large.heap_mib - none.heap_mib, { target }),
    row(`${count} bridges of the largest class add, RSS`, 'MiB', large.rss_mib - none.rss_mib),
  ]
}
