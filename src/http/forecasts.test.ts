// The ends of open runs that are foretold: what the API says of them, what the record keeps, and that no code is executed for them.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { beginRun, plateRun, type Scripted, seal, shake } from '../testing/http_runs.ts'
import type { ExecutionSnapshot, ExecutionSummary } from '../workflow/snapshot.ts'

/** A run with an action whose code writes the mode into a file. */
function coded(file: string): string {
  return `
  import { appendFileSync } from 'node:fs'
  export default {
    ...${JSON.stringify(plateRun([{ method: 'all' }], { methods: undefined }))},
    methods: {
      all: [
        ${JSON.stringify(shake)},
        { name: 'note', on: 'shaker-1', seconds: 40, async body(ctx) { appendFileSync(${JSON.stringify(file)}, ctx.mode + '\\n') } },
        ${JSON.stringify(seal)},
      ],
    },
  }`
}

function fileIn(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-forecasts-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return join(folder, 'written')
}

const firstForecast = (run: Scripted): Promise<ExecutionSnapshot> =>
  run.until('a forecast', async () => {
    const snapshot = await run.snapshot()
    return snapshot.forecast ? snapshot : undefined
  })

type Rows = { rows: { kind: string; eta: number | null; basis?: object }[] }

test('no code is executed for a forecast, and a dry run says to the code that it is one', { skip: noTypeScript }, async (t) => {
  const file = fileIn(t)
  const run = await beginRun(t, { workflow: coded(file) })
  const path = `/api/executions/${run.execution_id}`
  const { bench } = run
  const snapshot = await firstForecast(run)
  t.type(snapshot.eta, 'number', `${snapshot.eta_reason}`)
  t.match(snapshot.forecast, { basis: { by: 'sum', assumed: ['the code of note is not executed: it counts as 40 s (declared)'] } })
  t.same(
    snapshot.threads[0]?.next?.map(({ name, at }) => [name, at]),
    [
      ['shake', 'shaker-1'],
      ['note', 'shaker-1'],
      ['seal', 'sealer-1'],
    ],
  )
  const kept = await bench.ask('GET', `${path}/forecast`)
  t.match(kept.body, { verdict: 'completes', gantt: [] })
  const { gantt } = kept.body as { gantt: { name: string; from_s: number; to_s: number }[] }
  const note = gantt.find(({ name }) => name === 'note')!
  t.equal(Math.round(note.to_s - note.from_s), 40, 'its declared duration counts')
  t.notOk(existsSync(file), 'no forecast has executed it')
  const dry = await bench.ask('POST', '/api/simulations', { json: { workflow: 'work', run_mode: 'LIVE' } })
  t.match(dry.body, { verdict: 'completes' })
  t.equal(readFileSync(file, 'utf8'), 'dry_run\n', 'a dry run that somebody asks for executes it')
  const execution = bench.bench.runs.runtime.runs.get(run.execution_id)!
  while (!execution.isOver) await bench.clock.advance(500)
  t.equal(readFileSync(file, 'utf8'), 'dry_run\nLIVE\n')
  const ended = await run.get<ExecutionSummary>(path)
  t.equal(ended.eta, undefined, 'a run that has ended has no forecast')
  const { rows } = await run.get<Rows>(`${path}/record?kind=forecast`)
  t.ok(rows.length >= 1 && rows.length < 20, `${rows.length} rows`)
  t.match(rows[0], { basis: { by: 'sum' } })
  const error = Math.abs(rows[0]!.eta! - ended.ended_at!) / (ended.ended_at! - ended.started_at)
  // The code takes no time, and counts as 40 s.
  t.ok(error < 0.35, `the first forecast was wrong by ${error}`)
  const report = await bench.ask('GET', `${path}/report`)
  t.match(report.text, /<dt>Forecast<\/dt><dd>foretold \d+:\d\d, took \d+:\d\d<\/dd>/)
})

test('operations before the threads delay the end that is foretold', async (t) => {
  const spin = { do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 300 } }
  const run = await beginRun(t, { workflow: plateRun([{ action: shake }], { methods: {}, before: [spin] }) })
  const { forecast, threads } = await firstForecast(run)
  t.ok(forecast!.left_s > 300, `${forecast!.left_s} s`)
  t.type(threads.find(({ thread_name }) => thread_name === 'plate')?.eta, 'number')
})

test('the end of a run is told in lists and metrics; a paused run has none, and says why', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ action: shake }, { action: seal }]) })
  const { ask, clock } = run.bench
  await firstForecast(run)
  const listed = async () => (await run.get<{ executions: ExecutionSummary[] }>('/api/executions')).executions[0]!
  const first = await listed()
  t.type(first.eta, 'number')
  t.ok(first.progress! >= 0 && first.progress! < 0.2, `${first.progress}`)
  t.match((await ask('GET', '/metrics')).text, /\nbenchd_run_seconds_left\{execution_id="[^"]+",workflow="work"\} [1-9]/)
  t.match((await ask('GET', '/metrics')).text, /\nbenchd_run_progress_ratio\{/)
  await run.post(`/api/executions/${run.execution_id}/pause`)
  t.match(await listed(), { eta: null, eta_reason: 'the run is paused' })
  await clock.advance(60_000)
  await run.post(`/api/executions/${run.execution_id}/resume`)
  await clock.advance(15_000)
  const later = await listed()
  t.ok(later.eta! > first.eta!, 'the pause makes it later')
  t.ok(later.progress! > 0)
})

test('a run in simulated time has no end on the clock', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'never' }]) })
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'PURE_SIM' })
  const snapshot = await run.get(`/api/executions/${execution_id}`)
  t.match(snapshot, { eta: null, eta_reason: /simulated time/, progress: null, forecast: null })
})

test('a run that waits for an event that nothing emits has a reason in place of an end', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'never' }, { action: shake }]) })
  const snapshot = await firstForecast(run)
  t.match(snapshot, { eta: null, eta_reason: /^plate waits for the event never, which nothing emits$/ })
  t.ok(snapshot.forecast!.left_s > 60, 'what is left once it comes is told')
})

test('a run that waits for a person has no end, also where the last forecast did not know', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ action: shake }, { action: { instruct: 'look at the plate' } }]) })
  const before = await firstForecast(run)
  t.type(before.eta, 'number')
  const waiting = await run.until('a task', async () => {
    const snapshot = await run.snapshot()
    return snapshot.needs_person_count > 0 ? snapshot : undefined
  })
  t.match(waiting, {
    eta: null,
    eta_reason: /^plate waits for an operator to confirm/,
    threads: [{ eta_reason: /^waits for an operator/ }],
  })
  t.notMatch((await run.bench.ask('GET', '/metrics')).text, /\nbenchd_run_seconds_left\{/)
})

test('a service that ends leaves no timer of a forecast behind', async (t) => {
  const { bench } = await beginRun(t, { workflow: plateRun([{ wait_for: 'never' }]) })
  await bench.clock.advance(15_000)
  await bench.bench.close()
  // A simulated instrument may have bytes on its line, for some milliseconds.
  await bench.clock.advance(1000)
  t.equal(bench.clock.timers, 0)
})
