// `benchd mcp`: lets an MCP client, such as an assistant, use a bench over standard input and output.

import { text } from 'node:stream/consumers'
import type { Request } from '../mcp/bench_link.ts'
import { ask, exchange, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'

const { json: _, ...whose } = serviceOptions

const mcp = command({
  name: 'mcp',
  summary: 'Let an MCP client use a bench over standard input and output; it reads and stops, and moves nothing without --allow-motion',
  options: {
    'allow-motion': { type: 'boolean', help: 'Offer operations, runs and decisions too; a person confirms each of them' },
    ...whose,
  },
  no_json: 'the client gets JSON-RPC',
  example: 'BENCHD_URL=https://bench-1.lab:8520 BENCHD_API_KEY=bk_… benchd mcp',
  async run({ options }) {
    const service = serviceOf(options)
    await ask(service, 'GET', '/api/system/whoami')
    const { serveStdio } = await import('../mcp/stdio.ts')
    const askBench = async ({ method, path, body, headers }: Request) => {
      const response = await exchange(service, method, path, { body, headers: { ...headers } })
      const [reason] = [response.headers['x-reason']].flat()
      return { status: response.statusCode ?? 0, headers: { 'x-reason': reason }, body: await text(response) }
    }
    await serveStdio(askBench, { allow_motion: options['allow-motion'] ?? false })
  },
})

export const commands = [mcp]
