// The crash table of journeys: each of the five processes dies at every second point of a journey, or at each with BENCHD_TRIALS=all. Afterwards
// the journey has ended, one had the labware at every moment, and each run was ordered once.

import type { Test } from 'tap'
import { benchd } from '../testing/cli.ts'
import { until } from '../testing/fleet.ts'
import { holders, ordered, proxyOf } from '../testing/journeys.ts'
import { type TestLab, testLab } from '../testing/lab.ts'
import { hasAllTrials } from '../testing/trials.ts'
import { withLab } from '../testing/with_lab.ts'
import type { ShownTask } from './coordinator.ts'

/** The point of a journey, by the task that waits there; `placed` is right after the labware was put down at the second bench. */
const points = ['place', 'take', 'bring', 'placed'] as const
type Point = (typeof points)[number]
type Kill = (lab: TestLab, t: Test, point: Point, id: string) => Promise<void>

const benchDies =
  (name: 'prep' | 'read'): Kill =>
  async (lab, t, point, id) => {
    await lab[name].kill()
    const isAsked = { place: 'prep', take: 'prep', bring: 'read', placed: 'read' }[point] === name
    if (isAsked) {
      await lab.carryUntil(
        async () => /does not answer/.test((await lab.journey(id)).waiting ?? ''),
        () => true,
      )
      t.pass(`at ${point} the journey says that ${name} does not answer`)
    }
    await lab[name].start()
  }

const victims: Record<string, Kill> = {
  'the first bench': benchDies('prep'),
  'the second bench': benchDies('read'),
  async 'the broker'(lab) {
    await lab.broker.kill()
    await lab.broker.start()
  },
  async 'the coordinator'(lab) {
    await lab.coordinator.kill()
    await lab.coordinator.start()
  },
  async PostgreSQL(lab, t) {
    await lab.database.kill()
    await until(() => !lab.coordinator.isRunning)
    t.match(lab.coordinator.words.join('\n'), /PostgreSQL is gone/, 'the coordinator ends without its database')
    await lab.database.start()
    await lab.coordinator.start()
  },
}

async function untilTask(lab: TestLab, journey_id: string, point: Point): Promise<void> {
  const kind: ShownTask['kind'] = point === 'placed' ? 'bring' : point
  const isIt = (task: ShownTask) => task.journey_id === journey_id && task.kind === kind
  await lab.carryUntil(async () => (await lab.tasks()).some(isIt), isIt)
  if (point === 'placed') await lab.carryUntil(async () => !(await lab.tasks()).some(isIt))
}

withLab('each process dies at points of a journey, and the journey ends as if none had', async (t) => {
  const lab = await testLab(t)
  await lab.coordinator.start()
  const all = Object.entries(victims)
  for (const [i, [victim, kill]] of all.entries()) {
    await t.test(victim, async (t) => {
      const labware = `P-${i}`
      const journey_id = await lab.begin('assay', labware)
      for (const point of points.filter((_, n) => hasAllTrials || (n + i) % 2 === 0)) {
        await untilTask(lab, journey_id, point)
        await kill(lab, t, point, journey_id)
      }
      await lab.carryUntil(async () => (await lab.journey(journey_id)).outcome !== null)
      t.equal((await lab.journey(journey_id)).outcome, 'done')
      t.match(await holders(lab, labware), ['prep/pad_1', /^prep\/pad_[234]$/, 'anyone', 'read/in', 'taken away'])
    })
  }
  t.same(await ordered(lab.prep), { seal: all.length, out: all.length })
  t.same(await ordered(lab.read), { spin: all.length })
})

withLab('an answer that is lost on the way back is asked for, and the run is not ordered twice', async (t) => {
  const lab = await testLab(t)
  const lost = new Set<string>()
  const url = await proxyOf(t, lab.prep, ({ asked, answered, pass }) => {
    const length = String(asked.headers['content-length'])
    if (asked.method === 'POST' && asked.url === '/api/submissions' && lost.size < 2 && !lost.has(length)) {
      // The first answer to each order never comes back.
      lost.add(length)
      answered.writeHead = () => answered.destroy() as never
    }
    pass()
  })
  lab.write((file) => (file.benches.prep.url = url))
  await lab.coordinator.start()
  const journey_id = await lab.begin('assay', 'P-1')
  await lab.carryUntil(async () => (await lab.journey(journey_id)).outcome === 'done')
  t.equal(lost.size, 2, 'the orders of the leg and of the move')
  t.same(await ordered(lab.prep), { seal: 1, out: 1 })
})

withLab('a bench that was put back from a backup is not ordered from: a person looks, and decides', async (t) => {
  const lab = await testLab(t)
  await lab.coordinator.start()
  const journey_id = await lab.begin('assay', 'P-1')
  const backup = `${lab.folder}/before.tar.gz`
  t.match(await benchd(lab.folder, ['backup', backup, '--data-dir', `${lab.read.folder}/data`]), { code: 0 })
  await untilTask(lab, journey_id, 'bring')
  await lab.read.kill()
  t.match(await benchd(lab.folder, ['restore', backup, '--all', '--yes', '--data-dir', `${lab.read.folder}/data`]), { code: 0 })
  await lab.read.start()
  await lab.carryUntil(async () => (await lab.journey(journey_id)).phase === 'person')
  t.match(await lab.journey(journey_id), {
    waiting: /read was put back from a backup/,
    needs_person: true,
    decisions: ['retry', 'back', 'lost', 'end'],
  })
  t.equal((await holders(lab, 'P-1')).at(-1), 'anyone', 'the carrier still has the labware')
  t.match(await lab.ask('GET', `/api/lab/journeys/${journey_id}/why`), { because: [/put back from a backup/] })
  await lab.ask('POST', `/api/lab/journeys/${journey_id}/decide`, { decision: 'retry' })
  await lab.carryUntil(async () => (await lab.journey(journey_id)).outcome === 'done')
  t.match(await holders(lab, 'P-1'), ['prep/pad_1', /^prep\/pad/, 'anyone', 'read/in', 'taken away'])
})
