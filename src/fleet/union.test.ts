// The union of all benches against a real NATS server: each event once, in order per bench, over restarts of the reader and of the broker.

import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'tap'
import { LineOutput } from '../kit/line_output.ts'
import { freePort } from '../kit/ports.ts'
import { type TestBroker, testBroker } from '../testing/broker.ts'
import { emitMany, upTo } from '../testing/events.ts'
import { fleetBench, type Line, sentAll, until } from '../testing/fleet.ts'
import { withBroker } from '../testing/with_broker.ts'
import { linesOfLab, Union } from './union.ts'
import type { Stored } from './wire.ts'

/** What a reader writes into a file, and how it is stopped. */
async function reader(broker: TestBroker, path: string, follow = true) {
  const union = new Union()
  const output = await LineOutput.open(path, (line) => union.resume(line))
  const said: string[] = []
  const ending = new AbortController()
  const place = { servers: [broker.url], name: 'reader' }
  const lines = linesOfLab(place, { union, follow, say: (sentence) => said.push(sentence), ended: ending.signal })
  const running = (async () => {
    for await (const some of lines) await output.append(some)
    await output.close()
  })()
  return { said, running, end: () => ending.abort() }
}

function written(path: string): Line[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

function countsOf(lines: readonly Line[], bench: string): number[] {
  return lines.flatMap((line) => (line.bench === bench && typeof line.event?.context.n === 'number' ? [line.event.context.n] : []))
}

withBroker('events of two benches are written once each, in order, while the broker is killed and put back to an older copy', async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({ one: {}, two: {} })
  const one = await fleetBench(t, `${folder}/one`, broker.url, { name: 'one' })
  const two = await fleetBench(t, `${folder}/two`, broker.url, { name: 'two', machine: 'machine-b' })
  const path = `${folder}/union.jsonl`
  const following = await reader(broker, path)
  const both = async (from: number) => {
    emitMany(one.hub, 500, 'run-1', from)
    emitMany(two.hub, 500, 'run-1', from)
    await Promise.all([sentAll(one), sentAll(two)])
  }
  await both(0)
  await broker.kill()
  broker.copyStore()
  await broker.start()
  await both(500)
  await until(() => written(path).length === 2000)
  await broker.kill()
  broker.putStoreBack()
  await broker.start()
  await both(1000)
  await until(() => written(path).length >= 3000)
  for (const bench of ['one', 'two']) t.same(countsOf(written(path), bench), upTo(1500), bench)
  t.match(following.said[0], /^the (connection to the )?broker nats:.*; trying again$/)
  // A reader that begins anew on the file adds nothing to it, and reads on behind a line that was torn.
  await (await reader(broker, path, false)).running
  t.equal(written(path).length, 3000)
  const whole = readFileSync(path)
  writeFileSync(path, whole.subarray(0, whole.length - 10))
  await (await reader(broker, path, false)).running
  t.ok(readFileSync(path).equals(whole))
  emitMany(one.hub, 5, 'run-1', 1500)
  await until(() => written(path).length === 3005)
  following.end()
  await following.running
})

withBroker('a reader that does not follow reads also the only message, and leaves no connection behind', async (t) => {
  const broker = await testBroker(t)
  const one = await fleetBench(t, t.testdir(), broker.url, { name: 'one' })
  emitMany(one.hub, 1, 'run-1')
  await sentAll(one)
  const open = new Set<Socket>()
  const proxy = createServer((socket) => {
    const other = connect(Number(new URL(broker.url).port), '127.0.0.1')
    open.add(socket.on('error', () => undefined).on('close', () => open.delete(socket)))
    socket.pipe(other.on('error', () => undefined)).pipe(socket)
    t.teardown(() => other.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  const path = `${t.testdir()}/union.jsonl`
  const there = { ...broker, url: `nats://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
  await (await reader(there, path, false)).running
  t.same(countsOf(written(path), 'one'), [0])
  await until(() => open.size === 0)
})

test('a reader waits before it tries a broker again that is away', async (t) => {
  const ending = new AbortController()
  const at: number[] = []
  const say = () => {
    at.push(performance.now())
    if (at.length === 2) ending.abort()
  }
  const place = { servers: [`nats://127.0.0.1:${await freePort()}`], name: 'reader' }
  for await (const _ of linesOfLab(place, { union: new Union(), follow: true, say, ended: ending.signal }));
  t.ok(at[1]! - at[0]! >= 490, `${at[1]! - at[0]!} ms`)
})

test('a line that is no event, and a bench that names itself otherwise, are not believed', (t) => {
  const message = (payload: string, headers: Record<string, string> = {}): Stored => ({
    ...{ seq: 1, subject: 'bd.floor-2.evt.one', behind: 0, payload: new TextEncoder().encode(payload) },
    header: (name) => ({ Bench: 'two', Epoch: 'e1', ...headers })[name] ?? '',
  })
  const union = new Union()
  t.same(union.take(message('{"seq":1,"event":{}}\nnonsense\n{"seq":2,"event":\n{"seq":3,"too_large":9}\n')), [
    '{"bench":"one","epoch":"e1","seq":1,"event":{}}',
    '{"bench":"one","epoch":"e1","seq":3,"too_large":9}',
  ])
  t.same(union.take(message('{"seq":3,"event":{}}\n')), [], 'once')
  t.same(union.take(message('{"seq":4,"event":{}}', { Epoch: 'a"b' })), [])
  t.notOk(union.resume('{"bench":"one","epoch":"e1","seq":9,"event":{'))
  t.ok(union.resume('{"bench":"one","epoch":"e1","seq":9,"event":{}}'))
  t.same(union.take(message('{"seq":9,"event":{}}')), [])
  t.end()
})
