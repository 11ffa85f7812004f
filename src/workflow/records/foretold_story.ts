// The story of the forecasts of a run: what was foretold at its start, and how long it took.

import { clock } from '../../kit/seconds.ts'

/** A row of the kind `forecast`; rows of other versions may lack members. */
type ForecastRow = Readonly<Record<string, unknown>>

/** Words what was foretold of an ended run: `foretold 41:10, took 42:05`; empty where nothing was, and for an open run. Times are Unix time, s. */
export function foretoldStory(
  rows: readonly ForecastRow[],
  { started_at, ended_at }: { started_at: number; ended_at: number | null },
): string {
  const first = rows.find(({ eta }) => typeof eta === 'number')
  if (!first || ended_at === null) return ''
  return `foretold ${clock(Math.max(0, Number(first['eta']) - started_at))}, took ${clock(ended_at - started_at)}`
}
