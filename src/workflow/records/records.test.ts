import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { type Test, test } from 'tap'
import { type RuntimeEvent, runtimeEvent } from '../../events/event.ts'
import type { Sink } from '../../events/sinks.ts'
import { VirtualClock } from '../../kit/clock.ts'
import { oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, run, testRuntime, until } from '../../testing/workflow.ts'
import { abortOrphanedRuns } from '../recovery/orphaned_runs.ts'
import type { RuntimeOptions } from '../runtime_options.ts'
import { RecordFile } from './record_file.ts'
import { type ExecutionRow, type RecordStore, Records, type SubmissionRecord, type ThreadRecord } from './records.ts'

const topology = oneArm({ pads: ['a'], parking: ['b', 'c'], nests: { nest: 'shaker' }, operations: { shaker: { shake: null } } })
const shaken = workflowOf(
  'shaken',
  { plate: { start: { at: 'a' }, end: { at: ['b', 'c'] }, steps: [{ method: 'shake_it' }] } },
  {
    variables: { speed: { default: 500 } },
    methods: { shake_it: [{ do: 'shake', on: 'shaker', with: { speed: { variable: 'speed' }, duration: 5 } }] },
  },
)
const waiting = {
  ...shaken,
  name: 'waiting',
  threads: { plate: { ...shaken.threads.plate, steps: [{ wait_for: 'go' }, { method: 'shake_it' }] } },
}

/** A runtime whose events reach its sinks. */
function runtimeWith(more: Partial<RuntimeOptions> = {}) {
  const sinks: Sink[] = []
  const told: RuntimeEvent[] = []
  let time = 1000
  const emit = (event_name: string, context: object, execution_id = 'system') => {
    time += 0.001
    const event = runtimeEvent(event_name, execution_id, time, { ...context })
    told.push(event)
    for (const sink of sinks) tell(sink, event)
    return event
  }
  const hub = {
    emit,
    incident: () => ({}),
    registerSink: (sink: Sink) => void sinks.push(sink),
    unregisterSink: () => {},
    remove: async () => {},
  } as unknown as RuntimeOptions['hub']
  return { ...testRuntime([topology, shaken, waiting], { hub, ...more }), emit, events: told }
}

/** As the hub does it: one that throws is in nobody's way. */
function tell(sink: Sink, event: RuntimeEvent): void {
  try {
    void sink.onEvent(event)
  } catch {
    // Told elsewhere.
  }
}

const row: ExecutionRow = {
  execution_id: 'e1',
  workflow_name: 'w',
  workflow_hash: '0',
  topology: 't',
  run_mode: 'LIVE',
  status: 'IN_PROGRESS',
  reason: null,
  started_at: 1,
  ended_at: null,
}
const submission: SubmissionRecord = {
  submission_id: 's1',
  execution_id: 'e1',
  workflow_name: 'w',
  run_mode: 'LIVE',
  batch_mode: 'STANDALONE',
  group_ids: ['g1'],
  variables: {},
  operator_id: null,
  submitted_at: 1,
  status: 'IN_PROGRESS',
  reason: null,
  ended_at: null,
}
const thread = (thread_id: string, status: ThreadRecord['status'] = 'MOVING', execution_id = 'e1'): ThreadRecord => ({
  thread_id,
  execution_id,
  thread_name: thread_id,
  template_name: 'plate',
  submission_id: 's1',
  group_id: 'g1',
  status,
  since: 2,
  pause_reason: null,
  last_error: null,
})

async function opened(t: Test, folder: string, told: string[] = []) {
  const clock = new VirtualClock()
  const file = await RecordFile.open({ folder, clock, report: ({ message }) => told.push(message) })
  t.teardown(() => file.close())
  return { file, clock }
}

const linesOf = async (folder: string) =>
  (await readFile(`${folder}/records.jsonl`, 'utf8')).split('\n').filter((line) => line.includes('"kind"'))

test('a run took as long as it took, whatever is done to the clock on the wall', async (t) => {
  let steady_ms = 0
  let wall = 500
  // Events go on from 1000, as after a clock that was ahead.
  const { runtime } = runtimeWith({ clock: { now: () => steady_ms, after: () => () => {} }, now: () => wall })
  for (const jump of [3600, -100]) {
    const from = wall
    const execution = await begin(runtime, { workflow: 'waiting' })
    steady_ms += 14_000
    wall += jump
    const joined = await begin(runtime, { workflow: 'waiting', batch_mode: 'JOIN_EXISTING' })
    for (const one of [execution, joined]) {
      one.abort('enough')
      await runtime.over(one)
    }
    const { started_at, ended_at } = runtime.records.execution(execution.execution_id)!
    t.equal(started_at, from)
    t.equal(ended_at! - started_at, 14, `the clock was set by ${jump} s`)
    const [submission] = runtime.records.submissionsOf(execution.execution_id)
    t.equal(submission!.ended_at! - submission!.submitted_at, 14)
  }
})

test('where only the log knows the end, it does not come before the beginning', (t) => {
  const records = new Records()
  records.accepted({ ...row, started_at: 5000 }, { ...submission, submitted_at: 5000 })
  const ending = { status: 'ABORTED' as const, reason: null, ended_at: 1400 }
  records.submissionEnded('e1', submission.submission_id, ending)
  records.executionEnded('e1', ending)
  t.equal(records.execution('e1')!.ended_at, 5000)
  t.equal(records.submissionsOf('e1')[0]!.ended_at, 5000)
  t.end()
})

test('a run is recorded from its submission to its end, with its groups', async (t) => {
  const { runtime } = runtimeWith()
  const groups = [
    { group_id: 'g1', members: {} },
    { group_id: 'g2', members: {} },
  ]
  const { execution_id, submissions } = await run(runtime, { workflow: 'shaken', groups, variables: { speed: 600 }, operator_id: 'ann' })
  const { records } = runtime
  t.match(records.execution(execution_id), {
    workflow_name: 'shaken',
    topology: 'bench',
    run_mode: 'PURE_SIM',
    status: 'COMPLETED',
    reason: null,
  })
  t.type(records.execution(execution_id)?.ended_at, 'number')
  const { submission_id } = submissions[0]!
  t.match(records.submission(submission_id), {
    status: 'COMPLETED',
    group_ids: ['g1', 'g2'],
    variables: { speed: 600 },
    operator_id: 'ann',
  })
  t.match(records.threads(execution_id), [
    { status: 'COMPLETED', group_id: 'g1', submission_id },
    { status: 'COMPLETED', group_id: 'g2' },
  ])
  t.same(records.groups(execution_id), [
    { submission_id, group_id: 'g1', outcome: 'COMPLETED', open: 0, ended: { COMPLETED: 1 } },
    { submission_id, group_id: 'g2', outcome: 'COMPLETED', open: 0, ended: { COMPLETED: 1 } },
  ])
})

test('the record of a thread that ended badly keeps the cause', async (t) => {
  const { runtime } = runtimeWith()
  const execution = await begin(runtime, { workflow: 'waiting' })
  execution.abort('enough')
  await runtime.over(execution)
  const [record] = runtime.records.threads(execution.execution_id)
  t.match(record, { status: 'ABORTED', last_error: 'enough' })
  t.match(runtime.records.execution(execution.execution_id), { status: 'ABORTED', reason: 'enough' })
})

test('a group of which a thread was aborted is not taken for a good one', async (t) => {
  const { runtime } = runtimeWith()
  const execution = await begin(runtime, {
    workflow: 'waiting',
    groups: [
      { group_id: 'good', members: {} },
      { group_id: 'bad', members: {} },
    ],
  })
  const { records } = runtime
  const outcomes = () => records.groups(execution.execution_id).map(({ group_id, outcome }) => `${group_id} ${outcome}`)
  t.same(outcomes(), ['good IN_PROGRESS', 'bad IN_PROGRESS'])
  const [good, bad] = execution.live()
  bad!.control.stop()
  await until(() => bad!.isOver)
  t.same(outcomes(), ['good IN_PROGRESS', 'bad ABORTED'])
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await until(() => good!.isOver)
  await runtime.over(execution)
  t.same(outcomes(), ['good COMPLETED', 'bad ABORTED'])
})

test('somebody else’s record service is told the same, and ours is not left out', async (t) => {
  const theirs = new Records()
  const { runtime } = runtimeWith({ recordService: theirs })
  const { execution_id } = await run(runtime, { workflow: 'shaken' })
  t.match(theirs.execution(execution_id), { status: 'COMPLETED' })
  t.same(theirs.all(), runtime.records.all())
})

test('a record service that throws keeps nothing from ours', async (t) => {
  const fail = () => {
    throw new Error('no')
  }
  const recordService: RecordStore = { accepted: fail, thread: fail, submissionEnded: fail, executionEnded: fail }
  const { runtime } = runtimeWith({ recordService })
  const { execution_id } = await run(runtime, { workflow: 'shaken' })
  t.match(runtime.records.execution(execution_id), { status: 'COMPLETED' })
  t.match(runtime.records.threads(execution_id), [{ status: 'COMPLETED' }])
})

test('what was accepted and what has ended is on the card at once, all else within a second', async (t) => {
  const folder = t.testdir()
  const { file, clock } = await opened(t, folder)
  file.records.accepted(row, submission)
  t.equal(clock.timers, 0, 'it waits for no time to go by')
  await file.written()
  t.equal((await linesOf(folder)).length, 2)
  for (const status of ['MOVING', 'EXECUTING_ACTION', 'MOVING'] as const) file.records.thread(thread('t1', status))
  t.equal((await linesOf(folder)).length, 2, 'nothing is written for a thread by itself')
  t.equal(clock.timers, 1)
  await clock.advance(1000)
  await file.written()
  const lines = await linesOf(folder)
  t.equal(lines.length, 3, 'one line for three changes')
  t.match(JSON.parse(lines[2]!), { kind: 'thread', thread_id: 't1', status: 'MOVING' })
  file.records.executionEnded('e1', { status: 'FAILED', reason: 'why', ended_at: 3 })
  await file.written()
  t.match(JSON.parse((await linesOf(folder)).at(-1)!), { kind: 'execution', status: 'FAILED', reason: 'why' })
  await file.close()
})

test('records survive: another process finds all of them, and the file begins anew with what counts', async (t) => {
  const folder = t.testdir()
  const first = (await opened(t, folder)).file
  first.records.accepted(row, submission)
  for (let i = 0; i < 50; i++) {
    first.records.thread(thread('t1', i % 2 ? 'MOVING' : 'EXECUTING_ACTION'))
    await first.written()
  }
  const all = first.records.all()
  const second = (await opened(t, folder)).file
  t.same(second.records.all(), all)
  t.equal((await linesOf(folder)).length, 52)
  second.records.executionEnded('e1', { status: 'COMPLETED', reason: null, ended_at: 9 })
  await second.written()
  t.equal((await linesOf(folder)).length, 3)
  await second.close()
})

test('a torn or damaged line costs itself alone, and what belongs to no execution is passed over', async (t) => {
  const folder = t.testdir()
  const told: string[] = []
  const { file } = await opened(t, folder)
  file.records.accepted(row, submission)
  await file.close()
  await appendFile(
    `${folder}/records.jsonl`,
    `\0\0\n${JSON.stringify({ kind: 'thread', ...thread('t9', 'MOVING', 'stranger') })}\n{"kind":"thr`,
  )
  const again = (await opened(t, folder, told)).file
  t.same(again.records.executions(), [row])
  t.same(again.records.threads('stranger'), [])
  t.match(told, [/records\.jsonl is damaged \(2 of 4 lines are not whole\): .* kept as records\.jsonl\.corrupt-/])
})

test('while the card cannot be written records are kept in memory, told once, and written when it can', async (t) => {
  const folder = t.testdir()
  const told: string[] = []
  const clock = new VirtualClock()
  const file = await RecordFile.open({ folder: `${folder}/later`, clock, report: ({ message }) => told.push(message) })
  file.records.accepted(row, submission)
  await t.rejects(file.written(), { code: 'storage' })
  await t.rejects(file.written(), { code: 'storage' })
  t.match(told, [/records of executions are not kept/])
  t.equal(told.length, 1)
  await mkdir(`${folder}/later`)
  await clock.advance(1000)
  await file.written()
  t.equal((await linesOf(`${folder}/later`)).length, 2)
  await file.close()
})

test('the newest thousand that have ended are known; open ones always are', async (t) => {
  const records = new Records()
  records.accepted({ ...row, execution_id: 'open' }, { ...submission, execution_id: 'open', submission_id: 'open' })
  for (let i = 0; i < 1005; i++) {
    const execution_id = `e${i}`
    records.accepted({ ...row, execution_id }, { ...submission, execution_id, submission_id: `s${i}` })
    records.executionEnded(execution_id, { status: 'COMPLETED', reason: null, ended_at: i })
  }
  const ids = records.executions().map(({ execution_id }) => execution_id)
  t.equal(ids.length, 1001)
  t.same([ids[0], ids[999], ids[1000]], ['e1004', 'e5', 'open'])
  t.equal(records.submission('s4'), undefined)
  t.type(records.submission('s5'), 'object')
})

test('runs in simulated time are forgotten before others, but for the newest hundred of them', async (t) => {
  const records = new Records()
  const end = (execution_id: string, run_mode: 'LIVE' | 'PURE_SIM') => {
    records.accepted({ ...row, execution_id, run_mode }, { ...submission, run_mode, execution_id, submission_id: `of ${execution_id}` })
    records.executionEnded(execution_id, { status: 'COMPLETED', reason: null, ended_at: 1 })
  }
  for (let i = 0; i < 900; i++) end(`live ${i}`, 'LIVE')
  for (let i = 0; i < 1000; i++) end(`pure ${i}`, 'PURE_SIM')
  const ids = new Set(records.executions().map(({ execution_id }) => execution_id))
  t.equal(ids.size, 1000)
  t.same([ids.has('live 0'), ids.has('pure 899'), ids.has('pure 900'), ids.has('pure 999')], [true, false, true, true])
  for (let i = 900; i < 1001; i++) end(`live ${i}`, 'LIVE')
  end('pure last', 'PURE_SIM')
  t.ok(
    records.executions().some(({ execution_id }) => execution_id === 'pure last'),
    'a run that has just ended is known',
  )
})

test('an execution of ten thousand threads is kept whole; of older ones only as many as there is room for', async (t) => {
  const records = new Records()
  for (const execution_id of ['e1', 'e2', 'e3']) {
    records.accepted({ ...row, execution_id }, { ...submission, execution_id, submission_id: `of ${execution_id}` })
    for (let i = 0; i < 10_000; i++) records.thread(thread(`${execution_id} ${i}`, 'COMPLETED', execution_id))
    records.executionEnded(execution_id, { status: 'COMPLETED', reason: null, ended_at: 1 })
  }
  t.same(
    records.executions().map(({ execution_id }) => execution_id),
    ['e3'],
  )
  t.equal(records.threads('e3').length, 10_000)
})

test('what was open when the service ended is aborted, in the order of any end, and says why', async (t) => {
  const { runtime, emit, events } = runtimeWith()
  const { records } = runtime
  records.accepted(row, submission)
  records.thread(thread('t1', 'COMPLETED'))
  records.thread(thread('t2', 'MOVING'))
  records.accepted({ ...row, execution_id: 'kept' }, { ...submission, execution_id: 'kept', submission_id: 's2' })
  const untold = async function* () {}
  t.equal(
    await abortOrphanedRuns(records, {
      isTakenUp: (execution_id) => execution_id === 'kept',
      events: untold,
      oldest: async () => undefined,
      emit,
    }),
    1,
  )
  t.same(
    events.map(({ event_name }) => event_name),
    ['THREAD.t2.ABORTED', 'GROUP.g1.COMPLETED', 'WORKFLOW.e1.ERRORED', 'SUBMISSION.s1.ABORTED', 'EXECUTION.e1.ABORTED'],
  )
  const reason = 'the service restarted'
  t.match(records.execution('e1'), { status: 'ABORTED', reason })
  t.match(records.submission('s1'), { status: 'ABORTED', reason })
  t.match(records.threads('e1'), [
    { status: 'COMPLETED', last_error: null },
    { status: 'ABORTED', last_error: reason, group_id: 'g1' },
  ])
  t.match(records.execution('kept'), { status: 'IN_PROGRESS' })
  t.equal(await abortOrphanedRuns(records, { isTakenUp: () => true, events: untold, oldest: async () => undefined, emit }), 0)
})

test('a run whose events were never written begins before it ends, if the log reaches back to its beginning', async (t) => {
  for (const [oldest_s, begins] of [
    [row.started_at, ['SUBMISSION.s1.ACCEPTED', 'WORKFLOW.e1.CREATED', 'THREAD.t1.CREATED']],
    [row.started_at + 1, []],
  ] as const) {
    const { runtime, emit, events } = runtimeWith()
    runtime.records.accepted(row, submission)
    runtime.records.thread(thread('t1', 'CREATED'))
    await abortOrphanedRuns(runtime.records, { isTakenUp: () => false, events: async function* () {}, oldest: async () => oldest_s, emit })
    t.same(
      events.map(({ event_name }) => event_name),
      [...begins, 'THREAD.t1.ABORTED', 'GROUP.g1.COMPLETED', 'WORKFLOW.e1.ERRORED', 'SUBMISSION.s1.ABORTED', 'EXECUTION.e1.ABORTED'],
    )
    t.match(runtime.records.threads('e1'), [{ status: 'ABORTED', group_id: 'g1' }])
  }
})

test('a record that was removed is gone from the file too', async (t) => {
  const folder = t.testdir()
  const { file } = await opened(t, folder)
  file.records.accepted(row, submission)
  file.records.thread(thread('t1'))
  file.records.remove('e1')
  await file.close()
  t.same((await opened(t, folder)).file.records.executions(), [])
})

const completed = { status: 'COMPLETED', reason: null, ended_at: 9 } as const

test('a run that ends within one write is there after a restart, with its rows in the order they came', async (t) => {
  const folder = t.testdir()
  const { file } = await opened(t, folder)
  // The first write begins the file with all there is.
  file.records.withdraw('never')
  await file.written()
  for (const execution_id of ['e1', 'e2']) {
    const submission_id = `of ${execution_id}`
    file.records.accepted({ ...row, execution_id }, { ...submission, execution_id, submission_id })
    for (const one of ['t1', 't2']) file.records.thread(thread(`${execution_id} ${one}`, 'MOVING', execution_id))
    file.records.thread(thread(`${execution_id} t1`, 'COMPLETED', execution_id))
    file.records.submissionEnded(execution_id, submission_id, completed)
    file.records.executionEnded(execution_id, completed)
  }
  file.records.remove('e2')
  file.records.accepted({ ...row, execution_id: 'e2' }, { ...submission, execution_id: 'e2', submission_id: 'of e2 anew' })
  const all = file.records.all()
  await file.close()
  const kinds = (await linesOf(folder)).map((line) => JSON.parse(line).kind)
  t.same(kinds, ['withdrawn', 'execution', 'submission', 'thread', 'thread', 'removed', 'execution', 'submission'])
  t.same((await opened(t, folder)).file.records.all(), all)
})

test('rows that lie before the row of their execution count, as earlier versions wrote them', async (t) => {
  const folder = t.testdir()
  const gone = { ...submission, submission_id: 'gone', execution_id: 'removed' }
  const rows = [
    { kind: 'submission', ...gone },
    { kind: 'removed', execution_id: 'removed' },
    { kind: 'execution', ...row, execution_id: 'removed' },
    { kind: 'submission', ...submission, ...completed },
    { kind: 'thread', ...thread('t1', 'COMPLETED') },
    { kind: 'thread', ...thread('t2', 'COMPLETED') },
    { kind: 'execution', ...row, ...completed },
  ]
  await writeFile(`${folder}/records.jsonl`, rows.map((one) => `${JSON.stringify(one)}\n`).join(''))
  const told: string[] = []
  const { records } = (await opened(t, folder, told)).file
  t.same(told, [])
  t.match(records.submission('s1'), completed)
  t.same(
    records.threads('e1').map(({ thread_id }) => thread_id),
    ['t1', 't2'],
  )
  t.equal(records.submission('gone'), undefined)
  t.same(records.submissionsOf('removed'), [])
})

test('two calls stop an execution, and a confirmation alone does nothing', async (t) => {
  const { runtime } = runtimeWith()
  const execution = await begin(runtime, { workflow: 'waiting' })
  t.throws(() => execution.stop(true), { code: 'conflict', message: /not armed/ })
  t.equal(execution.stop(false), 'armed')
  t.ok(execution.paused)
  execution.resume()
  t.throws(() => execution.stop(true), { code: 'conflict' }, 'resuming disarms it')
  execution.stop(false)
  t.equal(execution.stop(true), 'stopping')
  await runtime.over(execution)
  t.throws(() => execution.stop(false), { code: 'conflict', message: /has ended/ })
})
