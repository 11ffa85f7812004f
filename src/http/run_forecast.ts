// The route of the forecast of a run: what it was expected to do when.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { keepForecast, keptForecast } from '../events/run_forecast.ts'
import { described } from '../kit/described.ts'
import { DryRun } from '../workflow/dry_run.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import type { Runtime } from '../workflow/runtime.ts'
import { type Route, routesOf } from './contract.ts'
import { knownBy } from './known_execution.ts'
import { answerHeaders } from './open_stream.ts'
import { type Rooms, recordFor } from './run_records.ts'

const route = routesOf<Rooms>('runs')

const { verdict, makespan_s, gantt, dropped, plan } = DryRun.entries
const Forecast = v.strictObject({
  made_at: described(v.number(), 'Unix time', 's'),
  ...{ verdict, makespan_s, gantt, dropped },
  // An earlier version made forecasts without it.
  plan: v.optional(plan),
})

/** The answers that are being made, by the path of the record: requests at once share one. */
const underWay = new Map<string, Promise<string>>()

export const runForecastRoutes: Route<Rooms>[] = [
  route('GET', '/api/executions/:execution_id/forecast', {
    operation_id: 'getForecast',
    summary: 'Get what an execution was expected to do when',
    description:
      'The dry run of its first submission, made at the first request while the execution is open, and kept with its record: later requests get the same. ' +
      'An execution without a record has no forecast, and neither has one that ended before somebody asked. A damaged forecast counts as none.',
    scope: 'read',
    success: { description: 'The forecast; its seconds are those of the dry run', schema: Forecast },
    errors: [404, 503],
    async handle(call) {
      const { runtime } = call.rooms.runs
      const { execution, row } = knownBy(call.rooms, call.param('execution_id'))
      const { path } = await recordFor(call)
      const begin = () => {
        const made = forecastOf(runtime, { execution, path, execution_id: row.execution_id }).finally(() => underWay.delete(path))
        underWay.set(path, made)
        return made
      }
      return new Response(await (underWay.get(path) ?? begin()), { headers: answerHeaders('application/json') })
    },
  }),
]

type Wanted = { execution: Execution | undefined; path: string; execution_id: string }

/** Returns the kept forecast as JSON, or makes that of an open run and keeps it. Where the disk does not take it, the next request makes another. */
async function forecastOf(runtime: Runtime, { execution, path, execution_id }: Wanted): Promise<string> {
  const kept = await keptForecast(path)
  if (v.is(Forecast, kept) && execution) noteSaving(execution, kept)
  if (v.is(Forecast, kept)) return `${JSON.stringify(kept)}\n`
  if (!execution || execution.isOver) {
    const why = kept === undefined ? 'nobody asked for it while the execution was open' : 'its file is damaged'
    throw new LabError('not_found', `execution ${execution_id} has no forecast: ${why}`)
  }
  const { verdict, makespan_s, gantt, dropped, plan } = await runtime.dryRuns.forecast(execution)
  const forecast = { made_at: execution.now(), verdict, makespan_s, gantt, dropped, plan }
  noteSaving(execution, forecast)
  await keepForecast(path, forecast).catch(() => undefined)
  return `${JSON.stringify(forecast)}\n`
}

/** Has an open run know by how much its plan shortens it, if it has a kept forecast. A forecast that cannot be read says nothing. */
export async function readSaving(execution: Execution, path: string | undefined): Promise<void> {
  if (execution.planning.saves_s !== undefined || path === undefined) return
  const kept = await keptForecast(path).catch(() => undefined)
  if (v.is(Forecast, kept)) noteSaving(execution, kept)
  else execution.planning.saves_s = null
}

function noteSaving(execution: Execution, { plan, verdict, makespan_s }: v.InferOutput<typeof Forecast>): void {
  const saves_s = plan ? (plan.dispatch_s ?? 0) - (verdict === 'completes' ? makespan_s : plan.planned_s) : 0
  execution.planning.saves_s = saves_s >= 0.5 ? saves_s : null
}
