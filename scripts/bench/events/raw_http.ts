// node:http with nothing but a header for each connection that is kept open.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerParent } from '../child.ts'
import type { Told } from './service.ts'
import { collectGarbage, usage } from './usage.ts'

let subscribers = 0
const server = createServer((_, response) => {
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
