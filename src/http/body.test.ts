// One bound for the bodies of all requests, and never one for a stop.

import { once } from 'node:events'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Context } from 'hono'
import { test } from 'tap'
import { openTestBench, usualBounds } from '../testing/http.ts'
import { BodyReader } from './body.ts'

const kib = 1024
const mib = 1024 * kib

/** A request whose body comes piece by piece, as it is told. */
function sending(length: number | undefined) {
  let controller: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given
    },
  })
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }),
  }
  const req = { header: (name: string) => headers[name], raw: { body } }
  return {
    context: { req } as unknown as Context,
    send: (bytes: number) => controller.enqueue(new Uint8Array(bytes)),
    end: () => controller.close(),
    breakOff: () => controller.error(new Error('hung up')),
  }
}

test('bodies of all requests have one bound; what goes over it is refused, and what is done with gives its room back', async (t) => {
  const bounds = await usualBounds({ bodies_mib: 2 })
  const bodies = new BodyReader(bounds)
  const refused = () => bounds.refusals.counts.find(({ bound }) => bound === 'bodies_mib')!.times
  const [first, second, third] = [sending(mib), sending(undefined), sending(undefined)]
  const [one, two, three] = [first, second, third].map(({ context }) => bodies.read(context, 2 * mib))
  t.equal(bodies.held, mib, 'a body has its room from when it is announced')
  second.send(mib)
  while (bodies.held < 2 * mib) await new Promise(setImmediate)
  first.send(mib - 1)
  await new Promise(setImmediate)
  t.equal(refused(), 0)

  const refusal = t.rejects(three!, { code: 'overloaded', message: /larger than 2 MiB together/, retry_after_s: 1 })
  third.send(17 * kib)
  await refusal
  t.equal(refused(), 1)
  t.equal(bodies.held, 2 * mib, 'it holds nothing')

  await t.rejects(bodies.read(sending(17 * kib).context, 2 * mib), { code: 'overloaded' }, 'none of it is read first')
  t.equal(refused(), 2)
  const small = sending(16 * kib)
  small.send(16 * kib)
  small.end()
  const read = await bodies.read(small.context, mib)
  t.equal(read.bytes.byteLength, 16 * kib, 'a small one is read in any case')
  read.release()

  first.breakOff()
  await t.rejects(one!, { code: 'invalid' })
  t.equal(bodies.held, mib)
  second.end()
  const { bytes, release } = await two!
  t.equal(bytes.byteLength, mib)
  t.equal(bodies.held, mib, 'it is held while it is worked on')
  release()
  release()
  t.equal(bodies.held, 0)
})

test('a body that is longer than its request may send is refused and held no longer', async (t) => {
  const bodies = new BodyReader(await usualBounds())
  const long = sending(undefined)
  const reading = t.rejects(bodies.read(long.context, 20 * kib), { code: 'too_large' })
  long.send(21 * kib)
  await reading
  t.equal(bodies.held, 0)
})

test('a body whose client was gone before it is read is refused, and holds nothing', async (t) => {
  const bodies = new BodyReader(await usualBounds({ bodies_mib: 2 }))
  const incoming = new IncomingMessage(new Socket())
  const closed = once(incoming, 'close')
  incoming.destroy()
  await closed
  const { context } = sending(mib)
  await t.rejects(bodies.read(Object.assign(context, { env: { incoming } }), 2 * mib), { code: 'invalid', message: /did not arrive whole/ })
  t.equal(bodies.held, 0)
})

test('a stop reads no body', async (t) => {
  const { ask } = await openTestBench(t)
  t.match((await ask('POST', '/api/devices/shaker-1/stop', { body: 'x'.repeat(3 * mib) })).body, { success: true })
  t.match((await ask('POST', '/api/stop', { body: 'x'.repeat(3 * mib) })).body, { success: true })
})
