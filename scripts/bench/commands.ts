// The CPU time that a program costs before it does anything: commands of the shell beside a Node that has nothing to do, the Python client beside the
// modules that it needs, and the events that it reads beside the plainest reading of the same bytes.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { demoConfig, prepareDemo } from '../../src/examples/demo.ts'
import { apiVersion } from '../../src/http/version.ts'
import { silent } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'
import { bench, childrenCpu, type Row } from './bench.ts'

const run = promisify(execFile)
const benchd = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))
const clients = fileURLToPath(new URL('../../web/clients', import.meta.url))

type Program = { file: string; args: readonly string[]; env?: Record<string, string> }

const bareNode: Program = { file: process.execPath, args: ['-e', '0'] }
const python = (code: string, env: Record<string, string> = {}): Program => ({
  file: 'python3',
  args: ['-c', code],
  env: { PYTHONPATH: clients, PYTHONPYCACHEPREFIX: tmpdir(), ...env },
})

/** The limits are `node -e 0`, the imports of the standard library, and `readline` with `json.loads`. */
export const commands = bench({
  name: 'commands',
  summary: 'start of a command and of the Python client, and events read by it: CPU',
  limit: 'a bare program',
  options: { rounds: 20, events: 20_000 },
  async run({ rounds, events }) {
    const folder = mkdtempSync(`${tmpdir()}/benchd-commands-`)
    const config = await demoConfig(50)
    // A demo may have its usual port.
    const service = await startService({ ...config, listen: { ...config.listen, port: 0 } }, { data_dir: folder, log: silent })
    try {
      const env = { BENCHD_URL: service.url, BENCHD_API_KEY: await prepareDemo(service.bench) }
      return [
        await row('benchd help', { file: process.execPath, args: [benchd, 'help'] }, bareNode, { rounds, most: 1.5 }),
        await row('benchd devices, a request', { file: process.execPath, args: [benchd, 'devices'], env }, bareNode, { rounds, most: 2.2 }),
        await row('import benchd', python('import benchd'), python('import http.client, ssl, json'), { rounds, most: 1.3 }),
        await eventsRow(events),
      ]
    } finally {
      await service.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

async function row(what: string, ours: Program, bare: Program, { rounds, most }: { rounds: number; most: number }): Promise<Row> {
  const spent = { ours: 0, bare: 0 }
  // The first of each is slower: files are read from the disk, and what is compiled is kept.
  for (const program of [ours, bare]) await cpuOf(program)
  for (let i = 0; i < rounds; i++) {
    spent.bare += await cpuOf(bare)
    spent.ours += await cpuOf(ours)
  }
  const [value, limit] = [spent.ours / rounds, spent.bare / rounds]
  return { what, unit: 'ms', value, limit, ratio: value / limit, target: { of: 'ratio', most } }
}

const readAll = `
import benchd, os
count = int(os.environ["COUNT"])
for n, event in enumerate(benchd.Bench(os.environ["URL"]).events(), 1):
    assert event["context"]["n"] == n
    if n == count: break
`
const readPlainly = `
import http.client, json, os
connection = http.client.HTTPConnection(os.environ["HOST"])
connection.request("GET", "/events/stream")
response = connection.getresponse()
count, n = int(os.environ["COUNT"]), 0
while n < count:
    line = response.readline()
    if line.startswith(b"data: "):
        n += 1
        assert json.loads(line[6:])["context"]["n"] == n
`

/** Events come as fast as they are taken. */
async function eventsRow(count: number): Promise<Row> {
  const event = (n: number) => ({
    event_name: `CUSTOM.n.EMITTED`,
    execution_id: 'bench',
    timestamp: n,
    entity_type: 'CUSTOM',
    entity_id: 'n',
    status: 'EMITTED',
    context: { n },
  })
  const frames = Array.from(
    { length: count },
    (_, i) => `event: runtime_event\ndata: ${JSON.stringify(event(i + 1))}\nid: ${i + 1}\n\n`,
  ).join('')
  const server = createServer((_, response) =>
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-API-Version': apiVersion }).end(frames),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = { URL: `http://${host}`, HOST: host, COUNT: String(count) }
    const each = 1000 / count
    const idle = await cpuOf(python('import benchd'))
    const value = ((await cpuOf(python(readAll, env))) - idle) * each
    const limit = ((await cpuOf(python(readPlainly, env))) - idle) * each
    return { what: 'an event read by the Python client', unit: 'µs', value, limit, ratio: value / limit, target: { of: 'ratio', most: 3 } }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function cpuOf({ file, args, env = {} }: Program): Promise<number> {
  const before = childrenCpu()
  await run(file, [...args], { env: { ...process.env, ...env } })
  return childrenCpu() - before
}
