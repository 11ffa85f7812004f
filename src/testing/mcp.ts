// For tests of MCP: clients of the official SDK, and sessions without a network.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { type CallToolResult, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Test } from 'tap'
import { openapi } from '../http/openapi.ts'
import { routes } from '../http/routes.ts'
import type { AskBench } from '../mcp/bench_link.ts'
import { type ApiDocument, type Catalog, catalogOf } from '../mcp/catalog.ts'
import { type SessionOptions, sessionOf } from '../mcp/server.ts'
import { program } from './cli.ts'
import type { Ask } from './http.ts'

/** Answers a form of the bench; undefined for a client without forms. */
export type Person = ((message: string) => { action: 'accept' | 'decline' | 'cancel'; content?: { confirm: boolean } }) | undefined

/** Connects a client, which is closed at the end of the test. */
async function connected(t: Test, transport: Transport, person: Person): Promise<Client> {
  const client = new Client({ name: 'test-client', version: '1.2' }, { capabilities: person ? { elicitation: {} } : {} })
  if (person) client.setRequestHandler(ElicitRequestSchema, ({ params }) => person(params.message))
  t.teardown(() => client.close())
  await client.connect(transport)
  return client
}

export function overHttp(t: Test, url: string, api_key: string, person?: Person): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { 'X-API-Key': api_key } } })
  return connected(t, transport as Transport, person)
}

/** Starts `benchd mcp` as a client does. */
export function overStdio(t: Test, env: Record<string, string>, args: readonly string[] = [], person?: Person): Promise<Client> {
  const command = { command: process.execPath, args: [program, 'mcp', ...args] }
  return connected(t, new StdioClientTransport({ ...command, env: { PATH: process.env.PATH ?? '', ...env } }), person)
}

/** Connects to a session in this process, whose requests the app answers. */
export async function inProcess(t: Test, options: Omit<SessionOptions, 'catalog' | 'version'>, person?: Person): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await sessionOf({ ...options, catalog: testedCatalog(), version: '0' }).connect(ours)
  return connected(t, theirs, person)
}

let catalog: Catalog | undefined

/** The catalog is the same for all sessions; to make it takes a fifth of a second. */
export function testedCatalog(): Catalog {
  catalog ??= catalogOf(openapi(routes) as unknown as ApiDocument)
  return catalog
}

/** Asks the app of a tested bench with one of its keys. */
export function asking(ask: Ask, key: 'read' | 'operate' | 'admin'): AskBench {
  return async ({ method, path, body, headers }) => {
    const reply = await ask(method, path, { key, ...(body && { json: body }), ...(headers && { headers: { ...headers } }) })
    return { status: reply.status, headers: { 'x-reason': reply.headers.get('x-reason') ?? undefined }, body: reply.text }
  }
}

/** The members that tests read; each tool has its own. */
export type ToolAnswer = {
  untrusted: { operation_id: string; detail?: string }
  needs_confirmation: { confirmation_id: string }
}

/** Calls a tool, and parses its answer. */
export async function called(client: Client, name: string, args: object = {}) {
  const { content, isError = false } = (await client.callTool({ name, arguments: { ...args } })) as CallToolResult
  const [first] = content
  const body = JSON.parse(first?.type === 'text' ? first.text : 'null') as ToolAnswer
  return { isError, body }
}
