// The connections of one server: their number, which one is closed for a new one, and how long an answer may wait
// for its client. A connection is protected while it handles a request with a valid key; others can be replaced.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '../config/file.ts'
import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Bound, Refusals } from '../kit/refusals.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'
import { refuse } from './errors.ts'
import { type RequestLine, RequestTurns } from './request_turns.ts'
import { UntakenAnswers } from './untaken_answers.ts'

type ConnectionLimits = Pick<
  Limits,
  'connections' | 'connections_per_address' | 'requests_per_connection' | 'requests_mib' | 'answer_s' | 'answers_mib' | 'untaken_per_key'
>

type ConnectionsOptions = { limits: () => ConnectionLimits; refusals: Refusals; clock: Clock }

/** The time for a client to send its request or finish its handshake before a newer connection may replace it. */
const grace_ms = 1000
/** The factor by which connections in their first second may exceed the configured number. */
const overshoot = 2
/**
 * The rate of closing connections below that bound. A client that is cut off reconnects at once, and its TLS handshake costs far
 * more than the place that it held.
 */
const closings = { burst: 8, perSecond: 40 }
/** The delay until connections that could not be closed yet are checked again. */
const closeAgain_ms = 100
/** The shortest interval of the sums of untaken answers. */
const addUpEvery_ms = 100
const mib = 1024 * 1024
/** The estimated bytes of a request without its texts: Node's objects for it and its headers. */
const request_bytes = 4096
const header_bytes = 100

type Connection = {
  /** The socket to destroy: under TLS the TCP socket below. */
  readonly socket: Socket
  readonly address: string
  /** The time at which it arrived, or was last protected; on the clock. */
  since: number
  /** Requests that are not completely answered, with their estimated bytes. */
  readonly unfinished: Map<ServerResponse, number>
  /** The requests among them that protect the connection, with their keys; a stop has none here. */
  readonly protecting: Map<ServerResponse, string | undefined>
  readonly line: RequestLine
  /** Whether the socket's timer runs because an answer waits for its client. */
  isTimed: boolean
}

const bySocket = new WeakMap<Socket, { connection: Connection; connections: Connections }>()

/**
 * Protects the connection of a request until the request is answered. Throws `overloaded` if the clients of
 * the key leave too many large answers unread; without a `key_id`, as for a stop, never.
 */
export function protectConnection(request: IncomingMessage | undefined, response: ServerResponse | undefined, key_id?: string): void {
  const found = request && bySocket.get(request.socket)
  if (found && response) found.connections.protect(found.connection, response, key_id)
}

/** Names a client by address and port, equal for a TLS socket and the TCP socket below it. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/**
 * Ends the connection of a request that was answered before its chunked body had arrived: Node would read the rest in vain, and
 * it may be endless. Bytes that arrived with the head are parsed by now, also a following request.
 */
function endUnread({ complete, socket }: IncomingMessage): void {
  if (!complete) socket.destroySoon()
}

export class Connections {
  readonly #options: ConnectionsOptions
  readonly #all = new Set<Connection>()
  /** Unprotected connections by address, the longest unprotected first. The map has only addresses with connections. */
  readonly #replaceable = new Map<string, Set<Connection>>()
  /** Keyed by address and port of the client. */
  readonly #byPeer = new Map<string, Connection>()
  readonly #closings: TokenBuckets
  readonly #untaken: UntakenAnswers
  readonly #turns: RequestTurns
  /** The estimated bytes of all unanswered requests. */
  #unfinished_bytes = 0
  #trimsLater = false
  #addedUpAt = 0

  /** Watches every connection of a server that does not listen yet. */
  constructor(server: Server, options: ConnectionsOptions) {
    this.#options = options
    this.#untaken = new UntakenAnswers(options)
    this.#turns = new RequestTurns(options.clock)
    this.#closings = new TokenBuckets({ ...closings, now: () => options.clock.now() })
    server.on('connection', (socket: Socket) => this.#add(socket))
    server.on('secureConnection', (socket: Socket) => this.#addSecured(socket))
    server.on('timeout', (socket: Socket) => this.#timedOut(socket))
  }

  get size(): number {
    return this.#all.size
  }

  /** Whether requests can come over this socket; false during its TLS handshake. */
  knows(socket: Socket): boolean {
    return bySocket.has(socket)
  }

  /** Registers a request. Returns false if its connection is closed because it sent too many at once. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const connection = bySocket.get(socket)?.connection
    if (socket.destroyed || !connection) return !socket.destroyed
    const { requests_per_connection } = this.#options.limits()
    if (connection.unfinished.size >= requests_per_connection) {
      const sentence = `${connection.address} sent over ${requests_per_connection} requests without waiting for the first answer: its connection is closed`
      this.#close(connection, 'requests_per_connection', sentence)
      stopParsing(socket)
      return false
    }
    const bytes = bytesOf(request)
    connection.unfinished.set(response, bytes)
    this.#unfinished_bytes += bytes
    response.on('prefinish', () => this.#answered(connection, response, socket))
    response.on('close', () => {
      this.#finished(connection, response, socket)
      if (!request.complete && request.headers['transfer-encoding'] !== undefined) setImmediate(endUnread, request)
    })
    this.#addUpAnswers()
    return true
  }

  /**
   * Calls `handle` when the earlier requests of the connection are answered or gone. Answers are sent in that order anyway, and a client
   * that sends eight requests at once gets no more turns of the event loop than others. Many connections with large answers share
   * each turn with all others. Refuses the request if all unanswered ones take too much memory. A request that
   * `passes`, such as an authorized stop, is never refused and does not wait.
   */
  inTurn(request: IncomingMessage, response: ServerResponse, handle: () => void, passes: () => boolean): void {
    const { socket } = request
    const connection = bySocket.get(socket)?.connection
    if (!connection) handle()
    else if (this.#unfinished_bytes > this.#options.limits().requests_mib * mib && !passes()) this.#refuse(connection, request, response)
    else this.#turns.take(connection.line, { socket, response, handle }, passes)
  }

  /** Refuses a request when its turn comes, and forgets its content at once. Closes the connection unless `keepsAlive`. */
  refuseInTurn(request: IncomingMessage, response: ServerResponse, error: LabError, { keepsAlive = false } = {}): void {
    const { socket } = request
    const connection = bySocket.get(socket)?.connection
    if (!keepsAlive) {
      response.shouldKeepAlive = false
      stopParsing(socket)
    }
    if (!connection) return void refuse(response, error)
    forget(request)
    const bytes = connection.unfinished.get(response) ?? 0
    connection.unfinished.set(response, request_bytes)
    this.#unfinished_bytes += request_bytes - bytes
    this.#turns.take(connection.line, { socket, response, handle: () => refuse(response, error) }, () => false)
  }

  #refuse({ address }: Connection, request: IncomingMessage, response: ServerResponse): void {
    const { requests_mib } = this.#options.limits()
    const sentence = `the requests that are not answered yet take over ${requests_mib} MiB`
    this.#options.refusals.count(
      'requests_mib',
      `a request of ${address} was refused: ${sentence}; limits.requests_mib of the configuration says how much they may take`,
    )
    const error = new LabError('overloaded', `${sentence}; send this one again in a moment`, { retry_after_s: 1 })
    this.refuseInTurn(request, response, error, { keepsAlive: !isBodyAnnounced(request) })
  }

  /** Protects one answer as `protectConnection` protects a connection. */
  protect(connection: Connection, response: ServerResponse, key_id: string | undefined): void {
    if (key_id !== undefined) this.#untaken.mustHaveRoom(key_id)
    if (!connection.unfinished.has(response)) return
    if (connection.protecting.size === 0) this.#unlist(connection)
    connection.protecting.set(response, key_id)
  }

  #add(socket: Socket): void {
    const { remoteAddress: address = 'local', remotePort } = socket
    const connection: Connection = {
      socket,
      address,
      since: 0,
      unfinished: new Map(),
      protecting: new Map(),
      line: { turn: undefined, waiting: [] },
      isTimed: false,
    }
    bySocket.set(socket, { connection, connections: this })
    const peer = peerOf(socket)
    if (remotePort !== undefined) this.#byPeer.set(peer, connection)
    this.#all.add(connection)
    this.#list(connection)
    socket.on('close', () => {
      this.#all.delete(connection)
      this.#unlist(connection)
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer)
      endWaiting(connection)
    })
    this.#trim([address])
  }

  /** Registers the TLS socket, which requests have, for the connection, which has the TCP socket. */
  #addSecured(socket: Socket): void {
    const connection = this.#byPeer.get(peerOf(socket))
    if (connection) bySocket.set(socket, { connection, connections: this })
  }

  #list(connection: Connection): void {
    connection.since = this.#options.clock.now()
    const same = this.#replaceable.get(connection.address)
    if (same) same.add(connection)
    else this.#replaceable.set(connection.address, new Set([connection]))
  }

  #unlist(connection: Connection): void {
    const same = this.#replaceable.get(connection.address)
    if (same?.delete(connection) && same.size === 0) this.#replaceable.delete(connection.address)
  }

  /**
   * Closes connections until the limit is met. Unless there are far too many, those in their first second are closed later, and all of
   * them at a limited rate.
   */
  #trim(addresses: Iterable<string>): void {
    let isOver = this.#trimAll()
    for (const address of addresses) isOver = this.#trimAddress(address) || isOver
    if (isOver && !this.#trimsLater) this.#options.clock.after(closeAgain_ms, () => this.#trimLater())
    this.#trimsLater ||= isOver
  }

  #trimLater(): void {
    this.#trimsLater = false
    this.#trim([...this.#replaceable.keys()])
  }

  /** Trims all connections. Returns whether there are still too many, because none can be closed yet. */
  #trimAll(): boolean {
    const { connections } = this.#options.limits()
    while (this.#all.size > connections) {
      const connection = this.#mostReplaceable()
      if (!connection) return false
      if (this.#all.size <= connections * overshoot && !this.#mayClose(connection)) return true
      const sentence = `all ${connections} connections are taken: the oldest that asked nothing is closed, of ${connection.address}; limits.connections of the configuration says how many there may be`
      this.#close(connection, 'connections', sentence)
    }
    return false
  }

  /** Trims the connections of one address in the same way. */
  #trimAddress(address: string): boolean {
    const { connections_per_address: most } = this.#options.limits()
    const sameAddress = this.#replaceable.get(address) ?? []
    for (const connection of sameAddress) {
      if (this.#replaceable.get(address)!.size <= most) return false
      if (!this.#mayClose(connection)) return true
      const sentence = `${address} holds over ${most} connections that ask nothing: the oldest is closed; limits.connections_per_address of the configuration says how many it may hold`
      this.#close(connection, 'connections_per_address', sentence)
    }
    return false
  }

  #mayClose({ since }: Connection): boolean {
    return this.#options.clock.now() - since >= grace_ms && this.#closings.take('')
  }

  /**
   * Returns the oldest connection of the address with the most. If that is the newest of all, a protected one whose answers only wait
   * for their client is preferred. Undefined if all are protected.
   */
  #mostReplaceable(): Connection | undefined {
    let most: Set<Connection> | undefined
    for (const same of this.#replaceable.values()) {
      if (!most || same.size > most.size || (same.size === most.size && first(same).since < first(most).since)) most = same
    }
    const isOnlyOne = this.#replaceable.size === 1 && most?.size === 1
    if (most && !isOnlyOne) return first(most)
    const waiting = [...this.#all].find(({ protecting }) => protecting.size > 0 && [...protecting.keys()].every((one) => one.writableEnded))
    return waiting ?? (most && first(most))
  }

  /** Called when an answer is complete, and its client has to take it in time. */
  #answered(connection: Connection, response: ServerResponse, socket: Socket): void {
    if (socket.writableLength === 0) return
    const key_id = connection.protecting.get(response)
    if (key_id !== undefined) this.#untaken.add(key_id, response)
    connection.isTimed = true
    socket.setTimeout(this.#options.limits().answer_s * 1000)
  }

  #finished(connection: Connection, response: ServerResponse, socket: Socket): void {
    this.#unfinished_bytes -= connection.unfinished.get(response) ?? 0
    connection.unfinished.delete(response)
    this.#untaken.taken(response)
    this.#turns.ended(connection.line, response)
    // Without another request Node has just set the timer of an idle connection.
    if (connection.isTimed && connection.unfinished.size > 0) socket.setTimeout(0)
    connection.isTimed = false
    if (connection.protecting.delete(response) && connection.protecting.size === 0 && this.#all.has(connection)) {
      this.#list(connection)
    }
  }

  #timedOut(socket: Socket): void {
    const connection = bySocket.get(socket)?.connection
    if (!connection?.isTimed) return void socket.destroy()
    const { answer_s } = this.#options.limits()
    this.#close(connection, 'answer_s', `${connection.address} took nothing of an answer for ${answer_s} s: its connection is closed`)
  }

  /** Closes the connections with the largest answers until all untaken ones are within their bound. */
  #addUpAnswers(): void {
    const now = this.#options.clock.now()
    if (now - this.#addedUpAt < addUpEvery_ms) return
    this.#addedUpAt = now
    const { answers_mib } = this.#options.limits()
    const waiting = [...this.#all].map((connection) => ({ connection, bytes: bytesWaiting(connection) })).filter(({ bytes }) => bytes > 0)
    let total = waiting.reduce((sum, { bytes }) => sum + bytes, 0)
    if (total <= answers_mib * mib) return
    for (const { connection, bytes } of waiting.toSorted((a, b) => b.bytes - a.bytes)) {
      const sentence = `answers of over ${answers_mib} MiB wait for their clients: the largest is given up, of ${connection.address}`
      this.#close(connection, 'answers_mib', sentence)
      total -= bytes
      if (total <= answers_mib * mib) return
    }
  }

  #close(connection: Connection, bound: Bound, sentence: string): void {
    this.#options.refusals.count(bound, sentence)
    // The event `close` comes only in a later turn.
    this.#all.delete(connection)
    this.#unlist(connection)
    connection.socket.destroy()
  }
}

/** Ends the waiting answers of a lost connection, because Node informs only the first one, and the others would be made in vain. */
function endWaiting({ unfinished }: Connection): void {
  for (const response of unfinished.keys()) {
    if (response.socket) continue
    response.destroy()
    response.emit('close')
  }
}

type Parser = { constructor: { kOnHeadersComplete?: number }; [callback: number]: () => number }

/**
 * Keeps Node from making requests of the rest of the same piece, which can be a thousand. No public method stops its parser
 * inside a piece, but a callback that returns 2, as for an upgrade, does. If Node changes that, this only takes longer.
 */
function stopParsing(socket: Socket & { parser?: Parser }): void {
  const { parser } = socket
  const at = parser?.constructor.kOnHeadersComplete
  if (!parser || at === undefined) return
  const usual = parser[at]!
  parser[at] = () => 2
  // Node reuses its parsers for other connections.
  process.nextTick(() => {
    parser[at] = usual
  })
}

/** Estimates the memory of a request without its body. */
function bytesOf({ url = '', rawHeaders }: IncomingMessage): number {
  let bytes = request_bytes + url.length
  for (const text of rawHeaders) bytes += text.length + header_bytes / 2
  return bytes
}

function forget(request: IncomingMessage): void {
  request.rawHeaders = []
  request.headers = {}
  request.url = '/'
}

function isBodyAnnounced({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Counts the bytes of complete answers that wait; streams have bounds of their own. */
function bytesWaiting({ unfinished }: Connection): number {
  let bytes = 0
  for (const response of unfinished.keys()) if (response.writableEnded) bytes += response.writableLength
  return bytes
}

function first(connections: Set<Connection>): Connection {
  return connections.values().next().value!
}
