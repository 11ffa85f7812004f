import { bench } from './bench.ts'
import { besideStringify } from './events/rounds.ts'

/** Exactly one text is made of an event, whatever the number of those who get it. */
export const eventFull = bench({
  name: 'event-full',
  summary: 'emit, sinks, log and a stream, at flood; an event has 522 bytes',
  limit: 'JSON.stringify',
  options: { events: 40_000, rounds: 5, profile: '' },
  async run(options) {
    const { rows, calls } = await besideStringify(options, { streamed: true })
    return [
      ...rows,
      { what: 'times that JSON.stringify gets an event', unit: '', value: calls, target: { of: 'value', least: 1, most: 1 } },
    ]
  },
})
