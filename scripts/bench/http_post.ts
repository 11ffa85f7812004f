import { bench } from './bench.ts'
import { besideRaw, httpOptions } from './http_rounds.ts'
import type { Serving } from './servers/serving.ts'

/**
 * A shake on an instrument that needs no time: what the service itself costs from the request to the driver and back. Key, route, media
 * type, body, members, ranges, the record of the operation and its id are the work of every server; the service does it with its
 * registry, its deadline and its way to be stopped besides. Each connection has a device, so that none is ever busy.
 */
export const httpPost = bench({
  name: 'http-post',
  summary: 'POST /api/devices/{id}/shake, validated, on an instrument that is done at once',
  limit: 'raw node:http',
  options: httpOptions,
  run: (options) => besideRaw(options, { devices: options.connections, request: shake, targets: { cpu: 2.1 } }),
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
