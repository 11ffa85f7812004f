// The report and the record of a run, as they are downloaded.

import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'
import { recordText, rowsOfRun } from '../testing/records.ts'

test('the report of a run is one page in which nothing can run, while the run is open, after its end, and after a restart', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  const path = `/api/executions/${run.execution_id}/report`
  const open = await run.ask('GET', path)
  t.equal(open.status, 200)
  t.match(open.text, /The run is still open/)
  t.equal(await run.over(), 'COMPLETED')
  const { headers, text } = await run.ask('GET', path)
  t.match(headers.get('content-type'), /^text\/html/)
  t.match(headers.get('content-disposition'), `inline; filename="report-${run.execution_id.slice(0, 8)}.html"`)
  t.match(headers.get('content-security-policy'), /^default-src 'none'; style-src 'sha256-[^']+'; .*frame-ancestors 'none'; sandbox$/)
  t.equal(headers.get('x-content-type-options'), 'nosniff')
  t.match(text, /The run ended COMPLETED<\/strong>, after [\d:. a-z]+: 1 labware, [1-9]\d* steps/)
  t.match(text, /<caption>plate: thread plate, completed<\/caption>/)
  t.match(text, /pad_1 → shaker_in/)
  t.match(text, /shake: speed 500, duration 60/)
  const again = await run.afterPowerCut()
  const late = (await again.ask('GET', path)).text
  const without = (report: string) => report.replace(/<dt>Report<\/dt><dd>.*?<\/dd>/, '')
  t.equal(without(late), without(text))
})

test('the record is downloaded byte by byte as it lies on the disk, and a report is made of rows of every kind', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  t.equal(await run.over(), 'COMPLETED')
  const again = await run.afterPowerCut()
  const file = `${again.bench.bench.hub.states.folder}/${run.execution_id}/record.jsonl`
  const { headers, text } = await again.ask('GET', `/api/executions/${run.execution_id}/record.jsonl`)
  t.equal(text, readFileSync(file, 'utf8'))
  t.match(headers.get('content-type'), 'application/jsonl')
  writeFileSync(file, recordText(rowsOfRun(1000)))
  const report = await again.ask('GET', `/api/executions/${run.execution_id}/report`)
  t.match(report.text, /1001 labware|1000 labware/)
  t.match(report.text, 'SN-42')
})

test('a run in PURE_SIM has no report, and says so', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'PURE_SIM' })
  for (const name of ['report', 'record.jsonl']) {
    const reply = await run.ask('GET', `/api/executions/${execution_id}/${name}`)
    isRefusal(t, reply, 404)
    t.match(reply.body, { detail: /has no record: PURE_SIM executions keep none/ })
  }
})
