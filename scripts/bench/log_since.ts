import { bench, type Row } from './bench.ts'
import { startChild } from './child.ts'
import { type Answer, ask, askAll } from './events/asking.ts'
import { eventsOfOne, executionOf, timeOf, withLog } from './events/made_log.ts'
import type { Serving, Told } from './events/service.ts'
import { unitFlags } from './events/unit.ts'

/**
 * The log is really there, and every answer goes over a socket; `wrong` counts those that have not as many events as they should. The
 * limit has one answer ready, of the newest hundred's size, and is asked in turn with the service.
 */
export const logSince = bench({
  name: 'log-since',
  summary: 'GET /events on a long log',
  limit: 'raw node:http',
  options: { events: 1_000_000, requests: 200, profile: '' },
  run: ({ events, requests, profile }) =>
    withLog(events, async (data_dir) => {
      const service = await startChild<Serving>('./events/service.js', { args: [data_dir], flags: unitFlags, profile })
      const raw = await startChild<Serving>('./events/raw_http.js')
      const { rss_mib: before } = await service.ask<Told>({})
      let wrong = 0
      const many = async (times: number, wanted: number, query: (i: number) => string): Promise<Times> => {
        const answers: Answer[] = []
        const limits: Answer[] = []
        for (let i = 0; i < times; i++) {
          answers.push(await ask(service.ready, query(i)))
          limits.push(await ask(raw.ready, query(i)))
        }
        wrong += answers.filter(({ events }) => events !== wanted).length
        return { answers: sorted(answers), limits: sorted(limits) }
      }
      try {
        await many(50, 100, () => `since=${timeOf(events - 100)}`)
        const tail = await many(requests, 100, () => `since=${timeOf(events - 100)}`)
        const anywhere = await many(requests, 100, (i) => `since=${timeOf((i * 7919) % (events - 100))}&limit=100`)
        const one = await many(5, eventsOfOne, (i) => `execution_id=${executionOf((i * (events - eventsOfOne)) / 5)}`)
        const all = await askAll(service)
        wrong += all.events === events ? 0 : 1
        return [
          ...times('newest 100', tail, { of: 'value', most: 5, wall: true }),
          ...times('100 from anywhere', anywhere),
          { what: `one execution, ${eventsOfOne}: p50`, unit: 'ms', value: part(one.answers, 0.5) },
          { what: 'everything', unit: 'ms', value: all.ms },
          { what: 'everything', unit: 'MB/s', value: all.bytes / all.ms / 1000 },
          { what: 'wrong', unit: 'answers', value: wrong, target: { of: 'value', most: 0 } },
          { what: 'RSS that streaming everything adds', unit: 'MiB', value: all.rss_mib - before, target: { of: 'value', most: 40 } },
        ]
      } finally {
        await service.end()
        await raw.end()
      }
    }),
})

/** In milliseconds, the shortest first. */
type Times = { answers: number[]; limits: number[] }

function sorted(answers: readonly Answer[]): number[] {
  return answers.map(({ ms }) => ms).sort((a, b) => a - b)
}

function part(times: readonly number[], of: number): number {
  return times[Math.floor(times.length * of)]!
}

function times(what: string, { answers, limits }: Times, target?: Row['target']): Row[] {
  const row = (name: string, of: number): Row => {
    const [value, limit] = [part(answers, of), part(limits, of)]
    return { what: `${what}: ${name}`, unit: 'ms', value, limit, ratio: value / limit }
  }
  return [row('p50', 0.5), { ...row('p99', 0.99), target }]
}
