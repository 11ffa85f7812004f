// What people do with devices by hand, and with incidents, in the records of the runs that it concerns.

import { test } from 'tap'
import { beginRun, plateRun, type Scripted, shake } from '../testing/http_runs.ts'

type Row = Record<string, unknown>

async function decisionsOf(run: Scripted): Promise<string[]> {
  const { rows } = await run.get<{ rows: Row[] }>(`/api/executions/${run.execution_id}/record?kind=decision`)
  return rows.map(({ by, decision, text, device_id }) => `${by}: ${decision}: ${text}${device_id === undefined ? '' : ` (${device_id})`}`)
}

const long = { ...shake, with: { speed: 500, duration: 200 } }

test('a stop, an initialization and a cleared fault by hand are decisions in the run that used the device', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }], { methods: { shake_it: [long] } }) })
  await run.does('shaker-1', 'shake')
  const { ask } = run.bench
  // A device that the run has not used.
  await run.post('/api/devices/sealer-1/stop')
  await run.breaks('shaker-1', 'no_reply')
  await run.heldAgain('plate', 'DEVICE_OP')
  await ask('DELETE', '/api/sim/devices/shaker-1/faults')
  await run.post('/api/devices/shaker-1/clear_fault')
  await run.post('/api/devices/shaker-1/clear_fault')
  const initialized = await run.bench.clock.run(ask('POST', '/api/devices/shaker-1/initialize'))
  t.match(initialized, { status: 200, body: { success: true } })
  t.equal((await ask('POST', '/api/devices/shaker-1/stop', { key: 'read' })).status, 200)
  t.equal((await ask('POST', '/api/devices/none/stop')).status, 404)
  await run.post('/api/stop')
  const expected = [
    'key to admin: clear_fault: Cleared the fault of shaker-1 (shaker-1)',
    'key to admin: initialize: Initialized shaker-1 (shaker-1)',
    'key to read: stop: Stopped shaker-1 (shaker-1)',
    'key to admin: stop_all: Stopped all devices',
  ]
  t.strictSame(await decisionsOf(run), expected)
  const { rows } = await run.get<{ rows: Row[] }>(`/api/executions/${run.execution_id}/record?kind=decision`)
  t.strictSame(
    rows.map(({ params }) => params),
    [{ device_id: 'shaker-1' }, { device_id: 'shaker-1' }, { device_id: 'shaker-1' }, {}],
  )
  const again = await run.afterPowerCut()
  await again.post('/api/devices/shaker-1/stop')
  t.strictSame(await decisionsOf(again), [...expected, 'key to admin: stop: Stopped shaker-1 (shaker-1)'])
})

test('a simulated run says that its own devices went on', async (t) => {
  const run = await beginRun(t, { run_mode: 'DEVICE_SIM', workflow: plateRun([{ method: 'shake_it' }], { methods: { shake_it: [long] } }) })
  await run.until('the shaker in use', async () => {
    const { rows } = await run.get<{ rows: Row[] }>(`/api/executions/${run.execution_id}/record?kind=device`)
    return rows.some(({ device_id }) => device_id === 'shaker-1')
  })
  await run.post('/api/devices/shaker-1/stop')
  t.strictSame(await decisionsOf(run), [
    'key to admin: stop: Stopped shaker-1 on the bench, which does nothing to this simulation (shaker-1)',
  ])
})

test('the row of a stop is added after its bytes were sent, and a row that cannot be added refuses no stop', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }], { methods: { shake_it: [long] } }) })
  await run.does('shaker-1', 'shake')
  const { bench } = run.bench
  const execution = bench.runs.runtime.runs.get(run.execution_id)!
  const states: string[] = []
  const add = execution.record.add.bind(execution.record)
  execution.record.add = (row) => {
    if (row.decision === undefined) return add(row)
    states.push(`${row.decision}: ${bench.registry.find('shaker-1').state}`)
    throw new Error('no room')
  }
  t.match(await run.bench.ask('POST', '/api/devices/shaker-1/stop'), { status: 200, body: { success: true } })
  t.equal((await run.bench.ask('POST', '/api/stop')).status, 200)
  t.strictSame(states, ['stop: stopped', 'stop_all: stopped'])
})

test('an acknowledged incident is a decision in the record of its run, open or ended, once', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }], { methods: { shake_it: [long] } }) })
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'no_reply')
  const { thread_id } = await run.heldAgain('plate', 'DEVICE_OP')
  const acknowledge = async () => {
    const { incident_id } = (await run.incidents()).find(({ acknowledged }) => acknowledged === null)!
    await run.post(`/api/incidents/${incident_id}/acknowledge`)
    await run.post(`/api/incidents/${incident_id}/acknowledge`)
    const { rows } = await run.get<{ rows: Row[] }>(`/api/executions/${run.execution_id}/record?kind=decision`)
    return rows.filter((row) => row.incident_id === incident_id)
  }
  t.match(await acknowledge(), [
    { decision: 'acknowledge', by: 'key to admin', thread_id, labware: 'plate', text: /^Acknowledged the incident / },
  ])
  await run.mends('shaker-1')
  t.equal((await run.recover(thread_id, 'RETRY')).status, 200)
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'no_reply')
  await run.heldAgain('plate', 'DEVICE_OP')
  await run.post(`/api/executions/${run.execution_id}/stop`)
  await run.post(`/api/executions/${run.execution_id}/stop`, { confirm: true })
  await run.over()
  t.match(await acknowledge(), [{ decision: 'acknowledge', thread_id }])
})
