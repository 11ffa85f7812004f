// The whole service, with a key, on a new data folder.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkConfig } from '../../../src/config.ts'
import { silent } from '../../../src/kit/log.ts'
import { startService } from '../../../src/main.ts'
import { answerParent } from '../child.ts'
import { type Flow, flow } from './flow.ts'
import { type Usage, usage } from './usage.ts'

export type Serving = { port: number; head: string }
/** Without `flow` the service only reports what it has used. */
export type Asked = { flow?: Flow }
export type Told = Usage & { sent: number }

const data_dir = mkdtempSync(join(tmpdir(), 'benchd-streams-'))
process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))

const limits = { subscribers: 4096, connections: 8192, connections_per_address: 8192, long_requests_per_key: 4096 }
const config = await checkConfig({ format: 1, listen: { host: '127.0.0.1', port: 0 }, limits }, 'the bench')
const { bench, url } = await startService(config, { data_dir, log: silent })
const { api_key } = await bench.keys.create({ name: 'bench', scope: 'read' })
const { host, port } = new URL(url)
const { hub } = bench

answerParent(
  { port: Number(port), head: `Host: ${host}\r\nX-API-Key: ${api_key}\r\n\r\n` },
  async ({ flow: asked }: Asked): Promise<Told> => {
    const sent = asked ? await flow(asked, ({ event_name, context, execution_id }) => hub.emit(event_name, context, execution_id)) : 0
    return { ...usage(), sent }
  },
)
