// The service on the demo's simulated bench, its topology loaded, in a process of its own. Arguments: the scale of time, the data folder.

import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { getHeapCodeStatistics } from 'node:v8'
import { checkConfig } from '../../../src/config.ts'
import { demoConfig, prepareDemo } from '../../../src/examples/demo.ts'
import { demoBench } from '../../../src/examples/demo_bench.ts'
import { silent } from '../../../src/kit/log.ts'
import { startService } from '../../../src/main.ts'
import { answerParent } from '../child.ts'
import { collectGarbage, usage } from '../events/usage.ts'

/** The key, of scope admin, for requests over HTTP. */
export type Demo = { url: string; key: string; pid: number }
/** `collect`: without what waits to be collected. `leak_bytes`: from now on it keeps so much more each second. */
export type DemoQuestion = { collect?: true; leak_bytes?: number }
/**
 * `code_mib`: what V8 has compiled, which is in the heap and not in `heap_mib`. `outside_mib`: buffers. `handles`: what keeps the event loop
 * going, timers and sockets and the like. `stops`: when each request to stop all arrived, ms of CLOCK_MONOTONIC.
 */
export type DemoUsage = {
  heap_mib: number
  code_mib: number
  outside_mib: number
  handles: number
  cpu_us: number
  stops: readonly number[]
}

/** Stands apart from the demo's workflow. */
const spare = { device_id: 'spare-1', driver: 'bioshake', transport: { kind: 'simulated' } }

const [scale = '1', data_dir = ''] = process.argv.slice(2)
const { listen, time_scale } = await demoConfig(Number(scale))
const devices = [...demoBench.devices, spare]
const config = await checkConfig({ ...demoBench, devices, time_scale, listen: { host: listen.host, port: 0 } }, 'the bench')
const { bench, url } = await startService(config, { data_dir, log: silent })
const key = await prepareDemo(bench)
for (const instrument of bench.registry.all()) await instrument.perform('initialize', {})

const stops: number[] = []
subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage }
  if (request.url === '/api/stop') stops.push(Number(process.hrtime.bigint()) / 1e6)
})
const kept: string[] = []
const ready: Demo = { url, key, pid: process.pid }
answerParent(ready, ({ collect, leak_bytes }: DemoQuestion): DemoUsage => {
  if (leak_bytes) setInterval(() => kept.push(randomBytes(leak_bytes).toString('latin1')), 1000).unref()
  if (collect) collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  const { code_and_metadata_size, bytecode_and_metadata_size } = getHeapCodeStatistics()
  const code = code_and_metadata_size + bytecode_and_metadata_size
  return {
    heap_mib: (heapUsed - code) / 2 ** 20,
    code_mib: code / 2 ** 20,
    outside_mib: external / 2 ** 20,
    handles: process.getActiveResourcesInfo().length,
    cpu_us: usage().cpu_us,
    stops,
  }
})
