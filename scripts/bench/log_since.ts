import { bench, type Row } from './bench.ts'
import { startChild } from './child.ts'
import { type Answer, ask, askAll } from './events/asking.ts'
import { eventsOfOne, executionOf, timeOf, withLog } from './events/made_log.ts'
import type { Serving, Told } from './events/service.ts'

/** The log is really there, and every answer goes over a socket; `wrong` counts answers that have not as many events as they should. */
export const logSince = bench({
  name: 'log-since',
  summary: 'GET /events on a long log',
  options: { events: 1_000_000, requests: 300, profile: '' },
  run: ({ events, requests, profile }) =>
    withLog(events, async (data_dir) => {
      const service = await startChild<Serving>('./events/service.js', { args: [data_dir], profile })
      const { rss_mib: before } = await service.ask<Told>({})
      let wrong = 0
      const many = async (times: number, wanted: number, query: (i: number) => string): Promise<number[]> => {
        const answers: Answer[] = []
        for (let i = 0; i < times; i++) answers.push(await ask(service.ready, query(i)))
        wrong += answers.filter(({ events }) => events !== wanted).length
        return answers.map(({ ms }) => ms).sort((a, b) => a - b)
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
          ...times(`one execution, ${eventsOfOne}`, one),
          { what: 'everything', unit: 'ms', value: all.ms },
          { what: 'everything', unit: 'MB/s', value: all.bytes / all.ms / 1000 },
          { what: 'wrong', unit: 'answers', value: wrong, target: { of: 'value', most: 0 } },
          { what: 'RSS that streaming everything adds', unit: 'MiB', value: all.rss_mib - before, target: { of: 'value', most: 40 } },
        ]
      } finally {
        await service.end()
      }
    }),
})

/** `sorted` in milliseconds. */
function times(what: string, sorted: readonly number[], target?: Row['target']): Row[] {
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
  const p50: Row = { what: `${what}: p50`, unit: 'ms', value: at(0.5) }
  return sorted.length < 100 ? [p50] : [p50, { what: `${what}: p99`, unit: 'ms', value: at(0.99), target }]
}
