// For tests of journeys: where labware and orders ended up.

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestBench, TestLab } from './lab.ts'

/** Returns the holders of the labware in order: `BENCH/POSITION`, a carrier, or the reason why it has none. */
export async function holders(lab: TestLab, labware: string): Promise<string[]> {
  const all = await lab.custody(labware)
  return all.map(({ holder }) => ('bench' in holder ? `${holder.bench}/${holder.position}` : (Object.values(holder)[0] as string)))
}

/** Returns how often each workflow was run on the bench. Those of the lab itself are counted together. */
export async function ordered({ ask }: TestBench): Promise<Record<string, number>> {
  const { executions } = await ask<{ executions: { workflow_name: string }[] }>('GET', '/api/executions?limit=1000')
  const counts: Record<string, number> = {}
  for (const { workflow_name } of executions) {
    const name = workflow_name.replace(/^lab-(\w+)-.*/, '$1')
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

type Pass = { asked: IncomingMessage; answered: ServerResponse; pass(): void }

/** Starts a proxy in front of a bench, and returns its address. `between` passes each request on: now, later or never. */
export async function proxyOf(
  t: { teardown(call: () => unknown): void },
  { url }: { url: string },
  between: (one: Pass) => void,
): Promise<string> {
  const proxy = createServer((asked, answered) => {
    const pass = () => {
      const passed = request(url + asked.url, { method: asked.method, headers: asked.headers }, (answer) => {
        answered.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(answered)
      })
      passed.on('error', () => answered.destroy())
      asked.pipe(passed)
    }
    between({ asked, answered, pass })
  }).listen(0, '127.0.0.1')
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  await new Promise((resolve) => proxy.once('listening', resolve))
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}
