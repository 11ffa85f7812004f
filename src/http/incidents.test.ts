// Incidents of runs, over the API: what a client sees of them, what outlasts what, and the faults of devices they come from.

import { test } from 'tap'
import type { Incident } from '../events/incidents.ts'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { isRefusal } from '../testing/http.ts'
import { atPad1, beginRun, ended, plateRun, type Scripted, shake } from '../testing/http_runs.ts'

const oneShake = plateRun([{ method: 'shake_it' }])

async function jammed(t: Parameters<typeof beginRun>[0]) {
  const run = await beginRun(t, { workflow: oneShake })
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'jam')
  const thread = await run.thread('plate', 'PAUSED')
  return { run, thread }
}

const categories = async (run: Scripted) => (await run.incidents()).map(({ category }) => category)

test('an incident is an event with its summary, and all its detail by its id', async (t) => {
  const { run, thread } = await jammed(t)
  const [incident] = await run.incidents()
  t.match(incident, {
    category: 'ACTION_FAILED',
    severity: 'ERROR',
    recovery_action: 'THREAD_RECOVER_RETRY_OP',
    execution_id: run.execution_id,
    thread_id: thread.thread_id,
    detail: { error: /error 102/, error_type: 'LabError' },
    acknowledged: null,
  })
  const [event] = await run.named(`INCIDENT.${incident!.incident_id}.ACTION_FAILED`)
  const { detail: _, timestamp, acknowledged: __, pictures, ...summary } = incident! as Incident & { pictures: string[] }
  t.same(pictures, [], 'there is no camera')
  t.same(event!.context, summary)
  t.equal(event!.timestamp, timestamp)
  t.equal(event!.execution_id, run.execution_id)
})

test('an incident and who has seen it outlast a loss of power', async (t) => {
  const { run } = await jammed(t)
  const [{ incident_id }] = (await run.incidents()) as [Incident]
  await run.post(`/api/incidents/${incident_id}/acknowledge`)
  const seen = await run.get<Incident>(`/api/incidents/${incident_id}`)
  t.match(seen.acknowledged, { by: 'key to admin' })
  t.equal((await run.thread('plate', 'PAUSED')).pause_reason, 'error', 'it changes nothing else')
  const after = await run.afterPowerCut()
  t.same(await after.get(`/api/incidents/${incident_id}`), seen)
})

test('a device that is busy with something else for longer holds the thread, and that is said', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }, { method: 'shake_it' }]) })
  await run.thread('plate', 'AWAITING_EVENT')
  await run.post('/api/devices/shaker-1/initialize')
  await run.post('/api/devices/shaker-1/lock_plate')
  void run.bench.bench.registry.find('shaker-1').perform('shake', { speed: 500, duration: 300 })
  await run.emits('go')
  const { thread_id } = await run.thread('plate', 'PAUSED')
  t.match(await run.incidents(), [
    { category: 'DEVICE_BUSY_EXHAUSTED', message: /plate was not brought/, detail: { error: /is running shake/ } },
  ])
  await run.bench.clock.advance(300_000)
  t.equal((await run.recover(thread_id, 'RETRY')).status, 200)
  t.equal(await run.over(), 'COMPLETED')
})

test('the incidents of an execution that is deleted go with its events; those of others stay', async (t) => {
  const { run, thread } = await jammed(t)
  run.bench.bench.hub.incident('OTHER', 'of no run', {})
  isRefusal(t, await run.ask('DELETE', `/api/executions/${run.execution_id}`), 409, 'conflict')
  const [{ incident_id }] = (await run.incidents()) as [Incident]
  await run.recover(thread.thread_id, 'ABORT_THREAD')
  await run.over()
  t.equal((await run.ask('DELETE', `/api/executions/${run.execution_id}`)).status, 200)
  isRefusal(t, await run.ask('GET', `/api/incidents/${incident_id}`), 404, 'not_found')
  t.match(await run.get('/api/incidents'), { incidents: [{ message: 'of no run' }] })
})

test('a fault that a run meets is latched once and kept the first, whatever is stopped or asked for then, until it is cleared', async (t) => {
  const { run, thread } = await jammed(t)
  const { fault } = await run.get<{ fault: { error: string; command: string } }>('/api/devices/shaker-1')
  const error =
    /^shaker-1 .*reports error 102 \(wrong speed: something blocks the motion\)\. Remove the plate .*, then initialize the device\.$/
  t.match(fault, { command: 'shake', outcome: 'failed', error, error_type: 'DeviceFailed' })
  await run.recover(thread.thread_id, 'RETRY_OP')
  await run.until('the second failure', async () => (await run.named('DEVICE_OP.shake.FAILED')).length === 2)
  await run.post('/api/devices/shaker-1/stop')
  isRefusal(t, await run.ask('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 5 }), 409, 'stopped')
  isRefusal(t, await run.ask('POST', '/api/devices/shaker-1/clear_fault'), 409, 'stopped')
  t.match(await run.get('/api/devices/shaker-1'), { state: 'stopped', fault })
  const faulted = await run.named('DEVICE.shaker-1.FAULTED')
  t.equal(faulted.length, 1)
  t.match(faulted[0], { execution_id: run.execution_id, context: { device_name: 'shaker-1', cleared: false, command: 'shake' } })
  await run.mends('shaker-1')
  const cleared = await run.named('DEVICE.shaker-1.FAULT_CLEARED')
  t.match(cleared, [{ context: { cleared: true, message: 'initialized', error: fault.error } }])
  await run.recover(thread.thread_id, 'RETRY_OP')
  t.equal(await run.over(), 'COMPLETED')
})

test('a fault that a client meets is latched as one that a run meets, and holds a run that needs the device', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }, { method: 'shake_it' }]) })
  await run.thread('plate', 'AWAITING_EVENT')
  for (const operation of ['initialize', 'lock_plate']) await run.post(`/api/devices/shaker-1/${operation}`)
  await run.breaks('shaker-1', 'jam')
  isRefusal(t, await run.ask('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 5 }), 500, 'device_failed')
  t.match(await run.named('DEVICE.shaker-1.FAULTED'), [{ execution_id: 'system', context: { command: 'shake', execution_id: null } }])
  await run.emits('go')
  const { thread_id, last_error } = await run.thread('plate', 'PAUSED')
  t.match(
    last_error,
    /shaker-1 has a fault: shaker-1 .*reports error 102 \(.*\)\. Remove the plate .*, then POST \/api\/devices\/shaker-1\/initialize/,
  )
  t.same(await categories(run), ['DEVICE_INIT_FAILED'])
  t.equal((await run.named('DEVICE.shaker-1.FAULTED')).length, 1)
  await run.ask('DELETE', '/api/sim/devices/shaker-1/faults')
  t.match(await run.post('/api/devices/shaker-1/clear_fault'), { message: 'fault cleared; initialize before the next operation' })
  await run.recover(thread_id, 'RETRY')
  t.equal(await run.over(), 'COMPLETED', 'what is only not initialized is initialized by the run')
})

const throwing = (...names: string[]) => `
const workflow = ${JSON.stringify(oneShake)}
const broken = () => { throw new Error('out of paper') }
workflow.on = Object.fromEntries(${JSON.stringify(names)}.map((name) => [name, [broken]]))
export default workflow
`

test('a handler of a workflow that throws time and again is one incident, and the run does not mind', { skip: noTypeScript }, async (t) => {
  const run = await beginRun(t, { workflow: throwing('ACTION.CREATED', 'ACTION.COMPLETED', 'ACTION.PICKING') })
  t.equal(await run.over(), 'COMPLETED')
  const told = (await run.incidents()).filter(({ category }) => category === 'EVENT_HANDLER_EXCEPTION')
  t.match(told, [{ severity: 'WARNING', recovery_action: 'PLUGIN_DISABLE', message: /failed three times in a row: out of paper/ }, {}])
  t.equal(new Set(told.map(({ message }) => message)).size, told.length, 'one for each handler')
  const [{ incident_id }] = told as [Incident]
  await run.post(`/api/incidents/${incident_id}/acknowledge`)
})

test('a sink that throws at everything, incidents too, is one incident, and none of that', async (t) => {
  const { run, thread } = await jammed(t)
  let heard = 0
  const sink = {
    name: 'broken',
    onEvent() {
      heard++
      throw new Error('no')
    },
  }
  run.bench.bench.runs.runtime.registerSink(sink)
  for (let i = 0; i < 5; i++) run.bench.bench.hub.incident('OTHER', `number ${i}`, {})
  const { incidents } = await run.get<{ incidents: Incident[] }>('/api/incidents')
  t.equal(incidents.filter(({ category }) => category === 'PLUGIN_HANDLER_EXCEPTION').length, 1)
  t.equal(heard, 6)
  await run.mends('shaker-1')
  await run.recover(thread.thread_id, 'RETRY')
  t.equal(await run.over(), 'COMPLETED')
})

const spin = { do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 }, labware: ['plate', 'cup'] }
/** A plate that is spun with a cup, which is told when to come. */
const spinning = plateRun([], {
  labware: { plate: { type: '96-well' }, cup: { type: 'cup' } },
  methods: { spin_it: [spin] },
  threads: {
    plate: { labware: 'plate', ...atPad1, steps: [{ method: 'spin_it' }] },
    cup: {
      labware: 'cup',
      start: { at: 'waste', mode: 'DISPENSE' },
      end: { at: ['waste'] },
      steps: [{ wait_for: 'go' }, { join: ['spin_it'] }],
    },
  },
})

test('who waits for labware that does not come says for what; when nobody brings it any more, a resume goes on without it', async (t) => {
  const run = await beginRun(t, { workflow: spinning })
  const cup = await run.thread('cup', 'AWAITING_EVENT')
  await run.until('the plate there', async () => (await run.snapshot()).threads.some(({ position }) => position?.startsWith('centrifuge')))
  t.match((await run.thread('plate', 'AWAITING_CO_THREADS')).waiting, { kind: 'peer', what: 'cup to come to centrifuge-1' })
  const kinds = (await run.blockers()).map(({ kind, thread_name }) => `${thread_name}: ${kind}`)
  t.same(kinds, ['cup: event', 'plate: waiting'])
  await run.post(`/api/threads/${cup.thread_id}/stop`)
  t.match(await run.thread('plate', 'PAUSED'), { pause_reason: 'system' })
  t.match(await run.incidents(), [
    { category: 'ORPHANED_BACKLOG', recovery_action: 'RESUME_EXECUTION', message: /spin_it; resume the execution/ },
  ])
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
  t.match(ended(await run.events()), [
    'THREAD cup STOPPED',
    'ACTION centrifuge ERRORED',
    'METHOD spin_it PARTIAL_COMPLETE',
    'THREAD plate COMPLETED',
  ])
})

test('a run that cannot get past what was left in a device stalls once, and goes on when that is carried away', async (t) => {
  const other = { labware: 'other', start: { at: 'pad_2', mode: 'REUSE_EXISTING' }, end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' } }
  const workflow = plateRun([], {
    labware: { plate: { type: '96-well' }, other: { type: '96-well' } },
    methods: { shake_it: [shake] },
    threads: {
      plate: { labware: 'plate', ...atPad1, steps: [{ method: 'shake_it' }] },
      other: { ...other, steps: [{ wait_for: 'go' }, { method: 'shake_it' }] },
    },
    start: ['plate', 'other'],
  })
  const run = await beginRun(t, { workflow })
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'jam')
  const { thread_id } = await run.thread('plate', 'PAUSED')
  await run.recover(thread_id, 'ABORT_THREAD')
  await run.thread('plate', 'ABORTED')
  await run.mends('shaker-1')
  await run.emits('go')
  t.match(await run.thread('other', 'PAUSED'), { pause_reason: 'system' })
  t.same(await categories(run), ['ACTION_FAILED', 'SYSTEM_STALL'])
  t.match(
    (await run.blockers()).find(({ kind }) => kind === 'stall'),
    { message: /other waits for shaker-1/, remedy: /shaker_in is taken: plate .*; then resume the execution/ },
  )
  const { labware_id } = (await run.labware()).find(({ name }) => name === 'plate')!
  const words = `shaker_in is taken: plate has stood there since run ${run.execution_id.slice(0, 8)}, and no thread moves it; take it away, and say so: PUT /api/labware/${labware_id}/location {"position": null}`
  t.equal((await run.incidents()).at(-1)!.message, `nothing can move any more: other waits for shaker-1; ${words}`)
  const refused = await run.ask('POST', `/api/executions/${run.execution_id}/resume`)
  t.match(refused, { status: 409, body: { detail: `nothing could move: ${words}; then resume it` } })
  t.same(await categories(run), ['ACTION_FAILED', 'SYSTEM_STALL'], 'it does not stall again')
  await run.carries('plate', 'pad_1')
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
})

test('a submission is told of what an earlier run left where it has to go, and a step that is skipped is a way past it', async (t) => {
  const other = { labware: 'other', start: { at: 'pad_2', mode: 'REUSE_EXISTING' }, end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' } }
  const besides = plateRun([], {
    name: 'besides',
    labware: { other: { type: '96-well' } },
    threads: { other: { ...other, steps: [{ action: shake }, { method: 'seal_it' }] } },
    start: ['other'],
  })
  const first = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]), besides })
  await first.does('shaker-1', 'shake')
  await first.breaks('shaker-1', 'jam')
  await first.recover((await first.thread('plate', 'PAUSED')).thread_id, 'ABORT_THREAD')
  t.equal(await first.over(), 'COMPLETED')
  await first.mends('shaker-1')
  const left = { position: 'shaker_in', labware_name: 'plate', execution_id: first.execution_id }
  const again = await first.post<Submitted>('/api/submissions', { workflow: 'besides', run_mode: 'LIVE' })
  t.match(again.in_the_way, [
    { ...left, message: new RegExp(`^shaker_in is taken: plate has stood there since run ${first.execution_id.slice(0, 8)},`) },
  ])
  const run = first.of(again.execution_id)
  await run.thread('other', 'PAUSED')
  t.equal((await run.ask('POST', `/api/executions/${run.execution_id}/resume`)).status, 409)
  await run.post(`/api/executions/${run.execution_id}/skip`, { item: 'shake' })
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
})

test('after a restart it is still known which run left it, and where a run is to begin that is said at once', async (t) => {
  const placed = { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] }, steps: [] }
  const besides = plateRun([], { name: 'besides', threads: { plate: placed } })
  const first = await beginRun(t, { workflow: plateRun([]), besides })
  t.equal(await first.over(), 'COMPLETED')
  const run = await first.afterPowerCut()
  const reply = await run.ask('POST', '/api/submissions', { workflow: 'besides', run_mode: 'LIVE' })
  t.match(reply, {
    status: 409,
    body: {
      detail: new RegExp(
        `where plate stands since run ${first.execution_id.slice(0, 8)}; take it away, and say so: PUT /api/labware/.*/location {"position": null}`,
      ),
    },
  })
})

type Submitted = { execution_id: string; in_the_way: object[] }

test('with on_failure ABORT nobody is asked: the thread has died, and the run has failed', async (t) => {
  const run = await beginRun(t, {
    workflow: plateRun([{ method: 'shake_it' }], { methods: { shake_it: [{ ...shake, on_failure: 'ABORT' }] } }),
  })
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'jam')
  t.equal(await run.over(), 'FAILED')
  t.match(await run.incidents(), [{ category: 'THREAD_DIED', severity: 'CRITICAL', message: /error 102.*plate is at shaker_in/ }])
  t.match(await run.snapshot(), { reason: /error 102/, threads: [{ status: 'FAILED', last_error: /error 102/, position: 'shaker_in' }] })
  t.equal((await run.named('DEVICE_OP.shake.FAILED')).length, 1)
})

test('a step whose place never comes is told when the run ends', async (t) => {
  const never = [{ branch: 'qc', cases: { bad: [{ method: 'shake_it' }] }, else: [] }]
  const run = await beginRun(t, { workflow: plateRun(never) })
  await run.thread('plate', 'AWAITING_EVENT')
  await run.post(`/api/executions/${run.execution_id}/insert`, { before: 'shake_it', item: { action: { emit: 'soon' } } })
  await run.emits('qc')
  t.equal(await run.over(), 'COMPLETED')
  t.match(await run.incidents(), [{ category: 'UNRESOLVED_ANCHOR_INSERT', severity: 'WARNING' }])
})
