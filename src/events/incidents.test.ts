import { appendFileSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import * as v from 'valibot'
import { IncidentContext } from './contexts.ts'
import { onBench } from './testing.ts'

test('an incident is an event with its summary, and a record with its detail that outlasts a restart', async (t) => {
  const folder = t.testdir()
  const { hub } = await onBench(folder)
  const { incident_id, timestamp } = hub.incident('DEVICE_LINK', 'the cable is out', { detail: { port: 3 }, execution_id: 'run-1' })
  const [event] = await hub.getEventsForExecution('run-1')
  t.equal(event!.event_name, `INCIDENT.${incident_id}.DEVICE_LINK`)
  t.ok(v.is(IncidentContext, event!.context))
  t.equal(event!.timestamp, timestamp)
  await hub.incidents.written()
  await hub.close()
  const after = await onBench(folder)
  t.match(after.hub.incidents.get(incident_id), { message: 'the cable is out', detail: { port: 3 }, acknowledged: null })
  await after.hub.close()
})

test('acknowledging only marks an incident, once, and is on the card', async (t) => {
  const folder = t.testdir()
  const { hub, wall } = await onBench(folder)
  const { incident_id } = hub.incident('OTHER', 'look')
  const first = await hub.incidents.acknowledge(incident_id, 'bench')
  wall.us += 1_000_000
  t.same(await hub.incidents.acknowledge(incident_id, 'other'), first)
  await t.rejects(hub.incidents.acknowledge('nothing', 'bench'), { code: 'not_found' })
  t.match(readFileSync(`${folder}/incidents.jsonl`, 'utf8'), /"by":"bench"/)
  await hub.close()
})

test('a damaged line costs that incident alone', async (t) => {
  const folder = t.testdir()
  const { hub } = await onBench(folder)
  hub.incident('OTHER', 'first')
  await hub.incidents.written()
  appendFileSync(`${folder}/incidents.jsonl`, '\n{"incident_id":"half')
  hub.incident('OTHER', 'second')
  await hub.close()
  const after = await onBench(folder)
  t.same(
    after.hub.incidents.list().map(({ message }) => message),
    ['second', 'first'],
  )
  await after.hub.close()
})

test('the incidents of an execution that is removed are gone with its events, from the card too', async (t) => {
  const folder = t.testdir()
  const { hub } = await onBench(folder)
  const { incident_id } = hub.incident('OTHER', 'of the run', { execution_id: 'run-1' })
  hub.incident('OTHER', 'of another', { execution_id: 'run-2' })
  hub.incident('OTHER', 'of none')
  await hub.remove('run-1')
  t.throws(() => hub.incidents.get(incident_id), { code: 'not_found' })
  t.notMatch(readFileSync(`${folder}/incidents.jsonl`, 'utf8'), /of the run/)
  hub.incident('OTHER', 'later')
  await hub.close()
  const after = await onBench(folder)
  t.same(
    after.hub.incidents.list().map(({ message }) => message),
    ['later', 'of none', 'of another'],
  )
  await after.hub.close()
})
