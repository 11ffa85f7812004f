// A bench that fires events at a rate, with its fleet or without; one process each, as in a lab.

import { openEvents } from '../../../src/events/open.ts'
import { silent } from '../../../src/kit/log.ts'
import { answerParent, ownFolder } from '../child.ts'
import { type Flow, flow } from '../events/flow.ts'
import { collectGarbage, type Usage, usage } from '../process.ts'

/** `servers` is '' for a bench without a fleet. */
export type Asked = { do: 'fire'; flow: Flow } | { do: 'drain' } | { do: 'rest' }
export type Figures = Usage & { events: number }

const [, , name = '', server = ''] = process.argv
const folder = ownFolder()
const { hub, fleet } = server ? await together() : await alone()
let n = 0

answerParent({}, async (asked: Asked): Promise<Figures> => {
  const before = usage()
  if (asked.do === 'fire') {
    await flow(asked.flow, () => hub.emit('CUSTOM.n.EMITTED', { n: n++, thread_id: null, data: { volume: 12.5, unit: 'ul' } }, 'run-1'))
    await hub.log.until()
  }
  if (asked.do === 'drain') while (fleet?.status().waiting !== 0) await new Promise((resolve) => setTimeout(resolve, 20))
  if (asked.do === 'rest') collectGarbage()
  const { cpu_us, rss_mib } = usage()
  return { events: n, cpu_us: cpu_us - before.cpu_us, rss_mib }
})

/** Loads nothing of the fleet, as a bench without one. */
async function alone() {
  const config = { system_id: name, events: { segment_mib: 8, commit_ms: 100, queue: 1000 }, limits: { subscribers: 4 } }
  return { hub: await openEvents({ folder, config, log: silent }), fleet: undefined }
}

async function together() {
  const { fleetBench } = await import('../../../src/testing/fleet.ts')
  return fleetBench({ teardown() {} }, folder, server, { name, segment_mib: 8 })
}
