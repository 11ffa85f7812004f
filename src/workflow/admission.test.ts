// How much may run at once.

import { test } from 'tap'
import { dispensed, oneArm, workflowOf } from '../testing/documents.ts'
import { begin, liveRuntime } from '../testing/workflow.ts'

const topology = oneArm({ storages: ['hotel', 'waste'] })
const thread = { ...dispensed('hotel', 'waste'), steps: [{ wait_for: 'go' }] }
const workflow = workflowOf('waiting', { plate: thread, lid: thread })
const groups = (many: number) => Array.from({ length: many }, (_, n) => ({ group_id: `g${n}`, members: {} }))

function opened(limits: { open_simulations?: number; open_runs?: number; open_threads?: number }) {
  const refused: string[] = []
  const all = { open_simulations: 100, open_runs: 100, open_threads: 1000, ...limits }
  const { runtime } = liveRuntime(topology, [workflow], {
    admission: { limits: () => all, refused: (bound) => void refused.push(bound) },
  })
  return { runtime, refused, limits: all }
}

const asked = { workflow: 'waiting' } as const
const overloaded = (message: RegExp) => ({ code: 'overloaded', retry_after_s: 5, message })

test('so many simulations are open at once, and the next begins when one has ended', async (t) => {
  const { runtime, refused, limits } = opened({ open_simulations: 2 })
  const first = await begin(runtime, asked)
  await begin(runtime, asked)
  await t.rejects(begin(runtime, asked), overloaded(/^2 simulations are open, and limits\.open_simulations is 2; wait/))
  t.equal(runtime.runs.all().length, 2, 'nothing has begun')
  t.same(refused, ['open_simulations'])
  await begin(runtime, { ...asked, batch_mode: 'JOIN_EXISTING', groups: groups(1) })
  limits.open_simulations = 3
  await begin(runtime, asked)
  await t.rejects(begin(runtime, asked), overloaded(/is 3/))
  first.abort('enough')
  await runtime.over(first)
  await begin(runtime, asked)
})

test('those that are asked for in one moment are counted as well', async (t) => {
  const { runtime } = opened({ open_simulations: 2 })
  const all = await Promise.allSettled(Array.from({ length: 20 }, () => begin(runtime, asked)))
  t.equal(all.filter(({ status }) => status === 'fulfilled').length, 2)
})

test('a dry run is a simulation while it is under way, and not after', async (t) => {
  const { runtime, refused } = opened({ open_simulations: 2 })
  const request = { ...asked, run_mode: 'LIVE' as const, groups: [], batch_mode: 'STANDALONE' as const, variables: {}, operator_id: null }
  await begin(runtime, asked)
  const [one, other] = await Promise.allSettled([runtime.dryRuns.simulate(request), runtime.dryRuns.simulate(request)])
  t.equal(one?.status, 'fulfilled')
  t.match(other, { status: 'rejected', reason: { code: 'overloaded' } })
  t.same(refused, ['open_simulations'])
  t.equal((await runtime.dryRuns.simulate(request)).workflow, 'waiting')
  await t.rejects(
    runtime.dryRuns.simulate({ ...request, groups: groups(501) }),
    overloaded(/2 labware threads are open, this would begin with 1002 more/),
  )
  t.equal((await runtime.dryRuns.simulate(request)).workflow, 'waiting', 'one that was refused is not under way')
})

test('the threads of all runs together are bounded, whoever brings them', async (t) => {
  const { runtime, refused } = opened({ open_threads: 10 })
  await t.rejects(begin(runtime, { ...asked, groups: groups(6) }), overloaded(/^0 labware threads are open, this would begin with 12 more/))
  await begin(runtime, { ...asked, batch_mode: 'JOIN_EXISTING', groups: groups(3) })
  await begin(runtime, { ...asked, groups: groups(1) })
  await t.rejects(
    begin(runtime, { ...asked, batch_mode: 'JOIN_EXISTING', groups: groups(2) }),
    overloaded(/^8 .* limits\.open_threads is 10/),
  )
  await begin(runtime, { ...asked, batch_mode: 'JOIN_EXISTING', groups: groups(1) })
  await t.rejects(begin(runtime, asked), overloaded(/^10 /))
  t.same(refused, ['open_threads', 'open_threads', 'open_threads'])
})

test('runs that drive something are counted apart from those that do not', async (t) => {
  const { runtime, refused } = opened({ open_runs: 1, open_simulations: 1 })
  await begin(runtime, asked)
  await begin(runtime, { ...asked, run_mode: 'LIVE' })
  await t.rejects(begin(runtime, { ...asked, run_mode: 'LIVE' }), overloaded(/^1 runs are open, and limits\.open_runs is 1/))
  await t.rejects(begin(runtime, asked), overloaded(/^1 simulations are open/))
  t.same(refused, ['open_runs', 'open_simulations'])
})
