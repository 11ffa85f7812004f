// The service on the demo's simulated bench, its topology loaded, in a process of its own. Argument: the scale of time.

import { randomBytes } from 'node:crypto'
import { getHeapCodeStatistics } from 'node:v8'
import { prepareDemo } from '../../../src/examples/demo.ts'
import { demoBench } from '../../../src/examples/demo_bench.ts'
import { answerParent } from '../child.ts'
import { collectGarbage } from '../process.ts'
import { serviceWith } from './service.ts'

/** The key, of scope admin, for requests over HTTP. */
export type Demo = { url: string; key: string; pid: number; data_dir: string }
/** `collect`: without what waits to be collected. `leak_bytes`: from now on it keeps so much more each second. */
export type DemoQuestion = { collect?: true; leak_bytes?: number }
/**
 * `code_mib`: what V8 has compiled, which is in the heap and not in `heap_mib`. `outside_mib`: buffers. `handles`: what keeps the event loop
 * going, timers and sockets and the like.
 */
export type DemoUsage = { heap_mib: number; code_mib: number; outside_mib: number; handles: number }

/** Stands apart from the demo's workflow. */
const spare = { device_id: 'spare-1', driver: 'bioshake', transport: { kind: 'simulated' } }

const devices = [...demoBench.devices, spare]
const { bench, url, data_dir } = await serviceWith({ ...demoBench, devices, time_scale: Number(process.argv[2]) })
const key = await prepareDemo(bench)
for (const instrument of bench.registry.all()) await instrument.perform('initialize', {})

const kept: string[] = []
const ready: Demo = { url, key, pid: process.pid, data_dir }
answerParent(ready, ({ collect, leak_bytes }: DemoQuestion): DemoUsage => {
  if (leak_bytes) setInterval(() => kept.push(randomBytes(leak_bytes).toString('latin1')), 1000).unref()
  if (collect) collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  const { code_and_metadata_size, bytecode_and_metadata_size } = getHeapCodeStatistics()
  const code = code_and_metadata_size + bytecode_and_metadata_size
  const mib = { heap_mib: (heapUsed - code) / 2 ** 20, code_mib: code / 2 ** 20, outside_mib: external / 2 ** 20 }
  return { ...mib, handles: process.getActiveResourcesInfo().length }
})
