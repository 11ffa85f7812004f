// What a run says of why it stands, and what it learned, over the API.

import { test } from 'tap'
import { atPad1, beginRun, plateRun, seal } from '../testing/http_runs.ts'

test('a rehearsal on its own simulators is not held up by what is wrong with the bench', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }, { method: 'seal_it' }]), run_mode: 'DEVICE_SIM' })
  await run.thread('plate', 'AWAITING_EVENT')
  await run.post('/api/devices/sealer-1/stop')
  await run.post('/api/devices/shaker-1/stop')
  t.same(
    (await run.blockers()).map(({ kind }) => kind),
    ['event'],
  )
  await run.emits('go')
  t.equal(await run.over(), 'COMPLETED')
})

test('a run on the bench is held up by the devices it uses alone', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }, { action: seal }], { methods: {} }) })
  await run.thread('plate', 'AWAITING_EVENT')
  for (const device of ['sealer-1', 'shaker-1', 'arm-2']) await run.post(`/api/devices/${device}/stop`)
  t.match(await run.blockers(), [
    { kind: 'device_fault', device_id: 'sealer-1', remedy: 'see that it is safe, then initialize sealer-1' },
    { kind: 'event' },
  ])
})

test('what is learned on a fast simulator is in its own seconds', async (t) => {
  // Each pace has a data folder of its own: a folder remembers its topology and what it learned.
  const learned: { hop: number; beyond: number }[] = []
  for (const time_scale of [1, 20]) {
    await t.test(`at ${time_scale} times the pace`, async (t) => {
      const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]), time_scale })
      t.equal(await run.over(), 'COMPLETED')
      const { durations } = run.bench.bench.runs.runtime.environments.live!
      learned.push({ hop: durations!.hop('arm-1')!, beyond: durations!.beyond('shaker-1', 'shake')! })
    })
  }
  const [real, fast] = learned as [(typeof learned)[0], (typeof learned)[0]]
  t.ok(real.hop > 5)
  // Seconds of ours would be a twentieth. On a slow machine it takes longer, so that nothing is said here of too much: see dry_runs_forecast.test.ts.
  for (const part of ['hop', 'beyond'] as const)
    t.ok(fast[part] > real[part] / 3, `${part}: ${fast[part]} s, and ${real[part]} s at the pace of 1`)
})

test('resume says which labware a run goes on without', async (t) => {
  const tips = {
    labware: 'tips',
    start: { at: 'pad_2', mode: 'REUSE_EXISTING' },
    end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' },
    steps: [{ join: ['use_tips'] }],
  }
  const plate = { labware: 'plate', ...atPad1, steps: [{ method: 'use_tips' }] }
  const run = await beginRun(t, {
    workflow: plateRun([], {
      labware: { plate: { type: '96-well' }, tips: { type: 'tips' } },
      methods: { use_tips: [{ do: 'close', on: 'centrifuge-1', labware: ['plate', 'tips'] }] },
      threads: { plate, tips },
    }),
  })
  const { thread_id } = await run.thread('tips', 'MOVING')
  await run.breaks('arm-1', 'jam')
  await run.heldAgain('tips', 'MOVE')
  await run.recover(thread_id, 'ABORT_THREAD')
  await run.until('the backlog is orphaned', async () => (await run.blockers()).some(({ kind }) => kind === 'orphaned'))
  t.match(await run.post(`/api/executions/${run.execution_id}/resume`), {
    message: 'resumed: it goes on without tips, which nobody brings any more',
  })
})

test('recovery is rehearsed in DEVICE_SIM: a fault of the own simulator, and the bench hears nothing of it', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]), run_mode: 'DEVICE_SIM' })
  const faults = `/api/sim/executions/${run.execution_id}/devices/shaker-1/faults`
  await run.thread('plate', 'EXECUTING_ACTION')
  await run.post(faults, { fault: 'jam' })
  const { thread_id } = await run.heldAgain('plate', 'DEVICE_OP')
  t.match(await run.blockers(), [
    { kind: 'simulator_fault', device_id: 'shaker-1', remedy: /RETRY, which initializes the simulator/ },
    { kind: 'error' },
  ])
  t.match(await run.get('/api/devices/shaker-1'), { fault: null, last_operation: null })
  t.match((await run.ask('DELETE', faults)).body, { message: 'shaker-1 is mended' })
  t.equal((await run.recover(thread_id, 'RETRY')).status, 200)
  t.equal(await run.over(), 'COMPLETED')
  const refused = await run.ask('POST', faults, { fault: 'jam' })
  t.match(refused, { status: 409, body: { detail: /has ended/ } })
})

test('faults are refused for runs that have no simulators of their own, and for what is not there', async (t) => {
  const live = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
  const path = (device: string) => `/api/sim/executions/${live.execution_id}/devices/${device}/faults`
  t.match(await live.ask('POST', path('shaker-1'), { fault: 'jam' }), { status: 409, body: { detail: /is in LIVE, and only DEVICE_SIM/ } })
  t.equal((await live.ask('POST', '/api/sim/executions/nobody/devices/shaker-1/faults', { fault: 'jam' })).status, 404)
  const rehearsal = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]), run_mode: 'DEVICE_SIM' })
  const other = (device: string) => `/api/sim/executions/${rehearsal.execution_id}/devices/${device}/faults`
  t.equal((await rehearsal.ask('POST', other('nobody'), { fault: 'jam' })).status, 404)
  t.equal((await rehearsal.ask('POST', other('shaker-1'), { fault: 'gremlins' })).status, 400)
  t.equal((await rehearsal.ask('POST', other('arm-1'), { fault: 'unplug', after: 3600 })).status, 200)
})
