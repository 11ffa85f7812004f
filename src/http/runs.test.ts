// Workflows as a client runs them: what there is, what runs, what became of it, and what an operator tells it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { oneArm } from '../testing/documents.ts'
import { isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'
import { type Body, bodyOf, until } from '../testing/http_runs.ts'
import { examples } from './openapi_examples.ts'

const justShake = examples.putWorkflow!.body as Record<string, unknown>
const nobody = '00000000-0000-4000-8000-000000000000'

const plate = (steps: object[]) => ({
  plate: { labware: 'plate', start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' }, steps },
})
/** Waits until it is told `go`. */
const patient = { ...justShake, name: 'patient', threads: plate([{ wait_for: 'go' }, { method: 'shake_it' }]) }
const asking = {
  ...justShake,
  name: 'asking',
  methods: { ask: [{ instruct: 'look at the plate' }] },
  threads: plate([{ method: 'ask' }]),
}
const byHand = {
  ...justShake,
  name: 'by-hand',
  methods: {},
  threads: { plate: { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] }, steps: [] } },
}

/** The bench with its points taught, the demo's topology loaded, and workflows that wait. */
async function openRuns(t: Test, more: object = {}) {
  const setup = await openTestBench(t, more)
  await setup.bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  t.equal((await setup.ask('POST', '/api/topology/load', { json: { name: 'demo' } })).status, 200)
  for (const workflow of [patient, asking, byHand]) {
    t.equal((await setup.ask('PUT', `/api/workflows/${workflow.name}`, { json: workflow })).status, 201)
  }
  return setup
}

async function submitted({ ask }: TestedBench, workflow: string, run_mode = 'LIVE', more: object = {}): Promise<string> {
  const reply = await ask('POST', '/api/submissions', { json: { workflow, run_mode, ...more } })
  if (reply.status !== 202) throw new Error(reply.text)
  return (reply.body as { execution_id: string }).execution_id
}

const ended = (setup: TestedBench, id: string) => until(setup, `/api/executions/${id}`, ({ status }) => status !== 'IN_PROGRESS')
const threadsOf = (body: Body) => body.threads as [Body & { thread_id: string }]
const comesTo = (setup: TestedBench, id: string, status: string) =>
  until(setup, `/api/executions/${id}`, (body) => threadsOf(body).some((thread) => thread.status === status))

test('the examples are there: two topologies, two workflows, no faults', async (t) => {
  const { ask } = await openTestBench(t)
  t.match(await bodyOf(ask('GET', '/api/topologies', { key: 'read' })), {
    topologies: [
      { name: 'demo', loaded: false, workflows: ['seal-and-spin'] },
      { name: 'smc', positions: 53 },
    ],
    faults: [],
  })
  t.match(await bodyOf(ask('GET', '/api/workflows', { key: 'read' })), {
    workflows: [
      { name: 'seal-and-spin', topology: 'demo', source: 'example', form: 'typescript', has_code: false, hash: /^[0-9a-f]{64}$/ },
      { name: 'smc_assay' },
    ],
    faults: [],
  })
})

test('what is answered of a workflow is put in again as it is', async (t) => {
  const { ask } = await openTestBench(t)
  const { workflows } = (await bodyOf(ask('GET', '/api/workflows'))) as { workflows: { name: string }[] }
  t.equal(workflows.length, 3)
  for (const { name } of workflows) {
    const { document } = (await bodyOf(ask('GET', `/api/workflows/${name}`))) as { document: Body }
    const put = await ask('PUT', `/api/workflows/my-${name}`, { json: { ...document, name: `my-${name}` } })
    t.equal(put.status, 201, put.text)
    const mine = await bodyOf(ask('GET', `/api/workflows/my-${name}`))
    t.same(mine.document, { ...document, name: `my-${name}` })
    t.match(await ask('PUT', `/api/workflows/my-${name}`, { json: mine.document }), { status: 200, body: { hash: mine.hash } })
    t.same(await bodyOf(ask('GET', `/api/workflows/my-${name}`)), mine)
  }
})

test('a topology is loaded, shown, and unloaded; another one only by force', async (t) => {
  const { ask } = await openTestBench(t)
  isRefusal(t, await ask('GET', '/api/topology'), 404, 'not_found')
  isRefusal(t, await ask('POST', '/api/topology/load', { json: { name: 'dmeo' } }), 404, 'not_found')
  isRefusal(t, await ask('POST', '/api/topology/load', { key: 'operate', json: { name: 'demo' } }), 403)
  const loaded = await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  t.match(loaded, {
    status: 200,
    body: {
      success: true,
      message: /^topology demo is loaded; arm-1 was not taught pad_1, .*\(teach them: POST \/api\/teachpoints\/bulk\)$/,
    },
  })
  const { positions } = (await bodyOf(ask('GET', '/api/topology'))) as { positions: Body[] }
  t.equal(positions.length, 8)
  t.match(positions[4], { name: 'shaker_in', device: 'shaker-1', labware: null, reserved_for: null })
  isRefusal(t, await ask('POST', '/api/topology/load', { json: { name: 'smc' } }), 409, 'conflict')
  t.match(await ask('POST', '/api/topology/load', { json: { name: 'smc', force: true } }), { status: 200 })
  t.match(await ask('POST', '/api/topology/unload'), { status: 200, body: { message: 'topology smc is unloaded' } })
  t.match(await ask('POST', '/api/topology/unload', { json: {} }), { status: 200, body: { message: 'no topology was loaded' } })
})

test('a topology with open runs is unloaded by force alone, which aborts them', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'patient')
  isRefusal(t, await ask('POST', '/api/topology/unload'), 409, 'conflict')
  t.match(await ask('POST', '/api/topology/unload', { json: { force: true } }), { status: 200 })
  t.match(await ended(setup, id), { status: 'ABORTED', reason: 'the topology was unloaded' })
})

test('a stream of events lives on while topologies come and go', async (t) => {
  const setup = await openRuns(t)
  const { hono, secrets, ask, clock } = setup
  const response = await hono.request('/events/stream', { headers: { Host: 'localhost', 'X-API-Key': secrets.read } })
  const reader = response.body!.getReader()
  let text = ''
  const reading = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += new TextDecoder().decode(next.value)
  })()
  const heard = async (pattern: RegExp) => {
    for (let tries = 0; tries < 1000 && !pattern.test(text); tries++) await clock.advance(100)
    t.match(text, pattern)
  }
  const first = await submitted(setup, 'smc_assay', 'PURE_SIM')
  await heard(new RegExp(`EXECUTION\\.${first}\\.COMPLETED`))
  t.equal((await ask('POST', '/api/topology/unload')).status, 200)
  t.equal((await ask('POST', '/api/topology/load', { json: { name: 'demo' } })).status, 200)
  const second = await submitted(setup, 'patient', 'PURE_SIM')
  await heard(new RegExp(`THREAD\\.[^"]+\\.AWAITING_EVENT","execution_id":"${second}"`))
  await reader.cancel()
  await reading
})

test('a workflow comes over the API, is checked, replaced, deleted, and there after a restart', async (t) => {
  const { ask, data_dir } = await openTestBench(t)
  const path = '/api/workflows/just-shake'
  const created = await ask('PUT', path, { json: justShake })
  t.match(created, { status: 201, body: { name: 'just-shake', source: 'api', form: 'json' } })
  t.equal(created.headers.get('location'), path)
  t.match(await ask('PUT', path, { json: justShake }), { status: 200, body: { hash: (created.body as Body).hash } })
  t.match(await bodyOf(ask('GET', path)), { document: { methods: { shake_it: [{ do: 'shake', on: 'shaker-1' }] } } })
  t.match(JSON.parse(readFileSync(`${data_dir}/workflows.json`, 'utf8')), { format: 1, workflows: [{ name: 'just-shake' }] })
  isRefusal(t, await ask('PUT', path, { key: 'operate', json: justShake }), 403)
  isRefusal(t, await ask('PUT', '/api/workflows/other', { json: justShake }), 400, 'invalid')
  isRefusal(t, await ask('PUT', path, { json: { ...justShake, topology: 'dmo' } }), 400, 'invalid')
  const wrong = await ask('PUT', path, { json: { ...justShake, threads: plate([{ method: 'shke_it' }]) } })
  isRefusal(t, wrong, 400, 'invalid')
  t.match(wrong.body, { detail: /threads\.plate\.steps\[0\].*shke_it.*did you mean "shake_it"/ })
  isRefusal(t, await ask('PUT', path, { json: { ...justShake, methods: { x: [{ name: 'x', body: '() => {}' }] } } }), 400)
  isRefusal(t, await ask('PUT', '/api/workflows/smc_assay', { json: { ...justShake, name: 'smc_assay' } }), 409, 'conflict')
  isRefusal(t, await ask('DELETE', '/api/workflows/smc_assay'), 409, 'conflict')
  t.match(await ask('DELETE', path), { status: 200 })
  isRefusal(t, await ask('DELETE', path), 404, 'not_found')
  isRefusal(t, await ask('GET', path), 404, 'not_found')
})

test('a workflow that is stored or deleted compiles no other anew, unless somebody else has changed the file', async (t) => {
  const { ask, bench, data_dir } = await openTestBench(t)
  const put = async (workflow: Body) => t.ok((await ask('PUT', `/api/workflows/${workflow.name}`, { json: workflow })).status < 300)
  const { catalog, runtime } = bench.runs
  await put(justShake)
  await put(patient)
  const others = ['just-shake', 'smc_assay'].map((name) => runtime.workflow(name))
  await put({ ...patient, threads: plate([{ wait_for: 'stop' }]) })
  await put(asking)
  t.equal((await ask('DELETE', '/api/workflows/asking')).status, 200)
  t.ok(['just-shake', 'smc_assay'].every((name, at) => runtime.workflow(name) === others[at]))
  t.match(await bodyOf(ask('GET', '/api/workflows/patient')), { document: { threads: { plate: { steps: [{ wait_for: 'stop' }] } } } })
  const names = [...runtime.library.workflows.keys()]
  catalog.compileAnew()
  t.same([...runtime.library.workflows.keys()], names, 'in the order of a restart')
  writeFileSync(`${data_dir}/workflows.json`, JSON.stringify({ format: 1, workflows: [byHand, { ...patient, topology: 'gone' }] }))
  await put(asking)
  t.match([...runtime.library.workflows.keys()].sort(), ['asking', 'by-hand', 'seal-and-spin'])
  t.match(runtime.library.faults, [{ origin: 'workflows.json' }])
  await put(patient)
  t.same(runtime.library.faults, [], 'one that is replaced is left out no more')
})

test('a workflow that is stored while the topologies folder is read anew is compiled for what is there then', async (t) => {
  const home = t.testdir({ data: {}, topologies: { 'smc_assay.json': JSON.stringify({ ...justShake, name: 'smc_assay' }) } })
  const topologies = join(home, 'topologies')
  const { ask, bench, clock } = await openTestBench(t, {}, { topologies, folder: join(home, 'data') })
  const { catalog, runtime } = bench.runs
  const names = () => [...runtime.library.workflows.keys()]
  t.equal((await ask('PUT', '/api/workflows/asking', { json: asking })).status, 201)
  t.same(names(), ['smc_assay', 'asking', 'seal-and-spin', 'shake-by-hand'], 'a file comes first, also where it has a shipped name')
  writeFileSync(join(topologies, 'patient.json'), JSON.stringify(patient))
  const takeOver = await catalog.read()
  const putting = [catalog.put('patient', { ...patient, threads: plate([]) } as never), catalog.put('just-shake', justShake as never)]
  takeOver(new Set())
  await clock.run(Promise.all(putting))
  t.same(names(), ['patient', 'smc_assay', 'asking', 'just-shake', 'seal-and-spin', 'shake-by-hand'])
  t.equal(catalog.sourceOf('patient'), 'file')
  t.match(runtime.workflow('patient').document.threads, patient.threads, 'a file goes before one of the API')
  const { topologies: fresh } = runtime.library
  t.ok(names().every((name) => runtime.workflow(name).topology === fresh.get(runtime.workflow(name).topology.name)))
})

test('all workflows together may not become larger than the service can hold', async (t) => {
  const { ask } = await openTestBench(t)
  const large = (name: string) => ({ ...justShake, name, variables: { long: { default: 'x'.repeat(1_000_000) } } })
  const put = (name: string) => ask('PUT', `/api/workflows/${name}`, { json: large(name) })
  for (let i = 0; i < 4; i++) t.equal((await put(`large-${i}`)).status, 201)
  const refused = await put('large-4')
  isRefusal(t, refused, 409, 'conflict')
  t.match(refused.body, { detail: /larger than 4 MiB together; delete some first, or put them into the topologies folder/ })
  t.equal((await put('large-3')).status, 200, 'one of them can be replaced')
  t.equal((await ask('DELETE', '/api/workflows/large-0')).status, 200)
  t.equal((await put('large-4')).status, 201)
})

test('a submission is refused with its reason, and nothing has happened', async (t) => {
  const setup = await openTestBench(t)
  const { ask, bench } = setup
  const refused = async (json: object, status: number, detail: RegExp) => {
    const reply = await ask('POST', '/api/submissions', { json })
    isRefusal(t, reply, status)
    t.match(reply.body, { detail })
  }
  await refused({ workflow: 'seal-and-spin' }, 400, /run_mode is missing; it must be one of "LIVE", "DEVICE_SIM", "PURE_SIM"/)
  await refused({ workflow: 'seal-and-sipn', run_mode: 'LIVE' }, 404, /did you mean "seal-and-spin"/)
  await refused({ workflow: 'seal-and-spin', run_mode: 'LIVE' }, 400, /arm-1 was not taught/)
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await refused({ workflow: 'seal-and-spin', run_mode: 'LIVE' }, 409, /no topology is loaded/)
  await refused(
    { workflow: 'smc_assay', run_mode: 'DEVICE_SIM' },
    400,
    /cannot run in DEVICE_SIM, only in PURE_SIM: the configuration has no device bravo_96/,
  )
  await refused({ workflow: 'seal-and-spin', run_mode: 'PURE_SIM', variables: { sped: 1 } }, 400, /sped.*did you mean "speed"/)
  const pure = { workflow: 'seal-and-spin', run_mode: 'PURE_SIM' }
  await refused({ ...pure, variables: { speed: 'fast' } }, 400, /variables: .*speed must be a whole number/)
  await refused({ ...pure, variables: { speed: 100_000 } }, 400, /speed/)
  await refused({ ...pure, variables: { speed: null } }, 400, /speed/)
  await refused({ ...pure, variables: { toString: 1 } }, 400, /no variable toString/)
  await refused({ ...pure, groups: [{ group_id: 'a' }, { group_id: 'a' }] }, 400, /twice/)
  await refused(
    { ...pure, groups: [{ group_id: 'a', members: { plate: { pool: 'stacker' } } }] },
    400,
    /a\.members\.plate: there is no storage stacker/,
  )
  await refused(
    { ...pure, groups: [{ group_id: 'a', members: { plate: { location: 'pad_9' } } }] },
    400,
    /there is no place pad_9; did you mean/,
  )
  isRefusal(t, await ask('POST', '/api/submissions', { key: 'read', json: { workflow: 'seal-and-spin', run_mode: 'PURE_SIM' } }), 403)
  t.same(await bodyOf(ask('GET', '/api/executions')), { executions: [], next: null })
  t.same(await bodyOf(ask('GET', '/api/submissions')), { submissions: [] })
})

test('a run on the simulated bench is seen from its submission to its end', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const reply = await ask('POST', '/api/submissions', {
    key: 'operate',
    json: { workflow: 'seal-and-spin', run_mode: 'LIVE', operator_id: 'ann' },
  })
  const { submission_id, execution_id } = reply.body as { submission_id: string; execution_id: string }
  t.equal(reply.headers.get('location'), `/api/executions/${execution_id}`)
  t.match(readFileSync(`${setup.data_dir}/records.jsonl`, 'utf8'), submission_id, 'on the card when it is answered')
  const moving = await until(setup, `/api/executions/${execution_id}`, ({ moves }) => (moves as object[]).length > 0)
  t.match(moving, {
    is_live: true,
    status: 'IN_PROGRESS',
    phase: 'accepting',
    submissions: [{ submission_id, operator_id: 'ann' }],
    threads: [{ thread_name: 'plate', status: 'MOVING', labware: { type: '96-well' }, method: 'shake_it', device: 'shaker-1' }],
    moves: [{ transporter: 'arm-1', from: 'pad_1', to: 'shaker_in' }],
    devices: [{ device_id: 'shaker-1' }],
  })
  const done = await ended(setup, execution_id)
  t.match(done, {
    status: 'COMPLETED',
    reason: null,
    phase: 'ended',
    paused: null,
    threads: [{ status: 'COMPLETED', position: 'pad_1' }],
    moves: [],
  })
  t.match(await bodyOf(ask('GET', `/api/submissions/${submission_id}`)), { status: 'COMPLETED', execution_id })
  const { rows } = (await bodyOf(ask('GET', `/api/executions/${execution_id}/timeline`))) as {
    rows: { kind: string; ended: number; started: number }[]
  }
  t.equal(rows.filter(({ kind }) => kind === 'move').length, 4)
  for (const row of rows) t.ok(row.ended >= row.started)
  const shown = (await bodyOf(ask('GET', '/api/topology'))) as { positions: Body[] }
  const plate = { name: 'pad_1', labware: { name: 'plate' } }
  t.match(shown.positions[0], plate, 'it was left in place')
  t.equal((await ask('POST', '/api/topology/unload')).status, 200)
  t.equal((await ask('POST', '/api/topology/load', { json: { name: 'demo' } })).status, 200)
  const anew = (await bodyOf(ask('GET', '/api/topology'))) as { positions: Body[] }
  t.match(anew.positions[0], plate, 'also after the topology was unloaded and loaded again')
  const again = await submitted(setup, 'seal-and-spin')
  t.match(await ended(setup, again), { status: 'COMPLETED' }, 'and is used again')
})

test('lists answer the newest first, and no more than is asked for', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.unshift(await submitted(setup, 'seal-and-spin', 'PURE_SIM'))
  for (const id of ids) await ended(setup, id)
  const open = await submitted(setup, 'patient', 'PURE_SIM')
  const listed = async (query: string) =>
    ((await bodyOf(ask('GET', `/api/executions${query}`))) as { executions: { execution_id: string }[] }).executions.map(
      (one) => one.execution_id,
    )
  t.same(await listed(''), [open, ...ids])
  t.same(await listed('?limit=2'), [open, ids[0]])
  t.same(await listed('?status=IN_PROGRESS'), [open])
  isRefusal(t, await ask('GET', '/api/executions?status=RUNNING'), 400)
  isRefusal(t, await ask('GET', '/api/executions?limit=0'), 400)
  isRefusal(t, await ask('GET', '/api/submissions?limit=x'), 400)
})

test('threads are listed a part at a time', async (t) => {
  const setup = await openRuns(t)
  const groups = Array.from({ length: 4 }, (_, i) => ({ group_id: `g${i + 1}` }))
  const id = await submitted(setup, 'smc_assay', 'PURE_SIM', { groups })
  await ended(setup, id)
  const { threads } = (await bodyOf(setup.ask('GET', `/api/executions/${id}/threads?limit=1000`))) as { threads: object[] }
  t.ok(threads.length > 12)
  const page = await bodyOf(setup.ask('GET', `/api/executions/${id}/threads?offset=5&limit=3`))
  t.same(page.threads, threads.slice(5, 8))
  const { groups: outcomes } = (await bodyOf(setup.ask('GET', `/api/executions/${id}`))) as { groups: Body[] }
  t.match(outcomes, [{ group_id: 'g1', open: 0 }, { group_id: 'g2' }, { group_id: 'g3' }, { group_id: 'g4' }])
})

test('a custom event from outside releases who waits for it, under its own name', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'patient')
  t.match(await comesTo(setup, id, 'AWAITING_EVENT'), { threads: [{ waiting: { kind: 'event', what: /go/ } }] })
  const path = `/api/executions/${id}/emit`
  isRefusal(t, await ask('POST', path, { json: {} }), 400)
  isRefusal(t, await ask('POST', path, { json: { name: 'OPERATOR.CONFIRM.x' } }), 400, 'invalid')
  isRefusal(t, await ask('POST', path, { key: 'read', json: { name: 'go' } }), 403)
  isRefusal(t, await ask('POST', `/api/executions/${nobody}/emit`, { json: { name: 'go' } }), 404)
  t.match(await ask('POST', path, { json: { name: 'a.b', value: 'x', data: { n: 1 } } }), { status: 200 })
  t.match(await ask('POST', path, { key: 'operate', json: { name: 'go' } }), { status: 200, body: { success: true } })
  t.match(await ended(setup, id), { status: 'COMPLETED' })
  const { events } = (await bodyOf(ask('GET', `/events?since=0&execution_id=${id}`))) as { events: Body[] }
  t.match(
    events.filter(({ entity_type }) => entity_type === 'CUSTOM'),
    [
      { event_name: 'CUSTOM.a_b.EMITTED', context: { event_name: 'a.b', value: 'x', data: { n: 1 }, thread_id: null } },
      { event_name: 'CUSTOM.go.EMITTED' },
    ],
  )
  isRefusal(t, await ask('POST', path, { json: { name: 'go' } }), 409, 'conflict')
})

test('a run is paused and resumed, as a whole and thread by thread', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'patient')
  const [{ thread_id }] = threadsOf(await comesTo(setup, id, 'AWAITING_EVENT'))
  const tell = (path: string) => ask('POST', path, { key: 'operate' })
  t.match(await tell(`/api/executions/${id}/pause`), { status: 200, body: { message: /safe point/ } })
  t.match(await tell(`/api/executions/${id}/pause`), { status: 200, body: { message: /already/ } })
  t.match(await comesTo(setup, id, 'PAUSED'), { paused: { reason: 'manual' }, threads: [{ pause_reason: 'manual' }] })
  t.match(await tell(`/api/executions/${id}/resume`), { status: 200 })
  await comesTo(setup, id, 'AWAITING_EVENT')
  t.match(await tell(`/api/threads/${thread_id}/pause`), { status: 200 })
  await comesTo(setup, id, 'PAUSED')
  t.match(await tell(`/api/threads/${thread_id}/resume`), { status: 200, body: { message: 'resumed' } })
  t.match(await tell(`/api/threads/${thread_id}/resume`), { status: 200, body: { message: 'it was not paused' } })
  isRefusal(t, await ask('POST', `/api/threads/${thread_id}/recover`, { json: { decision: 'RETRY' } }), 409, 'conflict')
  isRefusal(t, await ask('POST', `/api/threads/${thread_id}/recover`, { json: { decision: 'PRAY' } }), 400)
  isRefusal(t, await tell(`/api/threads/${nobody}/pause`), 404)
  isRefusal(t, await ask('POST', `/api/threads/${thread_id}/pause`, { key: 'read' }), 403)
  t.match(await tell(`/api/threads/${thread_id}/stop`), { status: 200 })
  t.match(await ended(setup, id), { threads: [{ status: 'STOPPED' }] })
  isRefusal(t, await tell(`/api/threads/${thread_id}/stop`), 409)
})

test('two calls stop a run; what its device does is halted', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'seal-and-spin')
  await comesTo(setup, id, 'EXECUTING_ACTION')
  const stop = (json?: object) => ask('POST', `/api/executions/${id}/stop`, json && { json })
  isRefusal(t, await stop({ confirm: true }), 409, 'conflict')
  t.match(await stop(), { status: 200, body: { message: /^armed/ } })
  t.match(await bodyOf(ask('GET', `/api/executions/${id}`)), { is_abort_armed: true })
  t.match(await stop({ confirm: true }), { status: 200, body: { success: true } })
  t.match(await ended(setup, id), { status: 'ABORTED', reason: /operator/, is_abort_armed: false, threads: [{ status: 'ABORTED' }] })
  for (const verb of ['pause', 'resume', 'stop', 'close']) isRefusal(t, await ask('POST', `/api/executions/${id}/${verb}`), 409, 'conflict')
})

test('a closed run takes no more groups', async (t) => {
  const setup = await openRuns(t)
  const more = { batch_mode: 'JOIN_EXISTING', groups: [{ group_id: 'g1' }] }
  const id = await submitted(setup, 'patient', 'PURE_SIM', more)
  t.match(await setup.ask('POST', `/api/executions/${id}/close`), { status: 200 })
  t.match(await bodyOf(setup.ask('GET', `/api/executions/${id}`)), { phase: 'draining' })
  const json = { workflow: 'patient', run_mode: 'PURE_SIM', ...more }
  isRefusal(t, await setup.ask('POST', '/api/submissions', { json }), 409, 'conflict')
})

test('an error that holds a thread is seen with what can be decided, and is decided', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'seal-and-spin')
  await comesTo(setup, id, 'EXECUTING_ACTION')
  await ask('POST', '/api/devices/shaker-1/stop')
  const [thread] = threadsOf(await comesTo(setup, id, 'PAUSED'))
  t.match(thread, { pause_reason: 'error', last_error: /shaker-1 was stopped/, decisions: /RETRY/, waiting: { kind: 'operator' } })
  const { incidents } = (await bodyOf(ask('GET', `/api/incidents?execution_id=${id}`))) as { incidents: (Body & { incident_id: string })[] }
  t.ok(incidents.length > 0)
  const { incident_id } = incidents[0]!
  t.match(await bodyOf(ask('GET', `/api/incidents/${incident_id}`)), { thread_id: thread.thread_id, acknowledged: null })
  t.match(await ask('POST', `/api/incidents/${incident_id}/acknowledge`, { key: 'operate' }), {
    status: 200,
    body: { message: 'seen by key to operate' },
  })
  t.match(await bodyOf(ask('GET', '/api/incidents?acknowledged=true')), { incidents: [{ incident_id }] })
  isRefusal(t, await ask('POST', `/api/incidents/${nobody}/acknowledge`), 404)
  isRefusal(t, await ask('GET', `/api/incidents/${nobody}`), 404)
  isRefusal(t, await ask('GET', '/api/incidents?acknowledged=perhaps'), 400)
  t.match(await ask('POST', '/api/devices/shaker-1/initialize'), { status: 200 })
  t.match(await ask('POST', `/api/threads/${thread.thread_id}/recover`, { json: { decision: 'RETRY' } }), { status: 200 })
  t.match(await ended(setup, id), { status: 'COMPLETED' })
})

test('a manual step is listed, confirmed once, and its thread goes on', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'asking')
  const { steps } = (await until(setup, '/api/operator/steps', ({ steps }) => (steps as object[]).length > 0)) as {
    steps: { step_id: string }[]
  }
  t.match(steps, [{ step_id: /^manual_step-[0-9a-f]{4}$/, execution_id: id, instruction: 'look at the plate' }])
  const path = `/api/operator/steps/${steps[0]!.step_id}/confirm`
  isRefusal(t, await ask('POST', path, { key: 'read' }), 403)
  const both = await Promise.all([ask('POST', path), ask('POST', path)])
  t.same(both.map(({ status }) => status).sort(), [200, 404])
  t.match(await ended(setup, id), { status: 'COMPLETED' })
  t.same(await bodyOf(ask('GET', '/api/operator/steps')), { steps: [] })
})

test('labware is brought and taken away by hand', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'by-hand')
  const [{ thread_id }] = threadsOf(await comesTo(setup, id, 'AWAITING_MANUAL_PLACE'))
  isRefusal(t, await ask('POST', `/api/threads/${thread_id}/removed`), 409, 'conflict')
  t.match(await ask('POST', `/api/threads/${thread_id}/placed`, { json: { barcode: 'P-1' } }), { status: 200, body: { message: /pad_1/ } })
  t.match(await comesTo(setup, id, 'AWAITING_MANUAL_REMOVE'), { threads: [{ labware: { barcode: 'P-1' }, position: 'pad_1' }] })
  t.match(await ask('POST', `/api/threads/${thread_id}/removed`), { status: 200 })
  t.match(await ended(setup, id), { status: 'COMPLETED', threads: [{ position: null }] })
})

test('an execution that has ended is deleted with its events; one that is open is not', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const open = await submitted(setup, 'patient', 'PURE_SIM')
  isRefusal(t, await ask('DELETE', `/api/executions/${open}`), 409, 'conflict')
  const id = await submitted(setup, 'seal-and-spin', 'PURE_SIM')
  const { submissions } = (await ended(setup, id)) as { submissions: { submission_id: string }[] }
  isRefusal(t, await ask('DELETE', `/api/executions/${id}`, { key: 'operate' }), 403)
  t.match(await ask('DELETE', `/api/executions/${id}`), { status: 200 })
  isRefusal(t, await ask('GET', `/api/executions/${id}`), 404)
  isRefusal(t, await ask('GET', `/api/submissions/${submissions[0]!.submission_id}`), 404)
  t.match(await bodyOf(ask('GET', `/events?since=0&execution_id=${id}`)), { events: [] })
  isRefusal(t, await ask('DELETE', `/api/executions/${id}`), 404)
  isRefusal(t, await ask('DELETE', '/api/executions/system'), 404)
})

test('an execution that is only a record is shown from it, without a timeline', async (t) => {
  const setup = await openRuns(t)
  const { ask } = setup
  const id = await submitted(setup, 'seal-and-spin', 'PURE_SIM')
  await ended(setup, id)
  for (let i = 0; i < 20; i++) await ended(setup, await submitted(setup, 'seal-and-spin', 'PURE_SIM'))
  t.match(await bodyOf(ask('GET', `/api/executions/${id}`)), {
    is_live: false,
    status: 'COMPLETED',
    thread_count: 1,
    threads: [{ thread_name: 'plate', status: 'COMPLETED', labware: null, position: null }],
  })
  const reply = await ask('GET', `/api/executions/${id}/timeline`)
  isRefusal(t, reply, 404, 'not_found')
  t.match(reply.body, { detail: /no longer kept/ })
})

test('files of the topologies folder are taken up at a reload, and what is wrong with one is told', async (t) => {
  const topologies = mkdtempSync(join(tmpdir(), 'benchd-topologies-'))
  t.teardown(() => rmSync(topologies, { recursive: true }))
  const { ask } = await openTestBench(t, {}, { topologies })
  const write = (name: string, content: object | string) =>
    writeFileSync(join(topologies, name), typeof content === 'string' ? content : JSON.stringify(content))
  const carry = { ...justShake, name: 'carry', topology: 'pads', methods: {}, threads: plate([]) }
  write('pads.json', oneArm({ name: 'pads', arm: 'arm-1', pads: ['pad_1', 'pad_2'] }))
  write('carry.json', carry)
  write('broken.json', '{')
  isRefusal(t, await ask('POST', '/api/system/reload', { key: 'operate' }), 403)
  t.match(await ask('POST', '/api/system/reload'), {
    status: 200,
    body: { success: true, faults: [{ origin: /broken\.json$/, reason: /not JSON/ }] },
  })
  t.match(await bodyOf(ask('GET', '/api/workflows/carry')), { source: 'file', topology: 'pads' })
  isRefusal(t, await ask('PUT', '/api/workflows/carry', { json: carry }), 409, 'conflict')
  isRefusal(t, await ask('DELETE', '/api/workflows/carry'), 409, 'conflict')
  t.equal((await ask('POST', '/api/topology/load', { json: { name: 'pads' } })).status, 200)
  write('pads.json', oneArm({ name: 'pads', arm: 'arm-1', pads: ['pad_1'], parking: ['pad_2'] }))
  t.match(await ask('POST', '/api/system/reload'), { status: 200 })
  t.match(await bodyOf(ask('GET', '/api/topology')), { positions: [{}, { name: 'pad_2', parking: true }] }, 'the loaded one is loaded anew')
})

test('a workflow that is put is answered with the events that may be mistyped', async (t) => {
  const { ask } = await openTestBench(t)
  const end = { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' }
  const document = {
    ...{ format: 1, name: 'waits', topology: 'demo', labware: { plate: { type: '96-well' } }, start: ['plate'] },
    methods: { say: [{ emit: 'qc.done' }, { wait_for: 'qc.dnoe' }] },
    threads: { plate: { labware: 'plate', start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, end, steps: [{ method: 'say' }] } },
  }
  const { status, body } = await ask('PUT', '/api/workflows/waits', { json: document })
  t.match([status, body], [201, { warnings: [/^methods\.say\[1\]: nothing .* emits "qc\.dnoe"; did you mean "qc\.done"\?$/] }])
})
