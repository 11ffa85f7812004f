// The routes of manual steps in runs.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { described } from '../kit/described.ts'
import { Barcode, Name } from '../kit/name.ts'
import { authorOf } from './author.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('runs')

const ManualStep = v.strictObject({
  step_id: v.string(),
  execution_id: v.string(),
  thread_id: v.string(),
  instruction: v.string(),
  since: described(v.number(), 'Unix time', 's'),
  move: described(
    v.nullable(
      v.strictObject({
        transporter: described(v.string(), 'The person who is asked'),
        labware_id: v.string(),
        labware: described(v.string(), 'The name of the labware'),
        barcode: v.nullable(v.string()),
        from: v.string(),
        to: v.string(),
        confirm: described(v.picklist(['once', 'twice']), 'Whether `taken` is an answer of its own'),
        ask_barcode: described(v.boolean(), 'Whether an answer must have the barcode'),
        is_taken: described(v.boolean(), 'Whether the person has the labware'),
        is_again: described(v.boolean(), 'Whether the task was shown before the service restarted'),
        usual_s: described(v.nullable(v.number()), 'How long the person usually takes; null if unknown', 's'),
      }),
    ),
    'The labware that a person is to carry; null for other steps',
  ),
})

const messages = {
  done: (step_id: string) => `${step_id} is confirmed`,
  taken: (step_id: string) => `${step_id}: the labware is taken`,
  elsewhere: (step_id: string, position: string | undefined) => `${step_id}: the labware stands at ${position}`,
  cannot: (step_id: string) => `${step_id} cannot be done; its thread waits for a decision`,
}

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
    summary: 'Answer a step: it is done, or labware stands elsewhere',
    description:
      'Of two who answer the same step one gets 404. Tasks to carry labware (`move`) take each answer: `done`, also `taken` (the person has it now), `elsewhere` with the ' +
      '`position` where the labware stands, and `cannot` with a `reason`, which leaves it where it stood and holds its thread. A conflict for the barcode of other ' +
      'labware, and for a position that is not free: then the task stays.',
    scope: 'operate',
    body: v.strictObject({
      answer: v.optional(v.picklist(['done', 'taken', 'elsewhere', 'cannot']), 'done'),
      position: v.optional(described(Name, 'Where the labware stands now, for `elsewhere`')),
      barcode: v.optional(Barcode),
      reason: v.optional(described(v.pipe(v.string(), v.maxLength(300)), 'Why it cannot be carried, for `cannot`')),
    }),
    body_may_be_empty: true,
    success: { description: 'The answer was recorded', schema: OperationResult },
    errors: [400, 404, 409, 503],
    async handle({ rooms, c, param, body }) {
      const given = body()
      await rooms.runs.runtime.answerStep(param('step_id'), given, authorOf(c))
      return json({ success: true, message: messages[given.answer](param('step_id'), given.position) })
    },
  }),
]
