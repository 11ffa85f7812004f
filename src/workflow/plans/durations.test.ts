import { test } from 'tap'
import { sleep } from '../../kit/clock.ts'
import { VirtualTime } from '../../kit/virtual_time.ts'
import { dispensed, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, drivenBench, testRuntime, until } from '../../testing/workflow.ts'
import type { BeforeMotion, Equipment } from '../equipment/equipment.ts'
import { getReady, openUp } from '../threads/preparation.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import { Durations, type LearnedDurations } from './durations.ts'

test('of what was seen the middle counts, without the duration that was asked for, and the oldest is forgotten', async (t) => {
  const durations = new Durations()
  t.equal(durations.beyond('shaker-1', 'shake'), undefined)
  for (const beyond of [4, 90, 5]) durations.performed('shaker-1', 'shake', { seconds: 60 + beyond, params: { duration: 60 } })
  t.equal(durations.beyond('shaker-1', 'shake'), 5)
  t.equal(durations.beyond('shaker-2', 'shake'), undefined)
  for (let i = 0; i < 9; i++) durations.performed('shaker-1', 'shake', { seconds: 8, params: {} })
  t.equal(durations.beyond('shaker-1', 'shake'), 8)
  for (let i = 0; i < 5; i++) durations.performed('shaker-1', 'shake', { seconds: 20, params: {} })
  t.equal(durations.beyond('shaker-1', 'shake'), 20, 'the newest nine count')
  durations.performed('sealer-1', 'seal', { seconds: 2, params: { duration: 3 } })
  t.equal(durations.beyond('sealer-1', 'seal'), 0, 'one that ended sooner than it was to took no time of its own')
})

test('it keeps a bounded number of them, and what is saved says the same again', async (t) => {
  const durations = new Durations()
  for (let i = 0; i < 2000; i++) durations.carried(`arm-${i}`, i)
  t.equal(durations.hop('arm-0'), undefined)
  const saved = JSON.parse(JSON.stringify(durations)) as LearnedDurations
  t.equal(Object.keys(saved.hops).length, 1000)
  t.equal(new Durations(saved).hop('arm-1999'), 1999)
})

const topology = oneArm({ storages: ['stack', 'bin'], nests: ['mixer'], operations: { mixer: { mix: null } } })
const workflow = workflowOf(
  'work',
  { plate: { ...dispensed('stack', 'bin'), steps: [{ method: 'do' }] } },
  { methods: { do: [{ do: 'mix', on: 'mixer', with: { duration: 30 } }] } },
)

test('what a card takes before a device begins is no time of the device', async (t) => {
  const durations = new Durations()
  let now = 0
  const takes = async (ms: number) => {
    now += ms
  }
  const driven = (ms: number) => async (_device: string, _signal: AbortSignal, beforeMotion?: BeforeMotion) => {
    await beforeMotion?.()
    await takes(ms)
  }
  const equipment = { ready: driven(3_000), open: driven(2_000), isInitialized: () => false }
  const environment = { mode: 'LIVE', clock: { now: () => now }, equipment, durations } as unknown as RunEnvironment
  const onTheWay = { signal: new AbortController().signal, beforeMotion: () => takes(50_000) }
  await getReady(environment, 'mixer', onTheWay)
  await openUp(environment, 'mixer', onTheWay)
  t.match(durations.toJSON(), { initializations: { mixer: [3] }, openings: { mixer: [2] } })
})

test('a LIVE run teaches how long its operations and hops take, and the next dry run goes by that', async (t) => {
  const clock = new VirtualTime()
  const live: Equipment = {
    ready: async () => {},
    open: async () => {},
    perform: () => sleep(clock, 47_000),
    carry: (_, verb) => sleep(clock, verb === 'pick' ? 9_000 : 6_000),
  }
  const { runtime } = testRuntime([topology, workflow], { clock, live, bench: drivenBench(topology) })
  runtime.load('bench')
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  await until(() => {
    clock.ringNext()
    return execution.isOver
  })
  const asked = { workflow: 'work', groups: [], batch_mode: 'STANDALONE', variables: {}, operator_id: null } as const
  const taken = async (run_mode: 'LIVE' | 'DEVICE_SIM') => {
    const { gantt } = await runtime.dryRuns.simulate({ ...asked, groups: [], run_mode })
    return gantt.map(({ from_s, to_s }) => to_s - from_s)
  }
  t.same(await taken('LIVE'), [15, 47, 15])
  t.same(await taken('DEVICE_SIM'), [12, 30, 12], 'what was seen in LIVE says nothing of the simulators')
})

test('the way that a step took most often, and how long bodies of actions take', async (t) => {
  let news = 0
  const durations = new Durations({}, () => news++)
  t.equal(durations.usualWay('work plate sort'), undefined)
  for (const way of ['else', 'then', 'then']) durations.took('work plate sort', way)
  t.equal(durations.usualWay('work plate sort'), 'then')
  const before = durations.toJSON()
  t.notOk(durations.isNewsTo(before))
  for (let i = 0; i < 150; i++) durations.took('work plate sort', 'else')
  t.equal(durations.usualWay('work plate sort'), 'else')
  t.ok(durations.isNewsTo(before), 'another way is usual now')
  for (let i = 0; i < 30; i++) durations.took('work plate many', `way ${i}`)
  t.equal(Object.keys(durations.toJSON().ways['work plate many']!).length, 10, 'the ways of a step are bounded')
  for (let i = 0; i < 2000; i++) durations.took(`work plate ${i}`, 'then')
  t.equal(Object.keys(durations.toJSON().ways).length, 1000)
  for (const seconds of [10, 900, 12]) durations.performedBody('work methods.all[0]', seconds)
  t.equal(durations.body('work methods.all[0]'), 12)
  const again = new Durations(JSON.parse(JSON.stringify(durations)) as LearnedDurations)
  t.equal(again.body('work methods.all[0]'), 12)
  t.equal(again.usualWay('work plate 1999'), 'then')
  t.ok(news > 2000)
})
