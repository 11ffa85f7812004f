// What operations came to outlasts the service: at their own place, on their device, and for who asks again under the same Idempotency-Key.

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Test, test } from 'tap'
import type { OperationRecord } from '../devices/records.ts'
import { lengthLine } from '../kit/length_line.ts'
import { openTestBench, type TestedBench } from '../testing/http.ts'

const shaker = '/api/devices/shaker-1'
const later = (key: string) => ({ headers: { Prefer: 'respond-async', 'Idempotency-Key': key } })

function begun(t: Test): Promise<TestedBench> {
  t.teardown(() => undefined)
  return openTestBench(t, {}, { folder: `${t.testdir({ first: {} })}/first` })
}

/** Where the service broke off: a copy of its folder at this moment. */
async function brokenOff({ data_dir, bench }: TestedBench): Promise<string> {
  await bench.ledger.close()
  const folder = `${dirname(data_dir)}/second`
  cpSync(data_dir, folder, { recursive: true })
  await rm(`${folder}/keys.json`, { force: true })
  return folder
}

/** The live stream as far as `ready`. */
async function opening({ hono, secrets }: TestedBench): Promise<string> {
  const { body } = await hono.request('/api/live', { headers: { Host: 'localhost', 'X-API-Key': secrets.read } })
  const reader = body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes('event: ready')) text += decoder.decode((await reader.read()).value, { stream: true })
  await reader.cancel()
  return text
}

test('after a restart an operation that has ended is shown as it ended, and the outcome of one that was under way is unknown', async (t) => {
  const setup = await begun(t)
  const { ask, clock, bench } = setup
  const asked = await ask('POST', `${shaker}/initialize`, later('done'))
  t.equal(asked.status, 202)
  const { operation_id } = asked.body as OperationRecord
  await clock.advance(60_000)
  const ended = (await ask('GET', `/api/operations/${operation_id}`)).body as OperationRecord
  t.match(ended, { status: 'ended', result: { success: true } })
  t.same((await ask('POST', `${shaker}/initialize`, later('done'))).body, ended, 'who asks again is told how it ended')
  // Not over the API: while that answers, the clock goes on.
  let cut: OperationRecord | undefined
  const cutOff = bench.registry.find('shaker-1').perform('initialize', {}, { begun: (record) => (cut = record) })
  cutOff.catch(() => undefined)
  t.equal(cut?.status, 'running')

  const again = await openTestBench(t, {}, { folder: await brokenOff(setup) })
  t.match(
    await opening(again),
    `"last_operation":{"operation_id":"${cut!.operation_id}"`,
    'the live stream tells it, also to who asks first',
  )
  t.same((await again.ask('GET', `/api/operations/${operation_id}`)).body, ended)
  const unknown = (await again.ask('GET', `/api/operations/${cut!.operation_id}`)).body as OperationRecord
  const detail = /^the service broke off while initialize of shaker-1 was under way: outcome unknown; look at shaker-1 first$/
  t.match(unknown, { status: 'ended', result: null, ended: null, started: cut!.started, reason: 'stopping', detail })
  t.same(((await again.ask('GET', shaker)).body as { last_operation: unknown }).last_operation, unknown)
  await again.ask('POST', `${shaker}/initialize`)
  t.not(((await again.ask('GET', shaker)).body as { last_operation: OperationRecord }).last_operation.operation_id, operation_id)
})

test('nothing is written nor read until an operation begins or somebody asks, and a newer file is left alone', async (t) => {
  const setup = await begun(t)
  await setup.ask('POST', `${shaker}/initialize`)
  const folder = await brokenOff(setup)
  const path = `${folder}/operations.jsonl`
  t.equal(readFileSync(path, 'utf8').trim().split('\n').length, 4, 'its format, its length, and the beginning and end of one operation')
  const newer = `{"format":4}\n${lengthLine({ format: 4, bytes: 100 })}${readFileSync(path, 'utf8')}`
  writeFileSync(path, newer)
  const { ask, logged, bench } = await openTestBench(t, {}, { folder })
  t.notMatch(logged.join('\n'), /operations\.jsonl/)
  t.match((await ask('GET', shaker)).body, { last_operation: null })
  t.match(logged.join('\n'), /operations\.jsonl has format 4/)
  await ask('POST', `${shaker}/initialize`)
  await bench.ledger.close()
  t.equal(readFileSync(path, 'utf8'), newer)
})
