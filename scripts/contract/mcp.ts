// Serves /mcp of a simulated bench to the conformance suite of MCP, which knows no keys: a proxy adds one. The suite fails for a
// failure that mcp_bench.yml or mcp_fixture.yml does not list, and for a listed one that has gone.
//
//   mcp.js FOLDER     FOLDER: where @modelcontextprotocol/conformance is installed; it needs Node 22

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { silent } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'
import { HttpSessions } from '../../src/mcp/http_sessions.ts'
import { benchConfig } from '../../src/testing/http.ts'
import { fixture } from './mcp_fixture.ts'

const suite = join(process.argv[2] ?? '', 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const expectedOf = (which: string) => fileURLToPath(new URL(`../../../scripts/contract/mcp_${which}.yml`, import.meta.url))

const missing = existsSync(suite)
  ? Number.parseInt(process.versions.node, 10) < 22
    ? 'the suite needs Node 22'
    : ''
  : `there is no ${suite}`
if (missing) console.log(`skipped: ${missing}\n0 passed, 0 failed, 2 skipped`)
else {
  const passed = [await judged('bench'), await judged('fixture')].filter((code) => code === 0).length
  console.log(`${passed} passed, ${2 - passed} failed`)
  process.exitCode = passed === 2 ? 0 : 1
}

/** Has the suite judge the tools of a bench, or those of the fixture in the sessions of the bench. Resolves with its exit code. */
async function judged(which: 'bench' | 'fixture'): Promise<number | null> {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-mcp-'))
  const service = await startService(await benchConfig({ mcp: { allow_motion: true } }), { data_dir: folder, log: silent })
  const { api_key } = await service.bench.keys.create({ name: 'conformance', scope: 'operate' })
  const { clock, keys, links } = service.bench
  if (which === 'fixture') links.mcp = new HttpSessions({ session: fixture, opens: (key_id) => keys.opens(key_id), clock })
  const proxy = proxyTo(new URL(service.url).port, api_key)
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`
  const args = [suite, 'server', '--url', address, '--expected-failures', expectedOf(which), '--output-dir', join(folder, 'results')]
  const [code] = (await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')) as [number | null]
  proxy.close()
  proxy.closeAllConnections()
  await service.close()
  rmSync(folder, { recursive: true })
  return code
}

function proxyTo(port: string, api_key: string): Server {
  return createServer((asked, answer) => {
    const { method, url, headers } = asked
    const sent = request({ port, method, path: url, headers: { ...headers, 'x-api-key': api_key } }, (got) => {
      answer.writeHead(got.statusCode!, got.headers)
      got.pipe(answer)
    })
    asked.pipe(sent)
    sent.on('error', () => answer.destroy())
    answer.on('close', () => sent.destroy())
  })
}
