// Persisted values change through their entries alone, and each change is written.

import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { byHand, oneArm, standing, workflowOf } from '../../testing/documents.ts'
import { begin, emptyBench, Kept, liveRuntime, takeUp, testRuntime, threadIn, until } from '../../testing/workflow.ts'
import { checkpointOf } from './run.ts'

const topology = oneArm({ pads: ['pad_1', 'pad_2', 'pad_3'] })

/** The thread `keeper` keeps the run open until `end` is published; `plate` can be spawned again and again, and goes on with the same plate. */
const workflow = workflowOf(
  'kept_open',
  {
    keeper: { ...byHand('pad_3'), steps: [{ wait_for: 'end' }] },
    plate: { ...standing('pad_1'), steps: [{ park: ['pad_2'] }] },
  },
  { start: ['keeper'] },
)

/** The most values that one transaction had. */
class Counted extends Kept {
  most = 0

  protected override written(changes: number): void {
    super.written(changes)
    this.most = Math.max(this.most, changes)
  }
}

async function opened(kept = new Counted()) {
  const { runtime } = testRuntime([topology, workflow], { keep: () => kept })
  const execution = await begin(runtime, { workflow: 'kept_open' })
  await threadIn(execution, 'keeper', 'AWAITING_EVENT')
  await kept.persist()
  return { runtime, execution, kept }
}

test('a move writes the state of the thread that moves, however many threads have moved the same labware before', async (t) => {
  const { runtime, execution, kept } = await opened()
  for (let i = 0; i < 30; i++) {
    const thread = execution.spawnNow('plate')
    await until(() => thread.isOver, `the journey of ${thread.name}`)
  }
  await kept.persist()
  const [first, ...others] = [...execution.threads.values()].filter(({ plan }) => plan.name === 'plate')
  t.ok(others.every(({ labware }) => labware.labware_id === first!.labware.labware_id))
  t.ok(kept.most < 10, `a transaction had at most ${kept.most} values`)

  const again = testRuntime([topology, workflow], { ids: 1_000_000, keep: () => new Kept() })
  const taken = await takeUp(again.runtime, kept.all.at(-1)!)
  const { labware_id } = first!.labware
  t.equal(taken.environment.scheduler.whereIs(labware_id), 'pad_1')
  t.same(taken.environment.labware.get(labware_id), others.at(-1)!.labware)
  execution.abort('that was all')
  taken.abort('that was all')
  await runtime.over(execution)
})

test('that a run is closed, or is to be aborted, is written at the end of the turn, though no event tells it', async (t) => {
  const { execution, kept } = await opened()
  const written = () => checkpointOf(kept.all.at(-1)!)!.execution.status
  execution.close()
  await turn()
  await turn()
  t.equal(written(), 'draining')
  execution.abort('that was all')
  t.equal(execution.phase.current, 'stopping')
})

test('a custom event whose data JSON cannot hold is refused before it releases anybody', async (t) => {
  const { runtime, execution, kept } = await opened()
  let nested: object = {}
  for (let i = 0; i < 40; i++) nested = { nested }
  for (const data of [{ when: new Date() }, { n: Number.NaN }, { nested }])
    t.throws(() => execution.events.emitCustom('end', { value: null, data: data as Record<string, unknown> }, null), { code: 'invalid' })
  t.equal(execution.channels.count('end'), 0)
  t.equal(execution.live()[0]!.status.current, 'AWAITING_EVENT')

  const data = { list: [1] }
  execution.events.emitCustom('other', { value: null, data }, null)
  t.throws(() => data.list.push(2), TypeError)
  await kept.persist()
  t.same(execution.state.unmarked(), [])
  execution.events.emitCustom('end', { value: null, data: {} }, null)
  await runtime.over(execution)
})

test('the data of a custom event come back from the card with all their members', async (t) => {
  const { execution, kept } = await opened()
  const data = JSON.parse('{"constructor": 1, "prototype": 2, "__proto__": 3}')
  execution.events.emitCustom('odd', { value: null, data }, null)
  await kept.persist()
  const [channel] = checkpointOf(kept.all.at(-1)!)!.channels
  t.equal(JSON.stringify(channel!.data), JSON.stringify(data))
  execution.abort('that was all')
})

test('a request is kept as it was submitted, whatever its caller and the code of the run do with it', async (t) => {
  const kept = new Kept()
  const seen: unknown[] = []
  const body = async (ctx: { variable(name: string): unknown[] }) => {
    for (const name of ['volumes', 'defaults']) seen.push(ctx.variable(name).push(4))
  }
  const coded = workflowOf(
    'coded',
    { plate: { ...byHand('pad_1'), steps: [{ method: 'count' }] } },
    { variables: { volumes: {}, defaults: { default: [1] } }, methods: { count: [{ name: 'count', body }] } },
  )
  const { runtime } = testRuntime([topology, coded], { keep: () => kept })
  for (let i = 0; i < 2; i++) {
    const variables = { volumes: [1, 2] }
    const execution = await begin(runtime, { workflow: 'coded', variables })
    variables.volumes.push(3)
    await runtime.over(execution)
    t.same(execution.submissions[0]!.request.variables, { volumes: [1, 2] })
    t.same(execution.reason, null)
  }
  t.same(seen, [3, 2, 3, 2])
})

test('a run that cannot be taken up is told of no more moves', async (t) => {
  const { execution, kept } = await opened()
  const saved = checkpointOf(kept.all.at(-1)!)!
  const { runtime } = liveRuntime(topology, [workflow], { ids: 1_000_000, bench: { ...emptyBench, hasTeachpoint: () => true } })
  const { scheduler } = runtime.environments.live!
  let followers = 0
  const onMoved = scheduler.onMoved.bind(scheduler)
  scheduler.onMoved = (call) => {
    followers++
    const stop = onMoved(call)
    return () => {
      followers--
      stop()
    }
  }
  const broken = { ...saved, execution: { ...saved.execution, run_mode: 'LIVE' as const }, methods: [{ owner_id: 'nobody' } as never] }
  await t.rejects(runtime.restore(broken))
  t.equal(followers, 0)
  execution.abort('that was all')
})
