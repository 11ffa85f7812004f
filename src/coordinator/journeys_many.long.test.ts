// Four journeys of five short legs over two benches, and each of the five processes is killed once at random. All journeys come to their end,
// each operation of a device is done once, and each labware has one holder at every moment. The seed is printed; BENCHD_SEED=<seed> kills at the
// same points again, BENCHD_JOURNEYS=100 makes a hundred.

import { randomInt } from 'node:crypto'
import { labWorkflows } from '../examples/lab_benches.ts'
import { until } from '../testing/fleet.ts'
import { type TestBench, type TestLab, testLab } from '../testing/lab.ts'
import { randomFrom } from '../testing/scheduler_runs.ts'
import { withLab } from '../testing/with_lab.ts'
import type { ShownJourney } from './coordinator.ts'

const count = Number(process.env.BENCHD_JOURNEYS ?? 4)
const seed = Number(process.env.BENCHD_SEED ?? randomInt(2 ** 31))
/** A journey is placed, carried four times, and taken away. */
const handsOfJourney = 10

/** The workflow of the last leg, on a bench with the others. */
const shake = labWorkflows.find(({ name }) => name === 'shake')!
const last = {
  ...shake,
  name: 'shake-last',
  threads: { plate: { ...shake.threads.plate, end: { at: ['pad_1'], mode: 'MANUAL_REMOVE' } } },
}
const five = [
  { on: 'prep', workflow: 'seal', until: 'out' },
  ...['read', 'prep', 'read'].flatMap((on) => [
    { carry: `${on}/in`, by: 'anyone' },
    { on, workflow: 'shake', until: 'out' },
  ]),
  { carry: 'prep/in', by: 'anyone' },
  { on: 'prep', workflow: last.name },
]
/** How often each workflow runs for one journey, and the operations of devices in each run. */
const expected = {
  prep: { seal: [1, 2], shake: [1, 1], [last.name]: [1, 1], out: [2, 0] },
  read: { shake: [2, 1], out: [2, 0] },
} as const
const carried = ['anyone', '\\w+/in', '\\w+/pad_[234]']
const holders = new RegExp(`^prep/pad_1,prep/pad_[234],(${carried.join(',')},){3}anyone,prep/in,taken away$`)

const again = (which: 'prep' | 'read' | 'broker' | 'coordinator') => async (lab: TestLab) => {
  await lab[which].kill()
  await lab[which].start()
}
const victims: Readonly<Record<string, (lab: TestLab) => Promise<void>>> = {
  ...Object.fromEntries((['prep', 'read', 'broker', 'coordinator'] as const).map((which) => [which, again(which)])),
  async PostgreSQL(lab) {
    await lab.database.kill()
    await until(() => !lab.coordinator.isRunning)
    await lab.database.start()
    await lab.coordinator.start()
  },
}

type Event = { event_name: string; execution_id: string; entity_type: string; status: string; context: { method_id?: string | null } }
type Row = { execution_id: string; workflow_name: string; status: string }

async function eventsOf({ ask }: TestBench): Promise<Event[]> {
  const all: Event[] = []
  for (let since = 0; ; ) {
    const { events, next_since } = await ask<{ events: Event[]; next_since: number }>('GET', `/events?limit=1000&since=${since}`)
    if (events.length === 0) return all
    all.push(...events)
    since = next_since
  }
}

type Done = Record<string, { runs: number; operations: Set<number>; statuses: Set<string> }>

/** By workflow: how many runs there were, and how many operations were done in each. */
async function done(bench: TestBench): Promise<Done> {
  const { executions } = await bench.ask<{ executions: Row[] }>('GET', '/api/executions?limit=1000')
  const operations = new Map<string, number>()
  for (const { entity_type, execution_id, status, context } of await eventsOf(bench))
    if (entity_type === 'ACTION' && status === 'COMPLETED' && context.method_id)
      operations.set(execution_id, (operations.get(execution_id) ?? 0) + 1)
  const counts: Done = {}
  for (const { execution_id, workflow_name, status } of executions) {
    const name = workflow_name.replace(/^lab-(\w+)-.*/, '$1')
    const its = counts[name] ?? { runs: 0, operations: new Set(), statuses: new Set() }
    counts[name] = {
      runs: its.runs + 1,
      operations: its.operations.add(operations.get(execution_id) ?? 0),
      statuses: its.statuses.add(status),
    }
  }
  return counts
}

withLab(`${count} journeys of five legs end as they should, and each of the five processes is killed once at random`, async (t) => {
  t.comment(`BENCHD_SEED=${seed}`)
  const below = randomFrom(seed)
  const points = Object.entries(victims)
    .map(([name, kill]) => ({ name, kill, at: below(count * handsOfJourney * 0.9) }))
    .sort((one, other) => one.at - other.at)
  const lab = await testLab(t, { scale: 1000 })
  await lab.prep.ask('PUT', `/api/workflows/${last.name}`, last)
  lab.write((file) => (file.journeys = { five }))
  await lab.coordinator.start()
  const labware = Array.from({ length: count }, (_, i) => `P-${i}`)
  const began = performance.now()
  const seconds = () => ((performance.now() - began) / 1000).toFixed(0)
  for (const one of labware) await lab.begin('five', one)
  let journeys: ShownJourney[] = []
  await lab.carryUntil(async () => {
    if (points[0] && lab.hands >= points[0].at) {
      const { name, kill, at } = points.shift()!
      await kill(lab)
      t.pass(`${name} was killed at confirmation ${at}, and is back after ${seconds()} s`)
    }
    if (lab.hands < count * handsOfJourney - 10) return false
    ;({ journeys } = await lab.ask<{ journeys: ShownJourney[] }>('GET', '/api/lab/journeys?limit=1000'))
    return journeys.every(({ outcome }) => outcome !== null)
  })
  t.comment(`${count} journeys took ${seconds()} s`)
  t.same(new Set(journeys.map(({ outcome }) => outcome)), new Set(['done']))
  for (const bench of ['prep', 'read'] as const) {
    const wanted = Object.entries(expected[bench]).map(([name, [runs, operations]]) => [
      name,
      { runs: runs * count, operations: new Set([operations]), statuses: new Set(['COMPLETED']) },
    ])
    t.same(await done(lab[bench]), Object.fromEntries(wanted), `each run and each operation of ${bench} is done once`)
  }
  for (const one of labware) {
    const custody = await lab.custody(one)
    const words = custody.map(({ holder }) => ('bench' in holder ? `${holder.bench}/${holder.position}` : Object.values(holder)[0]))
    t.match(words.join(), holders, `${one} had one holder after the other`)
    t.same(
      custody.map(({ number }) => number),
      custody.map((_, i) => i + 1),
    )
    t.ok(custody.every(({ at }, i) => i === 0 || at >= custody[i - 1]!.at))
  }
})
