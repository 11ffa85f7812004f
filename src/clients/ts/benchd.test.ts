// The TypeScript client as others use it, against a service on a port.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { type Document, typescriptClient } from '../../../scripts/clients/typescript.ts'
import { openapi } from '../../http/openapi.ts'
import { routes } from '../../http/routes.ts'
import { openService } from '../../testing/http.ts'
import { Bench, emptyState, type Message, messagesIn, reduce, reduceAll, type State } from './benchd.ts'

test('the types and the table of operations are those of the routes', (t) => {
  const committed = readFileSync(new URL('../../../../src/clients/ts/api.ts', import.meta.url), 'utf8')
  t.equal(committed, typescriptClient(openapi(routes) as Document), 'npm run generate')
  t.end()
})

test('the name of the person goes with each change', async (t) => {
  const { url, secrets, ask } = await openService(t)
  const bench = new Bench({ url, key: secrets.operate, operator: ' Żaneta ' })
  await bench.call('initializeDevice', { path: { device_id: 'shaker-1' } })
  bench.operator = undefined
  await bench.stop('shaker-1')
  const { operations } = (await ask('GET', '/api/operations')).body as { operations: object[] }
  t.match(operations, [{ operation: 'initialize', operator: 'Żaneta' }])
  const { entries } = (await ask('GET', '/api/system/audit?limit=1')).body as { entries: object[] }
  t.match(entries, [{ text: 'Stopped shaker-1', operator: undefined }])
})

test('a message makes another state, and leaves what it is not about as it was', (t) => {
  const one = reduce(emptyState, { event: 'state', kind: 'device', id: 'a', value: { state: 'ready' } })
  t.match(one.device, { a: { state: 'ready' } })
  t.same(emptyState.device, {})
  t.equal(one.run, emptyState.run)
  t.same(reduce(one, { event: 'state', kind: 'device', id: 'a', value: null }).device, {})
  t.equal(reduce(one, { event: 'ready' }).ready, true)
  t.equal(reduce(one, { event: 'beat', time: 7 }).time, 7)
  t.same(reduce(one, { event: 'state', kind: 'later' as 'device', id: 'a', value: {} }), one, 'a kind of a later version is passed over')
  t.end()
})

test('a thousand messages copy what is there once, and not a thousand times', (t) => {
  let copied = 0
  const thread = new Proxy({} as State['thread'], {
    ownKeys() {
      copied++
      return []
    },
  })
  const messages = Array.from({ length: 1000 }, (_, i): Message => ({ event: 'state', kind: 'thread', id: `${i}`, value: {} }))
  const after = reduceAll({ ...emptyState, thread }, [...messages, { event: 'state', kind: 'thread', id: '7', value: null }])
  t.same([Object.keys(after.thread).length, copied], [999, 1])
  t.end()
})

test('frames are read however the pieces are cut, and others are passed over', async (t) => {
  const text =
    'retry: 2000\n\nevent: state\ndata: {"kind":"device","id":"ü\u2028","value":null}\n\n: ping\n\nevent: ready\ndata: {}\n\nevent: beat\ndata: {"time":5}\n\n'
  const bytes = new TextEncoder().encode(text)
  for (const size of [1, 7, 1000]) {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size))
        controller.close()
      },
    })
    const found = []
    for await (const messages of messagesIn(stream)) found.push(...messages)
    t.same(
      found,
      [{ event: 'state', kind: 'device', id: 'ü\u2028', value: null }, { event: 'ready' }, { event: 'beat', time: 5 }],
      `pieces of ${size}`,
    )
  }
})

test('a key from a file with the line ends of Windows is taken', async (t) => {
  const { url, secrets } = await openService(t)
  t.match(await new Bench({ url: `${url}\r`, key: `${secrets.read}\r` }).call('listDevices'), { devices: Array })
})

test('requests have types, answers that say no are errors with a word, and a stop is sent at once', async (t) => {
  const { url, secrets } = await openService(t)
  const setup = new Bench({ url, key: secrets.operate })
  const path = { device_id: 'shaker-1' }
  t.match(await setup.call('initializeDevice', { path, body: {} }), { success: true })
  t.match(await setup.call('listDevices'), { devices: [{ device_id: 'shaker-1', is_initialized: true }] })
  const refused = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      (error: unknown) => error,
    )
  t.match(await refused(setup.call('shakeDevice', { path, body: { speed: 500, duration: 1 } })), {
    name: 'BenchError',
    status: 409,
    reason: 'interlock',
  })
  t.match(await refused(setup.call('getDevice', { path: { device_id: 'a b' } })), { status: 404, reason: 'not_found' })
  t.match(await refused(new Bench({ url }).call('listDevices')), { status: 401, reason: 'unauthorized' })
  const { operation_id } = await setup.call('lockPlate', { path, respondAsync: true, idempotencyKey: 'once' })
  t.match(await setup.call('getOperation', { path: { operation_id } }), { operation: 'lock_plate' })
  while ((await setup.call('getDevice', { path })).state === 'busy');
  const stopped = refused(setup.call('shakeDevice', { path, body: { speed: 500, duration: 600 } }))
  while ((await setup.call('getDevice', { path })).state !== 'busy');
  t.match(await setup.stop('shaker-1'), { success: Boolean })
  t.match(await stopped, { status: 409, reason: 'stopped', message: /^shake of shaker-1 has not ended well: stopped; initialize/ })
  t.match(await setup.stop(), { success: Boolean })
  t.match(await setup.call('getEvents', { query: { limit: 1 } }), { next_since: Number })
})

test('a number that JSON does not have is refused before it is sent, and null switches heat off', async (t) => {
  const { url, secrets, bench } = await openService(t)
  const setup = new Bench({ url, key: secrets.operate })
  const path = { device_id: 'shaker-1' }
  await setup.call('initializeDevice', { path, body: {} })
  await setup.call('setTemperature', { path, body: { temperature: 60 } })
  for (const temperature of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const message = `temperature is ${temperature}, and nothing was sent; see how it was computed`
    await t.rejects(setup.call('setTemperature', { path, body: { temperature } }), { name: 'TypeError', message })
  }
  t.match(bench.registry.find('shaker-1').info(), { heating: { target: 60 } })
  t.match(await setup.call('setTemperature', { path, body: { temperature: null } }), { success: true })
  t.match(bench.registry.find('shaker-1').info(), { state: 'ready', heating: null })
})

/** A way to a service that can be cut. */
async function wayTo(t: Test, port: number) {
  const sockets = new Set<Socket>()
  const between = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined))
  })
  await once(between.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => between.close())
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(cut)
  return { url: `http://127.0.0.1:${(between.address() as AddressInfo).port}`, cut }
}

test('events come in order over a break, from the last one on that was taken, until they are given up', async (t) => {
  const { port, secrets, bench } = await openService(t)
  const { url, cut } = await wayTo(t, port)
  const setup = new Bench({ url, key: secrets.operate })
  const emit = (number: number) => bench.hub.emit(`CUSTOM.n${number}.EMITTED`, { text: 'two lines\u2028of a document\u2029' })
  const taken: (string | undefined)[] = []
  await bench.hub.stored(emit(0))
  const began = setup.events()
  const first = began.next()
  while (bench.hub.streams.subscribers === 0) await new Promise(setImmediate)
  emit(1)
  const one = (await first).value!
  t.match(one, { event: { event_name: 'CUSTOM.n1.EMITTED' } }, 'from now on')
  const last_event_id = one.id
  cut()
  emit(2)
  t.match((await began.next()).value, { event: { event_name: 'CUSTOM.n2.EMITTED' } }, 'what came during the break')
  await began.return(undefined)
  emit(3)
  const gone = new AbortController()
  const resumed = setup.events({ last_event_id, signal: gone.signal })
  for await (const { event } of resumed) if (taken.push(event?.event_name) === 2) break
  t.same(taken, ['CUSTOM.n2.EMITTED', 'CUSTOM.n3.EMITTED'])
  const waiting = setup.events({ signal: gone.signal }).next()
  gone.abort(new Error('enough'))
  await t.rejects(waiting, { message: 'enough' })
  t.match(await setup.events({ last_event_id: '999999' }).next(), { value: { event: null } }, 'a gap')
  await t.rejects(new Bench({ url, key: 'bk_no' }).events().next(), { name: 'BenchError', status: 401 })
  const stream = await setup.call('streamEvents')
  t.match(
    new TextDecoder().decode((await stream.getReader().read()).value),
    /^retry: 2000/,
    'a stream that is called by its operation_id is its bytes',
  )
})

test('the live state follows the bench, over a break too, and ends when it is closed', async (t) => {
  const { port, secrets, bench } = await openService(t)
  const { url, cut } = await wayTo(t, port)
  const setup = new Bench({ url, key: secrets.operate })
  const links: string[] = []
  let look = (_state: State) => {}
  const reached = (isSo: (state: State) => boolean) =>
    new Promise<void>((resolve) => {
      look = (state) => isSo(state) && resolve()
    })
  const opened = reached(({ device }) => device['shaker-1']?.state === 'not_initialized')
  const live = setup.live({ onState: (state) => look(state), onLink: (link) => links.push(link) })
  await opened
  t.same(links, ['live'])
  const changed = reached(({ device }) => device['shaker-1']?.state === 'ready')
  await setup.call('initializeDevice', { path: { device_id: 'shaker-1' }, body: {} })
  await changed
  const back = reached(({ device, time }) => device['shaker-1']?.state === 'ready' && links.length === 3 && time >= 0)
  cut()
  await back
  t.same(links, ['live', 'lost', 'live'])
  live.close()
  while (bench.hub.streams.subscribers > 0) await new Promise(setImmediate)
})

test('with poll_ms the whole state is read again and again, and no stream is held in between', async (t) => {
  const { url, secrets, bench } = await openService(t)
  const setup = new Bench({ url, key: secrets.operate })
  const links: string[] = []
  let look = (_state: State) => {}
  const reached = (isSo: (state: State) => boolean) =>
    new Promise<void>((resolve) => {
      look = (state) => isSo(state) && resolve()
    })
  const opened = reached(({ time }) => time > 0)
  const live = setup.live({ poll_ms: 50, onState: (state) => look(state), onLink: (link) => links.push(link) })
  await opened
  while (bench.hub.streams.subscribers > 0) await new Promise(setImmediate)
  const changed = reached(({ device }) => device['shaker-1']?.state === 'ready')
  await setup.call('initializeDevice', { path: { device_id: 'shaker-1' }, body: {} })
  await changed
  t.same([...new Set(links)], ['live'], 'a pause is no loss')
  live.close()
  while (bench.hub.streams.subscribers > 0) await new Promise(setImmediate)
})

test('a file comes with the name that the service gives it', async (t) => {
  const { url, secrets } = await openService(t)
  const { name, content } = await new Bench({ url, key: secrets.admin }).download('fetchBundle')
  t.match(name, /^benchd-bundle-\d+T\d+Z\.tar\.gz$/)
  t.same([...new Uint8Array(await content.slice(0, 2).arrayBuffer())], [0x1f, 0x8b])
  const refused = new Bench({ url, key: secrets.read }).download('fetchBundle')
  t.match(await refused.catch((error) => error), { status: 403 })
})

test('a key that is not good ends it', async (t) => {
  const { url } = await openService(t)
  const reason = await new Promise<unknown>((resolve) => {
    new Bench({ url, key: 'bk_wrong' }).live({ onLink: (_link, error) => resolve(error) })
  })
  t.match(reason, { status: 401 })
})

test('a held operation is renewed until it is let go, and no more once it has ended', async (t) => {
  const { bench, url, secrets } = await openService(t, { time_scale: 20 })
  const arm = bench.registry.find('arm-1')
  await arm.perform('initialize', {})
  let renewals = 0
  const renew = arm.renew.bind(arm)
  arm.renew = (...asked) => {
    renewals++
    renew(...asked)
  }
  const client = new Bench({ url, key: secrets.operate })
  const path = { device_id: 'arm-1' }
  const begin = () => client.hold('freeDrive', { path, body: {} }, { every_ms: 10 })
  let ended: Awaited<ReturnType<Awaited<ReturnType<typeof begin>>['end']>>
  let meanwhile: string[]
  // On a computer that had no time for three seconds it has ended by itself, and is begun anew.
  do {
    const [hold, before] = [await begin(), renewals]
    while (renewals < before + 5 && !hold.isOver) await sleep(5)
    meanwhile = [arm.state, hold.record.status]
    ended = await hold.end()
    t.equal(hold.isOver, true)
  } while (!ended.ended_early)
  t.same(meanwhile, ['busy', 'running'])
  t.match(ended, { status: 'ended', result: { success: true, message: /; its caller ended it$/ } })
  const other = await begin()
  await client.stop('arm-1')
  while (!other.isOver) await sleep(5)
  t.match(await other.end(), { status: 'ended', result: { success: false, message: 'stopped' } })
  await t.rejects(client.hold('jogDevice', { path, body: { axis: 'x', direction: '+' } }), { message: /was stopped/ })
})
