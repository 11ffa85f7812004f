import { test } from 'tap'
import { VirtualTime } from '../kit/virtual_time.ts'
import { dispensed, oneArm, workflowOf } from '../testing/documents.ts'
import type { Loose } from '../testing/plans.ts'
import { begin, drivenBench, testRuntime, trace, until } from '../testing/workflow.ts'
import type { DryRun } from './dry_run.ts'
import { PureEquipment } from './equipment/pure_equipment.ts'
import { Durations } from './plans/durations.ts'
import type { FindSchedule } from './schedule/problem.ts'
import { findSchedule } from './schedule/search.ts'
import type { SubmissionRequest } from './state/submission_request.ts'

/** Two devices that one arm reaches, a hop takes 12 s; and a place to park, if there is to be one. */
const topology = (parking: string[] = ['pad']) =>
  oneArm({
    ...{ storages: ['stack', 'bin'], parking, nests: ['mixer', 'spinner'] },
    operations: { mixer: { mix: 100 }, spinner: { spin: null } },
  })

const mix = { do: 'mix', on: 'mixer' }
const spin = { do: 'spin', on: 'spinner', seconds: 60 }

/** A thread for each list of actions. */
const workflow = (...threads: object[][]): Loose =>
  workflowOf(
    'work',
    Object.fromEntries(threads.map((_, i) => [`plate-${i}`, { ...dispensed('stack', 'bin'), steps: [{ method: `do-${i}` }] }])),
    { methods: Object.fromEntries(threads.map((actions, i) => [`do-${i}`, actions])) },
  )

const request: SubmissionRequest = {
  workflow: 'work',
  run_mode: 'PURE_SIM',
  groups: [],
  batch_mode: 'STANDALONE',
  variables: {},
  operator_id: null,
}

const dry = (documents: readonly unknown[], more: Parameters<typeof testRuntime>[1] = {}): Promise<DryRun> =>
  testRuntime(documents, more).runtime.dryRuns.simulate(request)

test('what completes is told with its time, its moves, and how busy each device is', async (t) => {
  t.same(await dry([topology(), workflow([mix, spin])]), {
    workflow: 'work',
    verdict: 'completes',
    makespan_s: 196,
    moves: 3,
    actions: 2,
    conflict: null,
    refusal: null,
    waiting: [],
    conditions: [],
    devices: [
      { device: 'mixer', busy_s: 100, share: 0.51 },
      { device: 'spinner', busy_s: 60, share: 0.306 },
      { device: 'arm', busy_s: 36, share: 0.184 },
    ],
    gantt: [
      { thread_name: 'plate-0', kind: 'move', name: 'stack → mixer', device: 'arm', from_s: 0, to_s: 12 },
      { thread_name: 'plate-0', kind: 'action', name: 'mix', device: 'mixer', from_s: 12, to_s: 112 },
      { thread_name: 'plate-0', kind: 'move', name: 'mixer → spinner', device: 'arm', from_s: 112, to_s: 124 },
      { thread_name: 'plate-0', kind: 'action', name: 'spin', device: 'spinner', from_s: 124, to_s: 184 },
      { thread_name: 'plate-0', kind: 'move', name: 'spinner → bin', device: 'arm', from_s: 184, to_s: 196 },
    ],
    dropped: 0,
    plan: null,
  })
})

test('of several labware the plan is told beside dispatch alone and the bound; without a plan there is none', async (t) => {
  const documents = [topology(), workflow([mix, spin], [spin, mix], [mix])]
  const search: FindSchedule = async (problem) => findSchedule(problem, { states: 2000 })
  const { plan, verdict, makespan_s } = await dry(documents, { search })
  t.equal(verdict, 'completes')
  t.ok(plan && plan.bound_s <= plan.planned_s && plan.planned_s > 0, JSON.stringify(plan))
  const { runtime } = testRuntime(documents, { search })
  const byRule = await runtime.dryRuns.simulate({ ...request, plan: 'off' })
  t.equal(byRule.plan, null)
  t.equal(plan!.dispatch_s, byRule.makespan_s, 'the dry run that compares is the one without a plan')
  t.ok(plan!.bound_s <= makespan_s)
})

test('the rows of several threads are in the order they begin', async (t) => {
  const { gantt, verdict } = await dry([topology(), workflow([mix, spin], [spin, mix], [mix])])
  t.equal(verdict, 'completes')
  t.equal(gantt.length, 14)
  const begins = gantt.map(({ from_s }) => from_s)
  t.same(
    begins,
    begins.toSorted((a, b) => a - b),
  )
})

test('what fails is told as failing, whether the run ends or an operator would have to decide', async (t) => {
  const faults = [{ operation: 'spin', call: 1, does: 'fail' }] as const
  const held = await dry([topology(), workflow([mix, spin])], { faults })
  t.match(held, {
    verdict: 'fails',
    conflict: /^ACTION_FAILED: spin of spinner failed/,
    waiting: [{ thread_name: 'plate-0', status: 'PAUSED' }],
  })
  const ended = await dry([topology(), workflow([mix, { ...spin, on_failure: 'ABORT' }])], { faults })
  t.match(ended, { verdict: 'fails', waiting: [] })
})

test('threads that want each other’s places are a deadlock where there is no place to park', async (t) => {
  const swap = workflow([spin], [mix])
  swap.threads['plate-0'].start = { at: 'mixer', mode: 'REUSE_EXISTING' }
  swap.threads['plate-1'].start = { at: 'spinner', mode: 'REUSE_EXISTING' }
  t.match(await dry([topology([]), swap]), {
    verdict: 'deadlock',
    conflict: /^UNRESOLVABLE_DEADLOCK/,
    waiting: [{ thread_name: 'plate-0' }, { thread_name: 'plate-1' }],
  })
  t.match(await dry([topology(), swap]), { verdict: 'completes', conflict: null })
})

test('one that waits for an event that nothing emits waits; a person does at once what is asked', async (t) => {
  const forEvent = await dry([topology(), workflow([mix, { wait_for: 'go' }])])
  t.match(forEvent, { verdict: 'waits', conflict: null, makespan_s: 112, waiting: [{ waits_for: 'custom event go' }] })
  const forPerson = await dry([topology(), workflow([{ instruct: 'look at it' }])])
  t.match(forPerson, { verdict: 'completes', waiting: [] })
})

test('a window that is missed is the conflict of a run that completes all the same', async (t) => {
  const late = workflow([{ ...mix, max_wait_after: 30 }, { wait_for: 'go' }, spin], [{ ...spin, seconds: 500 }, { emit: 'go' }])
  t.match(await dry([topology(), late]), {
    verdict: 'completes',
    conflict: /^WINDOW_MISSED: what comes after mix has not begun within 30 s: plate-0 /,
  })
})

test('what comes to no end is broken off', async (t) => {
  const body = async (ctx: { sleep(seconds: number): Promise<void> }) => {
    for (;;) await ctx.sleep(60)
  }
  const { verdict, waiting } = await dry([topology(), workflow([{ name: 'for-ever', body }])])
  t.equal(verdict, 'endless')
  t.same(waiting, [])
})

/** A LIVE run, tried out again and again meanwhile, or not. */
async function live(tries: boolean): Promise<{ trace: string[]; heard: number; tried: DryRun[] }> {
  const clock = new VirtualTime()
  const bench = topology()
  const real = new PureEquipment({ clock, transporters: { arm: { seconds: { pick: 5, move: 2, place: 5 } } } })
  let heard = 0
  const swap = workflow([mix, spin, { emit: 'done' }], [spin, mix])
  swap.on = { 'CUSTOM.done.EMITTED': [() => heard++] }
  const { runtime, told, incidents } = testRuntime([bench, swap], { clock, live: real, bench: drivenBench(bench) })
  runtime.load('bench')
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  const tried: DryRun[] = []
  await until(() => {
    if (tries && tried.length < 5) void runtime.dryRuns.simulate({ ...request, run_mode: 'LIVE' }).then((run) => tried.push(run))
    clock.ringNext()
    return execution.isOver
  })
  if (tries) await until(() => tried.length >= 5)
  return { trace: [...trace(told), ...incidents.map(({ message }) => message)], heard, tried }
}

test('a dry run tells nobody and touches nothing, also beside a run on the same places', async (t) => {
  const alone = await live(false)
  const beside = await live(true)
  t.same(beside.trace, alone.trace)
  t.equal(beside.heard, 1)
  t.ok(beside.tried.every(({ verdict }) => verdict === 'completes'))
})

test('where nothing is declared it goes by what was learned in that mode', async (t) => {
  const durations = new Durations()
  durations.performed('spinner', 'spin', { seconds: 40, params: { duration: 10 } })
  durations.performed('mixer', 'mix', { seconds: 7, params: {} })
  durations.carried('arm', 20)
  const { seconds: _, ...open } = spin
  const { runtime } = testRuntime([topology(), workflow([mix, { ...open, with: { duration: 60 } }])], {
    durations: { DEVICE_SIM: durations },
  })
  const times = async (run_mode: 'DEVICE_SIM' | 'PURE_SIM') => {
    const { gantt } = await runtime.dryRuns.simulate({ ...request, run_mode })
    return gantt.map(({ from_s, to_s }) => to_s - from_s)
  }
  t.same(await times('DEVICE_SIM'), [20, 100, 20, 90, 20])
  t.same(await times('PURE_SIM'), [12, 100, 12, 60, 12])
})

test('a dry run goes by the time that a person takes between two positions, unless the topology says another', async (t) => {
  const durations = new Durations()
  durations.carriedByPerson({ transporter: 'arm', from: 'stack', to: 'mixer' }, 90)
  durations.carriedByPerson({ transporter: 'arm', from: 'mixer', to: 'bin' }, 30)
  const said = topology()
  const own = { ...said, transporters: { arm: { ...said.transporters!.arm!, seconds: { pick: 1, move: 1, place: 1 } } } }
  const moves = async (bench: object) => {
    const { runtime } = testRuntime([bench, workflow([mix])], { durations: { DEVICE_SIM: durations } })
    const { gantt } = await runtime.dryRuns.simulate({ ...request, run_mode: 'DEVICE_SIM' })
    return gantt.filter(({ kind }) => kind === 'move').map(({ from_s, to_s }) => Math.round((to_s - from_s) * 1000) / 1000)
  }
  t.same(await moves(said), [90, 30])
  t.same(await moves(own), [3, 3])
})

test('a dry run shows both sides of each condition, and the side that the examples take', async (t) => {
  const steps = [
    { method: 'look' },
    { name: 'dense', if: { value: 'od', above: 0.5 }, then: [{ name: 'stir', action: mix }], else: [{ action: { emit: 'low' } }] },
    {
      name: 'thin',
      if: {
        any: [
          { value: 'od', below: 0.1 },
          { value: 'od', equals: 9 },
        ],
      },
      then: [{ name: 'again', action: mix }],
    },
  ]
  const document = (example: number) =>
    workflowOf(
      'work',
      { plate: { ...dispensed('stack', 'bin'), steps } },
      { methods: { look: [{ ...spin, save: { od: 'absorbance' } }] }, values: { od: { example } } },
    )
  const dense = await dry([topology(), document(0.7)])
  const [stirs, ...others] = dense.conditions
  t.match(stirs, { thread: 'plate', step: 'dense', condition: 'od above 0.5', examples: { od: 0.7 }, goes: 'then', then: ['stir'] })
  t.equal(stirs!.else.length, 1)
  t.same(others, [
    {
      thread: 'plate',
      step: 'thin',
      condition: 'od below 0.1 or od equals 9',
      examples: { od: 0.7 },
      goes: 'else',
      then: ['again'],
      else: [],
    },
  ])
  const thin = await dry([topology(), document(0.05)])
  t.same(
    thin.conditions.map(({ goes }) => goes),
    ['else', 'then'],
  )
  t.match([dense.actions, thin.actions], [2, 3])
})
