import { bench } from './bench.ts'
import { besideStringify } from './events/rounds.ts'

export const logAppend = bench({
  name: 'log-append',
  summary: 'events into the log at flood, until all are in the file; an event has 522 bytes',
  limit: 'JSON.stringify',
  options: { events: 100_000, rounds: 3, profile: '' },
  async run(options) {
    const { rows, rss_mib } = await besideStringify(options, { streamed: false })
    return [...rows, { what: 'RSS at most', unit: 'MiB', value: rss_mib, target: { of: 'value', most: 150 } }]
  },
})
