// For tests: random shops, in which each plate visits devices in an order of its own, and an independent answer to whether all plates can finish.

import { oneArm, severalArms, standing, stored, type TestBench, workflowOf } from './documents.ts'
import { randomFrom } from './scheduler_runs.ts'

export type Shop = {
  devices: number
  plates: number
  parks: number
  /** Devices may be used in place of each other: so many each. */
  pool: number
  arms: 1 | 2
  /** Whether plates come out of a storage and go back into it; otherwise each has a pad. */
  isStored: boolean
  /** Whether all plates visit the devices in the same order. */
  isFlow: boolean
  /** The most seconds between two steps; 0 without windows. */
  window_s: number
}

type Doc = { topology: object; workflow: object; routes: string[][][] }

/** Returns the documents of a random shop. */
export function shopOf(seed: number, { devices, plates, parks, pool, arms, isStored, isFlow, window_s }: Shop): Doc {
  const random = randomFrom(seed)
  const names = Array.from({ length: devices }, (_, i) => `d${i + 1}`)
  const groups = names.flatMap((_, i) => (i % pool === 0 ? [names.slice(i, i + pool)] : []))
  const pools = Object.fromEntries(groups.filter(({ length }) => length > 1).map((group) => [`any_${group[0]}`, group]))
  const pads = isStored ? [] : Array.from({ length: plates }, (_, i) => `in${i + 1}`)
  const bench: TestBench = {
    pads,
    parking: Array.from({ length: parks }, (_, i) => `p${i + 1}`),
    storages: isStored ? ['store'] : [],
    nests: names,
    pools,
    operations: Object.fromEntries(names.map((name) => [name, { work: null }])),
  }
  const all = [...pads, ...(bench.parking as string[]), ...(bench.storages as string[]), ...names]
  const topology = arms === 1 ? oneArm(bench) : severalArms({ left: all, right: all }, bench)
  const order = shuffled(groups, random)
  const routes: string[][][] = []
  const threads: Record<string, object> = {}
  const methods: Record<string, object[]> = {}
  for (let i = 0; i < plates; i++) {
    const route = isFlow ? order : shuffled(groups, random)
    routes.push(route)
    const steps = route.map((on, at) => {
      const seconds = 40 + random(260)
      methods[`m${i}_${at}`] = [
        {
          do: 'work',
          on: on.length > 1 ? `any_${on[0]}` : on[0],
          seconds,
          ...(window_s > 0 && at < route.length - 1 ? { max_wait_after: window_s } : {}),
        },
      ]
      return { method: `m${i}_${at}` }
    })
    threads[`plate${i + 1}`] = { ...(isStored ? stored('store') : standing(`in${i + 1}`)), steps }
  }
  return { topology, workflow: workflowOf('shop', threads, { methods }), routes }
}

function shuffled<Item>(items: readonly Item[], random: (below: number) => number): Item[] {
  const left = [...items]
  return items.map(() => left.splice(random(left.length), 1)[0]!)
}
