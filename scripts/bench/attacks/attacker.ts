// An attacker in a process of its own: holds connections, sends each the same bytes, and comes back when it is cut off.

import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { answerParent } from '../child.ts'

export type Attack = {
  port: number
  /** The attacker's own address. */
  from: string
  /** Undefined sends plain bytes, `handshake` makes a TLS connection first. */
  tls: boolean
  connections: number
  /** The bytes that each sends when it is connected; `pieces` of `bytes` behind it. */
  head: string
  filler: { bytes: number; times: number }
  /** Whether answers are read. */
  reads: boolean
}

export type Came = { came: number }
type Asked = { do: 'attack'; attack: Attack } | { do: 'count' }

/** A cut-off connection comes back after so long. One that reads nothing cannot see that it was cut off, and comes back by itself. */
const again_ms = 5
const blind_ms = 2000

let came = 0

answerParent<Asked>({}, (asked) => {
  if (asked.do === 'attack') for (let i = 0; i < asked.attack.connections; i++) hold(asked.attack)
  return { came }
})

function hold(attack: Attack): void {
  came++
  const { port, from, tls, head, filler, reads } = attack
  const to = { host: '127.0.0.1', port, localAddress: from }
  const send = () => {
    socket.write(head)
    for (let i = 0; i < filler.times; i++) socket.write(Buffer.alloc(filler.bytes, 0x20))
  }
  const socket: Socket = tls ? connectTls({ ...to, rejectUnauthorized: false }, send) : connect(to, send)
  if (reads) socket.resume()
  else socket.pause()
  if (!reads) setTimeout(() => socket.destroy(), blind_ms * (0.5 + Math.random())).unref()
  socket.on('error', () => undefined)
  socket.on('close', () => void setTimeout(() => hold(attack), again_ms))
}
