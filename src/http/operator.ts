// The routes of manual steps in runs.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('runs')

const ManualStep = v.strictObject({
  step_id: v.string(),
  execution_id: v.string(),
  thread_id: v.string(),
  instruction: v.string(),
  since: described(v.number(), 'Unix time', 's'),
})

export const operatorRoutes: Route<Rooms>[] = [
  route('GET', '/api/operator/steps', {
    operation_id: 'listManualSteps',
    summary: 'List the steps that wait for a person',
    scope: 'read',
    success: { description: 'The oldest first', schema: v.strictObject({ steps: v.array(ManualStep) }) },
    handle: ({ rooms }) => json({ steps: rooms.runs.runtime.operator.steps() }),
  }),
  route('POST', '/api/operator/steps/:step_id/confirm', {
    operation_id: 'confirmManualStep',
    summary: 'Confirm a step: it is done',
    description: 'Of two who confirm the same step one is answered 404.',
    scope: 'operate',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: { description: 'Confirmed', schema: OperationResult },
    errors: [404],
    handle({ rooms, param, body }) {
      body()
      rooms.runs.runtime.operator.confirm(param('step_id'))
      return json({ success: true, message: `${param('step_id')} is confirmed` })
    },
  }),
]
