// A crowd of simultaneous clients, each with a TLS handshake or a request, must not delay a later client with a stop.
// The kernel queues new connections, and Node accepts one in each turn of the event loop. So all of them are
// accepted first, which is cheap, and then passed to the server a few in each turn: mostly the newest, and sometimes the
// oldest, so that none waits for ever.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '../config/file.ts'
import type { Clock } from '../kit/clock.ts'
import type { Refusals } from '../kit/refusals.ts'
import { peerOf } from './connections.ts'

type ArrivalsOptions = { limits: () => Pick<Limits, 'connections'>; refusals: Refusals; clock: Clock; isTls: boolean }

/**
 * TLS connections that may do their handshake or send their first request at the same time. A silent one counts for `hello_ms` only: the pair allows
 * 800 handshakes a second, about as many as a Raspberry Pi can compute. A crowd that reconnects at once must not use up the turns of others.
 */
const mostHandshakes = 16
const hello_ms = 20
/** The interval at which a connection is passed on while others still arrive. */
const patience_ms = 10
/** Each n-th connection that is passed on is the oldest. */
const oldestOf = 3
/** The most connections that are passed on in one turn of the event loop. With long turns, more than one arrives in each. */
const mostInATurn = 16
/**
 * The longest usual turn after connections were passed on. In a longer turn they sent much, while Node accepted only one connection. Then
 * fewer are passed on, and new ones are accepted for as long as that turn took.
 */
const longTurn_ms = 20
/** The number that is passed on in any turn; beyond it only small ones are, in order, so that none is overtaken again and again. */
const fewInATurn = 4
/** The bytes up to which a connection is small. Larger ones cost as much as many others, so small ones, such as a stop, go first. */
const little_bytes = 4096
/** The bytes that Node reads of a connection without a reader. */
const largestRead_bytes = 64 * 1024
/** The most bytes that all waiting connections together may have sent. */
const mostWaiting_bytes = 8 * 2 ** 20
/** The factor by which more connections may wait than may be open, since a client whose connection is closed only reconnects. */
const overshoot = 2

/**
 * Puts a queue before all handlers of new connections of a server that does not listen yet. Addresses take turns. Of an address, the
 * newest small connection goes first, else the newest, and every third time the oldest. If too many wait, the oldest of the address with the most is closed.
 * Bytes that arrive during the wait are kept.
 */
export function queueArrivals(server: Server, { limits, refusals, clock, isTls }: ArrivalsOptions): void {
  const handlers = server.listeners('connection')
  server.removeAllListeners('connection')
  const waiting = new Waiting()
  let isScheduled = false
  let cameInThisTurn = false
  let handedOver = 0
  let scheduledAt = 0
  /** Whether connections were passed on in the last turn, and how long the turn after the last of them took. */
  let hasHandedOver = false
  let turn_ms = 0
  let handedOverAt = Number.NEGATIVE_INFINITY

  const mostAtOnce = isTls ? mostHandshakes : Number.POSITIVE_INFINITY
  /** Peers that were passed on and have not sent a request since. */
  const silent = new Set<string>()

  const schedule = () => {
    if (isScheduled || waiting.size === 0 || silent.size >= mostAtOnce) return
    isScheduled = true
    scheduledAt = clock.now()
    setImmediate(handOver)
  }
  const handOver = () => {
    isScheduled = false
    const now = clock.now()
    if (hasHandedOver) turn_ms = now - scheduledAt
    hasHandedOver = false
    if (!cameInThisTurn || now - handedOverAt >= Math.max(patience_ms, 2 * turn_ms)) {
      handedOverAt = now
      hasHandedOver = true
      const most = turn_ms > longTurn_ms ? fewInATurn : mostInATurn
      for (let i = 0; i < mostInATurn && waiting.size > 0 && silent.size < mostAtOnce; i++) {
        const isExtra = i >= fewInATurn && waiting.hasLittle
        if (i >= most && !isExtra) break
        handOverOne(isExtra ? 'oldest little' : ++handedOver % oldestOf === 0 ? 'oldest' : 'newest little')
      }
    }
    cameInThisTurn = false
    closeLargest()
    schedule()
  }
  const closeLargest = () => {
    for (const socket of waiting.takeBeyond(mostWaiting_bytes)) {
      const sentence = `new connections have sent over ${mostWaiting_bytes / 2 ** 20} MiB before their turn: the one that has sent most is closed`
      refusals.count('connections', `${sentence}, of ${socket.remoteAddress}`)
      socket.destroy()
    }
  }
  const handOverOne = (which: Which) => {
    let socket = waiting.takeNext(which)
    for (; socket && hasHungUp(socket, isTls); socket = waiting.takeNext('newest little')) socket.destroy()
    // A closing server does not know connections that were not passed on yet.
    if (!server.listening) socket?.destroy()
    else if (socket) {
      const peer = peerOf(socket)
      silent.add(peer)
      clock.after(hello_ms, () => heardOf(peer))
      for (const handler of handlers) handler.call(server, socket)
    }
  }

  const heardOf = (peer: string) => {
    if (silent.delete(peer)) schedule()
  }

  server.on('request', ({ socket }) => void (silent.size > 0 && heardOf(peerOf(socket))))
  server.on('connection', (socket: Socket) => {
    waiting.add(socket)
    const peer = peerOf(socket)
    socket.on('close', () => heardOf(peer))
    cameInThisTurn = true
    schedule()
    const most = limits().connections * overshoot
    if (waiting.size <= most) return
    const oldest = waiting.takeOldest()
    refusals.count('connections', `over ${most} new connections wait to be handled: the oldest is closed, of ${oldest?.remoteAddress}`)
    oldest?.destroy()
  })
}

/**
 * Whether the client has ended the connection without a request that could still be answered. Node reports the end only to a reader of the
 * stream, and no public member shows it before. If Node renames this one, such a connection is passed on in vain.
 */
function hasHungUp(socket: Socket & { _readableState?: { ended?: boolean } }, isTls: boolean): boolean {
  return socket._readableState?.ended === true && (isTls || socket.readableLength === 0)
}

const indexOf = {
  oldest: () => 0,
  'oldest little': (sockets: Socket[]) => sockets.findIndex(asksLittle),
  'newest little': (sockets: Socket[]) => sockets.findLastIndex(asksLittle),
}
type Which = keyof typeof indexOf

function asksLittle({ readableLength }: Socket): boolean {
  return readableLength > 0 && readableLength <= little_bytes
}

/** The waiting connections by address, the newest last. The map has only addresses with connections. */
class Waiting {
  readonly #byAddress = new Map<string, Socket[]>()
  size = 0

  add(socket: Socket): void {
    const { remoteAddress: address = 'local' } = socket
    const same = this.#byAddress.get(address)
    if (same) same.push(socket)
    else this.#byAddress.set(address, [socket])
    this.size++
    socket.on('error', () => undefined)
    socket.on('close', () => this.#remove(address, this.#byAddress.get(address)?.lastIndexOf(socket) ?? -1))
  }

  /** Whether there is a small one. */
  get hasLittle(): boolean {
    for (const sockets of this.#byAddress.values()) if (sockets.some(asksLittle)) return true
    return false
  }

  /** Takes a connection of the address whose last turn is longest ago; its newest one if none is small. */
  takeNext(which: Which): Socket | undefined {
    for (const [address, sockets] of this.#byAddress) {
      const at = indexOf[which](sockets)
      const next = this.#remove(address, at < 0 ? sockets.length - 1 : at)
      // The address goes to the end of the map.
      if (this.#byAddress.delete(address)) this.#byAddress.set(address, sockets)
      return next
    }
    return undefined
  }

  /** Takes those that have sent most, until the others have sent at most that many bytes together. */
  takeBeyond(most_bytes: number): Socket[] {
    if (this.size * largestRead_bytes <= most_bytes) return []
    const all = [...this.#byAddress.values()].flat()
    let bytes = all.reduce((sum, { readableLength }) => sum + readableLength, 0)
    if (bytes <= most_bytes) return []
    const taken: Socket[] = []
    for (const socket of all.toSorted((a, b) => b.readableLength - a.readableLength)) {
      if (bytes <= most_bytes) break
      bytes -= socket.readableLength
      const { remoteAddress: address = 'local' } = socket
      this.#remove(address, this.#byAddress.get(address)!.indexOf(socket))
      taken.push(socket)
    }
    return taken
  }

  /** Takes the oldest connection of the address with the most. */
  takeOldest(): Socket | undefined {
    const [most] = [...this.#byAddress].toSorted(([, a], [, b]) => b.length - a.length)
    return most && this.#remove(most[0], 0)
  }

  #remove(address: string, at: number): Socket | undefined {
    const sockets = this.#byAddress.get(address)
    const [socket] = at < 0 || !sockets ? [] : sockets.splice(at, 1)
    if (socket) this.size--
    if (sockets?.length === 0) this.#byAddress.delete(address)
    return socket
  }
}
