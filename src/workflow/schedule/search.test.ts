import { test } from 'tap'
import { arrivals, checkSchedule, missedWindows, type ProblemShape, randomProblem } from '../../testing/schedules.ts'
import { Beam } from './beam.ts'
import type { Progress } from './extend.ts'
import { modelOf } from './model.ts'
import { pipelinesOf } from './pipeline.ts'
import type { Job, Problem, Stop } from './problem.ts'
import { retimed } from './retime.ts'
import type { Step } from './rows.ts'
import { defaultBudget, findSchedule } from './search.ts'
import { States } from './state.ts'

const shapes: Record<string, Omit<ProblemShape, 'seed'>> = {
  'one arm, two parks': { jobs: 6, devices: 4, parks: 2, arms: 1, ownPads: true },
  'one park': { jobs: 5, devices: 4, parks: 1, arms: 1 },
  'no place to wait': { jobs: 5, devices: 3, parks: 0, arms: 1 },
  'two arms': { jobs: 6, devices: 4, parks: 2, arms: 2, ownPads: true },
  'two arms with a hand-over place': { jobs: 5, devices: 4, parks: 1, arms: 2, isHalved: true, ownPads: true },
  'two arms with a hand-over place and nowhere to wait': { jobs: 4, devices: 3, parks: 0, arms: 2, isHalved: true },
  storages: { jobs: 7, devices: 4, parks: 1, arms: 1, storages: true },
  'labware in the middle of its journey': { jobs: 6, devices: 5, parks: 2, arms: 2, isUnderWay: true, storages: true, ownPads: true },
  windows: { jobs: 5, devices: 4, parks: 1, arms: 1, windows: true, ownPads: true },
  'two of each kind': { jobs: 6, devices: 4, parks: 2, arms: 1, kinds: true, ownPads: true },
  'two of each kind with windows': { jobs: 6, devices: 4, parks: 2, arms: 2, kinds: true, windows: true, ownPads: true },
}

for (const [name, shape] of Object.entries(shapes)) {
  test(`random benches: ${name}`, (t) => {
    let found = 0
    for (let seed = 1; seed <= 60; seed++) {
      const problem = { ...randomProblem({ ...shape, seed }), objective: (['makespan', 'flow_time', 'open_time'] as const)[seed % 3]! }
      const schedule = findSchedule(problem, { states: 3000 })
      if (!schedule) continue
      found++
      const faults = checkSchedule(problem, schedule)
      if (faults.length > 0) t.fail(`seed ${seed}: ${faults.join('; ')}`)
    }
    t.ok(found > 40, `${found} schedules`)
    t.end()
  })
}

const two: Omit<ProblemShape, 'seed'> = { jobs: 6, devices: 4, parks: 2, arms: 2, ownPads: true }

const onlyArm = (problem: Problem, arm: number): Problem => ({
  ...problem,
  arms: [problem.arms[arm]!],
  arm_free_s: [problem.arm_free_s[arm]!],
  ways: problem.ways.map(
    (way) => way?.map((leg) => ({ ...leg, by: leg.by.filter((by) => by.arm === arm).map(({ seconds }) => ({ arm: 0, seconds })) })) ?? null,
  ),
})

test('two arms are never worse than one of them', (t) => {
  let better = 0
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomProblem({ ...two, seed })
    // A more important run may end sooner with two arms, and all labware later.
    const problem = { ...random, jobs: random.jobs.map((job) => ({ ...job, priority: 0 })) }
    const both = findSchedule(problem, { states: defaultBudget(problem) / 10 })!
    for (const arm of problem.arms.keys()) {
      const alone = onlyArm(problem, arm)
      const one = findSchedule(alone, { states: defaultBudget(alone) / 10 })!
      if (both.makespan_s > one.makespan_s + 1e-6)
        t.fail(`seed ${seed}: ${both.makespan_s} with two arms, ${one.makespan_s} with arm ${arm}`)
      if (both.makespan_s < one.makespan_s - 1e-6) better++
    }
  }
  t.ok(better > 20, `${better} are better`)
  t.end()
})

/** A bench with one arm whose hops take 10 seconds, and labware that starts and ends at pads of its own. */
function bench(
  devices: number,
  parks: number,
  journeys: readonly { stops: readonly Stop[]; kind?: number; priority?: number; at?: number; ready_s?: number }[],
): Problem {
  const place = (name: string) => ({ name, isStorage: false, group: 0 })
  const names = [
    ...Array.from({ length: devices }, (_, device) => `device-${device}`),
    ...Array.from({ length: parks }, (_, park) => `park-${park}`),
  ]
  const jobs = journeys.map(({ stops, kind, priority = 0, at, ready_s = 0 }, index): Job => {
    const pad = devices + parks + index
    const buffers = [...Array.from({ length: parks }, (_, park) => devices + park), ...(at === undefined ? [pad] : [])]
    const end = { options: [{ place: pad, seconds: 0 }], within_s: null }
    const job = { thread_id: `plate-${index}`, kind: kind ?? index, run: index, priority, buffers, stays: true }
    return { ...job, at: at ?? pad, ready_s, since_s: ready_s, stops: [...stops, end] }
  })
  return {
    places: [...names, ...journeys.map((_, index) => `pad-${index}`)].map(place),
    arms: ['arm'],
    arm_free_s: [0],
    jobs,
    ways: [[{ by: [{ arm: 0, seconds: 10 }], via: -1 }]],
    groups: 1,
    objective: 'makespan',
    overtaking: null,
  }
}

const at = (device: number, seconds: number, within_s: number | null = null): Stop => ({ options: [{ place: device, seconds }], within_s })
const find = (problem: Problem) => {
  const schedule = findSchedule(problem, { states: defaultBudget(problem) })!
  return { ...schedule, at: arrivals(problem, schedule), faults: checkSchedule(problem, schedule) }
}

test('one labware at one device: hop, work, hop', (t) => {
  const { makespan_s, bound_s, moves } = find(bench(1, 0, [{ stops: [at(0, 100)] }]))
  t.same([makespan_s, bound_s, moves.map(({ start_s }) => start_s)], [120, 120, [0, 110]])
  t.end()
})

test('labware that must change places needs one place to wait', (t) => {
  const journeys = [
    { at: 0, stops: [at(1, 50)] },
    { at: 1, stops: [at(0, 50)] },
  ]
  t.equal(findSchedule(bench(2, 0, journeys), { states: 10_000 }), null)
  t.same(find(bench(2, 1, journeys)).faults, [])
  t.end()
})

test('labware that is at the next device already does not move', (t) => {
  const { makespan_s, moves } = find(bench(1, 0, [{ stops: [at(0, 50), at(0, 30)] }]))
  t.same([makespan_s, moves.map(({ arm }) => arm)], [100, [0, -1, 0]])
  t.end()
})

test('a window is held by beginning later, and missed as little as possible if it cannot be held', (t) => {
  const held = bench(2, 0, [{ at: 1, ready_s: 200, stops: [at(0, 10)] }, { stops: [at(0, 20), at(1, 20, 15)] }])
  const schedule = find(held)
  t.same([schedule.faults, missedWindows(held, schedule)], [[], 0])
  const narrow = bench(1, 0, [{ stops: [at(0, 20)] }, { at: 0, ready_s: 30, stops: [at(0, 5, 4)] }])
  const missed = bench(2, 0, [{ stops: [at(0, 20), at(1, 20, 4)] }])
  t.same([missedWindows(narrow, find(narrow)), missedWindows(missed, find(missed))], [0, 6])
  t.end()
})

test('labware of one kind is served in order, unless overtaking saves more than the share that is allowed', (t) => {
  const of = (kinds: readonly number[], overtaking: number | null) => {
    const stops = [
      [at(0, 10), at(1, 200)],
      [at(0, 100), at(1, 10)],
      [at(0, 100), at(1, 10)],
    ]
    return {
      ...bench(
        2,
        2,
        stops.reverse().map((stops, index) => ({ kind: kinds[index]!, stops })),
      ),
      overtaking,
    }
  }
  const isInOrder = (arrivals: readonly number[][]) =>
    [0, 1, 2].every((stop) => arrivals[0]![stop]! < arrivals[1]![stop]! && arrivals[1]![stop]! < arrivals[2]![stop]!)
  const [free, kept, dear, cheap] = [of([0, 1, 2], null), of([0, 0, 0], null), of([0, 0, 0], 0.6), of([0, 0, 0], 0.1)].map(find)
  t.same([isInOrder(free!.at), isInOrder(kept!.at), isInOrder(dear!.at), isInOrder(cheap!.at)], [false, true, true, false])
  t.equal(cheap!.makespan_s, free!.makespan_s)
  t.end()
})

test('labware of a higher priority goes first where the makespan allows it', (t) => {
  for (const first of [0, 1]) {
    const { at: arrival } = find(
      bench(
        1,
        0,
        [0, 1].map((job) => ({ priority: job === first ? 2 : 0, stops: [at(0, 50)] })),
      ),
    )
    t.ok(arrival[first]![0]! < arrival[1 - first]![0]!)
  }
  t.end()
})

test('a more important run ends as if it were alone, also where the makespan becomes longer and others must make room', (t) => {
  const others = [{ stops: [at(0, 300), at(1, 300)] }, { stops: [at(0, 300), at(1, 300)] }]
  // It comes to the second device when the first of the others would be at work there, which waits at a parking position in its place.
  const urgent = { priority: 9, stops: [at(2, 310), at(1, 50)] }
  const { at: arrival, makespan_s } = find(bench(3, 1, [...others, urgent]))
  t.ok(arrival[2]![1]! <= 10 + 310 + 20, `${arrival[2]![1]} s`)
  const { at: usual, makespan_s: shortest } = find(bench(3, 1, [...others, { ...urgent, priority: 0 }]))
  t.ok(usual[2]![1]! > arrival[2]![1]! && shortest < makespan_s, `${usual[2]![1]} s, ${shortest} s and ${makespan_s} s`)
  t.end()
})

test('the shortest work first makes the sum of the ends small; labware waits at its own start rather than open', (t) => {
  const journeys = [{ stops: [at(0, 300)] }, { stops: [at(0, 20)] }, { stops: [at(0, 100)] }]
  const flow = find({ ...bench(1, 0, journeys), objective: 'flow_time' })
  t.ok(flow.at[1]![0]! < flow.at[2]![0]! && flow.at[2]![0]! < flow.at[0]![0]!)
  const open = find({ ...bench(2, 2, [{ stops: [at(0, 20), at(1, 200)] }, { stops: [at(0, 20), at(1, 200)] }]), objective: 'open_time' })
  t.same(
    open.at.map(([first, second]) => second! - first!),
    [30, 30],
  )
  t.end()
})

/** An assay of six plates that come to the incubators three times, to the washer twice, and to the dispenser four times. */
function assay(incubators: number, within_s: number | null): Problem {
  const steps = [
    [0, 90],
    [-1, 1200],
    [1, 180],
    [0, 60],
    [-1, 1200],
    [1, 180],
    [0, 60],
    [-1, 600],
    [0, 45],
    [2, 120],
  ] as const
  const pool = Array.from({ length: incubators }, (_, unit) => 3 + unit)
  const stops = steps.map(([device, seconds], step): Stop => {
    const places = device < 0 ? pool : [device]
    return { options: places.map((place) => ({ place, seconds })), within_s: step === 0 ? null : within_s }
  })
  return bench(
    3 + incubators,
    2,
    Array.from({ length: 6 }, () => ({ kind: 0, stops })),
  )
}

for (const incubators of [4, 6])
  for (const within_s of [170, 300])
    test(`an assay in ${incubators} incubators holds windows of ${within_s} s, and takes hardly longer`, (t) => {
      const problem = assay(incubators, within_s)
      const [held, free] = [find(problem), find(assay(incubators, null))]
      t.same([held.faults, missedWindows(problem, held)], [[], 0])
      t.ok(held.makespan_s <= 1.08 * free.makespan_s, `${held.makespan_s} s, ${free.makespan_s} s without windows`)
      for (let plate = 1; plate < 6; plate++)
        t.ok(
          held.at[plate]!.every((seconds, stop) => seconds > held.at[plate - 1]![stop]!),
          `plate ${plate} overtakes none`,
        )
      t.end()
    })

test('an assay goes on while it is under way: windows hold after the first plates have begun', (t) => {
  const whole = assay(4, 170)
  const jobs = whole.jobs.map((job, plate): Job => {
    const from = [5, 2, 2][plate] ?? 0
    const ready_s = [100, 700, 900][plate] ?? 0
    return from === 0 ? job : { ...job, at: 3 + plate, ready_s, since_s: ready_s, stops: job.stops.slice(from) }
  })
  const problem = { ...whole, jobs }
  const schedule = find(problem)
  t.same([schedule.faults, missedWindows(problem, schedule)], [[], 0])
  t.end()
})

test('later starts hold windows without another order of hops', (t) => {
  const of = (within_s: number | null) => {
    const stops = [at(0, 20), at(1, 200, within_s), at(2, 20, within_s)]
    return bench(3, 0, [{ stops }, { stops }])
  }
  const model = modelOf(of(null))
  const early: Progress = { states: 0, budget: 1e6, cost: Number.POSITIVE_INFINITY, steps: null }
  new Beam(new States(model, 2), { turns: [], everything: false }, { pools: 0, jobs: 1, arms: 0 }).run(early, 0)
  const states = new States(modelOf(of(30)), 1)
  const { cost, steps } = retimed(states, early.steps!)
  const order = (all: readonly Step[]) => all.map(({ job, to }) => [job, to])
  t.same(order(steps), order(early.steps!))
  t.notSame(steps, early.steps)
  t.same([Math.floor(cost), states.excess[0]], [Math.floor(early.cost), 0])
  t.end()
})

test('more plates may be under way than there are incubators, as long as they may wait between their visits', (t) => {
  const of = (incubators: number, within_s: number | null) => pipelinesOf(new States(modelOf(assay(incubators, within_s)), 1)).length
  t.same([of(4, 170), of(4, 40), of(6, 170)], [2, 0, 0])
  t.end()
})

test('the same problem gives the same schedule, whatever was searched before', (t) => {
  const problem = randomProblem({ ...two, seed: 7 })
  const first = JSON.stringify(findSchedule(problem, { states: 20_000 }))
  findSchedule(randomProblem({ ...two, seed: 8 }), { states: 5000 })
  t.equal(JSON.stringify(findSchedule(problem, { states: 20_000 })), first)
  t.end()
})

test('the check finds a move that is too early, one that is missing, and two that share an arm', (t) => {
  const problem = randomProblem({ ...two, seed: 3 })
  const schedule = findSchedule(problem, { states: 5000 })!
  t.same(checkSchedule(problem, schedule), [])
  const changed = (change: (index: number) => (typeof schedule.moves)[number][]) => ({
    ...schedule,
    moves: schedule.moves.flatMap((_, index) => change(index)),
  })
  const early = (move: (typeof schedule.moves)[number]) => {
    const legs = move.legs.map((leg) => ({ ...leg, start_s: leg.start_s - 1, end_s: leg.end_s - 1 }))
    return { ...move, legs, start_s: move.start_s - 1, end_s: move.end_s - 1 }
  }
  for (let wrong = 1; wrong < schedule.moves.length; wrong++) {
    const without = checkSchedule(
      problem,
      changed((index) => (index === wrong ? [] : [schedule.moves[index]!])),
    )
    if (without.length === 0) t.fail(`move ${wrong} is missing, and nothing is said`)
  }
  const shifted = schedule.moves.filter(
    (_, wrong) =>
      checkSchedule(
        problem,
        changed((index) => [index === wrong ? early(schedule.moves[index]!) : schedule.moves[index]!]),
      ).length > 0,
  )
  t.ok(shifted.length > schedule.moves.length / 2, `${shifted.length} of ${schedule.moves.length} moves that are too early are found`)
  t.end()
})

test('what can be finished is finished: labware in the middle of its journey, and hardly a place to wait', (t) => {
  let solvable = 0
  for (let seed = 1; seed <= 300; seed++) {
    const problem = randomProblem({ seed, jobs: 4, devices: 4, parks: seed % 2, arms: 1, isUnderWay: true, storages: seed % 3 === 0 })
    const canEnd = canBeFinished(problem)
    const schedule = findSchedule(problem, { states: 20_000 })
    if (canEnd) solvable++
    if ((schedule !== null) !== canEnd) t.fail(`seed ${seed}: ${canEnd ? 'can' : 'cannot'} be finished`)
  }
  t.ok(solvable > 100 && solvable < 300, `${solvable} of 300 can be finished`)
  t.end()
})

/** Tries all sequences of moves, without times. */
function canBeFinished({ jobs, places }: Problem): boolean {
  const seen = new Set<string>()
  const isTaken = (at: readonly number[], next: readonly number[], place: number) =>
    !places[place]!.isStorage && at.some((other, job) => other === place && (next[job]! < jobs[job]!.stops.length || jobs[job]!.stays))
  const visit = (at: readonly number[], next: readonly number[]): boolean => {
    if (next.every((stop, job) => stop === jobs[job]!.stops.length)) return true
    const key = [...at, ...next].join()
    if (seen.has(key)) return false
    seen.add(key)
    return jobs.some(({ stops, buffers }, job) => {
      if (next[job] === stops.length) return false
      const to = (place: number, stop: number) =>
        (place === at[job] ? stop > next[job]! : !isTaken(at, next, place)) && visit(at.with(job, place), next.with(job, stop))
      return stops[next[job]!]!.options.some(({ place }) => to(place, next[job]! + 1)) || buffers.some((place) => to(place, next[job]!))
    })
  }
  return visit(
    jobs.map((job) => job.at),
    jobs.map(() => 0),
  )
}
