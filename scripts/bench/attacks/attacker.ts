// An attacker in a process of its own: holds connections, sends each the same bytes, and comes back when it is cut off.

import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { answerParent } from '../child.ts'

export type Attack = {
  port: number
  /** The attacker's own addresses, which take turns. */
  from: readonly string[]
  /** Undefined sends plain bytes, `handshake` makes a TLS connection first. */
  tls: boolean
  connections: number
  /** The bytes that each sends when it is connected; `pieces` of `bytes` behind it. */
  head: string
  filler: { bytes: number; times: number }
  /** Sends `more` again and again: when something was answered, when the bytes before are gone, or a byte of it each few milliseconds. */
  again: 'never' | 'answered' | 'sent' | 'slowly'
  more: string
  /** Whether answers are read. */
  reads: boolean
  /** Takes up the TLS session of the connection before. */
  resumes: boolean
}

export type Came = { came: number }
type Asked = { do: 'attack'; attack: Attack; nice: number } | { do: 'count' }

/** A cut-off connection comes back after so long. One that reads nothing cannot see that it was cut off, and comes back by itself. */
const again_ms = 5
const blind_ms = 2000
const slowly_ms = 20

let came = 0
let session: Buffer | undefined

answerParent<Asked>({ pid: process.pid }, (asked) => {
  if (asked.do === 'attack') {
    setPriority(asked.nice)
    for (let i = 0; i < asked.attack.connections; i++) hold(asked.attack, i)
  }
  return { came }
})

function hold(attack: Attack, i: number): void {
  came++
  const { port, from, tls, head, filler, reads, again, more, resumes } = attack
  const to = { host: '127.0.0.1', port, localAddress: from[i % from.length]! }
  const sendMore = () => {
    if (!socket.destroyed) socket.write(more, () => again === 'sent' && setImmediate(sendMore))
  }
  const drip = (at: number) => {
    if (socket.destroyed) return
    socket.write(more[at % more.length]!)
    setTimeout(() => drip(at + 1), slowly_ms)
  }
  const send = () => {
    socket.write(head)
    for (let i = 0; i < filler.times; i++) socket.write(Buffer.alloc(filler.bytes, 0x20))
    if (again === 'sent') sendMore()
    if (again === 'slowly') drip(0)
  }
  const socket: Socket = tls
    ? connectTls({ ...to, rejectUnauthorized: false, ...(resumes && session && { session }) }, send).on('session', (its) => {
        session = its
      })
    : connect(to, send)
  if (again === 'answered') socket.on('data', sendMore)
  else if (reads) socket.resume()
  else socket.pause()
  if (!reads && again !== 'answered') setTimeout(() => socket.destroy(), blind_ms * (0.5 + Math.random())).unref()
  socket.on('error', () => undefined)
  socket.on('close', () => void setTimeout(() => hold(attack, i), again_ms))
}
