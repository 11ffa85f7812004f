// node:http with nothing but a header for each stream, and one answer that is always the same: a hundred events.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerParent } from '../child.ts'
import { textOf, timeOf } from './made_log.ts'
import type { Told } from './service.ts'
import { collectGarbage, usage } from './usage.ts'

let subscribers = 0
const answer = Buffer.from(`{"events":[${Array.from({ length: 100 }, (_, n) => textOf(n)).join()}],"next_since":${timeOf(100)}}`)
const server = createServer((request, response) => {
  if (request.url?.startsWith('/events?')) return response.writeHead(200, { 'Content-Type': 'application/json' }).end(answer)
  subscribers++
  response.useChunkedEncodingByDefault = false
  response.writeHead(200, { 'Content-Type': 'text/event-stream', Connection: 'close' })
  response.write('retry: 2000\n\n')
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  const head = `Host: 127.0.0.1:${port}\r\n\r\n`
  answerParent({ port, head, ready_ms: 0, last_us: 0 }, (): Told => {
    collectGarbage()
    return { ...usage(), sent: 0, dropped: 0, subscribers }
  })
})
