// An MCP session: the tools and resources of a bench, with the key of one caller. Only the files named `server` and `transports` know the SDK.

import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { messageOf } from '../errors.ts'
import { type AskBench, detailIn, jsonIn, type Request } from './bench_link.ts'
import { type Catalog, requestOf, type Tool } from './catalog.ts'
import { Confirmations } from './confirmation.ts'
import { readResource, resourcesOf, templates } from './resources.ts'
import { instructions, markedText, visibleText } from './untrusted.ts'

export type SessionOptions = {
  catalog: Catalog
  version: string
  scope: string
  allow_motion: boolean
  /** The way to the bench; `key` is that of the request, where it came with one. */
  askWith(key: string | undefined): AskBench
}

/** The SDK's context of a request, as far as it is used. */
type Extra = { signal: AbortSignal; requestId: string | number; authInfo?: { token: string } | undefined }

const scopes = ['any', 'public', 'read', 'operate', 'admin']
/** The time for a person to answer a form. */
const answer_ms = 120_000
/** Calls of a session at once, without stops. */
const mostAtOnce = 16

const confirmTool = {
  name: 'confirm',
  title: 'Confirm a call with the code of the bench',
  description:
    'Performs a call that waits for its confirmation. The person reads the code on the page of the bench, or in `benchd status`, and tells it to you. Each code is for one call, once.',
  inputSchema: {
    type: 'object' as const,
    properties: {
      confirmation_id: { type: 'string' },
      code: { type: 'string', description: 'The code that the person read, such as K7M-2QX' },
    },
    required: ['confirmation_id', 'code'],
    additionalProperties: false,
  },
}

/** Makes the server of one session; the caller connects it to a transport. */
export function sessionOf(options: SessionOptions): Server {
  const { catalog, version, scope, allow_motion } = options
  const server = new Server({ name: 'benchd', version }, { capabilities: { tools: {}, resources: {} }, instructions })
  const tools = [...catalog.values()].filter((tool) => mayCall(tool, scope, allow_motion))
  const session = new Session(server, new Map(tools.map((tool) => [tool.name, tool])), options)
  const isMoving = tools.some(({ effect }) => effect === 'motion')
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.map(shown), ...(isMoving ? [confirmTool] : [])] }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => session.call(params.name, params.arguments ?? {}, extra))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: templates }))
  server.setRequestHandler(ListResourcesRequestSchema, async (_, extra) => ({ resources: await resourcesOf(session.askFor(extra)) }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }, extra) => {
    const contents = await readResource(session.askFor(extra), uri)
    if (!contents) throw new McpError(-32002, `there is no resource ${uri}`)
    return { contents: [contents] }
  })
  return server
}

function mayCall({ effect, scope }: Tool, has: string, allow_motion: boolean): boolean {
  return scopes.indexOf(scope) <= scopes.indexOf(has) && (allow_motion || effect === 'read' || effect === 'stop')
}

function shown({ name, title, description, input, effect }: Tool) {
  const annotations = { title, readOnlyHint: effect === 'read', destructiveHint: effect === 'motion', openWorldHint: false }
  return { name, title, description, inputSchema: input, annotations }
}

class Session {
  readonly #server: Server
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #options: SessionOptions
  readonly #confirmations = new Confirmations()
  #underWay = 0

  constructor(server: Server, tools: ReadonlyMap<string, Tool>, options: SessionOptions) {
    this.#server = server
    this.#tools = tools
    this.#options = options
  }

  /** Returns the way to the bench for a request; each request names the client. */
  askFor(extra: Extra): AskBench {
    const ask = this.#options.askWith(extra.authInfo?.token)
    const client = { 'X-Client': encodeURIComponent(this.#client()) }
    return (request) => ask({ ...request, headers: { ...request.headers, ...client } })
  }

  async call(name: string, args: Record<string, unknown>, extra: Extra): Promise<CallToolResult> {
    const tool = this.#tools.get(name)
    const isConfirm = name === confirmTool.name && this.#isMoving
    if (!tool && !isConfirm)
      throw new McpError(ErrorCode.InvalidParams, `there is no tool ${JSON.stringify(name).slice(0, 80)} for this key`)
    if (tool?.effect === 'stop') return this.#performed(tool, args, extra)
    if (this.#underWay >= mostAtOnce) return failure(`${mostAtOnce} calls of this session are under way; wait for their results`)
    this.#underWay++
    try {
      if (!tool) return await this.#confirm(args, extra)
      return await (tool.effect === 'motion' ? this.#moved(tool, args, extra) : this.#performed(tool, args, extra))
    } catch (error) {
      return failure(messageOf(error))
    } finally {
      this.#underWay--
    }
  }

  /** Whether the client shows forms; one that names only `url` opens pages alone. */
  get #hasForms(): boolean {
    const elicitation = this.#server.getClientCapabilities()?.elicitation
    return elicitation !== undefined && ('form' in elicitation || !('url' in elicitation))
  }

  get #isMoving(): boolean {
    return [...this.#tools.values()].some(({ effect }) => effect === 'motion')
  }

  async #performed(tool: Tool, args: Record<string, unknown>, extra: Extra): Promise<CallToolResult> {
    try {
      return await this.#send(requestOf(tool, args), extra)
    } catch (error) {
      return failure(messageOf(error))
    }
  }

  /** Performs a call that moves, heats or decides, if a person confirms it. */
  async #moved(tool: Tool, args: Record<string, unknown>, extra: Extra): Promise<CallToolResult> {
    const request = requestOf(tool, args)
    const asked = { title: tool.title, args, request }
    const form = this.#hasForms ? (message: string) => this.#ask(message, extra) : undefined
    const verdict = await this.#confirmations.ask(asked, this.askFor(extra), { client: () => this.#client(), form })
    if ('refused' in verdict) return failure(verdict.refused)
    if ('waits' in verdict) return textResult(JSON.stringify(verdict.waits))
    // The client has withdrawn the call, or is gone.
    if (extra.signal.aborted) return failure('the call was withdrawn; nothing was done')
    return this.#send(request, extra, verdict.by)
  }

  async #confirm({ confirmation_id, code }: Record<string, unknown>, extra: Extra): Promise<CallToolResult> {
    if (typeof confirmation_id !== 'string' || typeof code !== 'string') return failure('confirm needs the texts confirmation_id and code')
    const taken = await this.#confirmations.take(confirmation_id, code.slice(0, 40), this.askFor(extra))
    if ('refused' in taken) return failure(taken.refused)
    return this.#send(taken.asked.request, extra, taken.by)
  }

  async #ask(message: string, { signal, requestId }: Extra): Promise<'confirmed' | 'declined'> {
    const requestedSchema = {
      type: 'object' as const,
      properties: { confirm: { type: 'boolean' as const, title: 'Do it', description: 'Someone watches the bench', default: false } },
      required: ['confirm'],
    }
    const options = { timeout: answer_ms, signal, relatedRequestId: requestId }
    const { action, content } = await this.#server.elicitInput({ message, requestedSchema }, options)
    return action === 'accept' && content?.['confirm'] === true ? 'confirmed' : 'declined'
  }

  async #send(request: Request, extra: Extra, confirmation?: string): Promise<CallToolResult> {
    const headers = { ...request.headers, ...(confirmation !== undefined && { 'X-Confirmation': confirmation }) }
    const { status, headers: its, body } = await this.askFor(extra)({ ...request, headers })
    const value = body === '' ? {} : jsonIn(body)
    const text = markedText(value, status < 300 ? {} : { refused: { status, reason: its['x-reason'] ?? null } })
    if (text === undefined) return failure('the answer is too long; ask for less, with limit, or for one thing by its id')
    return { ...textResult(text), isError: status >= 300 }
  }

  /** Returns what the client calls itself, on one line. */
  #client(): string {
    const { name = 'a program', version = '' } = this.#server.getClientVersion() ?? {}
    return [...visibleText(`${name} ${version}`.trim())].slice(0, 100).join('')
  }
}

function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/** The sentence may repeat words of the caller or of the bench, so it is data too. */
function failure(detail: string): CallToolResult {
  return { ...textResult(markedText({ detail: detailIn(detail) ?? detail }) ?? ''), isError: true }
}
