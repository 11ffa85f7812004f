// The stream as other people's programs read it: from a service that is a process of its own, over real sockets.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type ClientRequest, get, type IncomingMessage, request } from 'node:http'
import { connect, createServer as createProxy, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { EventSource } from 'eventsource'
import { type Test, test } from 'tap'
import { freePort } from '../kit/ports.ts'
import { benchd, running } from '../testing/cli.ts'
import { noCurl } from '../testing/curl.ts'
import { atTheEnd } from '../testing/http.ts'

test('the EventSource of npm reads the stream with the key in a header, and takes it up again after a restart', async (t) => {
  const service = await serving(t)
  const seen: number[] = []
  const heard = notifier()
  const source = new EventSource(`${service.url}/events/stream?execution_id=run-1`, {
    fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, 'X-API-Key': service.key } }),
  })
  t.teardown(() => source.close())
  source.addEventListener('runtime_event', ({ data }) => {
    seen.push(JSON.parse(data).context.n)
    heard.tell()
  })
  await once(source as never, 'open')
  for (let n = 0; n < 5; n++) await service.emit(n)
  await heard.until(() => seen.length === 5)
  service.child.kill('SIGKILL')
  await service.ended
  const again = await serving(t, service)
  for (let n = 5; n < 10; n++) await again.emit(n)
  await heard.until(() => seen.length === 10)
  await again.emit(10)
  await heard.until(() => seen.length === 11)
  t.same(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('curl -N shows each event when it happens', { skip: noCurl }, async (t) => {
  const service = await serving(t)
  for (const version of ['--http1.1', '--http1.0']) {
    const curl = spawn('curl', ['-sN', version, '-H', `X-API-Key: ${service.key}`, `${service.url}/events/stream?execution_id=run-1`])
    t.teardown(() => curl.kill('SIGKILL'))
    const heard = notifier()
    let text = ''
    curl.stdout.on('data', (bytes) => {
      text += bytes
      heard.tell()
    })
    await heard.until(() => /^retry: 2000\nid: \d+\n\n$/.test(text))
    for (let n = 0; n < 3; n++) {
      await service.emit(n)
      await heard.until(() => new RegExp(`^event: runtime_event\\ndata: \\{.*"n":${n}\\}\\}\\nid: \\d+\\n\\n`, 'm').test(text))
    }
    t.equal(text.match(/^data: /gm)?.length, 3, version)
    curl.kill('SIGKILL')
  }
})

test('behind a proxy that speaks HTTP/2 the stream comes event by event, and says that it must not be buffered', async (t) => {
  const service = await serving(t)
  const proxy = createProxy()
  const ending = atTheEnd(t)
  proxy.on('stream', (stream, headers) => forward(service.url, stream, headers))
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const client = connect(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  ending.push(async () => {
    client.destroy()
    proxy.close()
  })
  const headers = { ':path': '/events/stream?execution_id=run-1', 'x-api-key': service.key }
  const [first, second] = [client.request(headers), client.request({ ...headers, 'last-event-id': '0' })]
  const texts = ['', '']
  const heard = notifier()
  for (const [i, stream] of [first, second].entries()) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      texts[i] += text
      heard.tell()
    })
    stream.on('error', () => undefined)
  }
  const [answer] = await once(first, 'response')
  t.match(answer, {
    ':status': 200,
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
    'content-encoding': 'identity',
    'cache-control': 'no-store',
  })
  for (let n = 0; n < 5; n++) {
    await service.emit(n)
    await heard.until(() => texts.every((text) => text.includes(`"n":${n}}`)))
  }
  t.same(
    texts.map((text) => text.match(/^data: .*\nid: \d+$/gm)?.length),
    [5, 5],
  )
})

test('who reads slowly gets, after what the kernel held, exactly the newest thousand; who reads loses nothing', async (t) => {
  const service = await serving(t)
  const slow = await service.stream()
  const quick = await service.stream()
  const heard = notifier()
  slow.pause()
  const ids: number[] = []
  let newest = -1
  readIds(quick, ids, (n) => {
    newest = n ?? newest
    heard.tell()
  })
  const count = 150_000
  await service.post('/api/sim/load', { rate: 30_000, seconds: 5 })
  await heard.until(() => newest === count - 1)
  t.ok(ids.every((id, i) => i === 0 || id === ids[i - 1]! + 1))
  const late: number[] = []
  const comments = readIds(slow, late, () => heard.tell())
  await heard.until(() => late.at(-1) === ids.at(-1))
  const jumps = late.flatMap((id, i) => (i > 0 && id !== late[i - 1]! + 1 ? [i] : []))
  t.equal(jumps.length, 1, 'there is one gap')
  const at = jumps[0]!
  t.equal(late.length - at, 1000)
  t.same(comments(), [`: dropped ${late[at]! - late[at - 1]! - 1}`])
  slow.destroy()
  quick.destroy()
})

test('SIGTERM ends streams and waiting questions at once, also those that nobody reads, and the service with 0', async (t) => {
  const service = await serving(t)
  const streams = await Promise.all(Array.from({ length: 20 }, () => service.stream()))
  const [stalled, ...reading] = streams
  stalled!.pause()
  const ends = reading.map((stream) => once(stream.resume(), 'end'))
  await service.post('/api/sim/load', { rate: 20_000, seconds: 3600 })
  const waiting = fetch(`${service.url}/events?execution_id=none&wait=60`, { headers: { 'X-API-Key': service.key } })
  await once(reading[0]!, 'data')
  service.child.kill('SIGTERM')
  await Promise.all(ends)
  t.equal((await waiting).status, 200)
  t.match(await service.ended, { code: 0, signal: null, stderr: '' })
  for (const stream of streams) stream.destroy()
})

type Known = { home: string; port: number; key: string }

/** A service on a folder and a port of its own, or on those it had before. */
async function serving(t: Test, known?: Known) {
  const { home, port, key } = known ?? (await newHome(t))
  const given = ['serve', '--config', `${home}/config.json`, '--data-dir', `${home}/data`, '--port', String(port)]
  const { child, line, ended } = running(t, home, given)
  const url = await line(/http:\/\/[\d.]+:\d+/)
  child.stdout.resume()
  const post = async (path: string, body: object) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status} ${await answer.text()}`)
  }
  const emit = (n: number) => post('/api/sim/events', { event_name: 'CUSTOM.n.EMITTED', execution_id: 'run-1', context: { n } })
  const stream = () => answerOf(get(`${url}/events/stream`, { headers: { 'X-API-Key': key }, agent: false }))
  return { home, port, key, child, ended, url, post, emit, stream }
}

async function newHome(t: Test): Promise<Known> {
  t.teardown(() => undefined)
  const devices = [{ device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }]
  const home = t.testdir({ 'config.json': JSON.stringify({ format: 1, listen: { host: '127.0.0.1' }, devices }) })
  const made = await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'operate', '--data-dir', `${home}/data`])
  return { home, port: await freePort(), key: made.stdout.trim() }
}

async function answerOf(asking: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  // The service may be killed while it is read.
  response.on('error', () => undefined)
  return response
}

/** Keeps the ids of the frames, and calls with the counter of each; answers how to ask for what the comments said. */
function readIds(stream: IncomingMessage, ids: number[], onFrame: (n: number | undefined) => void): () => string[] {
  const comments: string[] = []
  let rest = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop()!
    for (const frame of frames) {
      const [, n, id] = /"context":\{(?:"n":(\d+))?.*\nid: (\d+)$/.exec(frame) ?? []
      if (id) ids.push(Number(id))
      else if (frame.startsWith(':')) comments.push(frame)
      onFrame(n === undefined ? undefined : Number(n))
    }
  })
  stream.resume()
  return () => comments.filter((comment) => comment !== ': ping')
}

/** What a proxy does that knows nothing of streams: passes on what comes, less what belongs to the connection. */
function forward(to: string, stream: ServerHttp2Stream, headers: Record<string, unknown>): void {
  const sent = Object.entries(headers).filter((entry): entry is [string, string] => !entry[0].startsWith(':'))
  const asking = request(to + headers[':path'], { method: String(headers[':method']), headers: Object.fromEntries(sent) }, (answer) => {
    const { connection, 'keep-alive': _, 'transfer-encoding': __, ...kept } = answer.headers
    stream.respond({ ':status': answer.statusCode, ...kept })
    answer.pipe(stream)
  })
  asking.on('error', () => stream.destroy())
  stream.on('close', () => asking.destroy())
  stream.on('error', () => undefined)
  asking.end()
}

/** Waits for something that was told of. */
function notifier(): { tell(): void; until(condition: () => boolean): Promise<void> } {
  let tell = () => {}
  return {
    tell: () => tell(),
    async until(condition) {
      while (!condition()) {
        await new Promise<void>((resolve) => {
          tell = resolve
        })
      }
    },
  }
}
