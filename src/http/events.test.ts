import type { Socket } from 'node:net'
import { test } from 'tap'
import type { Bench } from '../bench/bench.ts'
import type { RuntimeEvent } from '../events/event.ts'
import { dialled, isRefusal, openService, openTestBench } from '../testing/http.ts'

type EventsPage = { events: RuntimeEvent[]; next_since: number }

test('GET /events answers what was fired at or after a time, and when to ask from next', async (t) => {
  const { ask, bench } = await openTestBench(t)
  t.same((await ask('GET', '/events?execution_id=none')).body, { events: [], next_since: 0 })
  t.same((await ask('GET', '/events?execution_id=none&since=12.5')).body, { events: [], next_since: 12.5 })
  const fired = fire(bench, 5)
  await bench.hub.log.until()
  const got = await ask('GET', '/events?execution_id=run-1', { key: 'read' })
  t.equal(got.status, 200)
  t.match(got.headers.get('content-type'), 'application/json')
  t.equal(got.headers.get('cache-control'), 'no-store')
  const { events, next_since } = got.body as EventsPage
  t.same(events, fired)
  t.same(Object.keys(events[0]!), ['event_name', 'execution_id', 'timestamp', 'entity_type', 'entity_id', 'status', 'context'])
  t.ok(next_since > fired[4]!.timestamp)
  const [more] = fire(bench, 1)
  await bench.hub.log.until()
  t.same(((await ask('GET', `/events?since=${next_since}`)).body as EventsPage).events, [more])
  t.same(((await ask('GET', `/events?execution_id=run-1&since=${fired[3]!.timestamp}`)).body as EventsPage).events, [
    fired[3],
    fired[4],
    more,
  ])
  t.same(((await ask('GET', '/events?execution_id=run-1&limit=2')).body as EventsPage).events, fired.slice(0, 2))
})

test('without an envelope the answer is the array of events alone', async (t) => {
  const { ask, bench } = await openTestBench(t)
  t.same((await ask('GET', '/events?execution_id=none&envelope=false')).body, [])
  const fired = fire(bench, 3)
  await bench.hub.log.until()
  t.same((await ask('GET', '/events?execution_id=run-1&envelope=false')).body, fired)
  t.same((await ask('GET', '/events?newest=2&envelope=false')).body, fired.slice(1))
  t.same(((await ask('GET', '/events?newest=2&envelope=true')).body as EventsPage).events, fired.slice(1))
  isRefusal(t, await ask('GET', '/events?envelope=no'), 400, 'invalid')
})

test('newest answers the newest events in the order of time, and goes with no other parameter', async (t) => {
  const { ask, bench } = await openTestBench(t)
  fire(bench, 25)
  await bench.hub.log.until()
  const newest = async (count: number) =>
    ((await ask('GET', `/events?newest=${count}`)).body as EventsPage).events.map(({ context }) => context.n)
  t.same(await newest(3), [22, 23, 24])
  t.same(await newest(1), [24])
  t.same(
    (await newest(1000)).slice(-25),
    Array.from({ length: 25 }, (_, n) => n),
  )
  for (const more of ['&since=0', '&limit=3', '&execution_id=run-1', '&wait=1'])
    t.match(await ask('GET', `/events?newest=3${more}`), { status: 400, body: { detail: /newest goes with no other parameter/ } })
  for (const count of ['0', '1001', 'x']) isRefusal(t, await ask('GET', `/events?newest=${count}`), 400, 'invalid')
})

test('asking on with next_since and a limit misses nothing and gets nothing twice', async (t) => {
  const { ask, bench } = await openTestBench(t)
  fire(bench, 25)
  await bench.hub.log.until()
  const seen: unknown[] = []
  for (let since = 0, count = 7; count === 7; ) {
    const { events, next_since } = (await ask('GET', `/events?since=${since}&limit=7&execution_id=run-1`)).body as EventsPage
    seen.push(...events.map(({ context }) => context.n))
    since = next_since
    count = events.length
  }
  t.same(
    seen,
    Array.from({ length: 25 }, (_, n) => n),
  )
})

test('a question that cannot be answered is refused in a sentence', async (t) => {
  const { ask } = await openTestBench(t)
  for (const query of [
    'since=x',
    'since=-1',
    'since=',
    'since=NaN',
    'since=1e99',
    'limit=0',
    'limit=100001',
    'limit=1.5',
    'wait=61',
    'wait=-1',
    'execution_id=',
  ]) {
    isRefusal(t, await ask('GET', `/events?${query}`), 400)
  }
  t.match((await ask('GET', `/events?since=${Date.now()}`)).body, { detail: /since: it is too large .*; these may be milliseconds/ })
  for (const query of ['heartbeat=0', 'heartbeat=61', 'last_event_id=x', 'last_event_id=-1', 'last_event_id=1.5']) {
    isRefusal(t, await ask('GET', `/events/stream?${query}`), 400)
  }
  isRefusal(t, await ask('GET', '/events/stream', { headers: { 'Last-Event-ID': 'abc' } }), 400)
  isRefusal(t, await ask('GET', '/events', { key: null }), 401)
  isRefusal(t, await ask('GET', '/events/stream', { key: null }), 401)
})

test('a question that waits is answered by the first event it asks for', async (t) => {
  const { bench, hono, secrets, clock } = await openTestBench(t)
  const headers = { Host: 'localhost', 'X-API-Key': secrets.read }
  const waiting = Promise.resolve(hono.request('/events?execution_id=run-2&wait=60', { headers }))
  let answered = false
  void waiting.then(() => {
    answered = true
  })
  await turns(20)
  fire(bench, 3, 'run-1')
  await bench.hub.log.until()
  await turns(20)
  t.notOk(answered)
  fire(bench, 1, 'run-2')
  const { events } = (await (await waiting).json()) as EventsPage
  t.same(
    events.map(({ execution_id }) => execution_id),
    ['run-2'],
  )
  const before = clock.now()
  const empty = await clock.run(Promise.resolve(hono.request('/events?execution_id=run-3&wait=2.5', { headers })))
  t.same(((await empty.json()) as EventsPage).events, [])
  t.ok(clock.now() - before >= 2500)
})

test('many who wait at once are nothing that Node warns of', async (t) => {
  const { hono, secrets, clock } = await openTestBench(t)
  const warnings: Error[] = []
  const hear = (warning: Error) => void warnings.push(warning)
  process.on('warning', hear)
  t.teardown(() => process.off('warning', hear))
  const headers = { Host: 'localhost', 'X-API-Key': secrets.read }
  const waiting = Array.from({ length: 12 }, () => hono.request('/events?execution_id=run-1&wait=2', { headers }))
  await clock.run(Promise.all(waiting))
  await turns(5)
  t.same(warnings, [])
})

test('an answer over much of the log comes in pieces: two at a time, sixteen wait, the next is refused', async (t) => {
  const { bench, hono, secrets, clock } = await openTestBench(t)
  const fired = fire(bench, 3000, 'run-1', 'x'.repeat(1000))
  await bench.hub.log.until()
  const headers = { Host: 'localhost', 'X-API-Key': secrets.read }
  const get = () => Promise.resolve(hono.request('/events?execution_id=run-1', { headers }))
  const answers = [await get(), await get()]
  const letIn: Response[] = []
  for (let i = 0; i < 16; i++) void get().then((answer) => letIn.push(answer))
  while (bench.hub.wholeAnswers.waiting < 16) await turns(1)
  const refused = await get()
  t.equal(refused.status, 503)
  t.ok(refused.headers.get('retry-after'))
  const { events, next_since } = (await answers[0]!.json()) as EventsPage
  t.same([events.length, next_since > fired[2999]!.timestamp], [3000, true])
  // One that hangs up, and two that nobody takes for a minute, leave their places to others.
  await (await nextOf(letIn)).body!.cancel()
  const untaken = (await nextOf(letIn)).body!.getReader()
  untaken.closed.catch(() => undefined)
  await untaken.read()
  await clock.advance(61_000)
  for (let i = 0; i < 14; i++) t.equal(((await (await nextOf(letIn)).json()) as EventsPage).events.length, 3000)
  await t.rejects(answers[1]!.text())
  t.equal(bench.hub.wholeAnswers.waiting, 0)
})

async function nextOf(answers: Response[]): Promise<Response> {
  while (answers.length === 0) await turns(1)
  return answers.shift()!
}

test('a stream has its headers, its frames, and is taken up again behind the last id', async (t) => {
  const { bench, port, secrets } = await openService(t)
  const live = await opened(port, secrets.read, '/events/stream?execution_id=run-1')
  t.match(live.head, /^HTTP\/1\.1 200 OK/)
  for (const line of [
    'content-type: text/event-stream; charset=utf-8',
    'cache-control: no-store',
    'x-accel-buffering: no',
    'content-encoding: identity',
    'x-api-version: 2.1.0',
  ]) {
    t.match(live.head.toLowerCase(), line)
  }
  const fired = fire(bench, 5)
  fire(bench, 1, 'run-2')
  await live.until(/"n":4/)
  t.match(live.text, /^retry: 2000\nid: \d+\n\nevent: runtime_event\ndata: \{.*\}\nid: \d+\n\nevent/)
  t.same(eventsIn(live.text), fired)
  const [, id] = /\}\nid: (\d+)$/m.exec(live.text)!
  const byHeader = await opened(port, secrets.read, '/events/stream?execution_id=run-1', { 'Last-Event-ID': id! })
  const byQuery = await opened(port, secrets.read, `/events/stream?execution_id=run-1&last_event_id=${id}`)
  for (const again of [byHeader, byQuery]) {
    await again.until(/"n":4/)
    t.same(eventsIn(again.text), fired.slice(1))
  }
  const beyond = await opened(port, secrets.read, '/events/stream?last_event_id=999999')
  await beyond.until(/^: gap$/m)
  for (const { socket } of [live, byHeader, byQuery, beyond]) socket.destroy()
  while (bench.hub.streams.subscribers) await turns(1)
  t.equal(bench.hub.streams.subscribers, 0)
})

test('one stream too many is refused, and the place of one that hung up is free again', async (t) => {
  const { bench, port, secrets, ask } = await openService(t, { limits: { subscribers: 2, connections: 512 } })
  const streams = [await opened(port, secrets.read, '/events/stream'), await opened(port, secrets.read, '/events/stream')]
  isRefusal(t, await ask('GET', '/events/stream'), 503, 'overloaded')
  t.equal((await ask('HEAD', '/events/stream')).status, 200)
  streams[0]!.socket.destroy()
  while (bench.hub.streams.subscribers > 1) await turns(1)
  const third = await opened(port, secrets.read, '/events/stream')
  t.match(third.head, /^HTTP\/1\.1 200/)
  for (const { socket } of [streams[1]!, third]) socket.destroy()
})

test('a page of another origin reads the stream too', async (t) => {
  const { bench, port, secrets } = await openService(t)
  const stream = await opened(port, secrets.read, '/events/stream', { Origin: 'http://elsewhere' })
  t.match(stream.head.toLowerCase(), /content-type: text\/event-stream/)
  fire(bench, 3)
  await stream.until(/"n":2/)
  stream.socket.destroy()
  while (bench.hub.streams.subscribers) await turns(1)
  t.equal(bench.hub.streams.subscribers, 0)
})

test('streams end at once when the service is closed', async (t) => {
  const { service, port, secrets } = await openService(t)
  const stream = await opened(port, secrets.read, '/events/stream')
  const ended = new Promise((resolve) => stream.socket.once('end', resolve))
  await service.bench.hub.close()
  await ended
  stream.socket.destroy()
  t.pass()
})

test('a reader that never reads delays nobody, and memory stays bounded by its queue', async (t) => {
  const { bench, port, secrets } = await openService(t)
  const [stalled, reading] = [await opened(port, secrets.read, '/events/stream'), await opened(port, secrets.read, '/events/stream')]
  stalled.socket.pause()
  const text = 'x'.repeat(2000)
  for (let n = 0, read = 0; n < 8000; n += 250, read = reading.length) {
    fire(bench, 250, 'run-1', text, n)
    await reading.until(new RegExp(`"n":${n + 249},`), read)
  }
  const seen = eventsIn(reading.text).flatMap(({ context }) => (typeof context.n === 'number' ? [context.n] : []))
  t.same(
    seen,
    Array.from({ length: 8000 }, (_, n) => n),
  )
  stalled.socket.resume()
  await stalled.until(/"n":7999,/)
  const got = eventsIn(stalled.text).map(({ context }) => context.n as number)
  t.match(stalled.text, /^: dropped \d+$/m)
  t.ok(got.every((n, i) => i === 0 || n > got[i - 1]!))
  t.same(
    got.slice(-1000),
    Array.from({ length: 1000 }, (_, i) => 7000 + i),
  )
  for (const { socket } of [stalled, reading]) socket.destroy()
})

test('a stream can also be read as a body, where there is no socket', async (t) => {
  const { bench, hono, secrets } = await openTestBench(t)
  const headers = { Host: 'localhost', 'X-API-Key': secrets.read }
  const response = await hono.request('/events/stream?execution_id=run-1', { headers })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  fire(bench, 3)
  let text = ''
  while (!/"n":2/.test(text)) text += (await reader.read()).value
  t.equal(eventsIn(text).length, 3)
  t.equal(bench.hub.streams.subscribers, 1)
  await reader.cancel()
  t.equal(bench.hub.streams.subscribers, 0)
})

function fire(bench: Bench, count: number, execution_id = 'run-1', text = '', from = 0): RuntimeEvent[] {
  return Array.from({ length: count }, (_, i) => bench.hub.emit('CUSTOM.n.EMITTED', { n: from + i, text }, execution_id))
}

function eventsIn(text: string): RuntimeEvent[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!))
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

/** `until` looks from a place on. */
type Opened = {
  socket: Socket
  head: string
  readonly text: string
  readonly length: number
  until(found: RegExp, from?: number): Promise<void>
}

/** A stream, past its headers. */
async function opened(port: number, key: string, path: string, headers: Record<string, string> = {}): Promise<Opened> {
  const socket = await dialled(port)
  let all = ''
  let onData = () => {}
  socket.on('error', () => undefined)
  socket.on('data', (bytes) => {
    all += bytes
    onData()
  })
  const until = async (found: RegExp, start = 0) => {
    // Only what is new is looked at, and what a frame may have begun before.
    for (let from = start; !found.test(all.slice(from)); ) {
      from = Math.max(start, all.length - 10_000)
      await new Promise<void>((resolve) => {
        onData = resolve
      })
    }
  }
  const lines = Object.entries({ Host: 'localhost', 'X-API-Key': key, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  await until(/\r\n\r\n/)
  const end = all.indexOf('\r\n\r\n')
  const opened = { socket, head: all.slice(0, end), until }
  return Object.defineProperties(opened, { text: { get: () => all.slice(end + 4) }, length: { get: () => all.length } }) as Opened
}
