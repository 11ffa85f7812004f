// Asks a server on this machine as fast as it answers: a connection for each of the requests, each kept alive and one answer at a time.
// A process of its own, so that its work is not counted as the server's.

import { connect, type Socket } from 'node:net'
import { answerParent } from './child.ts'

export type Load = {
  port: number
  /** Whole requests as they go over the wire, one for each connection. */
  requests: readonly string[]
  /** Every answer must begin with this. */
  expect: string
  /** The load ends after so many seconds, or so many answers. */
  seconds: number
  most?: number
}
export type Loaded = { answers: number; seconds: number; error?: string }

answerParent({}, load)

async function load({ port, requests, expect, seconds, most = Number.POSITIVE_INFINITY }: Load): Promise<Loaded> {
  const began = performance.now()
  const end = began + seconds * 1000
  let answers = 0
  const goesOn = () => ++answers < most && performance.now() < end
  try {
    await Promise.all(requests.map((request) => askAgainAndAgain({ port, request, expect, goesOn })))
  } catch (error) {
    return { answers, seconds: 0, error: String(error) }
  }
  return { answers, seconds: (performance.now() - began) / 1000 }
}

type Asking = { port: number; request: string; expect: string; goesOn: () => boolean }

function askAgainAndAgain({ port, request, expect, goesOn }: Asking): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(request))
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      const whole = lengthOfAnswer(text)
      if (whole === undefined || text.length < whole) return
      if (!text.startsWith(expect) || text.length > whole) return fail(socket, new Error(`wanted ${expect}, got ${text}`))
      text = ''
      if (goesOn()) socket.write(request)
      else socket.end()
    })
    socket.on('error', reject)
    socket.on('close', (failed) => (failed ? undefined : resolve()))
  })
}

function fail(socket: Socket, error: Error): void {
  socket.destroy(error)
}

/** Head and body; undefined while the head is not complete. */
function lengthOfAnswer(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const [, length] = /content-length: (\d+)/i.exec(text) ?? []
  return head + 4 + Number(length)
}
