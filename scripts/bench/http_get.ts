import { bench } from './bench.ts'
import { besideHono, httpOptions, rss } from './http_rounds.ts'
import type { Serving } from './servers/serving.ts'

/** Every server checks the key by its SHA-256 and writes the list of four devices anew as JSON. */
export const httpGet = bench({
  name: 'http-get',
  summary: 'GET /api/devices with a key',
  limit: 'the one before',
  options: httpOptions,
  run: (options) =>
    besideHono(options, {
      devices: 4,
      request: list,
      measures: [
        { what: 'CPU a request', unit: 'us', of: 'cpu_us', target: { of: 'ratio', most: 1.15 } },
        { what: 'requests a second', unit: '1/s', of: 'rate', target: { of: 'ratio', least: 0.85, wall: true } },
        rss,
      ],
    }),
})

function list({ host, key }: Serving): string {
  return `GET /api/devices HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n\r\n`
}
