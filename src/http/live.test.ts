// The live state: everything at the opening, then what changed, and the newest value of that alone.

import { type Test, test } from 'tap'
import type { RuntimeEvent } from '../events/event.ts'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { VirtualClock } from '../kit/clock.ts'
import { Socket } from '../testing/events.ts'
import { isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'
import { LiveBoard, type Source } from './live/board.ts'
import { examples } from './openapi_examples.ts'

type Message = { event: string; data: { kind: string; id: string; value: Record<string, unknown> | null } }

/** A stream that is open, and the state that its messages come to. */
async function watched({ hono, secrets, clock }: TestedBench, { key = 'read' as 'read' | 'admin', query = '' } = {}) {
  const response = await hono.request(`/api/live${query}`, { headers: { Host: 'localhost', 'X-API-Key': secrets[key] } })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  const state = new Map<string, Record<string, unknown> | null>()
  const messages: Message[] = []
  let text = ''
  let ended = false
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
      if (done) break
      text += decoder.decode(value)
      const frames = text.split('\n\n')
      text = frames.pop()!
      for (const frame of frames) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? []
        if (!event) continue
        const message = { event, data: JSON.parse(data!) }
        messages.push(message)
        if (event === 'state') state.set(`${message.data.kind} ${message.data.id}`, message.data.value)
      }
    }
    ended = true
  })()
  return {
    response,
    state,
    messages,
    of: (kind: string) => [...state].filter(([name]) => name.startsWith(`${kind} `)).map(([, value]) => value),
    hangUp: () => reader.cancel(),
    hasEnded: () => ended,
    async until(what: string, isSo: () => boolean) {
      for (let tries = 0; tries < 3000; tries++) {
        if (isSo()) return
        await clock.advance(100)
      }
      throw new Error(`it never came to this: ${what}`)
    },
  }
}

/** A device without what moves by itself. */
function still(value: unknown): object {
  const { heard_at: _, ...its } = value as Record<string, unknown>
  return its
}

async function opened(t: Test, more: object = {}) {
  const setup = await openTestBench(t, more)
  await setup.bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await setup.ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  return setup
}

test('the stream opens with every value, each as GET answers it, and says when that is all', async (t) => {
  const setup = await opened(t)
  // The sealer tells who it is a second after it was found.
  while (setup.bench.registry.find('sealer-1').info().identity === null) await setup.clock.advance(100)
  const live = await watched(setup)
  t.match(live.response.headers.get('content-type'), 'text/event-stream')
  await live.until('ready', () => live.messages.some(({ event }) => event === 'ready'))
  for (const { device_id } of setup.bench.registry.all())
    t.same(still(live.state.get(`device ${device_id}`)), still((await setup.ask('GET', `/api/devices/${device_id}`)).body))
  t.same(live.state.get('topology demo'), (await setup.ask('GET', '/api/topology')).body)
  t.match(live.of('service'), [{ status: 'ok' }])
  const before = live.messages.length
  const opening = new Map(live.state)
  await live.until('beats', () => live.messages.filter(({ event }) => event === 'beat').length >= 3)
  const changes = live.messages.slice(before).filter(({ event, data }) => {
    // A device that can be asked tells a new reading now and then.
    if (event === 'beat' || data.kind === 'reading') return false
    const shown = opening.get(`${data.kind} ${data.id}`)
    return JSON.stringify(still(data.value)) !== JSON.stringify(still(shown)) || data.value?.['heard_at'] === shown?.['heard_at']
  })
  t.same(changes, [], 'what did not change is not sent again; when an instrument was heard does')
  t.match(live.messages.findLast(({ event }) => event === 'beat')!.data, { time: Number })
  await live.hangUp()
})

test('a change is sent as the value that GET answers then, and nothing else is', async (t) => {
  const setup = await opened(t)
  const live = await watched(setup)
  await live.until('ready', () => live.messages.at(-1)?.event === 'ready')
  const before = new Map(live.state)
  const from = live.messages.length
  await setup.ask('POST', '/api/devices/shaker-1/initialize')
  await live.until('initialized', () => live.state.get('device shaker-1')?.['is_initialized'] === true)
  t.same(still(live.state.get('device shaker-1')), still((await setup.ask('GET', '/api/devices/shaker-1')).body))
  await setup.ask('POST', '/api/devices/shaker-1/stop', { key: 'read' })
  await live.until('stopped', () => live.state.get('device shaker-1')?.['state'] === 'stopped')
  for (const { event, data } of live.messages.slice(from)) {
    if (event !== 'state') continue
    t.strictNotSame(data.value, before.get(`${data.kind} ${data.id}`), `${data.kind} ${data.id} has changed`)
    before.set(`${data.kind} ${data.id}`, data.value)
  }
  await live.hangUp()
})

test('a change without an event is shown soon after the request that made it', async (t) => {
  const setup = await opened(t)
  const { incident_id } = setup.bench.hub.incidents.record({ category: 'ACTION_FAILED', message: 'the seal failed' })
  const live = await watched(setup)
  await live.until('the incident is shown', () => live.of('incident').length === 1)
  await setup.ask('POST', `/api/incidents/${incident_id}/acknowledge`)
  // A look later.
  await setup.clock.advance(200)
  await live.until('the stream is read', () => live.state.get(`incident ${incident_id}`) === null)
  const since = live.messages.slice(live.messages.findIndex(({ data }) => data.id === incident_id && data.value !== null))
  t.ok(since.filter(({ event }) => event === 'beat').length <= 1, 'and not at the next look at everything, two seconds later')
  await live.hangUp()
})

test('while somebody watches, a device is asked every two seconds, and the newest reading is that of GET', async (t) => {
  const setup = await opened(t)
  await setup.ask('POST', '/api/devices/shaker-1/initialize')
  const live = await watched(setup)
  const shown = () => live.messages.filter(({ event, data }) => event === 'state' && data.kind === 'reading' && data.id === 'shaker-1')
  await live.until('readings', () => shown().length >= 3)
  const { body } = await setup.ask('GET', '/api/devices/shaker-1/readings')
  const { readings } = body as { readings: { at: number; temperature: number }[] }
  t.same(readings.at(-1), shown().at(-1)!.data.value)
  t.match(readings[0], { at: Number, temperature: Number, target: null })
  const late = await setup.ask('GET', `/api/devices/shaker-1/readings?since=${Date.now() / 1000 + 60}`)
  t.same(late.body, { device_id: 'shaker-1', readings: [] })
  isRefusal(t, await setup.ask('GET', '/api/devices/shaker-1/readings?since=yesterday'), 400)
  isRefusal(t, await setup.ask('GET', '/api/devices/nobody/readings'), 404)
  await live.hangUp()
})

test('a run is shown with its threads, its labware and its timeline, until it has ended', async (t) => {
  const setup = await opened(t)
  const { ask } = setup
  t.equal((await ask('PUT', '/api/workflows/one', { json: { ...(examples.putWorkflow!.body as object), name: 'one' } })).status, 201)
  const { execution_id } = (await ask('POST', '/api/submissions', { json: { workflow: 'one', run_mode: 'PURE_SIM' } })).body as Record<
    string,
    string
  >
  const [one, other] = [await watched(setup, { query: `?run=${execution_id}` }), await watched(setup)]
  await one.until('the run has ended', () => one.state.get(`run ${execution_id}`)?.['status'] === 'COMPLETED')
  await one.until('no thread is left', () => one.of('thread').every((thread) => thread === null))
  const { rows } = (await ask('GET', `/api/executions/${execution_id}/timeline`)).body as { rows: object[] }
  t.ok(rows.length > 0)
  t.strictSame(one.of('timeline'), rows)
  t.same(other.of('timeline'), [], 'nobody is shown the timeline of a run who has not asked for it')
  const { executions } = (await ask('GET', '/api/executions')).body as { executions: object[] }
  t.same(other.of('run'), executions)
  await Promise.all([one.hangUp(), other.hangUp()])
})

test('who may not read a kind is not shown it, and a mistake is a clear error', async (t) => {
  const setup = await opened(t)
  const [reader, admin] = [await watched(setup), await watched(setup, { key: 'admin' })]
  await setup.ask('POST', '/api/keys/requests', { key: null, json: { app_name: 'notebook', scope: 'read' } })
  await admin.until('the request is shown', () => admin.of('key_request').length > 0)
  t.match(admin.of('key_request'), [{ app_name: 'notebook' }])
  t.same(reader.of('key_request'), [])
  isRefusal(t, await setup.ask('GET', '/api/live?rum=1'), 400)
  isRefusal(t, await setup.ask('GET', '/api/live', { key: null }), 401)
  await Promise.all([reader.hangUp(), admin.hangUp()])
})

test('it counts as a stream, ends with its key, and leaves nothing behind', async (t) => {
  const setup = await opened(t, { limits: { subscribers: 1 } })
  const { bench, ask } = setup
  const live = await watched(setup)
  isRefusal(t, await ask('GET', '/api/live'), 503, 'overloaded')
  isRefusal(t, await ask('GET', '/events/stream'), 503, 'overloaded')
  await live.hangUp()
  await live.until('the place is free', () => bench.hub.streams.subscribers === 0)
  const second = await watched(setup)
  const { keys } = (await ask('GET', '/api/keys')).body as { keys: { key_id: string; scope: string }[] }
  await ask('DELETE', `/api/keys/${keys.find(({ scope }) => scope === 'read')!.key_id}`)
  await second.until('the stream has ended', second.hasEnded)
  t.equal(bench.hub.streams.subscribers, 0)
  t.equal(bench.long_requests.size, 0)
})

function board() {
  const clock = new VirtualClock()
  const sinks = new Set<object>()
  const values = new Map<string, object>([['a', { n: 0 }]])
  let looks = 0
  const source: Source = {
    kind: 'thing',
    scope: 'read',
    looks: 'always',
    all() {
      looks++
      return values
    },
  }
  const hub = { registerSink: (sink: object) => void sinks.add(sink), unregisterSink: (sink: object) => void sinks.delete(sink) }
  const warned: string[] = []
  const live = new LiveBoard({ hub, clock, warn: (message) => warned.push(message) })
  return { clock, sinks, values, source, live, warned, looks: () => looks }
}

test('a reader that comes later gets the values in their own order, also when some have just changed', (t) => {
  const { values, source, live } = board()
  values.set('b', { n: 0 })
  const [first, later] = [new Socket(), new Socket()]
  live.show(first, [['thing', source]])
  values.set('b', { n: 1 })
  live.show(later, [['thing', source]])
  t.same(
    [...later.text.matchAll(/"id":"(\w)"/g)].map(([, id]) => id),
    ['a', 'b'],
  )
  live.close()
  t.end()
})

test('a slow reader is shown the newest value alone, and one that takes nothing is cut off', async (t) => {
  const { clock, values, source, live, sinks, looks } = board()
  const [slow, quick] = [new Socket(), new Socket()]
  live.show(quick, [['thing', source]])
  slow.isStalled = true
  live.show(slow, [['thing', source]])
  for (let n = 1; n <= 10; n++) {
    values.set('a', { n })
    await clock.advance(200)
  }
  const states = ({ text }: Socket) =>
    text
      .split('\n\n')
      .filter((frame) => frame.startsWith('event: state'))
      .map((frame) => JSON.parse(frame.split('data: ')[1]!).value?.n)
  t.same(states(quick), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  t.same(states(slow), [])
  slow.drain()
  t.same(states(slow), [10])
  values.delete('a')
  await clock.advance(200)
  t.same(states(slow), [10, undefined], 'a value that is gone is null')
  slow.isStalled = true
  await clock.advance(1000)
  await clock.advance(62_000)
  t.equal(slow.end_, 'cut')
  const before = looks()
  live.close()
  t.equal(quick.end_, 'ended')
  t.equal(sinks.size, 0)
  await clock.advance(5000)
  t.equal(looks(), before, 'nobody looks where nobody is shown anything')
})

test('a value that is looked up alone is, and all of them every two seconds', async (t) => {
  const { clock, values, source, live, looks } = board()
  const asked: string[] = []
  const alone: Source = {
    ...source,
    looks: 'after events',
    touched: ({ entity_id }) => entity_id,
    one(id) {
      asked.push(id)
      return values.get(id)
    },
  }
  const tap = new Socket()
  live.show(tap, [['thing', alone]])
  const before = looks()
  values.set('a', { n: 1 })
  live.onEvent({ entity_id: 'a' } as RuntimeEvent)
  await clock.advance(200)
  t.same(asked, ['a'])
  t.equal(looks(), before)
  t.match(tap.text, '{"n":1}')
  values.set('b', { n: 2 })
  await clock.advance(2000)
  t.match(tap.text, '{"n":2}', 'a change without an event')
})

test('a kind that cannot be read is a warning, and the others are shown', async (t) => {
  const { clock, values, source, live, warned } = board()
  let isBroken = false
  const broken: Source = {
    ...source,
    kind: 'broken',
    all() {
      if (isBroken) throw new Error('no such thing')
      return []
    },
  }
  const tap = new Socket()
  live.show(tap, [
    ['broken', broken],
    ['thing', source],
  ])
  isBroken = true
  values.set('a', { n: 1 })
  await clock.advance(200)
  t.match(tap.text, '{"n":1}')
  t.same(warned, ['the values of kind broken cannot be shown: no such thing'])
})
