// An urgent run among open ones: it is hardly later than alone, and urgent runs that come over and over starve nobody. `npm run bench -- urgent` has more cases.

import { test } from 'tap'
import { streamCase, urgentCase } from '../../testing/open_runs.ts'
import { trials } from '../../testing/trials.ts'
import type { FindSchedule } from '../schedule/problem.ts'
import { findSchedule } from '../schedule/search.ts'

const search: FindSchedule = async (problem) => findSchedule(problem, { states: 8000 })
const cases = trials(12, 4)

for (const plan of ['on', 'off'] as const) {
  test(`an urgent run into four open ones ends about as soon as alone, and all runs end: plan ${plan}`, async (t) => {
    const ratios: number[] = []
    for (let seed = 1; seed <= cases; seed++) {
      const { flow_s, alone_s, blocked_s, isComplete } = await urgentCase(seed, { plan, search })
      t.ok(isComplete, `seed ${seed}`)
      ratios.push(flow_s / (alone_s + blocked_s))
    }
    const late = ratios.filter((ratio) => ratio > 1.15)
    t.ok(late.length <= 1, `${late.length} of ${cases} take more than 1.15 of the time alone`)
    t.ok(ratios.reduce((sum, ratio) => sum + ratio, 0) / cases <= 1.05)
  })

  test(`urgent runs come over and over, and each open run ends after the hours of their priority: plan ${plan}`, async (t) => {
    const { end_s, bound_s, isComplete } = await streamCase(4, 1, { plan, search })
    t.ok(isComplete)
    t.ok(end_s <= bound_s, `${end_s} s, and ${bound_s} s at most`)
  })
}
