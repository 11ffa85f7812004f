import { test } from 'tap'
import { dispensed, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, drivenBench, instantBench, testRuntime } from '../../testing/workflow.ts'
import { Durations } from '../plans/durations.ts'
import { benchProblem } from '../runs/bench_problem.ts'
import { wishesOf } from '../runs/plan_wishes.ts'
import { wayAhead } from './left_to_do.ts'

const topology = oneArm({
  storages: ['stack', 'bin'],
  nests: ['mixer', 'reader'],
  operations: { mixer: { mix: 10 }, reader: { read: 20 } },
})
const on = (device: string, operation: string) => ({ action: { do: operation, on: device } })
const steps = [
  { wait_for: 'go' },
  { if: { value: 'od', above: 0.5 }, name: 'dense', then: [on('mixer', 'mix')], else: [on('reader', 'read')] },
  { branch: 'sorted', name: 'sort', cases: { good: [on('mixer', 'mix')] }, else: [on('reader', 'read')] },
  { repeat: { until: { value: 'od', below: 0.1 }, at_most: 5 }, name: 'dilute', steps: [on('mixer', 'mix')] },
]
const reading = { name: 'measure', do: 'read', on: 'reader', save: { od: 'value' } }
const workflow = workflowOf(
  'work',
  { plate: { ...dispensed('stack', 'bin'), steps: [...steps, { action: reading }] } },
  { values: { od: { example: 0.2 } } },
)

/** The devices ahead of a plate that waits for its first event, in LIVE. */
async function ahead(learned: Durations): Promise<string[] | undefined> {
  const { runtime } = testRuntime([topology, workflow], {
    live: instantBench(),
    bench: drivenBench(topology),
    durations: { LIVE: learned },
  })
  runtime.load(topology.name)
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  const way = wayAhead([...execution.threads.values()][0]!)
  execution.abort('that was all')
  await runtime.over(execution)
  return way?.stops.map(({ devices, seconds }) => `${devices} ${seconds}`)
}

test('without a value a step goes the way that it went most often, else the declared one', async (t) => {
  t.same(await ahead(new Durations()), ['reader 40', 'mixer 50', 'reader 20'], 'the example, the else, and all rounds')
  const learned = new Durations()
  for (const way of ['then', 'then', 'else']) learned.took('work plate dense', way)
  learned.took('work plate sort', 'good')
  learned.took('work plate dilute', '2')
  t.same(await ahead(learned), ['mixer 40', 'reader 20'])
})

test('a plan executes no code, and counts a body by its learned, else its declared duration', async (t) => {
  let executed = 0
  const body = async () => {
    executed++
  }
  const coded = workflowOf(
    'coded',
    { plate: { ...dispensed('stack', 'bin'), steps: [{ action: { name: 'note', on: 'mixer', seconds: 40, body } }] } },
    {},
  )
  for (const [samples, seconds] of [
    [[], 40],
    [[7, 7], 7],
  ] as const) {
    const learned = new Durations()
    for (const sample of samples) learned.performedBody('coded threads.plate.steps[0].action', sample)
    const { runtime } = testRuntime([topology, coded], { live: instantBench(), bench: drivenBench(topology), durations: { LIVE: learned } })
    runtime.load(topology.name)
    const execution = await begin(runtime, { workflow: 'coded', run_mode: 'LIVE' })
    const { scheduler, equipment, planner } = execution.environment
    const hops = { longestHop: () => 1, hop: () => 1, way: () => 1, scan: () => 0 } as never
    const problem = benchProblem(execution.live(), { scheduler, hops, equipment, now: () => 0 }, wishesOf(new Set(execution.live())))
    t.equal(problem?.jobs[0]?.stops[0]?.options[0]?.seconds, seconds)
    t.equal(executed, samples.length > 0 ? 1 : 0, 'before the run has executed it')
    t.notOk(planner.isDue)
    await runtime.over(execution)
  }
  t.equal(executed, 2, 'each run has executed it once')
})
