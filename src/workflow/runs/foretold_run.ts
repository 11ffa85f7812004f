// The rows of what was foretold of one run: at its start, and when its end is foretold otherwise by more than some share.

import type { RecordRow } from '../../events/run_record_file.ts'
import type { RunForecast } from '../threads/run_environment.ts'

type Run = {
  readonly started_at: number
  readonly record: { readonly forecasts: number; add(row: RecordRow): void }
}

/** The change of the end that is worth a row: this share of the time of the run, and so many seconds. */
const least_share = 0.05
const least_s = 10
/** The most rows of a run. */
const mostRows = 200

export class ForetoldRun {
  readonly #run: Run
  #last: { eta: number | null; reason: string | null } | undefined

  constructor(run: Run) {
    this.#run = run
  }

  note({ made_at, eta, left_s, progress, reason, basis }: RunForecast): void {
    const { record, started_at } = this.#run
    if (record.forecasts >= mostRows || !this.#isNews(eta, reason, made_at + left_s - started_at)) return
    const isFirst = this.#last === undefined
    this.#last = { eta, reason }
    record.add({ kind: 'forecast', at: made_at, eta, left_s, progress, ...(reason !== null && { reason }), ...(isFirst && { basis }) })
  }

  #isNews(eta: number | null, reason: string | null, whole_s: number): boolean {
    const last = this.#last
    if (!last || (eta === null) !== (last.eta === null)) return true
    if (eta === null || last.eta === null) return reason !== last.reason
    return Math.abs(eta - last.eta) > Math.max(least_s, least_share * whole_s)
  }
}
