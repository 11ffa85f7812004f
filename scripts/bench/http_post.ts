import { bench } from './bench.ts'
import { besideHono, httpOptions, rss } from './http_rounds.ts'
import type { Serving } from './servers/serving.ts'

/**
 * A shake on an instrument that needs no time: what the service itself costs from the request to the driver and back. Key, route, media
 * type, body, members, ranges and the id of the operation are the work of every server. The service alone makes an operation of it, with
 * a record, a deadline and a way to be stopped, and writes it down; what is left without the operation is shown too. Each connection has a device of its own, so that none is ever busy.
 */
export const httpPost = bench({
  name: 'http-post',
  summary: 'POST /api/devices/{id}/shake, validated, on an instrument that is done at once',
  limit: 'the one before',
  options: httpOptions,
  run: (options) =>
    besideHono(options, {
      devices: options.connections,
      request: shake,
      measures: [
        { what: 'CPU a request', unit: 'us', of: 'cpu_us', target: { of: 'ratio', most: 1.5 } },
        { what: 'CPU without the operation itself', unit: 'us', of: 'skin_us' },
        { what: 'requests a second', unit: '1/s', of: 'rate' },
        rss,
      ],
    }),
})

const body = JSON.stringify({ speed: 500, duration: 5 })

function shake({ host, key }: Serving, connection: number): string {
  const head = [
    `POST /api/devices/shaker-${connection + 1}/shake HTTP/1.1`,
    `Host: ${host}`,
    `X-API-Key: ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
