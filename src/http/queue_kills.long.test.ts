// A service that is killed while its queue is added to, moved, and run: nothing moves before somebody has resumed it, each entry runs once, and none is
// lost. `BENCHD_TRIALS=all` kills it a hundred times.

import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { type Killable, killable } from '../testing/killable.ts'
import { devices, faultsOf, type ShownQueue, type Submission, teachpoints, topology, workflow } from '../testing/queued.ts'
import { Dice } from '../testing/simulation/scene.ts'
import { trials } from '../testing/trials.ts'

type Event = { event_name: string }

const rounds = trials(100, 10)

test(`a queue is whole after each of ${rounds} kills, and begins nothing unasked`, async (t) => {
  const bench = await killable(t, { config: { devices, time_scale: 200 }, topologies: { queued: topology } })
  const dice = new Dice(48)
  await bench.granted('POST', '/api/teachpoints/bulk', teachpoints)
  await bench.granted('POST', '/api/topology/load', { name: 'queued' })
  await bench.granted('PUT', '/api/workflows/shake-queued', workflow)
  const added: string[] = []
  const said: string[] = []
  for (let round = 0; round < rounds; round++) {
    for (const { device_id } of devices) await bench.ask('POST', `/api/devices/${device_id}/initialize`)
    await bench.granted('POST', '/api/queue/resume')
    const busy = work(bench, { dice, added, said })
    await new Promise((resolve) => setTimeout(resolve, 40 + dice.below(700)))
    await bench.kill()
    await busy
    const started = Date.now() / 1000
    await bench.start()
    await look(t, bench, { said, round, started })
    await settle(bench)
  }
  await bench.granted('POST', '/api/queue/resume')
  for (;;) {
    const { entries, state } = await bench.granted<ShownQueue>('GET', '/api/queue')
    if (entries.length === 0) break
    if (state === 'paused') t.fail('the queue is paused')
    if (state === 'paused') break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const submissions = await submissionsOf(bench)
  t.same(
    said.filter((id) => !submissions.some(({ submission_id }) => submission_id === id)),
    [],
    'each entry has run',
  )
  t.equal(new Set(submissions.map(({ submission_id }) => submission_id)).size, submissions.length, 'and once')
  t.comment(`${said.length} entries were acknowledged, ${submissions.length} runs began`)
})

/** A person adds entries and moves them, until the service is gone. `said` are the ids of those that were acknowledged. */
async function work({ ask }: Killable, { dice, added, said }: { dice: Dice; added: string[]; said: string[] }): Promise<void> {
  for (let i = 0; i < 6; i++) {
    const submission_id = randomUUID()
    added.push(submission_id)
    const submission = { workflow: 'shake-queued', run_mode: 'LIVE', submission_id, priority: dice.below(3) }
    const reply = await ask('POST', '/api/queue', { submission }).catch(() => undefined)
    if (!reply) return
    if (reply.status === 201) said.push(submission_id)
    const moved = await ask('POST', `/api/queue/${submission_id}/move`, { to: dice.below(2) === 0 ? 'first' : 'last' }).catch(
      () => undefined,
    )
    if (!moved) return
  }
}

async function submissionsOf({ granted }: Killable): Promise<Submission[]> {
  return (await granted<{ submissions: Submission[] }>('GET', '/api/submissions?limit=10000')).submissions
}

/** The queue is paused where it has entries; no run has begun and no device has moved since the start. */
async function look(
  t: Test,
  bench: Killable,
  { said, round, started }: { said: readonly string[]; round: number; started: number },
): Promise<void> {
  const queue = await bench.granted<ShownQueue>('GET', '/api/queue')
  const before = await submissionsOf(bench)
  t.same(faultsOf(said, queue, before), [], `round ${round}`)
  if (queue.entries.length > 0) t.equal(queue.state, 'paused', `round ${round}: it is paused`)
  // A turn for whatever would begin by itself.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const { events } = await bench.granted<{ events: Event[] }>('GET', `/events?since=${started}`)
  const begun = events.filter(({ event_name }) => /^DEVICE_OP\./.test(event_name))
  t.same(begun, [], `round ${round}: nothing has moved`)
  t.equal((await submissionsOf(bench)).length, before.length, `round ${round}: no run has begun`)
}

/** A person looks: open runs are stopped, and the plate is taken off the bench. */
async function settle({ granted, ask }: Killable): Promise<void> {
  const { executions } = await granted<{ executions: { execution_id: string; status: string }[] }>(
    'GET',
    '/api/executions?status=IN_PROGRESS',
  )
  for (const { execution_id } of executions)
    for (const confirm of [false, true]) await ask('POST', `/api/executions/${execution_id}/stop`, { confirm })
  for (;;) {
    const { executions } = await granted<{ executions: object[] }>('GET', '/api/executions?status=IN_PROGRESS')
    if (executions.length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const queue = await granted<ShownQueue>('GET', '/api/queue')
  for (const { entry_id, needs_person } of queue.entries) if (needs_person) await granted('DELETE', `/api/queue/${entry_id}`)
  const { labware } = await granted<{ labware: { labware_id: string; run_mode: string }[] }>('GET', '/api/labware')
  for (const { labware_id } of labware) await granted('PUT', `/api/labware/${labware_id}/location`, { position: null })
}
