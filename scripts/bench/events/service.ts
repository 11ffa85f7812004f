// The whole service, with a key, on a data folder: a new one, or that of the first argument.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkConfig } from '../../../src/config.ts'
import { silent } from '../../../src/kit/log.ts'
import { startService } from '../../../src/main.ts'
import { answerParent } from '../child.ts'
import { type Flow, flow } from './flow.ts'
import { collectGarbage, type Usage, usage } from './usage.ts'

/** `ready_ms` is what the service took from its call to its listening; `last_us` the time of the newest event. */
export type Serving = { port: number; head: string; ready_ms: number; last_us: number }
/** Without `flow` it only tells what it has used; `collect`: without what waits to be collected. */
export type Asked = { flow?: Flow; collect?: true }
export type Told = Usage & { sent: number; dropped: number; subscribers: number }

const given = process.argv[2]
const data_dir = given || mkdtempSync(join(tmpdir(), 'benchd-streams-'))
if (!given) process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))

const limits = { subscribers: 4096, connections: 8192, connections_per_address: 8192, long_requests_per_key: 4096 }
const config = await checkConfig({ format: 1, listen: { host: '127.0.0.1', port: 0 }, limits }, 'the bench')
const began = performance.now()
const { bench, url } = await startService(config, { data_dir, log: silent })
const ready_ms = performance.now() - began
const { api_key } = await bench.keys.create({ name: 'bench', scope: 'read' })
const { host, port } = new URL(url)
const { hub } = bench

answerParent(
  { port: Number(port), head: `Host: ${host}\r\nX-API-Key: ${api_key}\r\n\r\n`, ready_ms, last_us: hub.log.newest_us },
  async ({ flow: asked, collect }: Asked): Promise<Told> => {
    if (collect) collectGarbage()
    const sent = asked ? await flow(asked, ({ event_name, context, execution_id }) => hub.emit(event_name, context, execution_id)) : 0
    return { ...usage(), sent, dropped: hub.streams.dropped, subscribers: hub.streams.subscribers }
  },
)
