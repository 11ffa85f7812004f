import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import * as v from 'valibot'
import { onBench } from '../testing/events.ts'
import { IncidentContext } from './contexts.ts'

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
  const first = await hub.incidents.acknowledge(incident_id, { by: 'bench' })
  wall.us += 1_000_000
  t.same(await hub.incidents.acknowledge(incident_id, { by: 'other' }), first)
  await t.rejects(hub.incidents.acknowledge('nothing', { by: 'bench' }), { code: 'not_found' })
  t.match(readFileSync(`${folder}/incidents.jsonl`, 'utf8'), /"by":"bench"/)
  await hub.close()
})

test('a damaged line costs that incident alone', async (t) => {
  const folder = t.testdir()
  const { hub } = await onBench(folder)
  hub.incident('OTHER', 'first')
  hub.incident('OTHER', 'second')
  await hub.close()
  const path = `${folder}/incidents.jsonl`
  const messages = (of: typeof hub) => of.incidents.list().map(({ message }) => message)
  appendFileSync(path, '{"crc":"01234567","incident_id":"half')
  const torn = await onBench(folder)
  t.same(messages(torn.hub), ['second', 'first'])
  torn.hub.incident('OTHER', 'third')
  await torn.hub.close()
  writeFileSync(path, readFileSync(path, 'utf8').replace('second', 'seconds'))
  const after = await onBench(folder)
  const [told, ...others] = messages(after.hub)
  t.match(told, /^incidents\.jsonl is damaged \(1 of 3 lines are not whole\): .* kept as incidents\.jsonl\.corrupt-/)
  t.same(others, ['third', 'first'])
  await after.hub.close()
  const next = await onBench(folder)
  t.equal(messages(next.hub).length, 3, 'it is told once')
  await next.hub.close()
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

test('their file begins anew in the middle of a start, with those that are kept and what was said about them', async (t) => {
  const folder = t.testdir()
  const { hub } = await onBench(folder)
  const record = (n: number) => hub.incident('DEVICE_LINK', `lost ${n}`).incident_id
  const ids: string[] = []
  for (let n = 0; n < 4500; n++) {
    ids.push(record(n))
    if (n % 500 === 499) await hub.incidents.written()
  }
  await hub.incidents.acknowledge(ids.at(-1)!, { by: 'bench' })
  const lines = readFileSync(`${folder}/incidents.jsonl`, 'utf8').split('\n').filter(Boolean)
  t.ok(lines.length <= 3001, `${lines.length} lines`)
  t.equal(hub.incidents.list().length, 1000)
  await hub.close()
  const after = await onBench(folder)
  t.same(
    after.hub.incidents.list().map(({ incident_id }) => incident_id),
    ids.slice(-1000).reverse(),
  )
  t.equal(after.hub.incidents.get(ids.at(-1)!).acknowledged?.by, 'bench')
  await after.hub.close()
})

test('one that is to stay is not forgotten for others that come, before it is acknowledged', async (t) => {
  const { hub } = await onBench(t.testdir())
  const { incident_id } = hub.incident('OTHER', 'safe mode', { stays: true })
  for (let n = 0; n < 1500; n++) hub.incident('DEVICE_LINK', `lost ${n}`)
  t.equal(hub.incidents.get(incident_id).message, 'safe mode')
  t.equal(hub.incidents.list().length, 1000)
  await hub.incidents.acknowledge(incident_id, { by: 'bench' })
  hub.incident('DEVICE_LINK', 'lost again')
  t.throws(() => hub.incidents.get(incident_id), { code: 'not_found' })
  await hub.close()
})
