import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import * as v from 'valibot'
import { Notify } from '../config/notify.ts'
import { runtimeEvent } from '../events/event.ts'
import { type Clock, systemClock, VirtualClock } from '../kit/clock.ts'
import { endings } from './endings.ts'
import { messageOf, messageOfPaused } from './messages.ts'
import { Notifier } from './notifier.ts'

type Got = { method: string; url: string; headers: IncomingMessage['headers']; body: string }

/** A receiver, and what it got; `answer` may be changed. */
async function receiver(t: Test) {
  const got: Got[] = []
  const waiting: (() => void)[] = []
  const its = { url: '', got, answer: (_: Got, response: ServerResponse): void => void response.writeHead(204).end(), until }
  async function until(count: number): Promise<Got[]> {
    while (got.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    return got
  }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body }
    got.push(one)
    its.answer(one, response)
    for (const resolve of waiting.splice(0)) resolve()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  its.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/s3cret`
  return its
}

async function begin(t: Test, targets: readonly unknown[], { folder = t.testdir(), isReal = true, network = systemClock as Clock } = {}) {
  const clock = new VirtualClock()
  const warned: string[] = []
  const log = { info() {}, warn: (message: string) => void warned.push(message), error() {} }
  const options = {
    folder,
    system_id: 'bench-1',
    clock,
    network,
    log,
    report: () => t.fail('damage'),
    targets: v.parse(Notify, targets),
    isReal: () => isReal,
    ending: () => ({ certificate: undefined, keys: [] }),
  }
  const notifier = await Notifier.open(options)
  t.teardown(() => notifier.close())
  return { notifier, clock, warned, folder, receivers: (next: readonly unknown[]) => notifier.reload(v.parse(Notify, next)) }
}

const needed = (thing: string, text = 'look') => ({ kinds: ['needs_person' as const], thing, text, execution_id: null })
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a message reaches each receiver that wants its kind, in its format and with its headers', async (t) => {
  const [json, slack, ntfy] = [await receiver(t), await receiver(t), await receiver(t)]
  const folder = t.testdir({ token: 'Bearer abc\n' })
  const { notifier } = await begin(
    t,
    [
      { url: json.url, headers: { Authorization: { file: `${folder}/token` }, 'X-Lab': 'one' } },
      { url: slack.url, format: 'slack', on: ['needs_person'] },
      { url: ntfy.url, format: 'ntfy', on: ['run_ended'] },
    ],
    { folder },
  )
  notifier.tell(needed('device shaker-1', 'the lid is open'))
  const [[one], [two]] = [await json.until(1), await slack.until(1)]
  t.match(one, {
    method: 'POST',
    url: '/hook/s3cret',
    headers: { authorization: 'Bearer abc', 'x-lab': 'one', 'content-type': 'application/json' },
  })
  t.match(JSON.parse(one!.body), { system_id: 'bench-1', kinds: ['needs_person'], text: 'the lid is open', times: 0, execution_id: null })
  t.equal(two!.body, '{"text":"bench-1: the lid is open"}')
  t.same(ntfy.got, [])
  notifier.tell({ kinds: ['run_ended'], thing: 'run a', text: 'The run of x ended: COMPLETED', execution_id: 'a' })
  const [three] = await ntfy.until(1)
  t.match(three, {
    body: 'bench-1: The run of x ended: COMPLETED',
    headers: { 'x-title': 'benchd bench-1', 'content-type': /^text\/plain/ },
  })
  t.equal(slack.got.length, 1)
})

test('of one thing one message a minute is sent, then the last of those that were left out, with their number', async (t) => {
  const there = await receiver(t)
  const { notifier, clock } = await begin(t, [{ url: there.url }])
  for (const text of ['first', 'second', 'third', 'last']) notifier.tell(needed('thread a', text))
  notifier.tell(needed('thread b', 'another'))
  const texts = () => there.got.map(({ body }) => JSON.parse(body)).map(({ text, times }) => `${text} ${times}`)
  await there.until(2)
  t.same(texts(), ['first 0', 'another 0'])
  await clock.advance(59_999)
  t.equal(there.got.length, 2)
  await clock.advance(1)
  await there.until(3)
  t.same(texts().at(-1), 'last 2')
  await clock.advance(60_000)
  notifier.tell(needed('thread a', 'much later'))
  await there.until(4)
  t.same(texts().at(-1), 'much later 0')
})

test('a receiver that fails gets its messages later, in their order; others are not kept waiting', async (t) => {
  const [bad, good] = [await receiver(t), await receiver(t)]
  bad.answer = (_, response) => void response.writeHead(500).end('no')
  const { notifier, clock, warned } = await begin(t, [{ url: bad.url }, { url: good.url }])
  notifier.tell(needed('a', 'one'))
  notifier.tell(needed('b', 'two'))
  await good.until(2)
  await bad.until(1)
  while (notifier.status()[0]!.failure === null || notifier.status()[1]!.waiting > 0) await settled()
  t.match(notifier.status(), [
    { waiting: 2, failure: 'answered 500', delivered_at: null },
    { waiting: 0, failure: null, delivered_at: Number },
  ])
  t.match(warned, [/^notify: 127\.0\.0\.1:\d+ answered 500; its messages are kept and sent again$/])
  const went = async (tries: number) => {
    for (; bad.got.length < tries; await settled()) await clock.advance(60_000)
    return bad.got.length
  }
  const failed = await went(12)
  t.ok(warned.length <= 1 + clock.now() / 3_600_000, 'told once an hour')
  bad.answer = (_, response) => void response.writeHead(204).end()
  await went(failed + 2)
  t.same(
    bad.got.slice(failed).map(({ body }) => JSON.parse(body).text),
    ['one', 'two'],
  )
  while (notifier.status()[0]!.waiting > 0) await settled()
})

test('what waits is sent after a restart, once; what was taken is not', async (t) => {
  const there = await receiver(t)
  const first = await begin(t, [{ url: there.url }])
  first.notifier.tell(needed('a', 'taken'))
  await there.until(1)
  while (first.notifier.status()[0]!.waiting > 0) await settled()
  there.answer = (_, response) => void response.writeHead(503).end()
  first.notifier.tell(needed('b', 'kept'))
  await there.until(2)
  await first.notifier.close()
  there.answer = (_, response) => void response.writeHead(200).end()
  const second = await begin(t, [{ url: there.url }], { folder: first.folder })
  await there.until(3)
  t.equal(JSON.parse(there.got[2]!.body).text, 'kept')
  while (second.notifier.status()[0]!.waiting > 0) await settled()
  await second.notifier.close()
  const third = await begin(t, [{ url: there.url }], { folder: first.folder })
  t.equal(third.notifier.status()[0]!.waiting, 0)
  t.equal(there.got.length, 3)
})

test('a redirect is not followed, a host that is not there and a file without an address are told, and no sentence shows the path', async (t) => {
  const there = await receiver(t)
  const other = await receiver(t)
  there.answer = (_, response) => void response.writeHead(302, { Location: other.url }).end()
  const folder = t.testdir({ address: 'nonsense\n', empty: '' })
  const { notifier, warned } = await begin(
    t,
    [
      { url: there.url },
      { url: 'http://127.0.0.1:1/hook/s3cret' },
      { url: { file: `${folder}/address` } },
      { url: { file: `${folder}/none` } },
      { url: `${there.url}/2`, headers: { 'X-Token': { file: `${folder}/empty` } }, on: ['stopped'] },
    ],
    { folder },
  )
  const failures = (await notifier.test()).map(({ failure }) => failure)
  t.match(failures, [
    /^answered 302, a redirect: put the address/,
    /^could not be reached \(ECONNREFUSED\)$/,
    /holds no address/,
    /none/,
    /must hold one line of text/,
  ])
  t.same(other.got, [])
  t.notMatch(JSON.stringify([failures, warned, notifier.status()]), /s3cret/)
})

test('a receiver that never answers is given up after 10 s, and asked again; one that answers without end has answered', async (t) => {
  const [deaf, endless] = [await receiver(t), await receiver(t)]
  deaf.answer = () => {}
  endless.answer = (_, response) => void response.writeHead(200).write('and so on')
  const network = new VirtualClock()
  const { notifier, clock } = await begin(t, [{ url: deaf.url }, { url: endless.url }], { network })
  notifier.tell(needed('a'))
  await deaf.until(1)
  await endless.until(1)
  while (notifier.status()[1]!.waiting > 0) await settled()
  await network.advance(9_999)
  t.equal(notifier.status()[0]!.failure, null)
  await network.advance(1)
  while (notifier.status()[0]!.failure === null) await settled()
  t.equal(notifier.status()[0]!.failure, 'has not answered within 10 s')
  deaf.answer = (_, response) => void response.writeHead(204).end()
  for (; deaf.got.length < 2; await settled()) await clock.advance(1000)
  while (notifier.status()[0]!.waiting > 0) await settled()
})

test('a receiver that answers 500 for a day costs it a hundred requests, and gets the last of it at once when it is well', async (t) => {
  const there = await receiver(t)
  there.answer = (_, response) => void response.writeHead(500).end()
  // It has a timer while a request is under way, and stands still.
  const network = new VirtualClock()
  const { notifier, clock, warned } = await begin(t, [{ url: there.url }], { network })
  const day_ms = 86_400_000
  notifier.tell(needed('thing 0'))
  await there.until(1)
  for (let told = 1; clock.now() < day_ms; await clock.advance(60_000)) {
    while (network.timers > 0) await settled()
    if (clock.now() >= told * 3_600_000) notifier.tell(needed(`thing ${told++}`))
  }
  const told = notifier.status()[0]!.waiting
  t.equal(told, 24)
  t.ok(there.got.length > 90 && there.got.length < 120, `${there.got.length} requests`)
  t.ok(warned.length <= 25, 'the log tells of it once an hour')
  there.answer = (_, response) => void response.writeHead(204).end()
  const failed = there.got.length
  for (; notifier.status()[0]!.waiting > 0; await settled()) await clock.advance(1000)
  const ids = there.got.slice(failed).map(({ body }) => JSON.parse(body).id)
  t.equal(ids.length, told)
  t.equal(new Set(ids).size, told, 'each once')
})

test('the service ends while a receiver has not answered', async (t) => {
  const there = await receiver(t)
  there.answer = () => {}
  const { notifier } = await begin(t, [{ url: there.url }])
  notifier.tell(needed('a'))
  await there.until(1)
  await notifier.close()
  t.equal(notifier.status()[0]!.waiting, 1, 'it is sent at the next start')
})

test('the sign of life is a GET in each interval, and ends with its receiver', async (t) => {
  const there = await receiver(t)
  const { notifier, clock, receivers } = await begin(t, [{ url: there.url, on: ['alive'], every_s: 30 }])
  await there.until(1)
  for (let beats = 2; beats < 5; beats++) {
    while (notifier.status()[0]!.delivered_at === null) await settled()
    await settled()
    await clock.advance(30_000)
    await there.until(beats)
  }
  t.ok(there.got.every(({ method }) => method === 'GET'))
  notifier.tell(needed('a'))
  t.equal(notifier.status()[0]!.waiting, 0, 'and takes no messages')
  receivers([])
  await clock.advance(300_000)
  t.equal(there.got.length, 4)
})

test('a receiver that is taken out and put in again gets each message once, and one sign of life in each interval', async (t) => {
  const there = await receiver(t)
  there.answer = ({ method }, response) => void response.writeHead(method === 'POST' ? 500 : 204).end()
  const target = { url: there.url, on: ['needs_person', 'alive'], every_s: 3600 }
  const { notifier, clock, receivers } = await begin(t, [target])
  notifier.tell(needed('a'))
  await there.until(2)
  while (notifier.status()[0]!.delivered_at === null || notifier.status()[0]!.failure === null) await settled()
  receivers([])
  receivers([target])
  await there.until(3)
  there.answer = (_, response) => void response.writeHead(204).end()
  notifier.tell(needed('b'))
  await there.until(4)
  while (notifier.status()[0]!.waiting > 0) await settled()
  await clock.advance(3600_000)
  await there.until(5)
  await settled()
  const count = (wanted: string) => there.got.filter(({ method, body }) => method === wanted && !body.includes('"a"')).length
  t.same([count('GET'), count('POST')], [3, 1], 'two starts and one interval')
})

test('a receiver is told what the configuration says now, without a new start of what waits', async (t) => {
  const there = await receiver(t)
  const { notifier, clock, receivers } = await begin(t, [{ url: there.url, on: ['stopped'] }])
  receivers([{ url: there.url, on: ['needs_person', 'alive'], every_s: 60 }])
  notifier.tell(needed('a'))
  await there.until(2)
  while (notifier.status()[0]!.waiting > 0) await settled()
  receivers([{ url: there.url, on: ['needs_person'] }])
  await clock.advance(600_000)
  await settled()
  t.same(there.got.map(({ method }) => method).sort(), ['GET', 'POST'])
})

test('a thousand messages wait at most, the oldest go, and what waits for a receiver that is gone goes too', async (t) => {
  const there = await receiver(t)
  there.answer = (_, response) => void response.writeHead(500).end()
  const { notifier, receivers } = await begin(t, [{ url: there.url }])
  for (let n = 0; n < 600; n++) notifier.tell(needed(`a${n}`))
  t.equal(notifier.status()[0]!.waiting, 600)
  for (let n = 0; n < 600; n++) notifier.tell(needed(`b${n}`))
  t.ok(notifier.status()[0]!.waiting <= 1000)
  t.equal(notifier.dropped, 200)
  receivers([])
  t.same(notifier.status(), [])
  await t.rejects(notifier.test(), { code: 'conflict', message: /names no receiver/ })
})

test('settings that cannot be meant are refused', (t) => {
  const refused = (target: unknown) => t.notOk(v.is(Notify, [target]), JSON.stringify(target))
  refused({ url: 'ftp://x' })
  refused({ url: 'http://user:word@x/' })
  refused({ url: 'nonsense' })
  refused({ url: 'http://x', on: [] })
  refused({ url: 'http://x', on: ['everything'] })
  refused({ url: 'http://x', headers: { 'a b': 'c' } })
  refused({ url: 'http://x', every_s: 1 })
  t.notOk(v.is(Notify, [{ url: 'http://x' }, { url: 'http://x', on: ['stopped'] }]), 'one address twice')
  t.same(v.parse(Notify, [{ url: 'http://x' }])[0]!.on.includes('alive'), false)
  t.end()
})

test('events that need somebody have words, others none', (t) => {
  const told = (name: string, context: object) => messageOf(runtimeEvent(name, 'run-1', 1, context as Record<string, unknown>))
  const run = { execution_id: '12345678-9', workflow_name: 'assay' }
  t.match(told('THREAD.t.PAUSED', { ...run, thread_name: 'plate', pause_reason: 'error', last_error: 'jammed' }), {
    kinds: ['needs_person'],
    text: /^plate of assay stands: jammed\. .*benchd runs why 12345678$/,
    execution_id: run.execution_id,
  })
  t.equal(told('THREAD.t.PAUSED', { ...run, thread_name: 'plate', pause_reason: 'manual', last_error: null }), undefined)
  t.match(told('DEVICE.s.FAULTED', { error: 's was stopped', error_type: 'Stopped', execution_id: null }), {
    kinds: ['stopped'],
    execution_id: null,
  })
  t.match(told('DEVICE.s.FAULTED', { error: 's jammed', error_type: 'device_failed', execution_id: null }), {
    kinds: ['needs_person'],
    thing: 'device s',
    text: 's jammed. Look at it, then initialize s',
  })
  t.match(messageOfPaused(run), {
    kinds: ['needs_person'],
    text: /^The run of assay is paused.*benchd runs why 12345678\./,
    execution_id: run.execution_id,
  })
  const said = 's reports error 12 (shuttle jammed). Remove the plate, then initialize the device.'
  t.match(
    told('DEVICE.s.FAULTED', { error: said, error_type: 'device_failed', execution_id: null }),
    { text: said },
    'the remedy comes once',
  )
  t.match(
    told('THREAD.t.PAUSED', { ...run, thread_name: 'plate', pause_reason: 'error', last_error: said }),
    { text: /initialize the device\. Decide/ },
    'one full stop',
  )
  t.match(told('INCIDENT.i.STORAGE', { category: 'STORAGE', message: 'full', thread_id: null, execution_id: null }), {
    kinds: ['incident', 'storage'],
    text: 'full',
  })
  t.match(told('EXECUTION.e.ABORTED', { ...run, reason: 'somebody' }), {
    kinds: ['run_ended'],
    text: 'The run of assay ended: ABORTED: somebody',
  })
  t.match(told('OPERATOR.INSTRUCTION', { ...run, instruction: 'fill', step_id: 'x' }), { kinds: ['needs_person'], text: /fill/ })
  for (const name of [
    'THREAD.t.MOVING',
    'EXECUTION.e.CREATED',
    'CUSTOM.x',
    'DEVICE.s.FAULT_CLEARED',
    'constructor.x',
    '__proto__.x',
    'toString',
  ])
    t.equal(told(name, run), undefined, name)
  t.end()
})

test('a message about a task ends with a link to its screen, which has no key in it, where the address of the page is known', (t) => {
  const run = { execution_id: 'run-1', workflow_name: 'assay', thread_name: 'plate', instruction: 'fill', step_id: 'x' }
  const told = (name: string, page?: string) => messageOf(runtimeEvent(name, 'run-1', 1, run), page)?.text
  const page = 'http://bench.local:8520/'
  const asked = 'assay waits for a person: fill. Press “Done” on the page of the bench when that is done'
  t.equal(told('OPERATOR.INSTRUCTION', page), `${asked}. http://bench.local:8520/#/runs/run-1/x`)
  t.equal(told('OPERATOR.INSTRUCTION'), asked)
  for (const [status, label] of Object.entries({ PLACE: 'Placed', REMOVE: 'Removed' })) {
    const words = told(`THREAD.t.AWAITING_MANUAL_${status}`, page)
    t.match(words, new RegExp(`then press “${label}” on the page of the bench\\. http://bench\\.local:8520/#/runs/run-1$`))
  }
  const reminder = 'nobody has answered for 60 s: Take plate from a to b; answer the task (POST /api/operator/steps/x/confirm)'
  const ofReminder = runtimeEvent('INCIDENT.i.OTHER', 'run-1', 1, { ...run, category: 'OTHER', message: reminder, thread_id: 't' })
  const words =
    'nobody has answered for 60 s: Take plate from a to b; answer the task on the page of the bench: press “Done”, “Put elsewhere” or “Cannot”'
  t.equal(messageOf(ofReminder, page)?.text, `${words}. http://bench.local:8520/#/runs/run-1/x`)
  t.equal(messageOf(ofReminder)?.text, words)
  t.notMatch(told('EXECUTION.e.COMPLETED', page), /bench\.local/)
  t.notOk(
    'screen' in messageOf(runtimeEvent('OPERATOR.INSTRUCTION', 'run-1', 1, run), page)!,
    'the kept message has the members that it always had',
  )
  t.end()
})

test('runs on the clock alone are told to nobody', async (t) => {
  const there = await receiver(t)
  const { notifier } = await begin(t, [{ url: there.url }], { isReal: false })
  notifier.onEvent(runtimeEvent('EXECUTION.e.COMPLETED', 'e', 1, { execution_id: 'e', workflow_name: 'x', reason: null }))
  notifier.onEvent(runtimeEvent('DEVICE.s.FAULTED', 'system', 1, { error: 's jammed', error_type: 'x', execution_id: null }))
  await there.until(1)
  t.match(there.got[0]!.body, /jammed/)
})

test('a certificate and keys are told of before they end', (t) => {
  const now = 1_700_000_000
  const key = (key_id: string, more: object) =>
    ({ key_id, name: key_id, scope: 'read', created_at: 0, expires_at: null, revoked_at: null, last_used_at: null, ...more }) as never
  const certificate = (days: number) => ({
    cert: '',
    key: '',
    fingerprint: '',
    valid_to: new Date((now + days * 86_400) * 1000).toUTCString(),
  })
  const keys = [
    key('never', {}),
    key('soon', { expires_at: now + 86_400 }),
    key('later', { expires_at: now + 8 * 86_400 }),
    key('over', { expires_at: now - 1 }),
    key('revoked', { expires_at: now + 1, revoked_at: 1 }),
  ]
  t.match(endings({ certificate: certificate(13), keys }, now), [
    { thing: 'certificate', text: /ends on 2023-11-27/ },
    { thing: 'key soon', text: /benchd key rotate soon/ },
  ])
  t.match(endings({ certificate: certificate(-1), keys: [] }, now), [{ text: /has ended/ }])
  t.same(endings({ certificate: certificate(15), keys: [] }, now), [])
  t.same(endings({ certificate: undefined, keys: [] }, now), [])
  t.end()
})

test('what is kept on the card has no address and no header in it', async (t) => {
  const there = await receiver(t)
  there.answer = (_, response) => void response.writeHead(500).end()
  const { notifier, folder } = await begin(t, [{ url: there.url, headers: { Authorization: 's3cret' } }])
  notifier.tell(needed('a', 'kept'))
  await there.until(1)
  await notifier.close()
  const kept = readFileSync(`${folder}/notify.jsonl`, 'utf8')
  t.match(kept, /kept/)
  t.notMatch(kept, /s3cret/)
  writeFileSync(`${folder}/none`, '')
})
