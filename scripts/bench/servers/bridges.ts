// The service with bridges in Python, in a process of its own. Arguments: how many, and the operations of each.

import { until } from '../../../src/testing/bridges.ts'
import { bridgeIn } from '../bridges/program.ts'
import { answerParent, ownFolder } from '../child.ts'
import { collectGarbage } from '../process.ts'
import { serviceWith } from './service.ts'

const [count = 0, operations = 0] = process.argv.slice(2).map(Number)
const command = bridgeIn(ownFolder(), operations)
const devices = Array.from({ length: count }, (_, i) => ({
  ...{ device_id: `large-${i}`, driver: 'bridge', type: 'liquid_handler', transport: { kind: 'bridge', command } },
}))
const { bench, close } = await serviceWith({ devices })
for (const { device_id } of devices) await until(() => bench.registry.find(device_id).info().identity)

/** `close` ends the bridges. */
export type Asked = { do: 'collect' | 'close' }
export type Held = { heap_mib: number }
answerParent({ pid: process.pid }, async ({ do: what }: Asked) => {
  if (what === 'close') await close()
  else collectGarbage()
  return { heap_mib: process.memoryUsage().heapUsed / 2 ** 20 } satisfies Held
})
