// The last events of actions and their rows in the record: which labware, at which device and position.

import { test } from 'tap'
import { beginRun, plateRun } from '../testing/http_runs.ts'

test('ACTION.ERRORED and the row of the action name the operation, the device, the position and the labware', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'no_reply')
  const { thread_id } = await run.heldAgain('plate', 'DEVICE_OP')
  await run.mends('shaker-1')
  await run.recover(thread_id, 'RETRY')
  await run.over()
  const { rows } = await run.get<{ rows: Record<string, unknown>[] }>(`/api/executions/${run.execution_id}/record?kind=action`)
  const row = rows.find(({ outcome }) => outcome === 'ERRORED')!
  t.match(row, { device_id: 'shaker-1', position: 'shaker_in', labware: 'plate' })
  const { events } = await run.get<{ events: { event_name: string; entity_type: string; context: Record<string, unknown> }[] }>(
    `/events?since=0&execution_id=${run.execution_id}`,
  )
  const ended = events.find((one) => one.context.action_id === row.action_id && one.context.action_status === 'ERRORED')
  t.match(ended?.context, {
    ...{ operation_id: String, device_id: 'shaker-1', from: null, to: null },
    ...{ labware_id: row.labware_id, labware: 'plate', barcode: null, group_id: null },
  })
  t.notOk('others' in ended!.context)
})
