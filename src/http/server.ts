// Node's HTTP servers: their limits, and answers in the API's form for errors of the parser.

import './late_fetch.ts'
import { createServer as createHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Limits } from '../config/file.ts'
import { LabError } from '../errors.ts'
import { systemClock } from '../kit/clock.ts'
import type { Refusals } from '../kit/refusals.ts'
import type { App } from './app.ts'
import { queueArrivals } from './arrivals.ts'
import { Connections } from './connections.ts'
import { plainAnswerOf } from './contract.ts'
import { errorAnswer } from './errors.ts'
import { GatheredRequest, mostSmall, smallPieces } from './gathered_request.ts'
import { areTooMany, mostHeaders, tooManyHeaders } from './headers.ts'
import { catchMaybe, type MaybePromise, thenMaybe } from './maybe_promise.ts'
import { stopPathOf } from './stop_path.ts'

const timing = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 5_000,
  // Node would answer a missing Host without a body, so the entrance checks it.
  requireHostHeader: false,
  IncomingMessage: GatheredRequest,
}

type Tls = { cert: string; key: string }

/** Connections that may wait to be accepted. Beyond that, the kernel lets a client try again only after a second, also for a stop. */
const backlog = 4096
/** The time for a client to take an error. */
const farewell_ms = 1000

type ServerOptions = {
  limits: () => Limits
  refusals: Refusals
  tls?: Tls | undefined
  /** Whether it serves the control socket, which only its owner may open. */
  local?: boolean
}

/** Makes a server of the present app. `handshake_s` of the limits is read once, the others at each use. */
export function serverOf(app: () => App, { limits, refusals, tls, local = false }: ServerOptions): Server {
  const throughHono = getRequestListener((request, env) => app().fetch(request, local ? { ...env, local } : env), listening)
  const answer = (request: IncomingMessage, response: ServerResponse): MaybePromise<void> => {
    const { method = '', url = '' } = request
    const env = { incoming: request, outgoing: response, local }
    const direct = isPlainHost(request.headers.host) ? app().direct?.({ method, url }, env) : undefined
    return direct ? thenMaybe(direct, (one) => send(one, request, response)) : throughHono(request, response)
  }
  // Loaded only with a certificate.
  const server: Server = tls
    ? process.getBuiltinModule('node:https').createServer({ ...timing, ...tls, handshakeTimeout: limits().handshake_s * 1000 })
    : createHttp(timing)
  server.maxHeadersCount = mostHeaders
  const connections = new Connections(server, { limits, refusals, clock: systemClock })
  queueArrivals(server, { limits, refusals, clock: systemClock, isTls: tls !== undefined })
  /** Handles a request, or refuses it with `objection`, which a stop ignores. */
  const take = (request: IncomingMessage, response: ServerResponse, objection?: LabError) => {
    if (!connections.begin(request, response)) return
    if (areTooMany(request.rawHeaders)) return connections.refuseInTurn(request, response, tooManyHeaders)
    const stop = stopPathOf(request.method, request.url)
    if (stop !== undefined) request.url = stop
    else if (objection) return connections.refuseInTurn(request, response, objection)
    const handle = () =>
      void catchMaybe(
        () => answer(request, response),
        () => void response.destroy(),
      )
    connections.inTurn(request, response, handle, () => stop !== undefined && (local || app().admits?.(request) === true))
  }
  server.on('request', (request, response) => take(request, response))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') {
      refusals.count(
        'handshake_s',
        `a TLS handshake of ${socket.remoteAddress} took over ${limits().handshake_s} s: its connection is closed`,
      )
    }
    if (connections.knows(socket)) answerClientError(error, socket)
    // Without a handshake an answer could not be sent, and the socket would stay for ever.
    else socket.destroy()
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response, unknownExpectation))
  return server
}

const unknownExpectation = new LabError('invalid', 'the header Expect is not understood here; leave it out')

const listening = {
  // Without it a request without Host gets an empty 400; the entrance checks the real header.
  hostname: 'localhost',
  errorHandler: answerUnreadable,
}

/** Whether Hono's server accepts this host without a check. It may refuse any other before the request is carried out. */
function isPlainHost(host: string | undefined): boolean {
  return host !== undefined && /^[a-z0-9._-]+(:([1-5]\d{3,4}|[6-9]\d{3}))?$/.test(host)
}

/** Writes an answer of `json` directly if the request was read completely; any other answer as Hono does. */
function send(answer: Response, request: IncomingMessage, response: ServerResponse): MaybePromise<void> {
  const plain = plainAnswerOf(answer)
  if (!plain || !(request.method === 'GET' || request.readableEnded)) return getRequestListener(() => answer, listening)(request, response)
  // The client may be gone. The code above has given up a stream.
  if (response.destroyed) return
  plain.headers['Content-Length'] = Buffer.byteLength(plain.text)
  response.writeHead(plain.status, plain.headers)
  response.end(plain.text)
}

/** Resolves with the address when it listens. Rejects with `conflict` if another program does, which may be temporary. */
export function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const sentence =
        error.code === 'EADDRINUSE'
          ? `port ${port} of ${host} is taken; see who has it with: ss -ltnp 'sport = :${port}', or take another with --port`
          : `cannot listen on ${host} port ${port}: ${error.message}`
      reject(new LabError(error.code === 'EADDRINUSE' ? 'conflict' : 'config', sentence, { cause: error }))
    })
    server.listen({ port, host, backlog }, () => resolve(server.address() as AddressInfo))
  })
}

/** Accepts no more connections, lets answers under way finish for `grace_ms`, then closes all. */
export function closeServer(server: Server, grace_ms = 2000): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), grace_ms)
    server.close(() => {
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** Answers a request with an invalid Host or target. */
function answerUnreadable(cause: unknown): Response {
  const { status, body, headers } = errorAnswer(new LabError('invalid', 'the address of the request or its Host cannot be read', { cause }))
  return Response.json(body, { status, headers })
}

function answerClientError(error: NodeJS.ErrnoException, socket: Socket & { _httpMessage?: ServerResponse }): void {
  // As Node does: an error must not be written into an answer that has begun.
  const begun = socket._httpMessage?.headersSent ?? false
  if (error.code === 'ECONNRESET' || !socket.writable || begun) return void socket.destroy()
  const { status, body, headers } = errorAnswer(parserError(error.code))
  const text = `${JSON.stringify(body)}\n`
  const lines = { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), Connection: 'close' }
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${reasonPhrases[status]}\r\n${head.join('')}\r\n${text}`)
  // Reading the rest of such a body would cost too much.
  if (error.code === smallPieces) socket.destroySoon()
  else setTimeout(() => socket.destroy(), farewell_ms).unref()
}

const reasonPhrases: Record<number, string> = { 400: 'Bad Request', 408: 'Request Timeout', 431: 'Request Header Fields Too Large' }

function parserError(code: string | undefined): LabError {
  if (code === 'HPE_HEADER_OVERFLOW') return tooManyHeaders
  if (code === smallPieces)
    return new LabError(
      'invalid',
      `the body came in over ${mostSmall} pieces of a few bytes; send it in larger ones, or with a Content-Length`,
    )
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new LabError('request_timeout', 'the request took too long to arrive')
  return new LabError('invalid', 'this is not HTTP as it should be')
}
