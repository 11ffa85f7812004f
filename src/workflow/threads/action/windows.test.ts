import { test } from 'tap'
import { dispensed, oneArm, workflowOf } from '../../../testing/documents.ts'
import { type Loose, says } from '../../../testing/plans.ts'
import { begin, emptyBench, run, testRuntime, threadIn, until } from '../../../testing/workflow.ts'
import { compileWorkflow } from '../../plans/compile.ts'
import { compileTopology } from '../../plans/topology.ts'
import { why } from '../../runs/explanation.ts'
import type { Runtime } from '../../runtime.ts'

/** Plates come out of a stack, are kept warm, spun, and go into a bin. A hop takes 12 s. */
const topology = (incubators: number, centrifuges = 1): Loose => {
  const warm = Array.from({ length: incubators }, (_, i) => `warm-${i + 1}`)
  const spin = Array.from({ length: centrifuges }, (_, i) => `spin-${i + 1}`)
  const declared = [...warm.map((id) => [id, 'incubate'] as const), ...spin.map((id) => [id, 'spin'] as const)]
  return oneArm({
    ...{ storages: ['stack', 'bin'], parking: ['pad'], nests: [...warm, ...spin] },
    ...{ operations: Object.fromEntries(declared.map(([id, operation]) => [id, { [operation]: null }])), pools: { warm, spin } },
  })
}

type Treatment = { window?: number; incubation?: number; spinning?: number }
const workflow = ({ window, incubation = 600, spinning = 300 }: Treatment): Loose =>
  workflowOf(
    'warm-and-spin',
    { plate: { ...dispensed('stack', 'bin'), steps: [{ method: 'treat' }] } },
    {
      methods: {
        treat: [
          { do: 'incubate', on: 'warm', seconds: incubation, ...(window !== undefined && { max_wait_after: window }) },
          { do: 'spin', on: 'spin', seconds: spinning },
        ],
      },
    },
  )

const groups = (count: number) => Array.from({ length: count }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))

/** Of each plate, how long it was after the incubation that the spin began. */
async function gaps(runtime: Runtime, plates: number): Promise<number[]> {
  const execution = await run(runtime, { workflow: 'warm-and-spin', groups: groups(plates) })
  const rows = execution.timeline.rows().filter(({ kind }) => kind === 'action')
  const of = (name: string, thread: string) => rows.find((row) => row.name === name && row.thread_id === thread)!
  return [...execution.threads.keys()].map((thread) => of('spin', thread).started! - of('incubate', thread).ended!)
}

test('of two plates and one centrifuge the second comes too late, unless a window says when it must be there', async (t) => {
  const free = testRuntime([topology(2), workflow({})])
  const [first, second] = await gaps(free.runtime, 2)
  t.equal(first, 12)
  t.ok(second! > 60, `${second} s`)
  t.same(free.incidents, [])
  const bound = testRuntime([topology(2), workflow({ window: 60 })])
  const both = await gaps(bound.runtime, 2)
  t.ok(
    both.every((gap) => gap <= 60),
    both.join(' '),
  )
  t.same(bound.incidents, [])
})

test('the windows of many plates hold where the devices are pools', async (t) => {
  const three = testRuntime([topology(3), workflow({ window: 60 })])
  const gapsOfThree = await gaps(three.runtime, 3)
  t.ok(
    gapsOfThree.every((gap) => gap <= 60),
    gapsOfThree.join(' '),
  )
  const many = testRuntime([topology(4, 2), workflow({ window: 60, spinning: 200 })])
  const gapsOfMany = await gaps(many.runtime, 9)
  t.ok(
    gapsOfMany.every((gap) => gap <= 60),
    gapsOfMany.join(' '),
  )
  t.same([...three.incidents, ...many.incidents], [])
})

test('the centrifuge is not left idle for the sake of windows: between two spins lies no more than what one allows, and a way', async (t) => {
  const { runtime } = testRuntime([topology(2), workflow({ window: 60 })])
  const execution = await run(runtime, { workflow: 'warm-and-spin', groups: groups(3) })
  const spins = execution.timeline.rows().filter(({ name }) => name === 'spin')
  const pauses = spins.slice(1).map(({ started }, i) => started! - spins[i]!.ended!)
  t.ok(
    pauses.every((pause) => pause <= 84),
    `${pauses.join(' ')} s between two spins`,
  )
})

test('whoever must wait to be in time is told for what, and so is who waits for what is booked', async (t) => {
  const document = workflow({ window: 60 })
  document.threads.other = { ...document.threads.plate, labware: 'other', steps: [{ action: { do: 'spin', on: 'spin', seconds: 900 } }] }
  document.labware.other = { type: '96-well' }
  document.start = ['plate', 'other']
  const { runtime } = testRuntime([topology(2), document])
  const execution = await begin(runtime, { workflow: 'warm-and-spin', groups: groups(2) })
  const because = new Set<string>()
  await until(() => {
    for (const reason of why(execution)) for (const sentence of reason.because) because.add(`${reason.thread_name}: ${sentence}`)
    return execution.isOver
  })
  t.ok(
    [...because].some((sentence) => /^plate-2: spin-1, to which it must go in time afterwards, is not sure to be free then/.test(sentence)),
    [...because].join('\n'),
  )
  t.ok(
    [...because].some((sentence) => /^other(-2)?: spin-1 is booked for plate/.test(sentence)),
    [...because].join('\n'),
  )
})

test('a window that no way is short enough for is refused with its place', async (t) => {
  const bench = compileTopology(topology(1), emptyBench, 'the file')
  const at = 'workflow warm-and-spin: methods.treat[0].max_wait_after'
  const told = 'the way from warm-1 to spin-1 takes 12 s, and 5 s are allowed; allow more, or say what the transporters take'
  says(t, () => compileWorkflow(workflow({ window: 5 }), bench, 'the file', 'json'), `${at}: ${told}`)
  t.ok(compileWorkflow(workflow({ window: 12 }), bench, 'the file', 'json'))
})

test('of several actions that may come next one that can be in time is enough, across methods and branches', async (t) => {
  const bench = topology(1)
  bench.transporters = {
    arm: { positions: ['stack', 'bin', 'pad', 'warm-1', 'hub'] },
    slow: { positions: ['hub', 'spin-1'], seconds: { move: 90 } },
  }
  bench.positions.hub = {}
  const far = compileTopology(bench, emptyBench, 'the file')
  const document = (cases: Record<string, object[]>, otherwise: object[] = []) => {
    const all = workflow({ window: 60 })
    const [incubate, spin] = all.methods.treat
    all.methods = { warm: [incubate, { emit: 'qc', value: 'good' }], spin: [spin], again: [{ ...incubate, max_wait_after: undefined }] }
    all.threads.plate.steps = [{ method: 'warm' }, { branch: 'qc', cases, else: otherwise }]
    return () => compileWorkflow(all, far, 'the file', 'typescript')
  }
  const told =
    'workflow warm-and-spin: methods.warm[0].max_wait_after: the way from warm-1 to spin-1 takes 112 s, and 60 s are allowed; allow more, or say what the transporters take'
  says(t, document({ good: [{ method: 'spin' }] }, [{ method: 'spin' }]), told)
  t.ok(document({ good: [{ method: 'spin' }] }, [{ method: 'again' }])())
  t.ok(document({}, [])(), 'nothing comes after it')
})

test('a window that is missed is told once, at once, with what is waited for, and the run goes on', async (t) => {
  const document = workflow({ window: 60 })
  document.methods.treat.splice(1, 0, { wait_for: 'go' })
  const told: unknown[] = []
  const { runtime, incidents } = testRuntime([topology(1), document], {
    onTold({ event_name, context }) {
      if (event_name.endsWith('WINDOW_MISSED')) told.push((context as { severity: string }).severity)
    },
  })
  const execution = await begin(runtime, { workflow: 'warm-and-spin', groups: groups(1) })
  const thread = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  await until(() => thread.control.waiting?.kind === 'event')
  execution.environment.clock.after(100_000, () => execution.events.emitCustom('go', { value: null, data: {} }, null))
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.same(
    incidents.map(({ category, message }) => ({ category, message })),
    [{ category: 'WINDOW_MISSED', message: 'what comes after incubate has not begun within 60 s: plate waits for custom event go of g1' }],
  )
  t.same(told, ['WARNING'])
})

test('what is booked for one that waits for an event is free for whoever is to emit it', async (t) => {
  const document = workflow({ window: 60 })
  document.methods.treat[0] = {
    name: 'warm_until_told',
    on: 'warm',
    max_wait_after: 60,
    body: (ctx: { waitFor(name: string): Promise<unknown> }) => ctx.waitFor('go'),
  }
  document.methods.check = [{ do: 'spin', on: 'spin', seconds: 30 }, { emit: 'go' }]
  document.labware.other = { type: '96-well' }
  document.threads.other = { ...document.threads.plate, labware: 'other', steps: [{ method: 'check' }] }
  document.start = ['plate', 'other']
  const { runtime, incidents } = testRuntime([topology(1), document])
  const request = { workflow: 'warm-and-spin', run_mode: 'PURE_SIM', batch_mode: 'STANDALONE', variables: {}, operator_id: null } as const
  t.match(await runtime.dryRuns.simulate({ ...request, groups: [] }), { verdict: 'completes', conflict: null })
  t.same(incidents, [])
})

test('a window runs on while the run is paused, and is told while there is still something to save; one that ends with its run is not', async (t) => {
  const { runtime, incidents } = testRuntime([topology(1), workflow({ window: 60 })])
  const execution = await begin(runtime, { workflow: 'warm-and-spin', groups: groups(1) })
  const thread = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  execution.pause('manual')
  await threadIn(execution, 'plate', 'PAUSED')
  await until(() => incidents.length > 0)
  t.match(incidents, [{ category: 'WINDOW_MISSED', message: /within 60 s: plate waits for paused \(manual\)/ }])
  execution.abort('that was all')
  await runtime.over(execution)
  t.equal(thread.window, null)

  const other = await begin(runtime, { workflow: 'warm-and-spin', groups: groups(1) })
  const plate = await threadIn(other, 'plate', 'EXECUTING_ACTION')
  other.pause('manual')
  await until(() => plate.window !== null)
  other.abort('it is given up in time')
  await runtime.over(other)
  other.environment.clock.after(100_000, () => t.pass('time went on'))
  await until(() => other.environment.clock.now() > 700_000)
  t.equal(incidents.length, 1)
})
