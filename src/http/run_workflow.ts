// The route of the workflow that a run ran, also after the workflow was changed or deleted.

import type { Runs } from '../bench/runs.ts'
import type { Hub } from '../events/hub.ts'
import { described } from '../kit/described.ts'
import { WorkflowOfRun, workflowOfRun } from '../workflow/records/run_workflow.ts'
import { json, type Route, routesOf } from './contract.ts'
import { knownBy } from './known_execution.ts'
import { recordOn } from './run_records.ts'

type Rooms = { hub: Hub; runs: Runs }

const route = routesOf<Rooms>('runs')

export const runWorkflowRoutes: Route<Rooms>[] = [
  route('GET', '/api/executions/:execution_id/workflow', {
    operation_id: 'getExecutionWorkflow',
    summary: 'Get the workflow that an execution ran, as it was then, with its topology',
    description:
      'Also after the workflow was changed or deleted: from the execution itself, from its record, or from the versions that are kept.',
    scope: 'read',
    success: { description: 'The documents', schema: described(WorkflowOfRun, 'As they were when the execution began') },
    errors: [404, 503],
    async handle({ rooms, param }) {
      const { row, execution } = knownBy(rooms, param('execution_id'))
      const { versions } = rooms.runs.catalog
      return json(
        await workflowOfRun(row, {
          workflow: execution?.workflow,
          record: recordOn(rooms, row.execution_id),
          version: (of, name, version) => versions.read(of, name, version).then(({ kept }) => kept),
        }),
      )
    },
  }),
]
