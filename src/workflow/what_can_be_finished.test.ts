// Random shops that can be finished run to their end, with and without a parking position, and no grant may leave others stuck.

import { test } from 'tap'
import { dispensed, oneArm, workflowOf } from '../testing/documents.ts'
import { type Shop, shopOf } from '../testing/shops.ts'
import { begin, testRuntime } from '../testing/workflow.ts'
import type { Execution } from './runs/execution.ts'
import type { SafetyOptions } from './scheduler/deadlock_avoidance.ts'

const usual: Shop = { devices: 3, plates: 4, parks: 0, pool: 1, arms: 1, isStored: false, isFlow: false, window_s: 0 }

const kinds: Record<string, Partial<Shop>> = {
  'without a parking position': {},
  'with one': { parks: 1, plates: 6, devices: 4 },
  'with two': { parks: 2, plates: 6, devices: 4 },
  'with pools': { pool: 2, devices: 6, plates: 6 },
  'with a storage': { isStored: true },
  'with a storage and a parking position': { isStored: true, parks: 1 },
  'with two arms that reach everything': { arms: 2, parks: 1 },
  'with windows': { window_s: 120 },
}

/** Runs until the workflow is over, or a deadlock is reported. */
async function runShop(seed: number, shop: Shop, safety: SafetyOptions): Promise<{ execution: Execution; deadlocks: number }> {
  const { topology, workflow } = shopOf(seed, shop)
  const { runtime, incidents } = testRuntime([topology, workflow], { safety })
  const execution = await begin(runtime, { workflow: 'shop' })
  const deadlocks = () => incidents.filter(({ category }) => category === 'UNRESOLVABLE_DEADLOCK' || category === 'SYSTEM_STALL').length
  for (let turns = 0; turns < 5000 && execution.phase.current !== 'completed' && deadlocks() === 0; turns++) await new Promise(setImmediate)
  return { execution, deadlocks: deadlocks() }
}

for (const [kind, more] of Object.entries(kinds)) {
  for (const safety of [{}, { bound: 1 }]) {
    test(`shops ${kind} are finished${safety.bound ? ' also where each check is cut short at once' : ''}`, async (t) => {
      let bound_reached = 0
      for (let seed = 0; seed < 12; seed++) {
        const size = more.plates ? {} : { devices: 3 + (seed % 2), plates: 3 + (seed % 4) }
        const { execution, deadlocks } = await runShop(seed, { ...usual, ...size, ...more }, safety)
        bound_reached += execution.environment.scheduler.safety.bound_reached
        t.equal(execution.phase.current, 'completed', `seed ${seed}`)
        t.equal(deadlocks, 0)
        for (const { thread_id } of execution.threads.values())
          t.notMatch(execution.environment.decisions.of(thread_id)?.sentence, /may be stuck/)
      }
      if (!safety.bound) t.equal(bound_reached, 0)
    })
  }
}

test('an answer without a bound comes from elsewhere, later', async (t) => {
  let asked = 0
  const decideUnbounded = async (configuration: object) => {
    asked++
    const { isSafe } = await import('./scheduler/safety_search.ts')
    return isSafe(structuredClone(configuration) as Parameters<typeof isSafe>[0], Number.POSITIVE_INFINITY).verdict === 'safe'
  }
  for (let seed = 0; seed < 12; seed++) {
    const { execution, deadlocks } = await runShop(seed, { ...usual, devices: 4, plates: 6, isStored: true }, { bound: 1, decideUnbounded })
    t.same([execution.phase.current, deadlocks], ['completed', 0], `seed ${seed}`)
  }
  t.ok(asked > 0)
})

test('labware in a storage occupies nothing there until a device is granted, so that no device waits for it', async (t) => {
  const topology = oneArm({
    ...{ storages: ['stacker'], pads: ['out'], nests: ['s1', 's2'], pools: { any: ['s1', 's2'] } },
    operations: { s1: { shake: 600 }, s2: { shake: 600 } },
  })
  const plates = Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [`plate${i}`, { ...dispensed('stacker', 'out'), steps: [{ method: 'shake_it' }] }]),
  )
  const workflow = workflowOf('shaken', plates, {
    methods: { shake_it: [{ do: 'shake', on: 'any', with: { speed: 500, duration: 600 } }] },
  })
  const { runtime } = testRuntime([topology, workflow])
  let most = 0
  const execution = await begin(runtime, { workflow: 'shaken' })
  const unwatch = execution.environment.scheduler.onMoved(() => {
    const { labware_id } = execution.environment.scheduler.position('stacker')
    const idle = ['s1', 's2'].filter((device) => execution.environment.scheduler.holds.holder(device) === undefined)
    if (labware_id !== null && idle.length > most) most = idle.length
  })
  await runtime.over(execution)
  unwatch()
  t.equal(execution.phase.current, 'completed')
  t.ok(most <= 1, 'the device that it goes to is held')
})
