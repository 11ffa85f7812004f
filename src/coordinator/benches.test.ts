// A bench that answers slowly, without end, or something else than a bench does: it holds the coordinator for a bounded time, and with bounded memory.

import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import type * as v from 'valibot'
import { fakeBench } from '../testing/fake_bench.ts'
import {
  Anything,
  Blockers,
  DryRun,
  Execution,
  Fleet,
  Health,
  Labware,
  Stop,
  Submission,
  Topology,
  Workflow,
  Workflows,
} from './answers.ts'
import { Lines, Refused, RemoteBench } from './benches.ts'

/** Sends one byte after the other, and never ends. */
const drips = (response: ServerResponse) => {
  response.writeHead(200)
  const timer = setInterval(() => response.write(' '), 50)
  response.on('close', () => clearInterval(timer))
}

test('an answer that is dripped ends the question, and the connection, when its time is over', async (t) => {
  let isClosed = () => {}
  const closed = new Promise<void>((resolve) => (isClosed = resolve))
  const { bench } = await fakeBench(t, {
    'POST /api/stop': (response) => {
      response.on('close', isClosed)
      drips(response)
    },
    'GET /api/slow': (response) => void setInterval(() => response.socket?.write('H'), 50).unref(),
  })
  await t.rejects(bench.askNow('POST', '/api/stop', Stop), { code: 'disconnected', message: /prep broke off: no whole answer within 3 s/ })
  await closed
  await t.rejects(bench.ask('GET', '/api/slow'), { code: 'disconnected' }, 'a head that is dripped is no better')
})

test('a stop waits behind no other question', async (t) => {
  const { bench } = await fakeBench(t, { 'GET /health': () => {}, 'POST /api/stop': { success: true, message: 'stopped' } })
  const others = Array.from({ length: 20 }, () => bench.ask('GET', '/health').catch((error) => error))
  t.match(await bench.askNow('POST', '/api/stop', Stop), { success: true })
  bench.close()
  await Promise.all(others)
})

test('an answer without end, and one that is none, are told', async (t) => {
  const part = Buffer.alloc(1024 * 1024, ' ')
  const pour = (response: ServerResponse) => {
    while (response.writable && response.write(part));
    response.once('drain', () => pour(response))
  }
  const { bench } = await fakeBench(t, {
    'GET /a': pour,
    'GET /b': (response) => response.end('<html>'),
    'GET /c': (response) => response.end('null'),
    'GET /d': (response) => response.writeHead(409).end(JSON.stringify({ detail: 'x'.repeat(100_000) })),
    'GET /e': (response) => response.writeHead(409).end(JSON.stringify({ detail: { a: 1 } })),
  })
  await t.rejects(bench.ask('GET', '/a'), { code: 'disconnected', message: /more than 16 MiB/ })
  for (const path of ['/b', '/c']) await t.rejects(bench.ask('GET', path), { code: 'disconnected', message: /is not what a bench answers/ })
  const refused = (await bench.ask('GET', '/d').catch((error) => error)) as Refused
  t.ok(refused instanceof Refused)
  t.ok(refused.message.length < 2000, 'a sentence without end is cut')
  await t.rejects(bench.ask('GET', '/e'), { message: 'prep: it answered 409' })
})

test('a line of events without end is not kept, and the next line counts', (t) => {
  const lengths: number[] = []
  const lines = new Lines((line) => lengths.push(line.length))
  const part = 'x'.repeat(64 * 1024)
  lines.take('a\nb')
  lines.take('c\n')
  for (let i = 0; i < 1000; i++) lines.take(part)
  lines.take('\nlast\n')
  t.same(lengths, [1, 2, 1024 * 1024, 4])
  t.end()
})

test('a bench that is known by its certificate is not spoken to without', async (t) => {
  const { url, asked } = await fakeBench(t, { 'POST /api/stop': {} })
  const bench = new RemoteBench('prep', 'bk_test', () => ({ url, fingerprint: 'AA'.repeat(32) }))
  await t.rejects(bench.ask('POST', '/api/stop', {}), {
    code: 'disconnected',
    message: /to be known by its certificate, and http:.* has none/,
  })
  t.same(asked, [])
})

test('a key goes only to the bench that shows the certificate of the lab file, wherever the broker says that it is', async (t) => {
  const makeCert = fileURLToPath(new URL('../../../scripts/make-cert.sh', import.meta.url))
  const folder = t.testdir({})
  for (const name of ['own', 'other']) execFileSync(makeCert, [`${folder}/${name}`], { stdio: 'pipe' })
  const keys: unknown[] = []
  const serve = async (name: string) => {
    const tls = { cert: readFileSync(`${folder}/${name}/cert.pem`), key: readFileSync(`${folder}/${name}/key.pem`) }
    const server = createServer(tls, (request, response) => {
      keys.push([name, request.headers['x-api-key']])
      response.end('{"success":true}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    t.teardown(() => server.closeAllConnections())
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const [own, other] = [await serve('own'), await serve('other')]
  const { fingerprint256: fingerprint } = new X509Certificate(readFileSync(`${folder}/own/cert.pem`))
  let url = other
  const bench = new RemoteBench('prep', 'bk_test', () => ({ url, fingerprint }))
  t.teardown(() => bench.close())
  await t.rejects(bench.ask('POST', '/api/stop', {}), { message: /its certificate is .*, not the one that was named/ })
  await t.rejects(bench.askNow('POST', '/api/stop', Stop), { message: /not the one that was named/ })
  t.same(keys, [])
  url = own
  t.same(await bench.ask('POST', '/api/stop', {}), {})
  t.same(keys, [['own', 'bk_test']])
})

test('a bench that takes the connection and says nothing ends the question, with TLS too', async (t) => {
  const silent = createTcpServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const port = (silent.address() as AddressInfo).port
  for (const url of [`http://127.0.0.1:${port}`, `https://127.0.0.1:${port}`]) {
    const bench = new RemoteBench('prep', 'bk_test', () => ({ url, ...(url.startsWith('https') && { fingerprint: 'AB'.repeat(32) }) }))
    await t.rejects(bench.askNow('POST', '/api/stop', Stop), { code: 'disconnected', message: /within 3 s/ })
    bench.close()
  }
})

test('an answer without what is read in it is told with the name of the bench, what is wrong, and where to look', async (t) => {
  const document = { topology: 't', labware: {}, threads: {}, start: ['plate'] }
  const thread = { labware: 'plate', start: { at: 'in', mode: 'M' }, end: { at: ['in'], mode: 'M' } }
  const cases: [v.GenericSchema, unknown, RegExp][] = [
    [Anything, 7, /must be an object/],
    [Health, { status: 7 }, /status must be/],
    [Stop, { success: 'yes', message: '' }, /success must be/],
    [Fleet, {}, /link is missing/],
    [Fleet, { link: { epoch: null } }, /link\.epoch must be/],
    [Submission, { execution_id: {} }, /execution_id must be/],
    [Execution, { reason: null, paused: null, threads: {} }, /threads must be/],
    [Execution, { reason: null, paused: null, threads: [{ thread_id: 'a' }] }, /threads\[0\]\.template_name is missing/],
    [Labware, { labware: [null] }, /labware\[0\] must be/],
    [Blockers, { blockers: 'none' }, /blockers must be/],
    [Topology, { name: 't', positions: [{ name: 'in' }] }, /positions\[0\]\.parking is missing/],
    [Workflow, { document }, /document must have each thread/],
    [Workflow, { document: { ...document, threads: { plate: thread } } }, /document must have the labware/],
    [
      Workflow,
      { document: { ...document, threads: { plate: { ...thread, end: { at: [], mode: 'M' } } } } },
      /end\.at must name a position/,
    ],
    [Workflows, { workflows: [{}] }, /workflows\[0\]\.name is missing/],
    [DryRun, { verdict: 'done', conflict: null, makespan_s: '1', gantt: [] }, /makespan_s must be/],
  ]
  const { bench, answers, url } = await fakeBench(t)
  for (const [answer, body, mistake] of cases) {
    answers['GET /it'] = (response) => response.end(JSON.stringify(body))
    const told = (await bench.get('/it', answer).catch((error) => error)) as Error
    t.match(told, { code: 'disconnected', message: /^the answer of the bench prep is not what a bench answers: / }, JSON.stringify(body))
    t.match(told.message, mistake)
    t.match(told.message, `; see what listens at ${url}, and its version`)
  }
})

test('an address that is none is told', async (t) => {
  const bench = new RemoteBench('prep', 'bk_test', () => ({ url: 'http://[' }))
  t.teardown(() => bench.close())
  await t.rejects(bench.get('/health', Health), {
    code: 'disconnected',
    message: /the bench prep has told an address that is none: http:\/\/\[/,
  })
})
