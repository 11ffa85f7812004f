import { bench } from './bench.ts'
import { besideRaw, httpOptions } from './http_rounds.ts'
import type { Serving } from './servers/serving.ts'

/** Every server checks the key by its SHA-256 and writes the list of four devices anew as JSON. */
export const httpGet = bench({
  name: 'http-get',
  summary: 'GET /api/devices with a key',
  limit: 'raw node:http',
  options: httpOptions,
  run: (options) => besideRaw(options, { devices: 4, request: list, targets: { cpu: 1.75, rate: 0.65 } }),
})

function list({ host, key }: Serving): string {
  return `GET /api/devices HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n\r\n`
}
