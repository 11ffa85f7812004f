// The whole service, with a key, on a new data folder.

import { answerParent } from '../child.ts'
import { type Usage, usage } from '../process.ts'
import { serviceWith } from '../servers/service.ts'
import { type Flow, flow } from './flow.ts'

export type Serving = { port: number; head: string }
/** Without `flow` the service only reports what it has used. */
export type Asked = { flow?: Flow }
export type Told = Usage & { sent: number }

const limits = { subscribers: 4096, connections: 8192, connections_per_address: 8192, long_requests_per_key: 4096 }
const { bench, url } = await serviceWith({ limits })
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
