// The notes in the record of a run: at its submission, while it is open, and after its end.

import { appendFileSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun, type Scripted } from '../testing/http_runs.ts'

type Rows = { rows: Record<string, unknown>[]; damaged: number }

const pathOf = (run: Scripted) => `/api/executions/${run.execution_id}`
const recordOf = (run: Scripted, kind: string) => run.get<Rows>(`${pathOf(run)}/record?kind=${kind}`)
const fileOf = (run: Scripted) => join(run.bench.data_dir, 'executions', run.execution_id, 'record.jsonl')
const texts = ({ rows }: Rows) => rows.map(({ text }) => text)

test('a submission has who submitted it, the project, tags and notes, the time zone and the version', async (t) => {
  const about = { project: 'screen 7', tags: ['pilot', 'day 2'], notes: 'new lot of plates' }
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]), submission: about })
  const { rows } = await recordOf(run, 'submission')
  t.match(rows, [{ by: 'key to admin', zone: String, benchd: /^\d/, ...about }])
  const { path, bad } = { path: '/api/submissions', bad: { workflow: 'work', run_mode: 'PURE_SIM' } }
  for (const wrong of [{ tags: [''] }, { tags: Array(33).fill('a') }, { notes: ' ' }, { notes: 'n'.repeat(4001) }, { project: '' }])
    isRefusal(t, await run.ask('POST', path, { ...bad, ...wrong }), 400, 'invalid')
  const id = '00000000-0000-4000-8000-000000000001'
  const first = await run.post<{ execution_id: string }>(path, { ...bad, ...about, submission_id: id })
  t.match(await run.post(path, { ...bad, ...about, submission_id: id }), { execution_id: first.execution_id })
  isRefusal(t, await run.ask('POST', path, { ...bad, submission_id: id }), 409, 'conflict')
})

test('a run is found by the project, the tags and the notes of its submission, also after a restart', async (t) => {
  const about = { project: 'screen 7', tags: ['pilot'], notes: 'new lot of plates' }
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]), submission: about })
  const run = await before.afterPowerCut()
  for (const [query, count] of [
    ['tag=pilot', 1],
    ['tag=pilo', 0],
    ['project=screen%207', 1],
    ['text=NEW+LOT', 1],
  ] as const)
    t.equal((await run.get<{ executions: unknown[] }>(`/api/executions?${query}`)).executions.length, count, query)
})

test('a note is kept in an open run and in an ended one, over restarts', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
  await before.post(`${pathOf(before)}/notes`, { text: 'lid pressed on', tags: ['deviation'] })
  const run = await before.afterPowerCut()
  t.match(await recordOf(run, 'note'), {
    rows: [{ by: 'key to admin', at: Number, text: 'lid pressed on', tags: ['deviation'] }],
    damaged: 0,
  })
  await run.post(`${pathOf(run)}/resume`)
  await run.emits('go')
  t.equal(await run.over(), 'COMPLETED')
  await run.post(`${pathOf(run)}/notes`, { text: 'plate went to the freezer' })
  await Promise.all([1, 2, 3].map((i) => run.post(`${pathOf(run)}/notes`, { text: `at once ${i}` })))
  const all = ['lid pressed on', 'plate went to the freezer', 'at once 1', 'at once 2', 'at once 3']
  t.same(texts(await recordOf(run, 'note')), all)
  const late = await run.afterPowerCut()
  await late.post(`${pathOf(late)}/notes`, { text: 'read again' })
  t.same(texts(await recordOf(late, 'note')), [...all, 'read again'])
  t.match(await recordOf(late, 'ended'), { rows: [{ status: 'COMPLETED', threads: { COMPLETED: 1 } }], damaged: 0 })
})

test('a note after a torn one: that was never acknowledged, and is cut off', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  t.equal(await run.over(), 'COMPLETED')
  await run.post(`${pathOf(run)}/notes`, { text: 'first' })
  const whole = statSync(fileOf(run)).size
  const lines = readFileSync(fileOf(run), 'utf8')
  const last = lines.trimEnd().split('\n').at(-1)!
  for (const torn of [last.slice(0, 30), last, `${last}${' '.repeat(200_000)}`]) {
    appendFileSync(fileOf(run), torn)
    await run.post(`${pathOf(run)}/notes`, { text: 'next' })
    const { rows, damaged } = await run.get<Rows>(`${pathOf(run)}/record`)
    t.equal(damaged, 0)
    t.same(
      rows.filter(({ kind }) => kind === 'note').map(({ text }) => text),
      ['first', 'next'],
    )
    truncateSync(fileOf(run), whole)
  }
})

test('notes are bounded, audited, and refused where there is no record', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
  const path = `${pathOf(run)}/notes`
  for (const wrong of [{}, { text: '' }, { text: ' \n' }, { text: 'n'.repeat(4001) }, { text: 'a', tags: ['\n'] }])
    isRefusal(t, await run.ask('POST', path, wrong), 400, 'invalid')
  isRefusal(t, await run.bench.ask('POST', path, { key: 'read', json: { text: 'a' } }), 403)
  isRefusal(t, await run.ask('POST', '/api/executions/nothing/notes', { text: 'a' }), 404)
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'PURE_SIM' })
  isRefusal(t, await run.ask('POST', `/api/executions/${execution_id}/notes`, { text: 'a' }), 404)
  for (let i = 0; i < 1000; i++) await run.post(path, { text: `${i}` })
  isRefusal(t, await run.ask('POST', path, { text: 'one too many' }), 409, 'conflict')
  const { entries } = await run.get<{ entries: { what: string; status: number }[] }>('/api/system/audit?limit=2&outcome=done')
  t.match(entries.at(-1), { what: `POST ${path}`, status: 200 })
})
