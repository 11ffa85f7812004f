// The service with one device (a shaker by default) on a pseudo-terminal, and what keeps it busy while somebody presses stop.

import { setTimeout as sleep } from 'node:timers/promises'
import { findBeside } from '../../../src/workflow/search_worker.ts'
import { answerParent } from '../child.ts'
import { heldRun } from '../forecast/held_run.ts'
import { problemOf } from '../makespan/problem.ts'
import { lagOf, pluginsWith } from './plugged.ts'
import { serviceWith } from './service.ts'
import { fillPool } from './thread_pool.ts'

export type Stoppable = { port: number; key: string; path: string }
/** The work that goes on beside: questions on the port without a pause, so many events a second, every thread of the pool at work, plans or forecasts without a pause. `lag` asks for the lag of events. */
export type Beside = { port_busy?: boolean; events?: number; pool_full?: boolean; planning?: boolean; foretelling?: boolean; lag?: boolean }

/** `broker` is the address of a lab's broker, for a bench with a fleet; `abuse` the name of what a plug-in does. */
const [, , pty = '', driver = 'bioshake', broker, abuse] = process.argv

const device = { device_id: 'device-1', driver, transport: { kind: 'serial', path: pty } }
const fleet = broker && { fleet: { servers: [broker], lab: 'floor-2', name: 'bench-1' } }
// All readers have one key.
const limits = { long_requests_per_key: 256 }
const { bench, url } = await serviceWith({ devices: [device], limits, ...fleet, ...(abuse && { plugins: pluginsWith(abuse) }) })
const { api_key } = await bench.keys.create({ name: 'bench', scope: 'operate' })
const problem = await problemOf({ kind: 'job', plates: 12, devices: 6 })
const instrument = bench.registry.find('device-1')
const makeForecast = await heldRun(20)
const going: Beside = {}

const stoppable: Stoppable = { port: Number(new URL(url).port), key: api_key, path: '/api/devices/device-1/stop' }
answerParent(stoppable, ({ port_busy = false, events = 0, pool_full = false, planning = false, foretelling = false, lag }: Beside) => {
  if (lag) return lagOf(bench)
  const before = { ...going }
  Object.assign(going, { port_busy, events, pool_full, planning, foretelling })
  if (port_busy && !before.port_busy) void askOn()
  if (planning && !before.planning) void planOn()
  if (foretelling && !before.foretelling) void foretellOn()
  if (pool_full && !before.pool_full) fillPool(() => going.pool_full === true)
  if (events) bench.load.start({ rate: events, seconds: 600 })
  else bench.load.stop()
  return {}
})

async function planOn(): Promise<void> {
  while (going.planning) await findBeside(problem)
}

/** Makes the forecast of a run of twenty groups a hundred times as often as the service does. */
async function foretellOn(): Promise<void> {
  while (going.foretelling) {
    await makeForecast()
    await sleep(100)
  }
}

async function askOn(): Promise<void> {
  while (going.port_busy) await instrument.questions.ask('get_temperature').catch(() => new Promise(setImmediate))
}
