// Cells of the crash table that a kill alone does not reach, each with real processes: see journeys_kills.long.test.ts for the others.

import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { holders, ordered, proxyOf } from '../testing/journeys.ts'
import { type TestBench, type TestLab, testLab } from '../testing/lab.ts'
import { withLab } from '../testing/with_lab.ts'
import type { ShownTask } from './coordinator.ts'

/** Waits for the task of that kind, and does all that come before. */
async function until(lab: TestLab, kind: ShownTask['kind']): Promise<ShownTask> {
  const isIt = (task: ShownTask) => task.kind === kind
  await lab.carryUntil(async () => (await lab.tasks()).some(isIt), isIt)
  return (await lab.tasks()).find(isIt)!
}

const isDone = (lab: TestLab, id: string) => async () => (await lab.journey(id)).outcome === 'done'

withLab('before the grant labware rests on the first bench while the second is away', async (t) => {
  const lab = await testLab(t)
  await lab.coordinator.start()
  const id = await lab.begin('assay', 'P-1')
  const place = await until(lab, 'place')
  await lab.read.kill()
  await lab.ask('POST', `/api/lab/tasks/${place.task_id}/confirm`, { barcode: 'P-1' })
  await lab.carryUntil(async () => /^the bench read does not answer/.test((await lab.journey(id)).waiting ?? ''))
  t.match(await holders(lab, 'P-1'), ['prep/pad_1', /^prep\/pad_[234]$/])
  t.same(await ordered(lab.prep), { seal: 1 }, 'nothing brings it to its carrier before the grant')
  await lab.read.start()
  await lab.carryUntil(isDone(lab, id))
  t.same([await ordered(lab.prep), await ordered(lab.read)], [{ seal: 1, out: 1 }, { spin: 1 }])
})

/** Says at the bench itself, as on its page, that labware was taken or placed. */
async function atBench({ ask }: TestBench, what: 'removed' | 'placed', body: object): Promise<unknown> {
  const { executions } = await ask<{ executions: { execution_id: string }[] }>('GET', '/api/executions?status=IN_PROGRESS')
  for (const { execution_id } of executions) {
    const { threads } = await ask<{ threads: { thread_id: string; status: string }[] }>('GET', `/api/executions/${execution_id}`)
    const status = what === 'removed' ? 'AWAITING_MANUAL_REMOVE' : 'AWAITING_MANUAL_PLACE'
    const thread = threads.find((one) => one.status === status)
    if (thread) return ask('POST', `/api/threads/${thread.thread_id}/${what}`, body)
  }
  return undefined
}

withLab('without the broker, and without the coordinator, both benches take what a person says at them', async (t) => {
  const lab = await testLab(t)
  await lab.coordinator.start()
  const id = await lab.begin('assay', 'P-1')
  await until(lab, 'take')
  await lab.broker.kill()
  t.match(await atBench(lab.prep, 'removed', {}), { success: true })
  await lab.carryUntil(
    async () => /broker/.test((await lab.journey(id)).waiting ?? ''),
    () => true,
  )
  t.equal((await holders(lab, 'P-1')).at(-1)?.startsWith('prep/'), true, 'the change of holder waits for the broker')
  await lab.coordinator.kill()
  t.match(await atBench(lab.read, 'placed', { barcode: 'P-9' }), { detail: /P-1, and P-9 was read/ })
  t.match(await atBench(lab.read, 'placed', { barcode: 'P-1' }), { success: true })
  await lab.broker.start()
  await lab.coordinator.start()
  await lab.carryUntil(isDone(lab, id))
  t.match(await holders(lab, 'P-1'), ['prep/pad_1', /^prep\/pad_[234]$/, 'anyone', 'read/in', 'taken away'])
})

withLab('a device call whose outcome is unknown makes the journey wait for a person, and is not repeated', async (t) => {
  const lab = await testLab(t)
  await lab.coordinator.start()
  await lab.prep.ask('POST', '/api/sim/devices/shaker-1/faults', { fault: 'no_reply' })
  const id = await lab.begin('assay', 'P-1')
  const place = await until(lab, 'place')
  await lab.ask('POST', `/api/lab/tasks/${place.task_id}/confirm`, { barcode: 'P-1' })
  await lab.journeyUntil(id, ({ needs_person }) => needs_person)
  t.match(await lab.journey(id), { phase: 'work', waiting: /an error holds it: .*decide about it there/ })
  const last = async () => (await lab.prep.ask<{ last_operation: { operation_id: string } }>('GET', '/api/devices/shaker-1')).last_operation
  const before = await last()
  const { legs } = await lab.journey(id)
  // The journey looks anew each time its run has an event.
  for (let i = 0; i < 20; i++)
    await lab.prep.ask('POST', '/api/sim/events', { event_name: 'TEST.looked', execution_id: legs[0]!.execution_id, context: {} })
  t.match(await lab.journey(id), { phase: 'work', needs_person: true })
  t.match(await last(), { operation_id: before.operation_id })
  t.same(await ordered(lab.prep), { seal: 1 })
  await lab.prep.ask('DELETE', '/api/sim/devices/shaker-1/faults')
  await lab.carryUntil(isDone(lab, id))
  t.same([await ordered(lab.prep), await ordered(lab.read)], [{ seal: 1, out: 1 }, { spin: 1 }])
})

withLab('an order that comes to the bench after its journey has ended does not begin', async (t) => {
  const lab = await testLab(t)
  const held: (() => Promise<string>)[] = []
  const url = await proxyOf(t, lab.read, ({ asked, answered, pass }) => {
    if (asked.method !== 'POST' || asked.url !== '/api/submissions') return pass()
    void text(asked).then((body) => held.push(() => sentLate(lab.read, body, String(asked.headers['x-api-key']))))
    asked.on('close', () => answered.destroy())
  })
  lab.write((file) => (file.benches.read.url = url))
  await lab.coordinator.start()
  const id = await lab.begin('assay', 'P-1')
  await lab.carryUntil(async () => held.length > 0)
  t.equal((await lab.ask('POST', `/api/lab/journeys/${id}/decide`, { decision: 'end' })).answered, 200)
  await lab.journeyUntil(id, ({ outcome }) => outcome !== null)
  for (const send of held) t.match(await send(), /was withdrawn before it came/)
  t.same(await ordered(lab.read), {})
  await noClaims(t, lab)
})

/** Another journey gets the positions of the hand-over. */
async function noClaims(t: Test, lab: TestLab): Promise<void> {
  lab.write(() => {})
  await lab.coordinator.kill()
  await lab.coordinator.start()
  const id = await lab.begin('assay', 'P-2')
  await lab.carryUntil(isDone(lab, id))
  t.pass('the next journey has its hand-over')
}

async function sentLate({ url }: TestBench, body: string, key: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'X-API-Key': key }
    request(`${url}/api/submissions`, { method: 'POST', headers }, (answer) => resolve(text(answer)))
      .on('error', reject)
      .end(body)
  })
}
