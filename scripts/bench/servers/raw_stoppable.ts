// The limit of a stop: `node:http` that writes the bytes itself, under the same load as the service. Its streams are one buffer written to
// each reader, its questions on the port the package `serialport` alone; it has no checks, no keys and no log.

import { writeSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SerialPort } from 'serialport'
import { answerParent } from '../child.ts'
import type { Beside, Stoppable } from './stoppable.ts'
import { fillPool } from './thread_pool.ts'

const [, , pty = ''] = process.argv
const tick_ms = 5
/** The instrument's pause before a question, which the service keeps too. Without it the limit asks 35 times as often, and never sleeps. */
const gap_ms = 50
/** As long as those of the service. */
const frame = Buffer.from(`event: runtime_event\ndata: ${'x'.repeat(300)}\n\n`)
const system = JSON.stringify({ version: '0.1.0', api_version: '2.1.0', system_id: 'system' })

const path = '/stop'
const going: Beside = {}
const readers = new Set<ServerResponse>()
const port = new SerialPort({ path: pty, baudRate: 9600 })
await new Promise((resolve) => port.once('open', resolve))
const fd = (port.port as unknown as { fd: number }).fd
let said = ''
port.on('data', (bytes: Buffer) => {
  const lines = (said + bytes.toString('latin1')).split('\n')
  said = lines.pop()!
  // A stop is answered too, by an ok.
  if (going.port_busy && lines.some((line) => line.trim() !== 'ok')) setTimeout(() => port.write('getTempActual\r'), gap_ms)
})

const server = createServer((request, response) => {
  if (request.url === path) {
    writeSync(fd, 'shakeEmergencyOff\r')
    answer(response, '{"success":true}')
  } else if (request.url === '/events/stream') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('retry: 2000\n\n')
    readers.add(response)
    response.on('close', () => readers.delete(response))
  } else answer(response, system)
  request.resume()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

const stoppable: Stoppable = { port: (server.address() as AddressInfo).port, key: '', path }
answerParent(stoppable, (beside: Beside) => {
  const before = { ...going }
  Object.assign(going, { port_busy: false, events: 0, pool_full: false }, beside)
  if (going.port_busy && !before.port_busy) port.write('getTempActual\r')
  if (going.pool_full && !before.pool_full) fillPool(() => going.pool_full === true)
  return {}
})

let sent_at = performance.now()
setInterval(() => {
  const due = Math.floor(((performance.now() - sent_at) * (going.events ?? 0)) / 1000)
  if (due === 0) {
    if (!going.events) sent_at = performance.now()
    return
  }
  sent_at += (due * 1000) / going.events!
  const piece = Buffer.concat(Array.from({ length: due }, () => frame))
  for (const reader of readers) reader.socket?.write(piece)
}, tick_ms)

function answer(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text)
}
