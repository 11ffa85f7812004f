// The service on the demo's simulated bench, its topology loaded, in a process of its own. Arguments: the scale of time, the data folder.

import { checkConfig } from '../../../src/config.ts'
import { demoConfig, prepareDemo } from '../../../src/examples/demo.ts'
import { demoBench } from '../../../src/examples/demo_bench.ts'
import { silent } from '../../../src/kit/log.ts'
import { startService } from '../../../src/main.ts'
import { answerParent } from '../child.ts'
import { collectGarbage } from '../events/usage.ts'

/** What is asked of it over HTTP wants the key, of scope admin. */
export type Demo = { url: string; key: string; pid: number }
/** `collect`: without what waits to be collected. */
export type DemoQuestion = { collect?: true }
/** `handles`: what keeps the event loop going, timers and sockets and the like. */
export type DemoUsage = { heap_mib: number; handles: number }

/** Stands apart from the demo's workflow. */
const spare = { device_id: 'spare-1', driver: 'bioshake', transport: { kind: 'simulated' } }

const [scale = '1', data_dir = ''] = process.argv.slice(2)
const { listen, time_scale } = await demoConfig(Number(scale))
const devices = [...demoBench.devices, spare]
const config = await checkConfig({ ...demoBench, devices, time_scale, listen: { host: listen.host, port: 0 } }, 'the bench')
const { lab, url } = await startService(config, { data_dir, log: silent })
const key = await prepareDemo(lab)
for (const instrument of lab.registry.all()) await instrument.perform('initialize', {})

const ready: Demo = { url, key, pid: process.pid }
answerParent(ready, ({ collect }: DemoQuestion): DemoUsage => {
  if (collect) collectGarbage()
  const resources = process.getActiveResourcesInfo()
  return { heap_mib: process.memoryUsage().heapUsed / 2 ** 20, handles: resources.length }
})
