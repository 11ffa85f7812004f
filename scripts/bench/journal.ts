import { bench, type Row } from './bench.ts'
import { startChild } from './child.ts'
import type { Asked, Done } from './workflow/journal.ts'

/** Each thread is of a group of its own, and does one method. The same run with and without a journal, which takes what it is given and writes nothing. */
export const journal = bench({
  name: 'journal',
  summary: 'the CPU that the journal of a run takes, by the number of its labware threads',
  limit: 'without it',
  options: { threads: '100,800', rounds: 3, profile: '' },
  async run({ threads, rounds, profile }) {
    const rows: Row[] = []
    for (const count of threads.split(',').map(Number)) rows.push(...(await rowsOf(count, rounds, profile)))
    return rows
  },
})

async function rowsOf(threads: number, rounds: number, profile: string): Promise<Row[]> {
  const done = { with: [] as Done[], without: [] as Done[] }
  for (let i = 0; i < rounds; i++) {
    done.without.push(await once({ threads, isKept: false }, profile))
    done.with.push(await once({ threads, isKept: true }, profile))
  }
  const cpu = (some: readonly Done[]) => Math.min(...some.map(({ cpu_us }) => cpu_us)) / 1000
  const [value, limit] = [cpu(done.with), cpu(done.without)]
  const [{ writes, longest_ms }] = done.with as [Done]
  return [
    { what: `${threads} threads: CPU`, unit: 'ms', value, limit, ratio: value / limit, target: { of: 'ratio', most: 2 } },
    { what: 'writes', unit: '', value: writes },
    { what: 'entries a write at most', unit: '', value: done.with[0]!.entries },
    { what: 'longest turn of the event loop', unit: 'ms', value: longest_ms, limit: done.without[0]!.longest_ms },
  ]
}

async function once(asked: Asked, profile: string): Promise<Done> {
  const child = await startChild('./workflow/journal.js', { profile })
  try {
    return await child.ask<Done>(asked)
  } finally {
    await child.end()
  }
}
