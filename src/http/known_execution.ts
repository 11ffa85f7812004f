// Finds the execution that a request names. The start of a bench loads this file, so it must not load workflows.

import type { Runs } from '../bench/runs.ts'
import { LabError } from '../errors.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import type { Known } from '../workflow/snapshot.ts'
import type { Call } from './contract.ts'

type Rooms = { runs: Runs }

/** Throws `not_found`. */
export function knownBy({ runs }: Rooms, execution_id: string): Known {
  const { records } = runs.runtime
  const row = records.execution(execution_id)
  if (!row) throw new LabError('not_found', `there is no execution ${JSON.stringify(execution_id)}; /api/executions shows what there is`)
  return { row, records, execution: runs.runtime.runs.get(execution_id) }
}

/** Finds an open execution. Throws `not_found`, `invalid` for a wrong body, and `conflict` for an ended one. */
export function openOne({ rooms, param, body }: Pick<Call<Rooms, unknown, unknown>, 'rooms' | 'param' | 'body'>): Execution {
  const { execution, row } = knownBy(rooms, param('execution_id'))
  if (execution && !execution.isOver) return execution
  body()
  throw new LabError('conflict', `execution ${row.execution_id} has ended: ${row.status}`)
}
