// The tools and resources that the conformance suite of MCP calls, so that it can judge sessions and streams of /mcp: what the tools of a bench never do,
// such as sampling, and forms of every kind, goes the same way.

import { setTimeout as sleep } from 'node:timers/promises'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  CreateMessageResultSchema,
  type ElicitRequestFormParams,
  ElicitResultSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js'

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>
type Properties = ElicitRequestFormParams['requestedSchema']['properties']
type Content = CallToolResult['content'][number]

/** The fixture's image of one pixel, and its sound without samples. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const image: Content = { type: 'image', data: png, mimeType: 'image/png' }
const embedded = (uri: string): Content => ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'An embedded resource.' } })
const words = (text: string): Content => ({ type: 'text', text })

type Tool = (args: Record<string, unknown>, extra: Extra) => Content[] | Promise<Content[]>

const tools: Record<string, Tool> = {
  test_simple_text: () => [words('This is a simple text response for testing.')],
  test_image_content: () => [image],
  test_audio_content: () => [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  test_embedded_resource: () => [embedded('test://embedded-resource')],
  test_multiple_content_types: () => [words('Multiple content types test:'), image, embedded('test://mixed-content-resource')],
  test_error_handling: () => Promise.reject(new Error('This tool intentionally returns an error for testing')),
  async test_tool_with_logging(_, { sendNotification }) {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await sendNotification({ method: 'notifications/message', params: { level: 'info', data } })
      await sleep(50)
    }
    return [words('logged')]
  },
  async test_tool_with_progress(_, { sendNotification, _meta }) {
    for (const progress of [0, 50, 100]) {
      const progressToken = _meta?.progressToken
      if (progressToken !== undefined)
        await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      await sleep(50)
    }
    return [words('done')]
  },
  async test_sampling({ prompt }, { sendRequest }) {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: String(prompt) } }]
    const { content } = await sendRequest(
      { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } },
      CreateMessageResultSchema,
    )
    return [words(`LLM response: ${'text' in content ? content.text : ''}`)]
  },
  test_elicitation: ({ message }, extra) =>
    asked(extra, String(message), { username: { type: 'string', description: 'Name' }, email: { type: 'string', description: 'Address' } }),
  test_elicitation_sep1034_defaults: (_, extra) =>
    asked(extra, 'Defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: (_, extra) => {
    const names = ['1', '2', '3']
    const titled = names.map((name) => ({ const: `value${name}`, title: `Option ${name}` }))
    return asked(extra, 'Choices', {
      untitledSingle: { type: 'string', enum: names.map((name) => `option${name}`) },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: { type: 'string', enum: names.map((name) => `opt${name}`), enumNames: names.map((name) => `Option ${name}`) },
      untitledMulti: { type: 'array', items: { type: 'string', enum: names.map((name) => `option${name}`) } },
      titledMulti: { type: 'array', items: { anyOf: titled } },
    })
  },
}

async function asked({ sendRequest }: Extra, message: string, properties: Properties): Promise<Content[]> {
  const params = { mode: 'form' as const, message, requestedSchema: { type: 'object' as const, properties } }
  const { action, content } = await sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema)
  return [words(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)]
}

/** Makes the server of a session. */
export function fixture(): Server {
  const server = new Server({ name: 'fixture', version: '1' }, { capabilities: { tools: {}, resources: {}, logging: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(tools).map((name) => ({ name, description: name, inputSchema: { type: 'object' as const } })),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }, extra) => {
    try {
      return { content: await tools[name]!(args, extra) }
    } catch (error) {
      return { content: [words((error as Error).message)], isError: true }
    }
  })
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => ({
    contents: [
      uri.endsWith('binary') ? { uri, mimeType: 'image/png', blob: png } : { uri, mimeType: 'text/plain', text: `The text of ${uri}` },
    ],
  }))
  return server
}
