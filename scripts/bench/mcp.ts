// A stop through MCP beside a stop over REST, in turns on one service.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { silent } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'
import { program } from '../../src/testing/cli.ts'
import { benchConfig } from '../../src/testing/http.ts'
import { bench, median, percentile, type Row, row } from './bench.ts'

type Ways = Record<'rest' | 'http' | 'stdio', () => Promise<unknown>>

/** The most by which a stop through MCP may be later, ms. */
const most = 20

export const mcp = bench({
  name: 'mcp',
  summary: 'a stop through MCP, from the call to its answer, beside a stop over REST',
  limit: 'REST',
  options: { stops: 200 },
  async run({ stops }) {
    const folder = mkdtempSync(join(tmpdir(), 'benchd-mcp-'))
    const service = await startService(await benchConfig({ mcp: {} }), { data_dir: folder, log: silent })
    const { api_key } = await service.bench.keys.create({ name: 'assistant', scope: 'read' })
    const headers = { 'X-API-Key': api_key }
    const http = await connected(
      new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }) as Transport,
    )
    const env = { PATH: process.env.PATH ?? '', BENCHD_URL: service.url, BENCHD_API_KEY: api_key }
    const stdio = await connected(new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], env }))
    const call = { name: 'stop_device', arguments: { device_id: 'shaker-1' } }
    const ways: Ways = {
      rest: async () => (await fetch(`${service.url}/api/devices/shaker-1/stop`, { method: 'POST', headers })).text(),
      http: () => http.callTool(call),
      stdio: () => stdio.callTool(call),
    }
    try {
      return await measured(ways, stops)
    } finally {
      await Promise.all([http.close(), stdio.close()])
      await service.close()
      rmSync(folder, { recursive: true })
    }
  },
})

async function measured(ways: Ways, stops: number): Promise<Row[]> {
  const times: Record<keyof Ways, number[]> = { rest: [], http: [], stdio: [] }
  const names = Object.keys(ways) as (keyof Ways)[]
  for (let i = 0; i < stops; i++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(i + turn) % names.length]!
      const from = performance.now()
      await ways[name]()
      times[name].push(performance.now() - from)
    }
  }
  const rowsOf = (name: 'http' | 'stdio', words: string) =>
    (
      [
        ['p50', median],
        ['p99', (all: readonly number[]) => percentile(all, 0.99)],
      ] as const
    ).flatMap(([which, of]) => [
      row(`${words}, ${which}`, 'ms', of(times[name]), { limit: of(times.rest) }),
      row(`${words}, later than REST, ${which}`, 'ms', of(times[name]) - of(times.rest), {
        target: { of: 'value', most, ...(which === 'p99' && { wall: true }) },
      }),
    ])
  return [...rowsOf('http', '/mcp'), ...rowsOf('stdio', 'benchd mcp')]
}

async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'benchmark', version: '1' })
  await client.connect(transport)
  return client
}
