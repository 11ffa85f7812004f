// The service ends while labware is scanned. A scan moves nothing: it is made again.

import { test } from 'tap'
import type { RuntimeEvent } from '../../events/event.ts'
import { oneArm, standing, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, Kept, liveRuntime, takeUp, until } from '../../testing/workflow.ts'
import { checkpointOf } from '../state/run.ts'

const bench = { pads: ['a', 'b'], nests: {}, operations: { scan_1: { scan: 2 } } }
const atStart = oneArm({ ...bench, scanners: { a: 'scan_1' } })
const inGripper = oneArm({ ...bench, scanners: { arm: 'scan_1' } })
const workflow = workflowOf('work', { p: { ...standing('a', 'b'), steps: [] } })

/** The state that was saved last when `isSo` holds for the thread. The scanner never answers. */
async function killed(topology: typeof atStart, isSo: (thread: { scan: object | null }) => boolean) {
  const kept = new Kept()
  const live = instantBench({ perform: () => new Promise(() => {}) })
  const { runtime } = liveRuntime(topology, [workflow], { keep: () => kept, live })
  await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  const saved = () => (kept.all.length > 0 ? checkpointOf(kept.all.at(-1)!) : undefined)
  await until(() => saved()?.threads.some(isSo) === true)
  return kept.all.at(-1)!
}

/** Restores the run on a bench whose scanner reads P1. */
async function restored(topology: typeof atStart, keys: ReadonlyMap<string, unknown>) {
  const deeds: string[] = []
  const live = instantBench({
    perform: async (_, operation) => {
      deeds.push(operation)
      return { success: true, message: 'scanned', data: { barcode: 'P1' } }
    },
    carry: async (_, verb, { position }) => void deeds.push(`${verb} ${position}`),
  })
  const told: RuntimeEvent[] = []
  const { runtime } = liveRuntime(topology, [workflow], { ids: 1_000_000, live, onTold: (event) => told.push(event) })
  const execution = await takeUp(runtime, keys)
  const thread = [...execution.threads.values()][0]!
  await until(() => thread.status.current === 'PAUSED')
  return { runtime, execution, thread, deeds, told }
}

test('labware whose scan was cut off is scanned again when the run is resumed, and not before', async (t) => {
  const keys = await killed(atStart, ({ scan }) => scan !== null)
  const { runtime, execution, thread, deeds, told } = await restored(atStart, keys)
  const ends = told.filter(({ context }) => context.action_name === 'scan').map(({ status }) => status)
  t.same(ends, ['ABORTED'], 'the scan that was cut off has an end')
  t.match(execution.timeline.rows(), [{ name: 'scan', device: 'scan_1', status: 'ABORTED' }])
  t.same(deeds, [])
  t.equal(thread.state.scan, null)
  execution.resume()
  await runtime.over(execution)
  t.same(deeds, ['scan', 'pick a', 'place b'])
  t.equal(thread.labware.barcode, 'P1')
})

test('labware that was scanned in the gripper is known to be there: it is set back, picked and scanned again', async (t) => {
  const keys = await killed(inGripper, ({ scan }) => scan !== null)
  const { runtime, execution, thread, deeds } = await restored(inGripper, keys)
  t.equal(thread.labware.held_by, 'arm')
  t.equal(thread.control.isLost, false)
  execution.resume()
  await runtime.over(execution)
  t.same(deeds, ['place a', 'pick a', 'scan', 'place b'])
})

test('labware that was scanned before the service ended is scanned again before it is moved on', async (t) => {
  const waiting = workflowOf('work', { p: { ...standing('a', 'b'), steps: [{ wait_for: 'go' }] } })
  const kept = new Kept()
  const live = instantBench({ perform: async () => ({ success: true, message: 'scanned', data: { barcode: 'P1' } }) })
  const first = liveRuntime(atStart, [waiting], { keep: () => kept, live })
  await begin(first.runtime, { workflow: 'work', run_mode: 'LIVE' })
  const saved = () => (kept.all.length > 0 ? checkpointOf(kept.all.at(-1)!) : undefined)
  await until(() => saved()?.threads.some(({ status }) => status === 'AWAITING_EVENT') === true)
  t.equal((kept.all.at(-1)!.get(`progress ${saved()!.threads[0]!.thread_id}`) as { scanned: string }).scanned, 'a')
  let scans = 0
  const again = instantBench({
    perform: async () => {
      scans++
      return { success: true, message: 'scanned', data: { barcode: 'P1' } }
    },
  })
  const { runtime } = liveRuntime(atStart, [waiting], { ids: 1_000_000, live: again })
  const execution = await takeUp(runtime, kept.all.at(-1)!)
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'))
  t.equal(scans, 0)
  execution.resume()
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(scans, 1)
})
