// A request under an Idempotency-Key is done once, whoever asks how often, over a restart too.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { type Bench, openBench } from '../bench/bench.ts'
import { silent } from '../kit/log.ts'
import { type Asking, benchConfig, isRefusal, openTestBench } from '../testing/http.ts'
import { diskClock } from '../testing/kit.ts'
import { app } from './app.ts'

const shaker = '/api/devices/shaker-1'
const gentle = { speed: 500, duration: 5 }
const under = (key: string, more: Asking = {}): Asking => ({ ...more, headers: { ...more.headers, 'Idempotency-Key': key } })

/** A shaker that is ready, and how many shakes there were. */
async function ready(t: Test) {
  const setup = await openTestBench(t)
  await setup.ask('POST', `${shaker}/initialize`)
  await setup.ask('POST', `${shaker}/lock_plate`)
  return { ...setup, shakes: begun(setup.bench, 'shake') }
}

/** How many operations of that name have begun from now on; each of them is told. */
function begun({ ledger }: Bench, name: string, tell: () => void = () => {}): () => number {
  const begin = ledger.begin.bind(ledger)
  let count = 0
  ledger.begin = (device_id, operation, params) => {
    if (operation === name) {
      count++
      tell()
    }
    return begin(device_id, operation, params)
  }
  return () => count
}

test('an operation that is asked for again is answered the same, and is not done again', async (t) => {
  const { ask, shakes } = await ready(t)
  const first = await ask('POST', `${shaker}/shake`, under('a', { json: gentle }))
  t.match(first, { status: 200, body: { success: true } })
  t.equal(first.headers.get('idempotency-replayed'), null)
  const again = await ask('POST', `${shaker}/shake`, under('a', { json: gentle }))
  t.equal(again.status, 200)
  t.equal(again.text, first.text)
  for (const name of ['operation-id', 'content-type', 'x-api-version']) t.equal(again.headers.get(name), first.headers.get(name), name)
  t.equal(again.headers.get('idempotency-replayed'), 'true')
  t.equal(shakes(), 1)
  await ask('POST', `${shaker}/shake`, under('b', { json: gentle }))
  await ask('POST', `${shaker}/shake`, { json: gentle })
  t.equal(shakes(), 3, 'another key, or none, is another request')
})

test('a key belongs to who asked, for what, with which body', async (t) => {
  const { ask, shakes } = await ready(t)
  await ask('POST', `${shaker}/shake`, under('a', { json: gentle }))
  isRefusal(t, await ask('POST', `${shaker}/shake`, under('a', { json: { ...gentle, speed: 600 } })), 400, 'invalid')
  t.equal(shakes(), 1)
  t.match(await ask('POST', `${shaker}/shake`, under('a', { key: 'operate', json: gentle })), { status: 200 })
  t.equal(shakes(), 2, 'of another API key it is another')
  t.equal((await ask('POST', `${shaker}/unlock_plate`, under('a'))).headers.get('idempotency-replayed'), null)
  for (const wrong of ['', 'a'.repeat(65), 'a\tb'])
    isRefusal(t, await ask('POST', `${shaker}/shake`, under(wrong, { json: gentle })), 400, 'invalid')
})

test('while it runs, who asks again is told so; and of many at once one is done', async (t) => {
  const { ask, shakes, hono, secrets, clock } = await ready(t)
  const request = () =>
    Promise.resolve(
      hono.request(`${shaker}/shake`, {
        method: 'POST',
        headers: { Host: 'localhost', 'X-API-Key': secrets.operate, 'Content-Type': 'application/json', 'Idempotency-Key': 'a' },
        body: JSON.stringify(gentle),
      }),
    )
  const answers = await clock.run(Promise.all(Array.from({ length: 8 }, request)))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)])
  for (const answer of answers.filter(({ status }) => status === 409)) t.equal(answer.headers.get('x-reason'), 'in_progress')
  t.equal(shakes(), 1)
  t.match(await ask('POST', `${shaker}/shake`, under('a', { key: 'operate', json: gentle })), { status: 200 })
})

test('what was refused was not done, so the same key may try again; what failed under way may not', async (t) => {
  const { ask, bench } = await openTestBench(t)
  let jamWith: ReturnType<typeof bench.simulations.get>
  const shakes = begun(bench, 'shake', () => jamWith?.setFault('jam', 0))
  const shake = () => ask('POST', `${shaker}/shake`, under('a', { json: gentle }))
  isRefusal(t, await shake(), 409, 'not_initialized')
  await ask('POST', `${shaker}/initialize`)
  isRefusal(t, await shake(), 409, 'interlock')
  await ask('POST', `${shaker}/lock_plate`)
  const before = shakes()
  jamWith = bench.simulations.get('shaker-1')
  const failed = await shake()
  t.equal(failed.status, 500, failed.text)
  await ask('DELETE', '/api/sim/devices/shaker-1/faults')
  await ask('POST', `${shaker}/initialize`)
  await ask('POST', `${shaker}/lock_plate`)
  const again = await shake()
  t.match(again, { status: 500, text: failed.text })
  t.equal(again.headers.get('idempotency-replayed'), 'true')
  t.equal(again.headers.get('x-reason'), failed.headers.get('x-reason'))
  t.equal(shakes(), before + 1)
})

test('a stop is never held back: it is sent as often as it is asked for', async (t) => {
  const { ask, bench } = await ready(t)
  const instrument = bench.registry.find('shaker-1')
  const halt = instrument.halt.bind(instrument)
  let stops = 0
  instrument.halt = () => {
    stops++
    return halt()
  }
  for (let i = 1; i <= 3; i++) {
    const answer = await ask('POST', `${shaker}/stop`, under('a'))
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('idempotency-replayed'), null)
    t.equal(stops, i)
  }
})

test('the record is on the card before the first byte is on the wire, and where it cannot be nothing is sent', async (t) => {
  const { ask, bench, data_dir, shakes } = await ready(t)
  const records = () =>
    readFileSync(`${data_dir}/idempotency.jsonl`, 'utf8')
      .trim()
      .split('\n')
      .flatMap((line) => JSON.parse(line).state ?? [])
  const instrument = bench.registry.find('shaker-1')
  const perform = instrument.perform.bind(instrument)
  let seen: string[] = []
  instrument.perform = (...args) => {
    seen = records()
    return perform(...args)
  }
  await ask('POST', `${shaker}/shake`, under('a', { json: gentle }))
  t.same(seen, ['running'])
  t.same(records(), ['running', 'ended'])
  await bench.idempotency.close()
  renameSync(data_dir, `${data_dir}-away`)
  isRefusal(t, await ask('POST', `${shaker}/shake`, under('b', { json: gentle })), 503, 'storage')
  t.equal(shakes(), 1)
  // The event log may have begun the folder anew.
  rmSync(data_dir, { recursive: true, force: true })
  renameSync(`${data_dir}-away`, data_dir)
  t.equal((await ask('POST', `${shaker}/shake`, under('b', { json: gentle }))).status, 200)
})

test('after a restart the answer is still there, and what was interrupted is never done again', async (t) => {
  const setup = await ready(t)
  const { ask, data_dir, bench, clock, secrets } = setup
  const finished = await ask('POST', `${shaker}/shake`, under('done', { json: gentle }))
  const killed = await ask('POST', `${shaker}/shake`, under('killed', { json: gentle }))
  const began = await ask('POST', `${shaker}/shake`, under('async', { json: gentle, headers: { Prefer: 'respond-async' } }))
  t.equal(began.status, 202)
  await clock.advance(60_000)
  const ended = await ask('GET', `/api/operations/${began.headers.get('operation-id')}`)
  t.match(ended.body, { status: 'ended', result: { success: true } })
  const cut = await ask('POST', `${shaker}/shake`, under('cut', { json: gentle, headers: { Prefer: 'respond-async' } }))
  t.equal(cut.status, 202)
  const made = await ask('POST', '/api/keys', under('secret', { json: { name: 'x', scope: 'read' } }))
  const { api_key } = made.body as { api_key: string }
  t.equal((await ask('POST', '/api/keys', under('secret', { json: { name: 'x', scope: 'read' } }))).text, made.text)
  t.notMatch(readFileSync(`${data_dir}/idempotency.jsonl`, 'utf8'), api_key.slice(12))
  const lines = readFileSync(`${data_dir}/idempotency.jsonl`, 'utf8').trim().split('\n')
  await clock.run(bench.close())
  // As SIGKILL leaves it: those two had begun, and no more is known of them.
  const operations = readFileSync(`${data_dir}/operations.jsonl`, 'utf8').split('\n')
  const known = operations.filter((line) => !line.includes(cut.headers.get('operation-id')!))
  writeFileSync(`${data_dir}/operations.jsonl`, known.join('\n'))
  const left = lines.filter((line) => line !== lastOf(lines, 'ended', killed.headers.get('operation-id')!))
  writeFileSync(`${data_dir}/idempotency.jsonl`, `${left.join('\n')}\n{"id":"torn`)

  const later = diskClock()
  const again = await openBench(await benchConfig(), { data_dir, log: silent, clock: later })
  const doneAgain = begun(again, 'shake')
  await later.advance(1000)
  const hono = app(again)
  const post = async (path: string, key: string, json: object) => {
    const headers = { Host: 'localhost', 'X-API-Key': secrets.admin, 'Content-Type': 'application/json', 'Idempotency-Key': key }
    const response = await later.run(Promise.resolve(hono.request(path, { method: 'POST', headers, body: JSON.stringify(json) })))
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  t.match(await post(`${shaker}/shake`, 'done', gentle), { status: 200, text: finished.text })
  t.match(await post(`${shaker}/shake`, 'async', gentle), { status: 202, text: ended.text })
  for (const key of ['killed', 'cut']) {
    const unknown = await post(`${shaker}/shake`, key, gentle)
    t.equal(unknown.status, 409, key)
    t.equal(unknown.headers.get('x-reason'), 'conflict')
    t.match(unknown.text, /interrupted by a restart, outcome unknown/)
  }
  t.match((await post('/api/keys', 'secret', { name: 'x', scope: 'read' })).text, /was carried out, and its answer was not kept/)
  t.equal(again.keys.list().filter(({ name }) => name === 'x').length, 1)
  t.equal(doneAgain(), 0, 'nothing of it is done again')
  await later.run(again.close())
})

function lastOf(lines: readonly string[], state: string, operation_id: string): string | undefined {
  return lines.findLast((line) => JSON.parse(line).state === state && line.includes(operation_id))
}
