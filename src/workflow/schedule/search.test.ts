import { test } from 'tap'
import { arrivals, checkSchedule, missedWindows, type ProblemShape, randomProblem } from '../../testing/schedules.ts'
import type { Job, Problem, Stop } from './problem.ts'
import { defaultBudget, findSchedule } from './search.ts'

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
