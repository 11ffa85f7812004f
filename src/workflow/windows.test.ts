import { test } from 'tap'
import type { Loose } from './plan_testing.ts'
import type { Runtime } from './runtime.ts'
import { run, testRuntime } from './testing.ts'

/** Plates come out of a stack, are kept warm, spun, and go into a bin. A hop takes 12 s. */
const topology = (incubators: number, centrifuges = 1): Loose => {
  const warm = Array.from({ length: incubators }, (_, i) => `warm-${i + 1}`)
  const spin = Array.from({ length: centrifuges }, (_, i) => `spin-${i + 1}`)
  const declared = [...warm.map((id) => [id, 'incubate'] as const), ...spin.map((id) => [id, 'spin'] as const)]
  return {
    format: 1,
    name: 'bench',
    transporters: { arm: { positions: ['stack', 'bin', 'pad', ...warm, ...spin] } },
    positions: {
      stack: { storage: true },
      bin: { storage: true },
      pad: { parking: true },
      ...Object.fromEntries(declared.map(([id]) => [id, { device: id }])),
    },
    pools: { warm, spin },
    devices: Object.fromEntries(declared.map(([id, operation]) => [id, { operations: { [operation]: {} } }])),
  }
}

const workflow = ({ window, incubation = 600, spinning = 300 }: { window?: number; incubation?: number; spinning?: number }): Loose => ({
  format: 1,
  name: 'warm-and-spin',
  topology: 'bench',
  labware: { plate: { type: '96-well' } },
  methods: {
    treat: [
      { do: 'incubate', on: 'warm', seconds: incubation, ...(window !== undefined && { max_wait_after: window }) },
      { do: 'spin', on: 'spin', seconds: spinning },
    ],
  },
  threads: {
    plate: { labware: 'plate', start: { at: 'stack', mode: 'DISPENSE' }, end: { at: ['bin'] }, steps: [{ method: 'treat' }] },
  },
  start: ['plate'],
})

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

test('the windows of many plates hold where the devices are pools, and nobody waits longer than is needed', async (t) => {
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
