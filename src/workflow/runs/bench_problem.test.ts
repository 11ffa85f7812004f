// The problem that a bench poses at one moment of a run in simulated time. A hop takes 12 s.

import { test } from 'tap'
import { byHand, oneArm, severalArms, standing, stored, workflowOf } from '../../testing/documents.ts'
import { begin, testRuntime, until } from '../../testing/workflow.ts'
import { Hops } from '../plans/timing.ts'
import type { Job, Problem } from '../schedule/problem.ts'
import { benchProblem } from './bench_problem.ts'
import type { Execution } from './execution.ts'
import { wishesOf } from './plan_wishes.ts'

const devices = ['d1', 'd2', 'd3']
const work = { operations: Object.fromEntries(devices.map((device) => [device, { work: null }])) }
const bench = oneArm({
  pads: ['in1', 'in2', 'in3'],
  parking: ['p1'],
  storages: ['store'],
  nests: devices,
  pools: { any: ['d1', 'd2'] },
  ...work,
})
const at = (on: string, seconds: number, more: object = {}) => ({ action: { do: 'work', on, seconds, ...more } })
const a = { ...standing('in1'), steps: [at('d1', 100), at('d3', 60)] }
const b = { ...standing('in2'), steps: [at('d2', 100)] }

function posed(execution: Execution): Problem | undefined {
  const { environment, workflow } = execution
  const now = () => environment.clock.now()
  const bench = { scheduler: environment.scheduler, hops: new Hops(workflow.topology.document), equipment: environment.equipment, now }
  return benchProblem(execution.live(), bench, wishesOf(execution.live()))
}

type Moment = { topology?: object; groups?: number; more?: object; meddle?(execution: Execution): void }

/** Runs the threads, and returns the problem after so many seconds; with `begin`, the first one of which a plan is made. */
async function problemAt(
  moment: number | 'begin',
  threads: Record<string, object>,
  { topology = bench, groups = 0, more = {}, meddle }: Moment = {},
): Promise<Problem> {
  let problem: Problem | undefined
  const search = async (first: Problem) => {
    problem ??= first
    return null
  }
  const { runtime } = testRuntime([topology, workflowOf('work', threads, more)], moment === 'begin' ? { search } : {})
  const list = Array.from({ length: groups }, (_, i) => ({ group_id: `g${i}`, members: {} }))
  const execution = await begin(runtime, { workflow: 'work', groups: list })
  meddle?.(execution)
  if (moment === 'begin') await until(() => problem !== undefined)
  else
    await new Promise<void>((resolve) => {
      execution.environment.clock.after(moment * 1000, () => {
        problem = posed(execution)
        resolve()
      })
    })
  execution.abort('that was all')
  await runtime.over(execution)
  return problem!
}

/** Describes a job with the names of places. */
function told({ places }: Problem, { at, ready_s, since_s, stays, stops, buffers }: Job) {
  return {
    at: places[at]!.name,
    ...{ ready_s, since_s, stays },
    buffers: buffers.map((place) => places[place]!.name),
    stops: stops.map(({ options, within_s }) => {
      const words = options.map(({ place, seconds }) => `${places[place]!.name} ${seconds}`).join(' or ')
      return within_s === null ? words : `${words} within ${within_s}`
    }),
  }
}

test('labware that waits for the operations before the run is ready when they are done', async (t) => {
  const more = { before: [40, 30].map((seconds) => ({ do: 'work', on: 'd3', seconds })) }
  for (const [moment, ready_s] of [
    ['begin', 70],
    [10, 70],
    [50, 30],
  ] as const) {
    const { jobs } = await problemAt(moment, { a, b }, { more })
    t.match(
      jobs.map((job) => job.ready_s),
      [ready_s, ready_s],
      `at ${moment}`,
    )
  }
})

test('labware at its start, with its stops, its end and the places where it may wait', async (t) => {
  const threads = { a: { ...standing('in1'), steps: [{ delay: 30 }, at('any', 10), at('d3', 20)] }, b }
  const soon = await problemAt(5, threads)
  t.same(told(soon, soon.jobs[0]!), {
    ...{ at: 'in1', ready_s: 25, since_s: 0, stays: true, buffers: ['in1', 'p1'] },
    stops: ['d1 10 or d2 10', 'd3 20', 'in1 0'],
  })
  const problem = await problemAt('begin', threads)
  t.match(told(problem, problem.jobs[0]!), { at: /^before in1/, ready_s: 30 }, 'the first plan is made before it is known to stand there')
  t.match(problem, { arms: ['arm'], groups: 1, objective: 'makespan', overtaking: null })
  t.same(problem.ways, [[{ by: [{ arm: 0, seconds: 12 }], via: -1 }]])
  t.same(
    problem.jobs.map(({ kind, priority }) => [kind, priority]),
    [
      [0, 0],
      [1, 0],
    ],
  )
})

test('labware on its way, and the arm that is busy with it', async (t) => {
  const problem = await problemAt(5, { a, b })
  t.same(problem.arm_free_s, [6])
  t.match(told(problem, problem.jobs[0]!), { at: /^d1$/, ready_s: 112, since_s: 112, stops: ['d3 60', 'in1 0'] })
})

test('labware at work, with the rest of the time that the work is to take; work that is late lasts as long again as it is late', async (t) => {
  const problem = await problemAt(50, { a, b })
  t.same(problem.arm_free_s, [0])
  t.match(told(problem, problem.jobs[0]!), { at: /^d1$/, ready_s: 62, since_s: 62, stops: ['d3 60', 'in1 0'] })
  t.match(told(problem, problem.jobs[1]!), { at: /^d2$/, ready_s: 74, stops: ['in2 0'] })
})

test('labware on its way to its end, and from one device to the next', async (t) => {
  const problem = await problemAt(130, { a, b })
  // a goes to d3 from 112 to 124, b home from 124 to 136.
  t.match(told(problem, problem.jobs[0]!), { at: /^d3$/, ready_s: 54, stops: ['in1 0'] })
  t.match(told(problem, problem.jobs[1]!), { at: /^in2$/, ready_s: 12, stops: ['in2 0'] })
})

test('labware that waits at a parking position, and labware from a storage, which leaves the deck at its end', async (t) => {
  const problem = await problemAt(150, {
    c: { ...stored('store'), steps: [at('d3', 500)] },
    a: { ...stored('store'), steps: [at('d1', 10), at('d3', 60)] },
    b: { ...stored('store'), steps: [at('d1', 400)] },
  })
  t.same(told(problem, problem.jobs[1]!), {
    ...{ at: 'p1', ready_s: 0, since_s: 0, stays: true, buffers: ['p1'] },
    stops: ['d3 60', 'store 0'],
  })
  t.ok(problem.places.find(({ name }) => name === 'store')!.isStorage)
  t.notOk(problem.places.find(({ name }) => name === 'p1')!.isStorage)
})

test('labware that is still to come stands in a storage of its own, from which it is brought as from its start', async (t) => {
  const problem = await problemAt(
    50,
    {
      a: { ...byHand('in1'), steps: [at('d1', 100)] },
      b: { ...byHand('in1'), steps: [at('d1', 60)] },
      c: { ...standing('in3'), steps: [at('d3', 500)] },
    },
    {
      meddle: ({ environment }) => environment.scheduler.put('x', 'in1', null),
    },
  )
  const [first, second] = problem.jobs
  const before = [first!, second!].map(({ at }) => problem.places[at]!)
  t.ok(before.every(({ isStorage, name }) => isStorage && name.startsWith('before in1')))
  t.not(first!.at, second!.at)
  t.match(told(problem, first!), { ready_s: 0, stays: false, buffers: ['in1', 'p1'], stops: ['d1 100', 'in1 0'] })
})

test('held labware, and labware that no thread moves, stands in the way where others need the place', async (t) => {
  const problem = await problemAt(
    300,
    {
      a,
      b: { ...b, steps: [at('d2', 100), { wait_for: 'go' }] },
      c: { ...standing('in3'), steps: [at('d3', 10), { delay: 900 }, at('d2', 5)] },
    },
    {
      meddle: ({ environment }) => {
        environment.scheduler.put('x', 'p1', null)
        environment.scheduler.put('y', 'store', null)
      },
    },
  )
  const obstacles = problem.jobs.filter(({ kind }) => kind === -1)
  t.same(
    obstacles.map((job) => told(problem, job)),
    ['d2', 'p1'].map((place) => ({ at: place, ready_s: 0, since_s: 0, stays: true, buffers: [], stops: [] })),
    'nobody goes to the storage',
  )
  t.equal(problem.jobs.length, 3, 'c is left; a has come to its end')
})

test('a window: a hop less than it is, so that a busy arm misses none', async (t) => {
  const steps = (within: number) => [at('d1', 100, { max_wait_after: within }), at('d2', 50), at('d3', 5)]
  for (const [within, expected] of [
    [60, 48],
    [30, 24],
    [20, 20],
  ] as const) {
    const problem = await problemAt('begin', { a: { ...standing('in1'), steps: steps(within) }, b: { ...b, steps: [at('d3', 1)] } })
    t.same(told(problem, problem.jobs[0]!).stops, ['d1 100', `d2 50 within ${expected}`, 'd3 5', 'in1 0'])
  }
})

test('an open window ends at its deadline; labware on its way to be in time has no other window', async (t) => {
  const threads = {
    a: { ...standing('in1'), steps: [at('d1', 100, { max_wait_after: 60 }), at('d2', 50), at('d3', 5)] },
    b: { ...b, steps: [at('d3', 1)] },
  }
  const atWork = await problemAt(100, threads)
  t.match(told(atWork, atWork.jobs[0]!), { at: /^d1$/, ready_s: 12, since_s: 12, stops: ['d2 50 within 48', 'd3 5', 'in1 0'] })
  const onItsWay = await problemAt(115, threads)
  t.match(told(onItsWay, onItsWay.jobs[0]!), { at: /^d2$/, ready_s: 62, stops: ['d3 5', 'in1 0'] })
})

test('two arms with a hand-over place, and two that both reach everything', async (t) => {
  const halves = severalArms(
    { left: ['in1', 'd1', 'h'], right: ['h', 'd2', 'in2'] },
    { nests: ['d1', 'd2'], operations: { d1: { work: null }, d2: { work: null } } },
  )
  const problem = await problemAt(
    'begin',
    { a: { ...standing('in1'), steps: [at('d1', 10), at('d2', 10)] }, b: { ...standing('in2'), steps: [at('d2', 10)] } },
    { topology: halves },
  )
  const place = (name: string) => problem.places.findIndex((one) => one.name === name)
  const way = (from: string, to: string) =>
    problem.ways[problem.places[place(from)]!.group * problem.groups + problem.places[place(to)]!.group]
  t.same(problem.arms, ['left', 'right'])
  t.same(way('in1', 'd1'), [{ by: [{ arm: 0, seconds: 12 }], via: -1 }])
  t.same(way('d1', 'd2'), [
    { by: [{ arm: 0, seconds: 12 }], via: place('h') },
    { by: [{ arm: 1, seconds: 12 }], via: -1 },
  ])
  t.not(place('h'), -1)
  t.same(
    problem.jobs.map((job) => told(problem, job).buffers),
    [['in1'], ['in2']],
  )
  const all = ['in1', 'in2', 'd1', 'd2', 'd3']
  const both = await problemAt('begin', { a, b }, { topology: severalArms({ left: all, right: all }, { nests: devices, ...work }) })
  t.same(both.ways, [
    [
      {
        by: [
          { arm: 0, seconds: 12 },
          { arm: 1, seconds: 12 },
        ],
        via: -1,
      },
    ],
  ])
})

test('labware of one thread is of one kind', async (t) => {
  const problem = await problemAt(
    'begin',
    { a: { ...stored('store'), steps: [at('d1', 5)] }, b: { ...stored('store'), steps: [at('d2', 5)] } },
    { groups: 2 },
  )
  t.same(
    problem.jobs.map(({ kind }) => kind),
    [0, 1, 0, 1],
  )
})
