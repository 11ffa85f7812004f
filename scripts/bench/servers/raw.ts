// node:http and checks made by hand: what the two requests cost at least.

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { devices, isDevice, isKey, key, limits, tellOf } from './serving.ts'

const server = createServer((request, response) => {
  if (!isKey(request.headers['x-api-key'] as string | undefined)) return answer(response, 401, { detail: 'a key is needed' })
  if (request.method === 'GET' && request.url === '/api/devices') return answer(response, 200, { devices })
  const [, device_id] = /^\/api\/devices\/([^/]+)\/shake$/.exec(request.url ?? '') ?? []
  if (request.method !== 'POST' || !device_id || !isDevice(device_id)) return answer(response, 404, { detail: 'nothing there' })
  if (request.headers['content-type'] !== 'application/json') return answer(response, 415, { detail: 'JSON is needed' })
  read(request, (text) => shake(response, device_id, text))
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  tellOf({ port, host: `127.0.0.1:${port}`, key })
})

function read(request: IncomingMessage, then: (text: string) => void): void {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => then(Buffer.concat(pieces).toString('utf8')))
}

function shake(response: ServerResponse, device_id: string, text: string): void {
  const params = paramsOf(text)
  if (!params) {
    answer(response, 400, { detail: 'the body must hold speed and duration in their ranges' })
    return
  }
  const { speed, duration } = params
  const message = `${device_id}: shook at ${speed} rpm for ${duration} s`
  answer(response, 200, { success: true, message }, { 'Operation-Id': randomUUID() })
}

function paramsOf(text: string): { speed: number; duration: number } | undefined {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof body !== 'object' || body === null || Object.keys(body).length !== 2) return undefined
  const { speed, duration } = body as { speed?: unknown; duration?: unknown }
  if (!inRange(speed, limits.speed) || !inRange(duration, limits.duration)) return undefined
  return { speed, duration }
}

function inRange(value: unknown, { min, max }: { min: number; max: number }): value is number {
  return typeof value === 'number' && value >= min && value <= max
}

function answer(response: ServerResponse, status: number, value: object, headers: Record<string, string> = {}): void {
  const text = JSON.stringify(value)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'X-API-Version': '2.1.0',
    'Cache-Control': 'no-store',
    ...headers,
    'Content-Length': Buffer.byteLength(text),
  })
  response.end(text)
}
