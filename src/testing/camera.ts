// For tests: a camera, which is a small HTTP server.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A white JPEG of 8 by 6 points, which a browser can show. */
export const jpeg = Buffer.from(
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/yQALCAAGAAgBAREA/8wABgAQEAX/2gAIAQEAAD8A0s8g/9k=',
  'base64',
)

export type TestCamera = {
  url: string
  /** The requests so far. */
  readonly asked: number
  /** Replaces the answer; by default the JPEG. */
  answer: (response: ServerResponse) => void
  close(): Promise<void>
}

export async function openCamera(): Promise<TestCamera> {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    camera.answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const camera: TestCamera = {
    url: `http://me:T0K3N@127.0.0.1:${(server.address() as AddressInfo).port}/snapshot?token=T0K3N`,
    get asked() {
      return asked
    },
    answer: (response) => response.setHeader('Content-Type', 'image/jpeg').end(jpeg),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return camera
}
