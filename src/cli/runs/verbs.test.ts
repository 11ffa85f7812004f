// Every word that an operator has for a run, on the demo's bench: what it does, and how it is refused.

import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { demo, running } from '../../testing/cli.ts'

const there = { start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' } }
const patient = {
  format: 1,
  name: 'patient',
  topology: 'demo',
  labware: { plate: { type: '96-well' }, lid: { type: 'lid' } },
  methods: {
    ask: [{ instruct: 'look at the plate' }],
    note: [{ emit: 'noted' }],
    open_it: [{ do: 'open', on: 'sealer-1', labware: ['plate'] }],
  },
  threads: {
    plate: { labware: 'plate', ...there, steps: [{ wait_for: 'go' }, { method: 'note' }, { method: 'ask' }] },
    lid: { labware: 'lid', start: { at: 'pad_3', mode: 'REUSE_EXISTING' }, end: { at: ['pad_3'], mode: 'LEAVE_IN_PLACE' }, steps: [] },
  },
  start: ['plate'],
}
const byHand = {
  ...patient,
  name: 'by-hand',
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'MANUAL_PLACE' },
      end: { at: ['pad_1'], mode: 'MANUAL_REMOVE' },
      steps: [{ method: 'note' }],
    },
  },
}
const opens = { ...patient, name: 'opens', threads: { plate: { labware: 'plate', ...there, steps: [{ method: 'open_it' }] } } }
const nobody = '00000000-0000-4000-8000-000000000000'

type Snapshot = { status: string; phase: string; threads: { thread_id: string; thread_name: string; status: string }[] }
type Bench = Awaited<ReturnType<typeof demo>>

/** A run of that workflow whose first thread has come to a status. */
async function submitted(t: Test, workflow: typeof patient | typeof byHand, status: string) {
  const bench = await demo(t)
  const { home, run } = bench
  writeFileSync(`${home}/workflow.json`, JSON.stringify(workflow))
  await run('workflows', 'put', `${home}/workflow.json`)
  const id = (await run('runs', 'submit', workflow.name)).stdout.trim()
  const snapshot = await comeTo(bench, id, status)
  return { ...bench, id, thread: snapshot.threads[0]!.thread_id }
}

function comeTo({ until }: Bench, id: string, status: string): Promise<Snapshot> {
  return until<Snapshot>(`/api/executions/${id}`, ({ threads }) => threads[0]?.status === status)
}

function ended({ until }: Bench, id: string): Promise<Snapshot> {
  return until<Snapshot>(`/api/executions/${id}`, ({ status }) => status !== 'IN_PROGRESS')
}

test('pause and resume, of a run and of one thread', async (t) => {
  const bench = await submitted(t, patient, 'AWAITING_EVENT')
  const { run, id, thread } = bench
  t.match(await run('runs', 'pause', id), { code: 0, stdout: /safe point/ })
  t.match(await run('runs', 'pause', id), { code: 0, stdout: 'it is paused already\n' })
  t.match(await run('runs', 'resume', id), { code: 0, stdout: /resumed/ })
  t.match(await run('runs', 'pause-thread', thread.slice(0, 8)), { code: 0, stdout: /safe point/ })
  t.match(await run('runs', 'resume-thread', thread), { code: 0, stdout: 'resumed\n' })
  t.match(await run('runs', 'stop-thread', thread), { code: 0, stdout: 'it stops\n' })
  await ended(bench, id)
  for (const verb of ['pause', 'resume', 'close']) t.match(await run('runs', verb, id), { code: 5, stdout: '', stderr: /has ended/ }, verb)
  t.match(await run('runs', 'pause', nobody), { code: 3, stderr: /no execution/ })
  t.match(await run('runs', 'pause-thread', thread), { code: 5, stderr: /has ended/ })
  t.match(await run('runs', 'pause-thread', nobody), { code: 3, stderr: /no thread/ })
})

test('skip, insert, spawn and emit take a run through its steps, and confirm ends a manual one', async (t) => {
  const bench = await submitted(t, patient, 'AWAITING_EVENT')
  const { run, json, id, until } = bench
  t.match(await run('runs', 'insert', id, '{"method": "note"}', '--before', 'ask'), { code: 0, stdout: /before plate\/ask/ })
  t.match(await run('runs', 'insert', id, '{"method": "nothing"}', '--after', 'ask'), { code: 2, stderr: /nothing/ })
  t.match(await run('runs', 'insert', id, '{"method": "note"}'), { code: 2, stderr: /--before ITEM or --after ITEM/ })
  t.match(await run('runs', 'insert', id, 'note', '--before', 'ask'), { code: 2, stderr: /is not JSON/ })
  t.match(await run('runs', 'skip', id, 'plate/note'), { code: 0, stdout: 'plate/note is skipped\n' })
  t.match(await run('runs', 'skip', id, 'no_such_step'), { code: 3, stderr: /no_such_step/ })
  t.match(await run('runs', 'spawn', id, 'lid'), { code: 0, stdout: /^thread lid is there/ })
  t.match(await run('runs', 'spawn', id, 'lids'), { code: 3, stderr: /lids/ })
  t.match(await run('runs', 'emit', id, 'go'), { code: 0, stdout: 'go is emitted\n' })
  const { steps } = await until<{ steps: { step_id: string }[] }>('/api/operator/steps', ({ steps }) => steps.length > 0)
  t.match(await run('runs', 'steps'), { code: 0, stdout: /^STEP .*\nmanual_step-\w+ .*look at the plate/ })
  t.match(await run('runs', 'confirm', steps[0]!.step_id), { code: 0 })
  t.match(await run('runs', 'confirm', steps[0]!.step_id), { code: 3, stderr: /waits for a confirmation/ })
  t.match(await ended(bench, id), { status: 'COMPLETED' })
  t.match(await json('runs', 'steps'), { steps: [] })
})

test('close lets a run end and takes no more; stop arms, stop --confirm aborts, and delete wants to be sure', async (t) => {
  const bench = await submitted(t, patient, 'AWAITING_EVENT')
  const { run, id } = bench
  t.match(await run('runs', 'close', id), { code: 0, stdout: 'it takes no more submissions\n' })
  t.match(await run('runs', 'delete', id, '--yes'), { code: 5, stdout: '' }, 'one that is open is not deleted')
  t.match(await run('runs', 'stop', id, '--confirm'), { code: 5, stderr: /not armed/ })
  t.match(await run('runs', 'stop', id), { code: 0, stdout: /^armed/ })
  t.match(await run('runs', 'stop', id, '--confirm'), { code: 0, stdout: /being aborted/ })
  t.match(await ended(bench, id), { status: 'ABORTED' })
  t.match(await run('runs', 'delete', id), { code: 2, stdout: '', stderr: /delete run .*--yes/ })
  // Nobody is asked to be sure about what is not there.
  const absent = [
    ['runs', 'delete', 'nothing'],
    ['runs', 'delete', randomUUID()],
    ['workflows', 'delete', 'nothing'],
    ['key', 'revoke', 'nobody00'],
  ]
  for (const args of [...absent, ['teachpoints', 'rm', 'arm-1', 'nowhere']])
    t.match(await run(...args), { code: 3, stdout: '', stderr: /^benchd: .*there is/ }, args.join(' '))
  t.match(await run('runs', 'show', id), { code: 0 }, 'it is still there')
  t.match(await run('runs', 'delete', id, '--yes', '--quiet'), { code: 0, stdout: '', stderr: '' })
  t.match(await run('runs', 'show', id), { code: 3 })
})

test('placed and removed say what was carried by hand', async (t) => {
  const bench = await submitted(t, byHand, 'AWAITING_MANUAL_PLACE')
  const { run, id, thread } = bench
  t.match(await run('runs', 'removed', thread), { code: 5, stdout: '' })
  t.match(await run('runs', 'placed', thread.slice(0, 8)), { code: 0, stdout: 'plate stands at pad_1\n' })
  await comeTo(bench, id, 'AWAITING_MANUAL_REMOVE')
  t.match(await run('runs', 'removed', thread), { code: 0, stdout: 'plate is taken away\n' })
  t.match(await ended(bench, id), { status: 'COMPLETED' })
})

/** A run whose thread an error holds. */
async function held(t: Test) {
  const bench = await demo(t, { scale: 50 })
  const { home, run, ask } = bench
  writeFileSync(`${home}/workflow.json`, JSON.stringify(opens))
  await run('workflows', 'put', `${home}/workflow.json`)
  await ask('POST', '/api/sim/devices/sealer-1/faults', { fault: 'no_reply' })
  const id = (await run('runs', 'submit', 'opens')).stdout.trim()
  const { threads } = await comeTo(bench, id, 'PAUSED')
  return { bench, run, id, thread: threads[0]!.thread_id }
}

test('recover decides about the error that holds a thread, and names what is possible', async (t) => {
  const { bench, run, id, thread } = await held(t)
  t.match(await run('runs', 'why', id), { code: 0, stdout: /sealer-1/ })
  t.match(await run('runs', 'recover', thread, 'pray'), { code: 2, stderr: /decision/ })
  t.match(await run('runs', 'recover', nobody, 'RETRY'), { code: 3, stderr: /no thread/ })
  t.match(await run('runs', 'recover', thread.slice(0, 8), 'abort_thread'), {
    code: 0,
    stdout: /^the decision about .* is ABORT_THREAD\n$/,
  })
  await ended(bench, id)
  t.match(await run('runs', 'recover', thread, 'RETRY'), { code: 5, stderr: /has ended/ })
})

test('an incident is listed, shown and acknowledged, and words for a late device call are refused for another', async (t) => {
  const { run, json, id } = await held(t).then(({ bench, ...its }) => ({ ...bench, ...its }))
  const { incidents } = await json<{ incidents: { incident_id: string }[] }>('incidents', 'list', '--new', '--execution', id)
  const incident = incidents[0]!.incident_id
  t.match(await run('incidents'), { code: 0, stdout: /^ID .*\n[\s\S]*DEVICE_INIT_FAILED/ })
  t.match(await run('incidents', 'show', incident.slice(0, 8)), { code: 0, stdout: /DEVICE_INIT_FAILED\n[\s\S]*seen by +nobody yet/ })
  t.match(await json('incidents', 'show', incident), { incident_id: incident, execution_id: id })
  t.match(await run('incidents', 'ack', incident.slice(0, 8)), { code: 0, stdout: 'seen by local\n' })
  t.match(await run('incidents', 'show', incident), { stdout: /seen by +local, 20/ })
  t.notMatch((await run('incidents', 'list', '--new')).stdout, incident)
  t.match(await run('incidents', 'ack', nobody), { code: 3, stderr: /no incident/ })
  t.match(await run('incidents', 'show', 'zzzz'), { code: 3, stderr: /benchd incidents list/ })
  for (const args of [
    ['extend', incident, '60'],
    ['abort-call', incident, '--yes'],
    ['complete-call', incident],
  ])
    t.match(await run('runs', ...args), { code: 3, stdout: '', stderr: /./ }, args.join(' '))
  t.match(await run('runs', 'extend', incident, 'long'), { code: 2, stderr: /not a number of seconds/ })
  t.match(await run('runs', 'abort-call', incident), { code: 2, stderr: /halt the device.*--yes/ })
})

test('submit --follow ends with 6 when an error holds its one thread, and says why and what to type', async (t) => {
  const { home, dir, run, json } = await demo(t, { scale: 50 })
  writeFileSync(`${home}/workflow.json`, JSON.stringify(opens))
  await run('workflows', 'put', `${home}/workflow.json`)
  await run('sim', 'fault', 'sealer-1', 'no_reply')
  const followed = running(t, home, ['runs', 'submit', 'opens', '--follow', ...dir])
  const id = await followed.line(/^([0-9a-f]{8})-/)
  await followed.line(/plate: waits for a decision/)
  followed.child.stdout.resume()
  const { code, stderr } = await followed.ended
  t.equal(code, 6)
  t.match(
    stderr,
    new RegExp(`^benchd: the run stands: plate: .*sealer-1.*; what to do: benchd runs why ${id}; .*benchd runs follow ${id}\\n$`),
  )
  const { threads } = await json<Snapshot>('runs', 'show', id)
  t.match(await run('runs', 'recover', threads[0]!.thread_id, 'ABORT_THREAD'), { code: 0 })
})

test('submit --follow ends with 6 when the run is paused, also with --json, and goes on while it waits for an event or a manual step', async (t) => {
  const { home, dir, run, until } = await demo(t)
  writeFileSync(`${home}/workflow.json`, JSON.stringify(patient))
  await run('workflows', 'put', `${home}/workflow.json`)
  const paused = running(t, home, ['runs', 'submit', 'patient', '--follow', '--json', ...dir])
  const id = await paused.line(/"execution_id":"([^"]+)"/)
  await paused.line(/AWAITING_EVENT/)
  await run('runs', 'pause', id)
  t.match(JSON.parse(await paused.line(/^.*"standing".*$/)), { success: false, error: 'standing', message: /paused.*benchd runs why/ })
  t.match(await paused.ended, { code: 6 })
  await run('runs', 'stop', id)
  await run('runs', 'stop', id, '--confirm')
  const followed = running(t, home, ['runs', 'submit', 'patient', '--follow', ...dir])
  const next = await followed.line(/^([0-9a-f-]{36})$/)
  await until<{ threads: { status: string }[] }>(`/api/executions/${next}`, ({ threads }) => threads[0]?.status === 'AWAITING_EVENT')
  await run('runs', 'emit', next, 'go')
  await followed.line(/somebody is asked: look at the plate; confirm with: benchd runs confirm /)
  const { steps } = await until<{ steps: { step_id: string }[] }>('/api/operator/steps', ({ steps }) => steps.length > 0)
  await run('runs', 'confirm', steps[0]!.step_id)
  followed.child.stdout.resume()
  t.match(await followed.ended, { code: 0 })
})

test('fault and mend break a simulator of a rehearsal and mend it', async (t) => {
  const bench = await demo(t)
  const { home, run } = bench
  writeFileSync(`${home}/workflow.json`, JSON.stringify(patient))
  await run('workflows', 'put', `${home}/workflow.json`)
  const id = (await run('runs', 'submit', 'patient', '--mode', 'DEVICE_SIM')).stdout.trim()
  t.match(await run('runs', 'fault', id.slice(0, 8), 'sealer-1', 'jam'), { code: 0, stdout: 'sealer-1 has the fault jam\n' })
  t.match(await run('runs', 'fault', id, 'sealer-1', 'jam', '--after', 'soon'), { code: 2, stderr: /not a number of seconds/ })
  t.match(await run('runs', 'mend', id, 'sealer-1'), { code: 0, stdout: 'sealer-1 is mended\n' })
  t.match(await run('runs', 'fault', id, 'nobody', 'jam'), { code: 3 })
})

test('what is said at the submission and noted later stands in the record of the run', async (t) => {
  const { home, run, until } = await demo(t)
  writeFileSync(`${home}/workflow.json`, JSON.stringify(patient))
  await run('workflows', 'put', `${home}/workflow.json`)
  const about = ['--project', 'screen 7', '--tag', 'pilot', '--tag', 'day 2', '--note', 'new lot of plates']
  t.match(await run('runs', 'submit', 'patient', '--tag', ''), { code: 2 })
  const id = (await run('runs', 'submit', 'patient', ...about)).stdout.trim()
  t.match(await run('runs', 'note', 'patient', 'lid pressed on', '--tag', 'deviation'), { code: 0, stdout: /^the note is in the record/ })
  const rowsOf = async (kind: string) => (await until<{ rows: object[] }>(`/api/executions/${id}/record?kind=${kind}`, () => true)).rows
  const submission = { kind: 'submission', project: 'screen 7', tags: ['pilot', 'day 2'], notes: 'new lot of plates' }
  t.match(await rowsOf('submission'), [submission])
  t.match(await rowsOf('note'), [{ kind: 'note', text: 'lid pressed on', tags: ['deviation'] }])
  t.match(await run('runs', 'note', id.slice(0, 8), ' '), { code: 2, stderr: /must not be empty/ })
})
