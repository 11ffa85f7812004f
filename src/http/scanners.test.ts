// Scanners of a topology over the API: what an operator and a reader of the record see. The simulated scanner reads the labware that stands there.

import { test } from 'tap'
import { beginRun, plateRun } from '../testing/http_runs.ts'
import type { LabwareStep } from '../workflow/records/labware_history.ts'

const group = (barcode?: string) => ({
  submission: { groups: [{ group_id: 'g1', members: { plate: { location: 'pad_1', ...(barcode !== undefined && { barcode }) } } }] },
})
const dispensed = plateRun([{ method: 'seal_it' }])

for (const run_mode of ['LIVE', 'DEVICE_SIM'] as const)
  test(`a simulated scanner reads the labware that stands there (${run_mode}), and the scan is a step of the record`, async (t) => {
    const run = await beginRun(t, { workflow: dispensed, has_scanner: true, run_mode, ...group('P-1') })
    if (run_mode === 'LIVE') {
      const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
      await run.post(`/api/threads/${thread_id}/placed`, { barcode: 'P-1' })
    }
    t.equal(await run.over(), 'COMPLETED')
    const scans = (await run.events()).filter(({ context, status }) => context.action_name === 'scan' && status === 'COMPLETED')
    t.equal(scans.length, 2, 'at its start, and when it has come back')
    t.match(scans[0]!.context, { device_id: 'scan-1', barcode: 'P-1', values: [{ name: 'barcode', value: 'P-1' }] })
    const { steps } = await run.get<{ steps: LabwareStep[] }>('/api/labware/P-1/history')
    t.match(
      steps.filter(({ device_id }) => device_id === 'scan-1'),
      [{ kind: 'action', text: /scan/i, outcome: 'COMPLETED' }, {}],
    )
    const { values } = await run.get<{ values: { name: string; value: unknown; device_id: string }[] }>(
      `/api/executions/${run.execution_id}/values`,
    )
    t.match(values[0], { name: 'barcode', value: 'P-1', device_id: 'scan-1', operation: 'scan' })
  })

test('labware without a barcode that no simulated scanner can read goes on as it is', async (t) => {
  const run = await beginRun(t, { workflow: dispensed, has_scanner: true, run_mode: 'DEVICE_SIM', ...group() })
  t.equal(await run.over(), 'COMPLETED')
  t.equal((await run.snapshot()).threads[0]?.barcode ?? null, null)
})

test('a person says that labware which was not scanned has another barcode; the decision is in the record', async (t) => {
  const run = await beginRun(t, { workflow: dispensed, has_scanner: true, run_mode: 'DEVICE_SIM', ...group('P-1') })
  await run.until('scanning', async () => (await run.events()).some(({ context }) => context.action_name === 'scan'), 100)
  await run.post(`/api/sim/executions/${run.execution_id}/devices/scan-1/faults`, { fault: 'jam' })
  const thread = await run.thread('plate', 'PAUSED')
  t.match(thread, { held_at: 'IDENTITY', decisions: ['RETRY', 'CONTINUE', 'ABORT_THREAD'], position: 'pad_1' })
  const path = `/api/threads/${thread.thread_id}/recover`
  t.match((await run.ask('POST', path, { decision: 'RETRY', barcode: 'P-2' })).status, 400)
  await run.post(path, { decision: 'CONTINUE', barcode: 'P-2' })
  await run.ask('DELETE', `/api/sim/executions/${run.execution_id}/devices/scan-1/faults`)
  t.equal(await run.over(), 'COMPLETED')
  t.equal((await run.snapshot()).threads[0]?.barcode, 'P-2')
  const { rows } = await run.get<{ rows: { kind: string; text: string }[] }>(`/api/executions/${run.execution_id}/record`)
  t.match(
    rows.find(({ kind }) => kind === 'decision'),
    { decision: 'continue', text: 'Said that the scanned labware is plate, with the barcode P-2' },
  )
})

test('a dry run and a forecast count the scans', async (t) => {
  const seconds = async (has_scanner: boolean) => {
    const run = await beginRun(t, { workflow: dispensed, has_scanner, run_mode: 'DEVICE_SIM', ...group('P-1') })
    const body = { workflow: 'work', run_mode: 'PURE_SIM', groups: [] }
    const { makespan_s } = await run.post<{ makespan_s: number }>('/api/simulations', body)
    await run.over()
    return makespan_s
  }
  t.equal((await seconds(true)) - (await seconds(false)), 4)
})
