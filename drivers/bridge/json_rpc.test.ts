// Questions and answers over a line that a test holds at its other end.

import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { connectionLost } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, systemClock, VirtualClock } from '../../src/kit/clock.ts'
import type { BridgeLine } from '../transports/line.ts'
import { JsonRpc } from './json_rpc.ts'

function opened<Its extends Clock = VirtualClock>(clock: Its = new VirtualClock() as Clock as Its) {
  const asked: { id: number; method: string }[] = []
  const given_up: string[] = []
  let heard = (_bytes: Uint8Array) => {}
  let lost = (_reason: string) => {}
  let closed = () => {}
  const line = {
    clock,
    write: (bytes: Uint8Array) => void asked.push(JSON.parse(Buffer.from(bytes).toString())),
    onBytes(listen: typeof heard) {
      heard = listen
    },
    onLost(call: typeof lost) {
      lost = call
    },
    onClosed(call: typeof closed) {
      closed = call
    },
    async giveUp(reason: string) {
      given_up.push(reason)
      lost(reason)
    },
  } as unknown as BridgeLine
  const notified: unknown[] = []
  const rpc = new JsonRpc({
    line,
    notified: (method, params) => notified.push({ method, params }),
    lost: (reason) => connectionLost(reason),
    refused: ({ message, hint }) => new LabError('interlock', `${message}; ${hint}`),
  })
  const sayBytes = (bytes: Uint8Array) => heard(bytes)
  const say = (text: string) => sayBytes(Buffer.from(text))
  const answer = (id: number, result: unknown) => say(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
  return { clock, rpc, asked, given_up, notified, say, sayBytes, answer, close: () => closed(), lose: (reason: string) => lost(reason) }
}

test('answers find their questions, in whatever order and pieces they come', async (t) => {
  const { rpc, asked, say, notified } = opened()
  const [one, two, three] = [rpc.request('read', { reading: 'a' }, 5), rpc.request('read', undefined, 5), rpc.request('perform', {})]
  t.match(asked, [
    { id: 1, method: 'read', params: { reading: 'a' } },
    { id: 2, method: 'read' },
    { id: 3, method: 'perform' },
  ])
  say('{"id":2,"result":"b"}\n{"id":3,"error":{"message":"the door is open","data":{"hint":"close it"}}}\n{"method":"progress","par')
  say('ams":{"n":1}}')
  say('\n{"id":1,"result":"ä')
  say('"}\n')
  t.same(await Promise.all([one, two]), ['ä', 'b'])
  await t.rejects(three, { code: 'interlock', message: 'the door is open; close it' })
  t.same(notified, [{ method: 'progress', params: { n: 1 } }])
})

test('a program is given up at the deadline of the question that it owes, whichever were answered before', async (t) => {
  const { clock, rpc, given_up, answer } = opened()
  const long = rpc.request('describe', undefined, 30)
  const short = rpc.request('check', undefined, 5)
  const endless = rpc.request('perform', {})
  answer(2, {})
  t.same(await short, {})
  await clock.advance(4000)
  const later = rpc.request('halt', undefined, 5)
  await clock.advance(4900)
  answer(4, {})
  await later
  await clock.advance(21_000)
  t.same(given_up, [])
  const lost = Promise.all([long, endless].map((one) => t.rejects(one, { code: 'disconnected' })))
  await clock.advance(101)
  t.same(given_up, ['it has not answered describe within 30 s'])
  await lost
})

test('a question without a deadline is waited for without a timer; a line that was closed leaves none behind', async (t) => {
  const { clock, rpc, given_up, close } = opened()
  void rpc.request('perform', {})
  t.equal(clock.timers, 0)
  void rpc.request('check', undefined, 5)
  t.equal(clock.timers, 1)
  close()
  t.equal(clock.timers, 0)
  await clock.advance(10_000)
  t.same(given_up, [])
})

test('what a program may write has bounds, and so has a question', async (t) => {
  const { rpc, given_up, say, asked } = opened()
  t.throws(() => rpc.request('perform', { text: 'x'.repeat(65_536) }), { code: 'invalid', message: /longer than 64 KiB/ })
  // With the rest of its line a text of that length has exactly 64 KiB.
  const rest = `${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'perform', params: { text: '' } })}\n`.length
  const longest = t.rejects(rpc.request('perform', { text: 'x'.repeat(65_536 - rest) }), { code: 'disconnected' })
  t.equal(asked.length, 1)
  t.throws(() => rpc.request('perform', { text: 'x'.repeat(65_537 - rest) }), { code: 'invalid' })
  say('x'.repeat(1024 * 1024))
  t.same(given_up, [])
  const lost = t.rejects(rpc.request('check', undefined), { code: 'disconnected' })
  say('x')
  t.same(given_up, ['it wrote a line of more than 1 MiB'])
  await Promise.all([lost, longest])
})

test('a description may be longer than any other line, while it is awaited', async (t) => {
  const { rpc, given_up, say } = opened()
  const described = rpc.request('describe', undefined)
  const text = 'x'.repeat(2 * 1024 * 1024)
  say(`${JSON.stringify({ id: 1, result: text })}\n`)
  t.equal(await described, text)
  t.same(given_up, [])
  const lost = t.rejects(rpc.request('check', undefined), { code: 'disconnected' })
  say(`${JSON.stringify({ id: 2, result: text })}\n`)
  t.same(given_up, ['it wrote a line of more than 1 MiB'])
  await lost
})

test('a message may be 32 levels deep, and no deeper', async (t) => {
  const { rpc, given_up, say } = opened()
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const first = rpc.request('read', undefined, 5)
  say(`{"id":1,"result":${nested(31)}}\n`)
  t.equal(JSON.stringify(await first), nested(31))
  const second = t.rejects(rpc.request('read', undefined, 5), { code: 'disconnected' })
  say(`{"id":2,"result":${nested(450_000)}}\n`)
  t.same(given_up, ['it wrote a message that is nested deeper than 32 levels'])
  await second
})

test('a line may begin with a byte order mark and hold any character; bytes that are no UTF-8 end its connection', async (t) => {
  const { rpc, given_up, say, sayBytes } = opened()
  const first = rpc.request('read', undefined, 5)
  say('\uFEFF{"id":1,"result":"\uFFFD ä"}\n')
  t.equal(await first, '\uFFFD ä')
  const second = t.rejects(rpc.request('read', undefined, 5), { code: 'disconnected' })
  sayBytes(Buffer.from('{"id":2,"result":"\xe4"}\n', 'latin1'))
  t.match(given_up, [/^it wrote a line that is no message of JSON-RPC/])
  await second
})

test('a line that is opened again after a loss knows no question and no piece of before', async (t) => {
  const { rpc, given_up, say, answer, lose } = opened()
  const before = rpc.request('check', undefined, 5)
  say('{"id":1,"res')
  lose('the cable is out')
  await t.rejects(before, { code: 'disconnected' })
  const after = rpc.request('check', undefined, 5)
  answer(2, 'well')
  t.equal(await after, 'well')
  answer(1, 'late')
  t.match(given_up, [/it answered a question that nobody asked, or answered it twice: id 1/])
})

test('a program is not given up for a time in which this process stood still, nor for the deadline of a question asked before', async (t) => {
  const { rpc, given_up, answer } = opened(systemClock)
  const [first, second] = [rpc.request('read', undefined, 0.4), rpc.request('read', undefined, 0.41)]
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
  for (let i = 0; i < 4; i++) await turn()
  answer(1, 'a')
  for (let i = 0; i < 4; i++) await turn()
  answer(2, 'b')
  t.same(await Promise.all([first, second]), ['a', 'b'])
  t.same(given_up, [])
})
