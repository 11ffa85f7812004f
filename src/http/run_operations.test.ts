// The operations that a run does once, over the API: who sees them, and what is listed as not done.

import { test } from 'tap'
import { beginRun, plateRun, shake } from '../testing/http_runs.ts'

const warm = (temperature: number | null) => ({ do: 'set_temperature', on: 'shaker-1', with: { temperature } })
const wait = [{ wait_for: 'go' }, { action: shake }]
const spin = { do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 60 } }
const framed = plateRun(wait, { methods: {}, before: [warm(60)], after: [warm(null), spin] })

type Rows = { rows: Record<string, unknown>[] }

test('a run heats once before, switches off once after, and neither counts as labware', async (t) => {
  const run = await beginRun(t, { workflow: framed })
  await run.thread('plate', 'AWAITING_EVENT')
  const { threads, thread_count } = await run.snapshot()
  t.equal(thread_count, 1)
  t.match(threads.find(({ thread_name }) => thread_name === 'before')!, {
    part: 'before',
    status: 'COMPLETED',
    labware: null,
    position: null,
  })
  t.match(await run.get('/api/devices/shaker-1'), { heating: { target: 60 } })
  const { labware } = await run.get<{ labware: { name: string }[] }>('/api/labware')
  t.same(
    labware.map(({ name }) => name),
    ['plate'],
  )
  await run.emits('go')
  t.equal(await run.over(), 'COMPLETED')
  t.match(await run.get('/api/devices/shaker-1'), { heating: null })
  const shown = await run.snapshot()
  t.equal(shown.not_done, undefined)
  t.equal(shown.still_heating, undefined)
  const { rows } = await run.get<Rows>(`/api/executions/${run.execution_id}/record?kind=action`)
  t.match(
    rows.filter(({ part }) => part !== undefined).map(({ part, name, device_id }) => ({ part, name, device_id })),
    [
      { part: 'before', name: 'set_temperature', device_id: 'shaker-1' },
      { part: 'after', name: 'set_temperature', device_id: 'shaker-1' },
      { part: 'after', name: 'centrifuge', device_id: 'centrifuge-1' },
    ],
  )
  const { rows: ends } = await run.get<Rows>(`/api/executions/${run.execution_id}/record?kind=ended`)
  t.match(ends, [{ threads: { COMPLETED: 1 } }])
  const { text } = await run.ask('GET', `/api/executions/${run.execution_id}/report`)
  t.match(text, /1 labware, /)
  t.match(text, '>after<')
})

test('operations on a device that somebody has stopped are not done after a stopped run, and listed wherever the run is shown', async (t) => {
  const run = await beginRun(t, { workflow: framed })
  await run.thread('plate', 'AWAITING_EVENT')
  await run.post('/api/devices/shaker-1/stop', {})
  await run.post(`/api/executions/${run.execution_id}/stop`, { confirm: false })
  await run.post(`/api/executions/${run.execution_id}/stop`, { confirm: true })
  t.equal(await run.over(), 'ABORTED')
  const left = [{ part: 'after', operation: 'set_temperature', on: 'shaker-1', reason: /shaker-1.*stop/ }]
  t.match((await run.snapshot()).not_done, left)
  const { rows } = await run.get<Rows>(`/api/executions/${run.execution_id}/record?kind=not_done`)
  t.match(rows, left)
  t.equal(rows.length, 1)
  const ended = (await run.events()).find(({ entity_type }) => entity_type === 'EXECUTION')
  t.match(ended?.context, { not_done: left })
  const { text } = await run.ask('GET', `/api/executions/${run.execution_id}/report`)
  t.match(text, 'Operation set_temperature not done')
  const { executions } = await run.get<{ executions: object[] }>('/api/executions')
  t.match(executions, [{ not_done: left }], 'also in the records')
})

test('a service that ends during an operation before asks somebody about that one, and sends it once', async (t) => {
  const first = await beginRun(t, { workflow: plateRun([], { methods: {}, before: [spin] }) })
  await first.does('centrifuge-1', 'centrifuge')
  const run = await first.afterPowerCut()
  const before = await run.thread('before', 'PAUSED')
  t.match(before, { held_at: 'RESTART', last_error: 'the service restarted' })
  const sent = async () => {
    const { operations } = await run.get<{ operations: { operation: string }[] }>('/api/operations?device_id=centrifuge-1')
    return operations.filter(({ operation }) => operation === 'centrifuge').length
  }
  const already = await sent()
  await run.post(`/api/threads/${before.thread_id}/recover`, { decision: 'CONTINUE' })
  await run.post(`/api/executions/${run.execution_id}/resume`, {})
  t.equal(await run.over(), 'COMPLETED')
  t.equal(await sent(), already)
})

test('a thread that waits for the operations before says so', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([], { methods: {}, before: [spin] }) })
  await run.does('centrifuge-1', 'centrifuge')
  t.match(await run.blockers(), [{ thread_name: 'plate', kind: 'waiting', message: 'waits for the operations of "before" to end' }])
  t.equal(await run.over(), 'COMPLETED')
})
