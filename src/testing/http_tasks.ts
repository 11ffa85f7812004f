// For tests: a run that a person carries, over the API.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { handsBench, handsTopology, shakeAndSeal } from '../examples/hands.ts'
import type { CarryTask } from '../workflow/threads/move/carry_task.ts'
import { atTheEnd, openTestBench } from './http.ts'
import { Scripted } from './http_runs.ts'

export type Step = { step_id: string; instruction: string; move: CarryTask }
type Steps = { steps: Step[] }

/** The bench of a person, a shaker and a sealer, with a run whose plate is to be carried to the shaker. */
export async function carrying(t: Test, settings: object = {}): Promise<{ run: Scripted; step: Step; path: string }> {
  const run = await beginByHand(t, { settings })
  const step = await task(run)
  return { run, step, path: pathOf(step) }
}

const arm = { device_id: 'arm-1', driver: 'arm', transport: { kind: 'simulated' } }
const armReaches = ['pad_1', 'pad_2', 'shaker_in']
const coords = { x: 100, y: 200, z: 50, yaw: 0, pitch: 0, roll: 0 }

/** Opens that bench with an arm beside the person. The arm is to bring the plate of its run to the shaker. */
export const besideArm = (t: Test): Promise<Scripted> => beginByHand(t, { hasArm: true })

async function beginByHand(t: Test, { settings = {}, hasArm = false }: { settings?: object; hasArm?: boolean }): Promise<Scripted> {
  const topologies = mkdtempSync(join(tmpdir(), 'benchd-topologies-'))
  atTheEnd(t).push(async () => rmSync(topologies, { recursive: true }))
  const people = handsBench.devices.map((device) => (device.driver === 'person' ? { ...device, settings } : device))
  const devices = hasArm ? [...people, arm] : people
  if (hasArm) {
    const transporters = { 'arm-1': { positions: armReaches }, ...handsTopology.transporters }
    writeFileSync(join(topologies, 'both.json'), JSON.stringify({ ...handsTopology, name: 'both', transporters }))
    writeFileSync(join(topologies, 'work.json'), JSON.stringify({ ...shakeAndSeal, name: 'work', topology: 'both' }))
  }
  const bench = await openTestBench(t, { devices }, { topologies })
  const post = async (path: string, json: object) => {
    const reply = await bench.ask('POST', path, { json })
    if (reply.status > 202) throw new Error(`${path}: ${reply.text}`)
    return reply.body as { execution_id: string }
  }
  if (hasArm)
    await post(
      '/api/teachpoints/bulk',
      armReaches.map((name) => ({ device_id: 'arm-1', name, coord_type: 'cartesian', coords })),
    )
  await post('/api/topology/load', { name: hasArm ? 'both' : 'hands' })
  const { execution_id } = await post('/api/submissions', { workflow: hasArm ? 'work' : 'shake-by-hand', run_mode: 'LIVE' })
  const run = new Scripted(t, { bench, devices, topologies, execution_id })
  const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
  await run.post(`/api/threads/${thread_id}/placed`, { barcode: 'P-17' })
  return run
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
