import { bench } from './bench.ts'
import { startChild } from './child.ts'
import type { Asked as Reading, Resumed, Taken } from './events/readers.ts'
import type { Asked, Serving, Told } from './events/service.ts'
import { unitFlags } from './events/unit.ts'
import { streamRequest } from './sse_fanout.ts'

/** The kernel takes some 4 MB for a reader that takes nothing, before the service's own queue begins: there have to be more events. */
export const sseSlow = bench({
  name: 'sse-slow',
  summary: 'streams of which some take nothing: what these find at last, and what the others lose',
  options: { reading: 80, stalled: 20, rate: 8000, seconds: 2 },
  async run({ reading, stalled, rate, seconds }) {
    const readers = await startChild<object>('./events/readers.js')
    const service = await startChild<Serving>('./events/service.js', { flags: unitFlags })
    try {
      const ask = <Answer>(question: Reading) => readers.ask<Answer>(question)
      const open = { do: 'open', port: service.ready.port, request: streamRequest(service.ready) } as const
      await ask({ ...open, connections: reading + stalled, stalled: 0 })
      const { sent: first } = await service.ask<Told>({ flow: { rate, seconds } } satisfies Asked)
      await ask({ do: 'take', frames: first })
      const without = await service.ask<Told>({} satisfies Asked)
      await ask({ do: 'close' })
      await ask({ ...open, connections: reading, stalled })
      const { sent } = await service.ask<Told>({ flow: { rate, seconds } } satisfies Asked)
      const { missing } = await ask<Taken>({ do: 'take', frames: sent })
      const { rss_mib } = await service.ask<Told>({} satisfies Asked)
      const { tails, unaccounted } = await ask<Resumed>({ do: 'resume', frames: sent })
      const exactly = (most: number) => ({ of: 'value', least: most, most }) as const
      return [
        { what: 'tail of the stalled, shortest', unit: 'events', value: Math.min(...tails), target: exactly(1000) },
        { what: 'tail of the stalled, longest', unit: 'events', value: Math.max(...tails), target: exactly(1000) },
        { what: 'lost, and not told', unit: 'events', value: Math.max(...unaccounted.map(Math.abs)), target: exactly(0) },
        { what: 'lost by the others', unit: 'events', value: missing, target: exactly(0) },
        {
          what: 'RSS for each that stalled',
          unit: 'MiB',
          value: (rss_mib - without.rss_mib) / stalled,
          target: { of: 'value', most: 0.6 },
        },
      ]
    } finally {
      await readers.end()
      await service.end()
    }
  },
})
