// MCP over HTTP: the sessions of all callers, each with the key that began it.

import { randomUUID } from 'node:crypto'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { McpCaller, McpServer } from '../bench/links.ts'
import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'

type Options = {
  /** Makes the server of a session for a key of this scope. */
  session(scope: string): Server
  clock: Clock
  /** Whether a key may still be used. */
  opens(key_id: string): boolean
}

type Open = { transport: WebStandardStreamableHTTPServerTransport; caller: McpCaller; usedAt: number; end(): void }

/** Stands for the key of a caller at the control socket. No key looks like it. */
export const localToken = 'the control socket'

/** Sessions at once: in all, and of one key. Beyond that the session that was used least recently ends. */
const most = { all: 32, ofKey: 8 }
const idle_ms = 30 * 60_000
const lookEvery_ms = 1000

export class HttpSessions implements McpServer {
  readonly #options: Options
  /** The sessions by their ids, the least recently used one first. */
  readonly #open = new Map<string, Open>()
  #cancelLook = () => {}

  constructor(options: Options) {
    this.#options = options
  }

  get size(): number {
    return this.#open.size
  }

  async handle(request: Request, caller: McpCaller, body: unknown): Promise<Response> {
    const session_id = request.headers.get('mcp-session-id')
    const transport = session_id === null ? await this.#begin(caller) : this.#find(session_id, caller)
    const { key_id, scope } = caller
    const authInfo = { token: caller.is_local ? localToken : caller.api_key, clientId: key_id, scopes: [scope] }
    return transport.handleRequest(request, { parsedBody: body, authInfo })
  }

  close(): void {
    for (const { end } of [...this.#open.values()]) end()
    this.#cancelLook()
  }

  #find(session_id: string, { key_id }: McpCaller): WebStandardStreamableHTTPServerTransport {
    const session = this.#open.get(session_id)
    // The session of another key is none for this one.
    if (!session || session.caller.key_id !== key_id)
      throw new LabError('not_found', 'there is no such session, or it has ended; initialize a new one')
    session.usedAt = this.#options.clock.now()
    this.#open.delete(session_id)
    this.#open.set(session_id, session)
    return session.transport
  }

  /** Makes the session of a request without one. It is kept only once the request has initialized it. */
  async #begin(caller: McpCaller): Promise<WebStandardStreamableHTTPServerTransport> {
    const { clock, session } = this.#options
    const server = session(caller.scope)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session_id) => {
        this.#makeRoom(caller.key_id)
        this.#open.set(session_id, { transport, caller, usedAt: clock.now(), end: () => void server.close() })
        server.onclose = () => void this.#open.delete(session_id)
        this.#look()
      },
    })
    await server.connect(transport)
    return transport
  }

  #makeRoom(key_id: string): void {
    const mine = [...this.#open.values()].filter(({ caller }) => caller.key_id === key_id)
    const [oldest] = mine.length >= most.ofKey ? mine : this.#open.size >= most.all ? this.#open.values() : []
    oldest?.end()
  }

  /** Ends sessions that nobody uses any more, and those whose key has ended. */
  #look(): void {
    this.#cancelLook()
    const { clock, opens } = this.#options
    for (const { usedAt, caller, end } of [...this.#open.values()])
      if (clock.now() - usedAt >= idle_ms || !(caller.is_local || opens(caller.key_id))) end()
    if (this.#open.size > 0) this.#cancelLook = clock.after(lookEvery_ms, () => this.#look())
  }
}
