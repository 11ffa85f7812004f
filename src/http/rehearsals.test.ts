// A rehearsal in DEVICE_SIM beside the bench: neither is in the way of the other.

import { test } from 'tap'
import { beginRun, plateRun } from '../testing/http_runs.ts'

test('an open rehearsal and a run of the bench at the same places have labware, reservations and instruments of their own', async (t) => {
  const workflow = plateRun([{ wait_for: 'go' }, { method: 'shake_it' }])
  const run = await beginRun(t, { workflow, run_mode: 'DEVICE_SIM' })
  await run.thread('plate', 'AWAITING_EVENT')
  const live = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'LIVE' })
  t.not(live.execution_id, run.execution_id)
  const { labware } = await run.get<{ labware: { run_mode: string; position: string | null }[] }>('/api/labware')
  t.match(new Set(labware.filter(({ position }) => position === 'pad_1').map(({ run_mode }) => run_mode)), new Set(['LIVE', 'DEVICE_SIM']))
  t.match(await run.get('/api/topology'), { positions: [{ name: 'pad_1', labware: { name: /^plate/ } }] })

  await run.post(`/api/executions/${live.execution_id}/emit`, { name: 'go' })
  const before = await run.get('/api/devices/shaker-1')
  t.match(before, { last_operation: null })
  await run.until('it has ended', async () => (await run.get(`/api/executions/${live.execution_id}`))['status'] === 'COMPLETED')
  t.match(await run.get('/api/devices/shaker-1'), { last_operation: { operation: 'unlock_plate' } })
  t.match(await run.snapshot(), { status: 'IN_PROGRESS', threads: [{ status: 'AWAITING_EVENT', position: 'pad_1' }] })
})

test('a rehearsal and a run of the bench are both taken up after a restart', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]), run_mode: 'DEVICE_SIM' })
  const { execution_id } = await before.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'LIVE' })
  await before.until('both wait', async () => {
    const { labware } = await before.get<{ labware: { position: string | null }[] }>('/api/labware')
    return labware.filter(({ position }) => position === 'pad_1').length === 2
  })
  await before.until('that on the card', async () => before.isOnTheCard('"AWAITING_EVENT"'), 100)
  const run = await before.afterPowerCut()
  t.match(await run.snapshot(), { run_mode: 'DEVICE_SIM', status: 'IN_PROGRESS', paused: { reason: 'system' } })
  t.match(await run.get(`/api/executions/${execution_id}`), { run_mode: 'LIVE', status: 'IN_PROGRESS', paused: { reason: 'system' } })
})
