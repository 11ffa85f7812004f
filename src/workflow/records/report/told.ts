// Reads the record of a run once, for its report.

import { keptForecast } from '../../../events/run_forecast.ts'
import { rowsOfRecord } from '../../../events/run_record_reader.ts'
import type { ExecutionRow } from '../records.ts'
import { type KnownThread, ReportFacts } from './facts.ts'
import { ZonedTime } from './time.ts'

export type ReportOf = {
  /** The place of the record, and the bytes of it that may be read. */
  path: string
  length?: number | undefined
  execution: ExecutionRow
  threads: readonly KnownThread[]
  /** The version of benchd that makes the report. */
  version: string
  /** Unix time, s. */
  made_at: number
}

/**
 * The facts from which the parts of a report are made. `until`: the end of the run, or of the record of an open run; Unix time, s. `foretold_s`: the makespan of
 * its forecast, if one was made.
 */
export type Told = ReportOf & { facts: ReportFacts; time: ZonedTime; from: number; until: number; foretold_s: number | undefined }

export async function told(report: ReportOf): Promise<Told> {
  const { execution, path, length } = report
  const facts = new ReportFacts()
  for await (const { rows, damaged } of rowsOfRecord(path, { length })) {
    facts.damaged += damaged
    for (const row of rows) facts.add(JSON.parse(row))
  }
  facts.finish(report.threads)
  const zone = facts.submissions.map(({ zone }) => zone).find((one) => typeof one === 'string') as string | undefined
  const from = Math.min(execution.started_at, facts.first)
  const until = Math.max(from, execution.ended_at ?? facts.last)
  const { makespan_s } = ((await keptForecast(path).catch(() => null)) ?? {}) as { makespan_s?: unknown }
  const foretold_s = typeof makespan_s === 'number' ? makespan_s : undefined
  return { ...report, facts, foretold_s, time: new ZonedTime(zone ?? null), from, until }
}
