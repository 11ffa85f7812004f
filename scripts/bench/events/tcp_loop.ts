// The limit of a stream: a loop that writes the same frames to every connection, without HTTP, log or queue.

import { type AddressInfo, createServer, type Socket } from 'node:net'
import { runtimeEvent } from '../../../src/events/event.ts'
import { frame } from '../../../src/events/log_reader.ts'
import { answerParent } from '../child.ts'
import { usage } from '../process.ts'
import { flow } from './flow.ts'
import type { Sample } from './sample.ts'
import type { Asked, Told } from './service.ts'

const sockets = new Set<Socket>()
let waiting = ''
let seq = 0

const server = createServer({ noDelay: true }, (socket) => {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  socket.on('error', () => undefined)
  socket.resume()
  socket.write('\n\n')
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  answerParent({ port, head: '' }, async ({ flow: asked }: Asked): Promise<Told> => {
    const sent = asked ? await flow(asked, fire) : 0
    return { ...usage(), sent }
  })
})

function fire({ event_name, execution_id, context }: Sample): void {
  if (!waiting) setImmediate(writeAll)
  waiting += frame(JSON.stringify(runtimeEvent(event_name, execution_id, Date.now() / 1000, context)), ++seq)
}

function writeAll(): void {
  const bytes = Buffer.from(waiting)
  waiting = ''
  for (const socket of sockets) socket.write(bytes)
}
