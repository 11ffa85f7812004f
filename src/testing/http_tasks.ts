// For tests: a run that a person carries, over the API.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { handsBench } from '../examples/hands.ts'
import type { CarryTask } from '../workflow/threads/move/carry_task.ts'
import { atTheEnd, openTestBench } from './http.ts'
import { Scripted } from './http_runs.ts'

export type Step = { step_id: string; instruction: string; move: CarryTask }
type Steps = { steps: Step[] }

/** The bench of a person, a shaker and a sealer, with a run whose plate is to be carried to the shaker. */
export async function carrying(t: Test, settings: object = {}): Promise<{ run: Scripted; step: Step; path: string }> {
  const topologies = mkdtempSync(join(tmpdir(), 'benchd-topologies-'))
  atTheEnd(t).push(async () => rmSync(topologies, { recursive: true }))
  const devices = handsBench.devices.map((device) => (device.driver === 'person' ? { ...device, settings } : device))
  const bench = await openTestBench(t, { devices }, { topologies })
  const post = async (path: string, json: object) => {
    const reply = await bench.ask('POST', path, { json })
    if (reply.status > 202) throw new Error(`${path}: ${reply.text}`)
    return reply.body as { execution_id: string }
  }
  await post('/api/topology/load', { name: 'hands' })
  const { execution_id } = await post('/api/submissions', { workflow: 'shake-and-seal', run_mode: 'LIVE' })
  const run = new Scripted(t, { bench, devices, topologies, execution_id })
  const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
  await run.post(`/api/threads/${thread_id}/placed`, { barcode: 'P-17' })
  const step = await task(run)
  return { run, step, path: pathOf(step) }
}

export const pathOf = ({ step_id }: Step) => `/api/operator/steps/${step_id}/confirm`
export const tasks = async (run: Scripted) => (await run.get<Steps>('/api/operator/steps')).steps
export const task = (run: Scripted) => run.until('a task', async () => (await tasks(run))[0], 100)
export const place = async (run: Scripted) => (await run.labware())[0]!.place

/** Answers each task as asked, until the run is over. */
export async function carriedOn(t: Test, run: Scripted): Promise<void> {
  const end = await run.until(
    'the end',
    async () => {
      for (const step of await tasks(run)) await run.post(pathOf(step), { answer: 'done', barcode: 'P-17' })
      const { status } = await run.snapshot()
      return status !== 'IN_PROGRESS' && status
    },
    5000,
  )
  t.equal(end, 'COMPLETED')
  t.same(await tasks(run), [])
}

/** The places where the plate may be while its task is open. */
export const maybe = 'at pad_1 or held by hands or at shaker_in'
