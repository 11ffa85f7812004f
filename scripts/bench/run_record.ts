// The record of runs: its cost while a run goes on, and how fast a large one is read.

import { existsSync, writeFileSync } from 'node:fs'
import { recordText, rowsOfRun } from '../../src/testing/records.ts'
import { bench, type Row, row } from './bench.ts'
import { startChild } from './child.ts'
import { clientOf } from './demo_client.ts'
import { unitFlags } from './events/unit.ts'
import { memoryOf } from './process.ts'
import { inMemory, lanes, once } from './run_state.ts'
import type { Demo, DemoQuestion, DemoUsage } from './servers/demo.ts'
import type { Done } from './workflow/runs.ts'

/** The same run with its state on the disk takes turns with and without a record. No action takes time, so a record costs most beside it. */
export const runRecord = bench({
  name: 'run-record',
  summary: 'the cost of the record of a run, by the number of its labware threads; reading a large record',
  limit: 'without it',
  // The whole aim: `--threads 100,1000,5000 --rounds 5`.
  options: { threads: '100,1000', rounds: 3, plates: 1000 },
  async run({ threads, rounds, plates }) {
    if (existsSync(inMemory)) process.env.TMPDIR = inMemory
    const rows: Row[] = []
    for (const count of threads.split(',').map(Number)) rows.push(await rowOfRun(count, rounds))
    const costs = rows.map(({ value, limit }) => value - limit!)
    const flat = row('most added over least added', 'us/event', Math.max(...costs), {
      limit: Math.min(...costs),
      target: { of: 'ratio', most: 1.3 },
    })
    return [...rows, ...(rows.length > 1 ? [flat] : []), ...(await rowsOfReading(plates))]
  },
})

async function rowOfRun(threads: number, rounds: number): Promise<Row> {
  const asked = { do: 'run', groups: threads / lanes } as const
  const [recording, without]: [Done[], Done[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    without.push(await once('states', asked))
    recording.push(await once('record', asked))
  }
  const least = (some: readonly Done[]) => Math.min(...some.map(({ cpu_us, events }) => cpu_us / events))
  return row(`${threads} threads: CPU`, 'us/event', least(recording), { limit: least(without), target: { of: 'ratio', most: 1.1 } })
}

/** Reads the record of many plates from the service, whole and as a report. The first answer of each compiles what it needs. */
async function rowsOfReading(plates: number): Promise<Row[]> {
  const demo = await startChild<Demo>('./servers/demo.js', { args: ['1000'], flags: unitFlags })
  try {
    const { ask, open, run } = clientOf(demo.ready)
    const execution_id = await run()
    // The run's own state is gone once it is listed as ended and its record answers whole.
    await ask('GET', `/api/executions/${execution_id}/record`)
    writeFileSync(`${demo.ready.data_dir}/executions/${execution_id}/record.jsonl`, recordText(rowsOfRun(plates)))
    const read = async (path: string) => {
      await demo.ask<DemoUsage>({ collect: true } satisfies DemoQuestion)
      const idle = memoryOf(demo.ready.pid)
      // The kernel forgets the most that the process ever held.
      writeFileSync(`/proc/${demo.ready.pid}/clear_refs`, '5')
      const began = performance.now()
      const response = await open(`/api/executions/${execution_id}/${path}`)
      if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
      await response.arrayBuffer()
      return { ms: performance.now() - began, mib: memoryOf(demo.ready.pid, 'VmHWM') - idle }
    }
    const rows: Row[] = []
    for (const [path, most] of [
      ['record', 300],
      ['report', 2000],
    ] as const) {
      await read(path)
      const { ms, mib } = await read(path)
      rows.push(row(`${path} of ${plates} plates`, 'ms', ms, { target: { of: 'value', most, wall: true } }))
      rows.push(row(`${path} of ${plates} plates: memory above idle`, 'MiB', mib, { target: { of: 'value', most: 40 } }))
    }
    return rows
  } finally {
    await demo.end()
  }
}
