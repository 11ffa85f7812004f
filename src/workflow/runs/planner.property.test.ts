// Random shops, through the whole runtime, by a plan that little effort was spent on and by the rule alone.

import { test } from 'tap'
import { type Shop, shopOf } from '../../testing/shops.ts'
import { run, testRuntime } from '../../testing/workflow.ts'
import type { FindSchedule } from '../schedule/problem.ts'
import { findSchedule } from '../schedule/search.ts'
import type { TimelineRow } from '../threads/timeline.ts'

const shop: Shop = { devices: 4, plates: 5, parks: 1, pool: 1, arms: 1, isStored: false, isFlow: false, window_s: 0 }
const shops: Record<string, Partial<Shop>> = {
  'job shops': {},
  'flow shops': { isFlow: true },
  'no place to wait': { parks: 0, isStored: true },
  'pools and two arms': { pool: 2, arms: 2 },
  'plates from a storage': { isStored: true, parks: 2 },
  windows: { window_s: 300, parks: 2 },
}
const seeds = 12

/** Lists the devices at which two plates stand at once: from the end of the move that brings one to the end of the move that takes it away. */
function crowded(rows: readonly TimelineRow[]): string[] {
  const moves = rows.filter(({ kind }) => kind === 'move')
  const stays = moves.flatMap(({ thread_id, to, ended }) => {
    const leaves = moves.filter((next) => next.thread_id === thread_id && next.from === to && next.started! >= ended!)
    return { to, thread_id, from_s: ended!, to_s: Math.min(Number.POSITIVE_INFINITY, ...leaves.map((leave) => leave.ended!)) }
  })
  return stays.flatMap((one) =>
    stays
      .filter((other) => other.thread_id > one.thread_id && other.to === one.to && other.from_s < one.to_s && one.from_s < other.to_s)
      .map(() => `${one.to} at ${one.from_s}`),
  )
}

for (const [name, more] of Object.entries(shops))
  test(`by a plan all plates come to their end, never two at one place, and hardly later than by the rule: ${name}`, async (t) => {
    let [planned, byRule, plans] = [0, 0, 0]
    const search: FindSchedule = async (problem) => {
      plans++
      return findSchedule(problem, { states: 2000 })
    }
    for (let seed = 1; seed <= seeds; seed++) {
      const { topology, workflow } = shopOf(seed, { ...shop, ...more })
      const makespan = async (options: { search?: FindSchedule }) => {
        const { runtime } = testRuntime([topology, workflow], options)
        const { phase, timeline } = await run(runtime, { workflow: 'shop' })
        const rows = timeline.rows()
        t.equal(phase.current, 'completed', `seed ${seed}`)
        if (more.isStored !== true) t.same(crowded(rows), [], `seed ${seed}`)
        return Math.max(...rows.map(({ ended }) => ended ?? 0))
      }
      const [withPlan, without] = [await makespan({ search }), await makespan({})]
      t.ok(withPlan <= 1.3 * without, `seed ${seed}: ${withPlan} s by the plan, ${without} s by the rule`)
      planned += withPlan
      byRule += without
    }
    t.ok(planned < byRule, `${planned} s by the plans, ${byRule} s by the rule, ${plans} plans`)
    t.comment(`${planned} s by the plans, ${byRule} s by the rule, ${plans} plans`)
    t.ok(plans >= seeds)
  })
