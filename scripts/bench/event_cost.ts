import { bench, median, type Row } from './bench.ts'
import { startChild } from './child.ts'
import type { Asked, Done } from './events/path.ts'

/** The limit makes the same event by hand, with its time, freezes it and calls the three sinks. */
export const eventCost = bench({
  name: 'event-cost',
  summary: 'emit: name, freeze, dispatch to three sinks; as the runtime does, which has the parts of the name',
  limit: 'by hand',
  options: { events: 30_000, rounds: 7, profile: '' },
  async run({ events, rounds, profile }) {
    const child = await startChild('./events/path.js', { profile })
    try {
      const ask = async (what: Asked['do']) => {
        const { seconds } = await child.ask<Done>({ do: what, count: events })
        return (seconds * 1e9) / events
      }
      const figures: { emit: number; named: number; promised: number; floor: number }[] = []
      for (let i = -1; i < rounds; i++) {
        const figure = { floor: await ask('floor'), promised: await ask('promised'), emit: await ask('emit'), named: await ask('named') }
        // The first is for V8 to compile it.
        if (i >= 0) figures.push(figure)
      }
      const limit = median(figures.map(({ floor }) => floor))
      const row = (what: string, of: 'promised' | 'emit' | 'named'): Row => {
        const value = median(figures.map((figure) => figure[of]))
        const ratio = median(figures.map((figure) => figure[of] / figure.floor))
        return { what, unit: 'ns', value, limit, ratio }
      }
      return [
        { ...row('an event', 'emit'), target: { of: 'ratio', most: 1.6 } },
        row('an event whose name has to be taken apart', 'named'),
        row('the least that keeps the same promises', 'promised'),
      ]
    } finally {
      await child.end()
    }
  },
})
