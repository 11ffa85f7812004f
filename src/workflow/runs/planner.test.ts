// When a plan is made, and what comes of it. A hop takes 12 s; labware that is later or earlier than 4 hops, 48 s, makes a plan out of date.

import { test } from 'tap'
import { VirtualClock } from '../../kit/clock.ts'
import { dispensed, oneArm, standing, stored, workflowOf } from '../../testing/documents.ts'
import { shopOf } from '../../testing/shops.ts'
import { begin, instantBench, liveRuntime, run, testRuntime, threadIn, trace, until } from '../../testing/workflow.ts'
import { PureEquipment } from '../equipment/pure_equipment.ts'
import { movesOf } from '../plans/timing.ts'
import type { FindSchedule, Problem, Schedule } from '../schedule/problem.ts'
import { findSchedule } from '../schedule/search.ts'
import type { Execution } from './execution.ts'

const quick: FindSchedule = async (problem) => findSchedule(problem, { states: 2000 })

const devices = ['d1', 'd2', 'd3']
const bench = oneArm({
  pads: ['in1', 'in2', 'in3'],
  parking: ['p1', 'p2'],
  storages: ['store'],
  nests: devices,
  operations: Object.fromEntries(devices.map((device) => [device, { work: null }])),
})
const at = (on: string, seconds: number) => ({ action: { do: 'work', on, seconds } })
const two = {
  a: { ...standing('in1'), steps: [at('d1', 100), at('d3', 60)] },
  b: { ...standing('in2'), steps: [at('d2', 100), at('d3', 60)] },
}
const document = workflowOf('work', two)
const asked = { workflow: 'work' }

/** Notes the reasons of the plans of a run. */
function reasonsOf(execution: Execution): string[] {
  const reasons: string[] = []
  execution.planning.adopted = ({ reason }) => void reasons.push(reason)
  return reasons
}

const isOver = (execution: Execution) => [...execution.threads.values()].every(({ status }) => status.current === 'COMPLETED')
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

test('a run of two labwares is planned before time goes on, and nothing moves before', async (t) => {
  let answer: (schedule: Schedule | null) => void = () => {}
  const problems: Problem[] = []
  const search: FindSchedule = (problem) => {
    problems.push(problem)
    return new Promise((resolve) => {
      answer = resolve
    })
  }
  const { runtime, told } = testRuntime([bench, document], { search })
  const execution = await begin(runtime, asked)
  const reasons = reasonsOf(execution)
  await until(() => problems.length > 0)
  await turns(50)
  t.equal(execution.environment.clock.now(), 0)
  t.notOk(trace(told).some((line) => line.endsWith('MOVING')))
  answer(findSchedule(problems[0]!, { states: 500 }))
  await runtime.over(execution)
  t.ok(isOver(execution))
  t.equal(problems.length, 1, 'all goes as planned, so that one plan is enough')
  t.same(reasons, ['came'])
})

test('a plan is noted in the run, and begins anew when the bench was empty', async (t) => {
  const { runtime } = testRuntime([bench, document], { search: quick })
  const execution = await begin(runtime, asked)
  let first: unknown
  execution.planning.adopted = (plan) => {
    first = plan
  }
  await runtime.over(execution)
  t.match(first, { reason: 'came', makespan_s: Number, bound_s: Number, states: Number })
  const ended = Math.max(...execution.timeline.rows().map(({ ended }) => ended ?? 0))
  t.equal((first as { makespan_s: number }).makespan_s, ended, 'it was right')
})

test('the same input gives the same events, however long the search takes', async (t) => {
  const { topology, workflow } = shopOf(7, {
    devices: 4,
    plates: 5,
    parks: 1,
    pool: 1,
    arms: 2,
    isStored: false,
    isFlow: false,
    window_s: 0,
  })
  const events = async (delay: number) => {
    const search: FindSchedule = async (problem) => {
      await turns(delay)
      return quick(problem)
    }
    const { runtime, told } = testRuntime([topology, workflow], { search })
    await run(runtime, { workflow: 'shop' })
    return trace(told)
  }
  const at_once = await events(0)
  t.ok(at_once.length > 50)
  t.same(await events(40), at_once)
})

test('a run is not planned without a search, with `plan: off`, with one labware, or while there are more than 150', async (t) => {
  const crowd = workflowOf('crowd', { a: { ...stored('store'), steps: [at('d1', 1)] } })
  let problems: number[] = []
  const search: FindSchedule = async ({ jobs }) => {
    problems.push(jobs.length)
    return null
  }
  const { runtime } = testRuntime([bench, document, crowd], { search })
  const groups = (count: number) => Array.from({ length: count }, (_, i) => ({ group_id: `g${i}`, members: {} }))
  for (const [request, expected] of [
    [{ ...asked, plan: 'off' }, []],
    [{ workflow: 'crowd' }, []],
    [asked, [2]],
    [{ workflow: 'crowd', groups: groups(150) }, [150]],
    [{ workflow: 'crowd', groups: groups(151) }, [150]],
  ] as const) {
    problems = []
    const execution = await run(runtime, request as Parameters<typeof run>[1])
    t.same(problems.slice(0, 1), expected)
    t.ok(isOver(execution), 'it goes by the rule')
  }
  const without = testRuntime([bench, document])
  t.ok(isOver(await run(without.runtime, asked)))
})

/** A runtime whose devices take other seconds than the workflow says. */
function varied(seconds: Record<string, number>) {
  class Varied extends PureEquipment {
    override perform(...[device_id, operation, params, how]: Parameters<PureEquipment['perform']>): Promise<unknown> {
      return super.perform(device_id, operation, params, { ...how, seconds: seconds[device_id] ?? how.seconds })
    }
  }
  return testRuntime([bench, document], {
    search: quick,
    simulate: ({ document }, clock) => new Varied({ clock, transporters: movesOf(document) }),
  })
}

test('a plan is made anew when labware is ready more than four hops later or earlier', async (t) => {
  for (const [d1, isAnew] of [
    [100, false],
    [148, false],
    [149, true],
    [52, false],
    [51, true],
    [1000, true],
  ] as const) {
    const { runtime } = varied({ d1 })
    const execution = await begin(runtime, asked)
    const reasons = reasonsOf(execution)
    await runtime.over(execution)
    t.ok(isOver(execution))
    t.equal(reasons.includes('off_time'), isAnew, `${d1} s: ${reasons}`)
    t.ok(reasons.length <= 4, `${reasons}`)
  }
})

test('labware that is ready does not wait for labware that is late for long', async (t) => {
  const { runtime } = varied({ d1: 500 })
  const execution = await run(runtime, asked)
  const work = execution.timeline.rows().filter(({ kind }) => kind === 'action')
  const began = work.filter(({ device }) => device === 'd3').map(({ thread_name, started }) => [thread_name, started])
  t.match(began, [
    ['b', Number],
    ['a', Number],
  ])
  t.ok((began[0]![1] as number) < 250, `${began}`)
})

test('a plan is made anew when a thread is held, when it goes on, and when a thread comes', async (t) => {
  const { runtime } = testRuntime(
    [bench, workflowOf('work', { ...two, c: { ...standing('in3'), steps: [at('d1', 60)] } }, { start: ['a', 'b'] })],
    {
      search: quick,
      onTold: ({ event_name }) => {
        if (event_name.endsWith('.EXECUTING_ACTION') && isFirst) act()
      },
    },
  )
  let isFirst = true
  const act = () => {
    isFirst = false
    execution.live()[0]!.control.pause('manual')
  }
  const execution = await begin(runtime, asked)
  const reasons = reasonsOf(execution)
  const [held] = execution.live()
  await until(() => held!.status.current === 'PAUSED' && execution.live().length === 1, 'the other one ends')
  t.same(reasons, ['came', 'held'])
  execution.spawnNow('c')
  held!.control.resume()
  await runtime.over(execution)
  t.ok(isOver(execution))
  t.same(reasons.slice(0, 3), ['came', 'held', 'came'])
})

test('while nothing moves no plan is made, so that simulated time comes to its end', async (t) => {
  let problems = 0
  const waiting = workflowOf('work', { ...two, c: { ...standing('in3'), steps: [{ wait_for: 'go' }, at('d1', 60)] } })
  const { runtime } = testRuntime([bench, waiting], {
    search: (problem) => {
      problems++
      return quick(problem)
    },
  })
  const execution = await begin(runtime, asked)
  await threadIn(execution, 'c', 'AWAITING_EVENT')
  await until(() => execution.live().length === 1, 'the others end')
  await turns(20)
  const [before, now] = [problems, execution.environment.clock.now()]
  await turns(200)
  t.same([problems, execution.environment.clock.now()], [before, now])
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.ok(isOver(execution))
})

test('a plan by which threads wait for each other is given up: the run goes on by the rule, and another plan is made', async (t) => {
  const steps = [at('d1', 60), at('d2', 60)]
  // The plan has b first at d1, and a first at d2.
  const queue = workflowOf('work', { a: { ...stored('store'), steps }, b: { ...stored('store'), steps } })
  let count = 0
  const search: FindSchedule = async (problem) => {
    if (count++ > 0) return quick(problem)
    const { moves, ...schedule } = findSchedule({ ...problem, jobs: problem.jobs.slice(0, 1) }, { states: 100 })!
    const [toD1, toD2, home] = moves
    const order = [
      [toD1, 1],
      [toD1, 0],
      [toD2, 0],
      [toD2, 1],
      [home, 0],
      [home, 1],
    ] as const
    return { ...schedule, moves: order.map(([move, job], i) => ({ ...move!, job, start_s: i && 1000 })) }
  }
  const { runtime, incidents } = testRuntime([bench, queue], { search })
  const execution = await begin(runtime, asked)
  const reasons = reasonsOf(execution)
  await runtime.over(execution)
  t.ok(isOver(execution))
  t.same(incidents, [])
  t.same(reasons.slice(0, 2), ['came', 'deadlock'])
})

test('a search that fails leaves the rule', async (t) => {
  const { runtime } = testRuntime([bench, document], { search: () => Promise.reject(new Error('out of memory')) })
  const execution = await run(runtime, asked)
  t.ok(isOver(execution))
})

test('steps are skipped, inserted and begun elsewhere while a plan is in force', async (t) => {
  for (const meddle of [
    (execution: Execution) => execution.skip('b/work'),
    (execution: Execution) => execution.inserts.put({ before: 'b/work', item: at('d1', 300) }),
    (execution: Execution) => execution.live()[1]!.control.stop(),
    (execution: Execution) => execution.pause('manual'),
  ]) {
    const steps = (first: string) => [at(first, 100), at(first, 20), { delay: 30 }, { name: 'last', ...at('d3', 60) }]
    const longer = workflowOf('work', { a: { ...standing('in1'), steps: steps('d1') }, b: { ...standing('in2'), steps: steps('d2') } })
    let isDone = false
    const { runtime } = testRuntime([bench, longer], {
      search: quick,
      onTold: ({ event_name }) => {
        if (isDone || !event_name.endsWith('.EXECUTING_ACTION')) return
        isDone = true
        setImmediate(() => {
          try {
            meddle(execution)
          } catch {
            execution.skip('b/last')
          }
        })
      },
    })
    const execution = await begin(runtime, asked)
    await until(() => isDone)
    await turns(100)
    if (execution.paused) execution.resume()
    await runtime.over(execution)
    t.ok([...execution.threads.values()].every(({ status }) => ['COMPLETED', 'STOPPED'].includes(status.current)))
    t.equal(execution.phase.current, 'completed')
  }
})

test('outside simulated time the run begins by the rule if the search takes long', async (t) => {
  const clock = new VirtualClock()
  let searches = 0
  const search: FindSchedule = () => {
    searches++
    return new Promise(() => {})
  }
  const { runtime } = liveRuntime(
    bench,
    [workflowOf('work', { a: { ...dispensed('store'), steps: two.a.steps }, b: { ...dispensed('store'), steps: two.b.steps } })],
    {
      clock,
      search,
      live: instantBench(),
    },
  )
  const execution = await begin(runtime, { ...asked, run_mode: 'LIVE' })
  await until(() => searches === 1)
  await clock.advance(1999)
  await turns(50)
  t.notOk(execution.live().some(({ action }) => action?.device))
  await clock.advance(1)
  await until(() => execution.live().every(({ status }) => status.current === 'AWAITING_MANUAL_REMOVE'), 'all come to their end')
  for (const thread of execution.live()) runtime.operator.done(thread, 'remove', null)
  await runtime.over(execution)
  t.ok(isOver(execution))
})

test('labware that a person carried elsewhere goes on from there, and a plan is in force', async (t) => {
  const waits = workflowOf('work', {
    a: { ...standing('in1'), steps: [at('d1', 100), { wait_for: 'go' }, at('d3', 60)] },
    b: { ...standing('in2'), steps: [at('d2', 100), { wait_for: 'go' }, at('d3', 60)] },
    c: { ...standing('in3'), steps: [{ delay: 5 }, at('d1', 1), { wait_for: 'go' }] },
  })
  const { runtime } = liveRuntime(bench, [waits], { search: quick })
  const execution = await begin(runtime, { ...asked, run_mode: 'LIVE' })
  const reasons = reasonsOf(execution)
  const a = await threadIn(execution, 'a', 'AWAITING_EVENT')
  await threadIn(execution, 'b', 'AWAITING_EVENT')
  runtime.relocate(a.labware.labware_id, { position: 'p2' })
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await until(() => ['a', 'b'].every((name) => [...execution.threads.values()].find((thread) => thread.name === name)!.isOver), 'both end')
  t.ok(reasons.length > 0)
  execution.abort('enough')
  await runtime.over(execution)
  t.equal([...execution.threads.values()].filter(({ status }) => status.current === 'COMPLETED').length, 2)
})

test('a journey that cannot be foretold leaves the rule, and the run goes on', async (t) => {
  let searches = 0
  const search: FindSchedule = (problem) => {
    searches++
    return quick(problem)
  }
  const { runtime } = testRuntime([bench, document], { search })
  const execution = await begin(runtime, asked)
  execution.environment.scheduler.present.buffersOf = () => {
    throw new Error('no')
  }
  await runtime.over(execution)
  t.same([isOver(execution), searches], [true, 0])
})
