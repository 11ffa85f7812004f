import { bench, median } from './bench.ts'
import { startChild } from './child.ts'
import type { Asked, Done } from './events/path.ts'

/** The limit makes the same event by hand, with its time, freezes it and calls the three sinks. */
export const eventCost = bench({
  name: 'event-cost',
  summary: 'emit: name, freeze, dispatch to three sinks',
  limit: 'by hand',
  options: { events: 30_000, rounds: 7, profile: '' },
  async run({ events, rounds, profile }) {
    const child = await startChild('./events/path.js', { profile })
    try {
      const ask = async (what: Asked['do']) => {
        const { seconds } = await child.ask<Done>({ do: what, count: events })
        return (seconds * 1e9) / events
      }
      const figures: { emit: number; floor: number }[] = []
      for (let i = -1; i < rounds; i++) {
        const figure = { floor: await ask('floor'), emit: await ask('emit') }
        // The first is for V8 to compile it.
        if (i >= 0) figures.push(figure)
      }
      const value = median(figures.map(({ emit }) => emit))
      const limit = median(figures.map(({ floor }) => floor))
      const ratio = median(figures.map(({ emit, floor }) => emit / floor))
      return [{ what: 'an event', unit: 'ns', value, limit, ratio, target: { of: 'ratio', most: 1.6 } }]
    } finally {
      await child.end()
    }
  },
})
