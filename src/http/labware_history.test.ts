// Finding things again: the runs that had a plate, and where the plate was, over runs and restarts.

import { appendFileSync } from 'node:fs'
import { test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun, type Scripted } from '../testing/http_runs.ts'
import type { LabwareStep } from '../workflow/records/labware_history.ts'
import type { ExecutionSummary } from '../workflow/snapshot.ts'

type History = { labware: string; steps: LabwareStep[]; runs: number; next: string | null; damaged: number }

const groups = [{ group_id: 'g1', members: { plate: { barcode: 'P001' } } }]

/** A bench on which two runs have had the plate P001, one after the other. */
async function twoRuns(t: Parameters<typeof beginRun>[0]): Promise<{ run: Scripted; second: string }> {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'seal_it' }]), submission: { groups } })
  await placed(run)
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'LIVE', groups })
  await placed(run.of(execution_id))
  return { run, second: execution_id }
}

async function placed(run: Scripted): Promise<void> {
  const status = await run.until('the end', async () => {
    const { threads, status } = await run.snapshot()
    const waiting = threads.find((thread) => thread.status === 'AWAITING_MANUAL_PLACE')
    if (waiting) await run.ask('POST', `/api/threads/${waiting.thread_id}/placed`, { barcode: 'P001' })
    return status !== 'IN_PROGRESS' && status
  })
  if (status !== 'COMPLETED') throw new Error(status)
}

const historyOf = (run: Scripted, query = '', name = 'P001') => run.get<History>(`/api/labware/${name}/history${query}`)

test('where a plate was is told over two runs, the newest first, by its barcode and its id, and after a restart', async (t) => {
  const { run, second } = await twoRuns(t)
  const whole = await historyOf(run)
  t.match(whole, { labware: 'P001', runs: 2, next: null, damaged: 0 })
  const texts = [
    'Moved plate from sealer_in to pad_1 with arm-1',
    'Sealed with sealer-1 at 165 °C for 3 s',
    'Moved plate from pad_1 to sealer_in with arm-1',
  ]
  t.same(
    whole.steps.map(({ text }) => text),
    [...texts, ...texts, 'Said that plate stands at pad_1, and read its barcode P001'],
  )
  t.same(
    whole.steps.map(({ execution_id }) => execution_id),
    [...Array(3).fill(second), ...Array(4).fill(run.execution_id)],
  )
  const shaken = {
    kind: 'action',
    device_id: 'sealer-1',
    from: null,
    barcode: 'P001',
    workflow_name: 'work',
    run_mode: 'LIVE',
    outcome: 'COMPLETED',
  }
  t.match(whole.steps[1], { ...shaken, at: Number, started: Number })
  const again = await run.afterPowerCut()
  t.same(await historyOf(again), whole)
  t.match(await historyOf(again, '', whole.steps[0]!.labware_id!), { runs: Number, steps: [{ text: texts[0] }] })
})

test('steps are asked for by time, and in parts that join without a gap', async (t) => {
  const { run } = await twoRuns(t)
  const { steps } = await historyOf(run)
  const inParts: LabwareStep[] = []
  for (let query = '?limit=2'; inParts.length < 10; ) {
    const part = await historyOf(run, query)
    inParts.push(...part.steps)
    if (part.next === null) break
    query = `?limit=2&before=${part.next}`
  }
  t.same(inParts, steps)
  const { at: from } = steps[1]!
  t.same(
    (await historyOf(run, `?since=${from}`)).steps,
    steps.filter(({ at }) => at >= from),
  )
  t.same(
    (await historyOf(run, `?until=${from}`)).steps,
    steps.filter(({ at }) => at < from),
  )
  const { next } = await historyOf(run, '?limit=3')
  t.equal((await historyOf(run, `?limit=4&before=${next}`)).next, null, 'a page that ends with a run')
  t.match(await historyOf(run, '?mode=DEVICE_SIM'), { steps: [], runs: 0 })
  for (const [path, status] of [
    ['/api/labware/nothing/history', 404],
    ['/api/labware/P001/history?since=2&until=1', 400],
    ['/api/labware/P001/history?mode=PURE', 400],
    ['/api/labware/P001/history?before=5', 400],
    [`/api/labware/P001/history?before=${'0'.repeat(36)}.5`, 400],
  ] as const)
    isRefusal(t, await run.ask('GET', path), status)
})

test('a plate without a step in a kept record, a damaged line, and a deleted run', async (t) => {
  const { run, second } = await twoRuns(t)
  appendFileSync(`${run.bench.data_dir}/executions/${second}/record.jsonl`, '{"crc":"00000000","kind":"move"}\n')
  const late = await run.afterPowerCut()
  t.match(await historyOf(late), { damaged: 1, runs: 2 })
  for (const execution_id of [run.execution_id, second]) await late.bench.ask('DELETE', `/api/executions/${execution_id}`)
  isRefusal(t, await late.ask('GET', '/api/labware/P001/history'), 404, 'not_found')
})

test('runs are found by barcode, workflow, mode, text and time, in pages, also after a restart', async (t) => {
  const { run, second } = await twoRuns(t)
  const { execution_id: pure } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'PURE_SIM' })
  await run.of(pure).over()
  const first = run.execution_id
  const late = await run.afterPowerCut()
  for (const bench of [run, late]) {
    const page = (query: string) => bench.get<{ executions: ExecutionSummary[]; next: string | null }>(`/api/executions${query}`)
    const found = async (query: string) => (await page(query)).executions.map(({ execution_id }) => execution_id)
    t.same(await found(''), [pure, second, first])
    t.same(await found('?barcode=P001'), [second, first])
    t.same(await found('?barcode=P002'), [])
    t.same(await found('?mode=PURE_SIM&workflow=work&status=COMPLETED'), [pure])
    t.same(await found(`?text=${second.slice(0, 13).toUpperCase()}`), [second])
    t.same(await found('?text=p001'), [second, first])
    const { executions, next } = await page('?limit=2')
    t.equal(next, second)
    t.same(await found(`?limit=2&before=${next}`), [first])
    const began = executions[1]!.started_at
    t.ok(!(await found(`?until=${began}`)).includes(second))
    t.ok((await found(`?since=${began}`)).includes(second))
  }
  for (const [query, words] of [
    ['status=DONE', /status .*IN_PROGRESS/],
    ['mode=REAL', /mode .*LIVE/],
    ['since=monday', /since: it must be Unix time in seconds/],
    ['text=', /text: it must not be empty/],
    ['barcode=', /barcode/],
  ] as const) {
    const reply = await run.ask('GET', `/api/executions?${query}`)
    isRefusal(t, reply, 400, 'invalid')
    t.match(reply.text, words)
  }
})
