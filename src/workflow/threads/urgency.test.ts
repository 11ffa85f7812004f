import { test } from 'tap'
import { oneArm, standing, stored, workflowOf } from '../../testing/documents.ts'
import { begin, run, testRuntime } from '../../testing/workflow.ts'
import { urgencyOf } from './urgency.ts'

const devices = ['d1', 'd2', 'd3']
const bench = oneArm({
  pads: ['in1', 'in2', 'in3'],
  storages: ['store'],
  nests: devices,
  pools: { any: ['d2', 'd3'] },
  operations: Object.fromEntries(devices.map((device) => [device, { work: null }])),
})
const at = (on: string, seconds: number) => ({ action: { do: 'work', on, seconds } })

async function urgencies(steps: object[]): Promise<number[]> {
  const { runtime } = testRuntime([bench, workflowOf('work', { a: { ...standing('in1'), steps } })])
  const execution = await begin(runtime, { workflow: 'work' })
  const [thread] = execution.live()
  const found = thread!.plan.steps.flatMap((step) => (step.kind === 'action' ? [urgencyOf(thread!, step.action)] : []))
  await runtime.over(execution)
  return found
}

test('a step is as urgent as the work that is left after it, less its own', async (t) => {
  t.same(await urgencies([at('d1', 100), at('any', 60), at('d3', 30)]), [60 + 30 - 100, 30 - 60, -30])
})

test('labware is equally urgent each time that it comes to the same devices', async (t) => {
  t.same(await urgencies([at('d1', 10), at('d2', 60), at('d1', 10)]), [60, -50, 60])
})

/** The labware in the order in which it comes to d1. */
async function order(threads: Record<string, object>): Promise<string[]> {
  const { runtime } = testRuntime([bench, workflowOf('work', threads)])
  const execution = await run(runtime, { workflow: 'work' })
  const rows = execution.timeline.rows().filter(({ device }) => device === 'd1')
  return rows.sort((a, b) => a.started! - b.started!).map(({ thread_name }) => thread_name)
}

test('of labware that waits for a device the one with the most work left goes first', async (t) => {
  const first = { ...standing('in1'), steps: [at('d1', 50)] }
  const short = { ...standing('in2'), steps: [at('d1', 50), at('d2', 20)] }
  const long = { ...standing('in3'), steps: [at('d1', 50), at('d3', 90)] }
  t.same(await order({ first, short, long }), ['first', 'long', 'short'])
  t.same(await order({ first, long, short }), ['first', 'long', 'short'])
  const alike = { ...short, ...standing('in3') }
  t.same(await order({ first, short, alike }), ['first', 'short', 'alike'], 'else in the order in which it came')
})

test('labware of one kind keeps its order, also where it comes to a device several times', async (t) => {
  const plate = workflowOf('work', { plate: { ...stored('store'), steps: [at('d1', 20), at('d2', 200), at('d1', 20)] } })
  const { runtime } = testRuntime([bench, plate])
  const groups = [1, 2, 3].map((i) => ({ group_id: `g${i}`, members: {} }))
  const execution = await run(runtime, { workflow: 'work', groups })
  const ids = [...execution.threads.keys()]
  const at_d2 = execution.timeline.rows().filter(({ device }) => device === 'd2')
  t.same(
    at_d2.sort((a, b) => a.started! - b.started!).map(({ thread_id }) => thread_id),
    ids,
  )
})
