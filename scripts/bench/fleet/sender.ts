// A bench that fires events at a rate, with its fleet or without; one process each, as in a lab.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEvents } from '../../../src/events/open.ts'
import { silent } from '../../../src/kit/log.ts'
import { answerParent } from '../child.ts'

/** `servers` is '' for a bench without a fleet. */
export type Asked = { do: 'fire'; rate: number; seconds: number } | { do: 'drain' } | { do: 'rest' }
export type Figures = { events: number; cpu_us: number; rss: number }

const [, , name = '', server = ''] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'benchd-fleet-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const { hub, fleet } = server ? await together() : await alone()
/** Events are fired this often. */
const every_ms = 10
let n = 0

answerParent({}, async (asked: Asked): Promise<Figures> => {
  const before = process.cpuUsage()
  if (asked.do === 'fire') await fire(asked)
  if (asked.do === 'drain') while (fleet?.status().waiting !== 0) await new Promise((resolve) => setTimeout(resolve, 20))
  if (asked.do === 'rest') global.gc?.()
  const { user, system } = process.cpuUsage(before)
  return { events: n, cpu_us: user + system, rss: process.memoryUsage.rss() }
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

async function fire({ rate, seconds }: { rate: number; seconds: number }): Promise<void> {
  const began = performance.now()
  for (const first = n; n - first < rate * seconds; ) {
    const due = Math.min(rate * seconds, Math.floor(((performance.now() - began) * rate) / 1000))
    while (n - first < due) hub.emit('CUSTOM.n.EMITTED', { n: n++, thread_id: null, data: { volume: 12.5, unit: 'ul' } }, 'run-1')
    await new Promise((resolve) => setTimeout(resolve, every_ms))
  }
  await hub.log.until()
}
