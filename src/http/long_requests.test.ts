// Streams, waits and reads of the log: bounded for each key, and over when their key is.

import { test } from 'tap'
import { isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'

type Opened = { key_id: string; get(path: string): Promise<Response> }

/** A key to read with, and what asks with it without waiting for the end of the answer. */
async function keyed({ bench, hono }: TestedBench, more: { expires_at?: number } = {}): Promise<Opened> {
  const { key_id, api_key } = await bench.keys.create({ name: 'reader', scope: 'read', ...more })
  return { key_id, get: async (path) => hono.request(path, { headers: { Host: 'localhost', 'X-API-Key': api_key } }) }
}

async function turns(until: () => boolean): Promise<void> {
  while (!until()) await new Promise(setImmediate)
}

type Ending = (setup: TestedBench, key_id: string) => Promise<unknown>

const endings: Record<string, { more?: () => { expires_at: number }; end: Ending }> = {
  revoked: { end: ({ ask }, key_id) => ask('DELETE', `/api/keys/${key_id}`) },
  'rotated out': { end: ({ ask }, key_id) => ask('POST', `/api/keys/${key_id}/rotate`, { json: { overlap_s: 0 } }) },
  expired: {
    more: () => ({ expires_at: Date.now() / 1000 + 1 }),
    end: ({ bench }, key_id) => turns(() => !bench.keys.opens(key_id)),
  },
}

for (const [name, { more, end }] of Object.entries(endings)) {
  test(`a stream and a wait end within a second when their key is ${name}, those of others go on`, async (t) => {
    const setup = await openTestBench(t)
    const { bench, clock } = setup
    const other = await keyed(setup)
    const { key_id, get } = await keyed(setup, more?.())
    const stream = await get('/events/stream')
    const waiting = get('/events?since=8e9&wait=60')
    const others = await other.get('/events/stream')
    await turns(() => bench.long_requests.size === 3)
    const ended = stream.text()
    await end(setup, key_id)
    await clock.advance(1000)
    t.notMatch(await ended, /REVOKED/)
    isRefusal(t, await reply(waiting), 401, 'unauthorized')
    t.equal(bench.hub.streams.subscribers, 1)
    t.equal(bench.long_requests.size, 1)
    await others.body!.cancel()
    t.equal(bench.long_requests.size, 0)
  })
}

test('an answer over much of the log is cut off when its key is revoked', async (t) => {
  const setup = await openTestBench(t)
  const { bench, clock, ask } = setup
  await manyEvents(setup)
  const { key_id, get } = await keyed(setup)
  const answer = await get('/events?execution_id=run-1')
  const reader = answer.body!.getReader()
  t.ok((await reader.read()).value)
  await ask('DELETE', `/api/keys/${key_id}`)
  await clock.advance(1000)
  await t.rejects(reader.read(), { code: 'unauthorized' })
  t.equal(bench.long_requests.size, 0)
})

test('a key has no more of them than it may, and what has ended makes room', async (t) => {
  const setup = await openTestBench(t, { limits: { long_requests_per_key: 2 } })
  const { bench, clock } = setup
  const { get } = await keyed(setup)
  const stream = await get('/events/stream')
  const waiting = get('/events?since=8e9&wait=5')
  await turns(() => bench.long_requests.size === 2)
  isRefusal(t, await reply(get('/events/stream')), 503, 'overloaded')
  isRefusal(t, await reply(get('/events')), 503, 'overloaded')
  t.equal((await get('/api/devices')).status, 200, 'short requests are no such')
  const { get: another } = await keyed(setup)
  t.equal((await another('/events')).status, 200)
  t.match(await (await another('/metrics')).text(), /^benchd_refused_total\{bound="long_requests_per_key"\} 2$/m)
  await clock.advance(5000)
  t.equal((await waiting).status, 200)
  t.equal((await get('/events')).status, 200)
  await stream.body!.cancel()
  t.equal(bench.long_requests.size, 0)
})

test('who reads much of the log is refused before anything is read, while two are under way and sixteen wait', async (t) => {
  const setup = await openTestBench(t)
  const { bench } = setup
  await manyEvents(setup)
  const { get } = await keyed(setup)
  const under = [await get('/events'), await get('/events')]
  const waiting = Array.from({ length: 16 }, () => get('/events'))
  await turns(() => bench.hub.wholeAnswers.waiting === 16)
  let read = 0
  const readAsUsual = bench.hub.log.read.bind(bench.hub.log)
  bench.hub.log.read = (...asked) => {
    read++
    return readAsUsual(...asked)
  }
  isRefusal(t, await reply(get('/events')), 503, 'overloaded')
  t.equal(read, 0)
  t.equal((await get('/events?limit=10')).status, 200, 'a few events are no such read')
  t.equal((await get(`/events?since=${bench.hub.log.newest_us / 1e6}`)).status, 200)
  for (const answer of under) await answer.body!.cancel()
  for (const answer of waiting) await (await answer).body!.cancel()
  t.equal(bench.hub.wholeAnswers.waiting, 0)
})

/** More than an answer that waits for its turn. */
async function manyEvents({ bench }: TestedBench): Promise<void> {
  for (let n = 0; n < 300; n++) bench.hub.emit('CUSTOM.x.EMITTED', { n, text: 'x'.repeat(1000) }, 'run-1')
  await bench.hub.log.until()
}

async function reply(response: Promise<Response>) {
  const { status, headers, ...its } = await response.then(async (answer) => ({
    status: answer.status,
    headers: answer.headers,
    text: await answer.text(),
  }))
  return { status, headers, text: its.text, body: JSON.parse(its.text) as unknown }
}
