// Where an event stream goes: straight to the socket, or, where there is none, into a body that is read.

import type { ServerResponse } from 'node:http'
import type { Outlet } from '../events/streams.ts'

/** A response that ends with its connection, so that nothing is counted or wrapped on the way. */
export function socketOutlet(response: ServerResponse, headers: Record<string, string>, onClose: () => void): Outlet {
  response.useChunkedEncodingByDefault = false
  response.writeHead(200, { ...headers, Connection: 'close' })
  response.flushHeaders()
  response.on('close', onClose)
  // A client that hangs up is no error of the service.
  response.on('error', () => undefined)
  // The work of the response on each piece costs as much as the write. It has no socket while an answer before it is under way.
  const way = response.socket ?? response
  return {
    write: (bytes) => way.write(bytes),
    onDrain: (call) => void way.on('drain', call),
    end: (how) => void (how === 'cut' ? response.destroy() : response.end()),
  }
}

/** `response` is where the body goes, if it goes over a socket. */
export function bodyOutlet(onClose: () => void, response?: ServerResponse): { outlet: Outlet; body: ReadableStream<Uint8Array> } {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array>
  let drained = () => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given
      },
      pull: () => drained(),
      cancel: onClose,
    },
    { highWaterMark: 65_536, size: (bytes) => bytes?.byteLength ?? 0 },
  )
  const outlet: Outlet = {
    write(bytes) {
      controller.enqueue(typeof bytes === 'string' ? encoder.encode(bytes) : bytes)
      return (controller.desiredSize ?? 0) > 0
    },
    onDrain: (call) => {
      drained = call
    },
    end(how) {
      onClose()
      if (how === 'ended') controller.close()
      // An error of the body would be logged, once for each.
      else if (response) response.destroy()
      else controller.error(new Error('it took nothing for a minute'))
    },
  }
  return { outlet, body }
}
