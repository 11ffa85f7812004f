// The outlets of event streams: directly to the socket, or without one, into a body that is read.

import type { ServerResponse } from 'node:http'
import type { Outlet } from '../events/streams.ts'

/** Makes an outlet that writes to the socket, whose response ends with its connection and so needs no chunks. */
export function socketOutlet(response: ServerResponse, headers: Record<string, string>, onClose: () => void): Outlet {
  response.useChunkedEncodingByDefault = false
  response.writeHead(200, { ...headers, Connection: 'close' })
  response.flushHeaders()
  response.on('close', onClose)
  // A client that hangs up is not an error of the service.
  response.on('error', () => undefined)
  // Writing to the response costs twice as much as to the socket. It has no socket while an earlier answer is under way.
  const way = response.socket ?? response
  return {
    write: (bytes) => way.write(bytes),
    onDrain: (call) => void way.on('drain', call),
    end: (how) => void (how === 'cut' ? response.destroy() : response.end()),
  }
}

/** `response` is that of the socket over which the body is sent, if there is one. */
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
      // An error of the body would be logged for each stream.
      else if (response) response.destroy()
      else controller.error(new Error('it took nothing for a minute'))
    },
  }
  return { outlet, body }
}
