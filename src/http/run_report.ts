// The routes by which a run is shown to others: its report, one HTML file for people who have not seen the run, and its record as it lies on the disk.

import { recordBytes } from '../events/run_record_reader.ts'
import { packageVersion } from '../kit/package_version.ts'
import { reportPieces } from '../workflow/records/report/report.ts'
import { answerPolicy } from '../workflow/records/report/style.ts'
import { type Route, routesOf } from './contract.ts'
import { knownBy } from './known_execution.ts'
import { answerPieces, type Rooms, recordFor } from './run_records.ts'

const route = routesOf<Rooms>('runs')

export const runReportRoutes: Route<Rooms>[] = [
  route('GET', '/api/executions/:execution_id/report', {
    operation_id: 'getReport',
    summary: 'Get the report of an execution as one HTML file, which prints on A4',
    description:
      'The report says which workflow ran when, by whom and on which devices; which labware was where, when and at which temperature; what went wrong, and who decided what. It has values, files, notes ' +
      'and lines for signatures, is made from the record, needs no script and no other file, and is for people who have not seen the run. The report of an open execution ends with the ' +
      'last row. PURE_SIM executions have no record, and so no report.',
    scope: 'read',
    success: { description: 'The report', media_type: 'text/html', headers: ['Content-Disposition'] },
    errors: [404, 503],
    async handle(call) {
      const { row, records } = knownBy(call.rooms, call.param('execution_id'))
      const record = await recordFor(call)
      const threads = records.threads(row.execution_id)
      const report = { ...record, execution: row, threads, version: packageVersion(), made_at: Date.now() / 1000 }
      const name = `report-${row.execution_id.slice(0, 8)}.html`
      return answerPieces(call, reportPieces(report), 'text/html; charset=utf-8', {
        'Content-Disposition': `inline; filename="${name}"`,
        'Content-Security-Policy': answerPolicy,
        'X-Content-Type-Options': 'nosniff',
      })
    },
  }),
  route('GET', '/api/executions/:execution_id/record.jsonl', {
    operation_id: 'fetchRecord',
    summary: 'Download the record of an execution as it lies on the disk',
    description:
      'A line of JSON for each row. Each has a checksum: `crc` is the CRC-32 of the text from the comma after it to the last brace. An export keeps these lines, so that ' +
      'a changed one can be told later.',
    scope: 'read',
    success: { description: 'The lines', media_type: 'application/jsonl', headers: ['Content-Disposition'] },
    errors: [404, 503],
    async handle(call) {
      const { path, length } = await recordFor(call)
      return answerPieces(call, recordBytes(path, length), 'application/jsonl', {
        'Content-Disposition': 'attachment; filename="record.jsonl"',
        'X-Content-Type-Options': 'nosniff',
      })
    },
  }),
]
