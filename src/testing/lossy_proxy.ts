// For tests of programs that repeat requests: a proxy before a service, which loses answers.

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Lifetime = { teardown(call: () => unknown): void }

/**
 * Passes requests on to a service at a port of this computer, and remembers each POST in `seen`: its path and the `operation` of its body. `isLost` says
 * whether the answer to a POST is thrown away after the service has sent it; `times` counts equal POSTs, this one included.
 */
export async function lossyProxy(t: Lifetime, port: number, isLost: (what: string, times: number) => boolean = () => false) {
  const seen: string[] = []
  const server = createServer(async (asked, answer) => {
    const body = await text(asked)
    const { operation = '' } = body ? (JSON.parse(body) as { operation?: string }) : {}
    const what = `${asked.url} ${operation}`.trim()
    if (asked.method === 'POST') seen.push(what)
    const times = seen.filter((one) => one === what).length
    const sent = request({ port, method: asked.method, path: asked.url, headers: asked.headers }, async (got) => {
      const content = await text(got)
      if (asked.method === 'POST' && isLost(what, times)) return answer.destroy()
      answer.writeHead(got.statusCode!, got.headers)
      answer.end(content)
    })
    sent.on('error', () => answer.destroy())
    sent.end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
