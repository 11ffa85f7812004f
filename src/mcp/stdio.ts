// MCP over standard input and output, for a client that starts `benchd mcp`.

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { type AskBench, textFrom } from './bench_link.ts'
import { type ApiDocument, catalogOf } from './catalog.ts'
import { sessionOf } from './server.ts'

/** Serves until the client closes the input. Rejects where the bench does not answer at the start. */
export async function serveStdio(ask: AskBench, { allow_motion }: { allow_motion: boolean }): Promise<void> {
  const [document, whoami, health] = await Promise.all([
    textFrom(ask, '/openapi.json'),
    textFrom(ask, '/api/system/whoami'),
    textFrom(ask, '/health'),
  ])
  const { scope } = JSON.parse(whoami) as { scope: string }
  const { version } = JSON.parse(health) as { version: string }
  const server = sessionOf({ catalog: catalogOf(JSON.parse(document) as ApiDocument), version, scope, allow_motion, askWith: () => ask })
  const ended = new Promise<void>((resolve) => {
    server.onclose = resolve
    process.stdin.once('end', () => void server.close())
    process.stdin.once('close', () => void server.close())
  })
  await server.connect(new StdioServerTransport())
  await ended
}
