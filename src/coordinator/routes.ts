// The routes of the coordinator of a lab: journeys, tasks, custody, and the stop of all benches.

import * as v from 'valibot'
import { OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import { json, type Route, routesOf } from '../http/contract.ts'
import { keyRoutes } from '../http/keys.ts'
import { Limit } from '../http/numeral.ts'
import type { Keys } from '../keys/keys.ts'
import { described } from '../kit/described.ts'
import { Barcode, barcodeText, Id, Name } from '../kit/name.ts'
import { packageVersion } from '../kit/package_version.ts'
import { SubmissionId } from '../workflow/state/submission_request.ts'
import type { Coordinator } from './coordinator.ts'
import type { LabBenches } from './lab_benches.ts'

/** `coordinator` is undefined while PostgreSQL is away; `failure` says why then. */
export type CoordinatorRooms = { benches: LabBenches; coordinator: Coordinator | undefined; failure: string }

const route = routesOf<CoordinatorRooms>('runs')

/** The routes of keys, as on a bench, but without pairing. */
export const ownKeys = keyRoutes.filter(({ path }) => !path.startsWith('/api/keys/requests')) as unknown as Route<{ keys: Keys }>[]

const Seconds = described(v.number(), 'Unix time', 's')
const MaybeSeconds = described(v.nullable(v.number()), 'Unix time', 's')
/** Labware is named by its barcode, which is also its key at the broker. */
const Labware = described(
  v.pipe(
    v.string(),
    v.transform(barcodeText),
    v.regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/, 'must be 1 to 64 letters, digits, hyphens and underscores, and not begin with a hyphen'),
  ),
  'The barcode of the labware',
)
const verbs = ['retry', 'done', 'back', 'lost', 'end'] as const

export const Journey = v.strictObject({
  journey_id: v.string(),
  name: v.string(),
  labware: v.string(),
  status: v.picklist(['queued', 'open', 'done', 'ended']),
  step: described(v.number(), 'Counts the states of the journey'),
  phase: v.string(),
  leg: described(v.number(), 'The leg that is under way, from 1'),
  legs: v.array(v.strictObject({ bench: v.string(), workflow: v.string(), execution_id: v.nullable(v.string()) })),
  waiting: described(v.nullable(v.string()), 'For what it waits, in a sentence; null when it has ended'),
  needs_person: v.boolean(),
  decisions: described(v.array(v.picklist(verbs)), 'What a person can decide about it now'),
  outcome: v.nullable(v.picklist(['done', 'ended', 'lost'])),
  begun_at: Seconds,
  ended_at: MaybeSeconds,
  since: Seconds,
  bars: described(
    v.array(v.strictObject({ lane: v.string(), what: v.string(), from: Seconds, to: Seconds })),
    'What was done when, on which bench or by which carrier',
  ),
})

export const Task = v.strictObject({
  task_id: v.string(),
  journey_id: v.string(),
  labware: v.string(),
  kind: v.picklist(['place', 'take', 'bring', 'take_away']),
  bench: v.string(),
  position: v.string(),
  what: described(v.string(), 'The task in a sentence'),
  since: Seconds,
})

export const Custody = v.strictObject({
  labware: v.string(),
  number: described(v.number(), 'Counts the holders of this labware'),
  holder: v.union([
    v.strictObject({ bench: v.string(), position: v.string() }),
    v.strictObject({ carrier: v.string() }),
    v.strictObject({ nobody: v.picklist(['taken away', 'lost']) }),
  ]),
  journey_id: v.string(),
  at: Seconds,
})

/** Throws `disconnected` while there is no database. */
function of({ coordinator, failure }: CoordinatorRooms): Coordinator {
  if (!coordinator) throw new LabError('storage', `${failure}; journeys go on when it is back`)
  return coordinator
}

export const coordinatorRoutes: Route<CoordinatorRooms>[] = [
  route('GET', '/health', {
    operation_id: 'getHealth',
    tag: 'system',
    summary: 'Say whether journeys go on',
    scope: 'public',
    success: {
      description: 'ok, or what is wrong',
      schema: v.strictObject({ status: v.picklist(['ok', 'degraded']), version: v.string(), reasons: v.array(v.string()) }),
      also: [503],
    },
    handle({ rooms }) {
      const { broker } = rooms.benches
      const reasons = [...(rooms.coordinator ? [] : ['database']), ...(broker && !broker.isConnected ? ['broker'] : [])]
      return json({ status: reasons.length ? 'degraded' : 'ok', version: packageVersion(), reasons }, reasons.length ? 503 : 200)
    },
  }),
  route('GET', '/api/lab', {
    operation_id: 'getLab',
    tag: 'system',
    summary: 'Show the lab file and how its benches answer now',
    scope: 'read',
    success: {
      description: 'Each bench fails alone',
      schema: v.strictObject({
        name: v.string(),
        journeys: v.array(v.string()),
        benches: v.array(
          v.strictObject({
            bench: v.string(),
            url: v.nullable(v.string()),
            status: v.string(),
            failure: v.nullable(v.string()),
            other_version: described(
              v.nullable(v.string()),
              'A sentence where the bench runs another version of benchd than the coordinator; null otherwise',
            ),
            heard_s: described(
              v.nullable(v.number()),
              'How long ago the broker told of it; null where it has not, or the lab file does not name the bench as the broker does',
              's',
            ),
          }),
        ),
      }),
    },
    async handle({ rooms: { benches } }) {
      return json({ name: benches.lab.name, journeys: [...benches.lab.legs.keys()], benches: await benches.shown() })
    },
  }),
  route('POST', '/api/lab/stop', {
    operation_id: 'stopAllBenches',
    tag: 'system',
    summary: 'Ask all benches at once to stop their devices',
    description:
      'It is no safety function: a bench that does not answer goes on, and the answer names it. It needs neither the database nor the broker.',
    scope: 'any',
    success: {
      description: 'All benches have stopped; 500 names those that did not say so',
      schema: v.strictObject({
        ...OperationResult.entries,
        benches: v.array(v.strictObject({ bench: v.string(), success: v.boolean(), message: v.string() })),
      }),
    },
    errors: [500],
    async handle({ rooms }) {
      const stopped = await rooms.benches.stopAll()
      if (!stopped.success) throw new LabError('stop_not_sent', stopped.message)
      return json(stopped)
    },
  }),
  route('GET', '/api/lab/journeys', {
    operation_id: 'listJourneys',
    summary: 'List journeys',
    scope: 'read',
    query: v.object({ limit: Limit }),
    success: { description: 'The newest first', schema: v.strictObject({ journeys: v.array(Journey) }) },
    errors: [400, 503],
    async handle({ rooms, query }) {
      const { limit } = query()
      return json({ journeys: await of(rooms).list(limit) })
    },
  }),
  route('POST', '/api/lab/journeys', {
    operation_id: 'startJourney',
    summary: 'Begin a journey',
    description: 'The lab file is held against the benches first. With a `journey_id` that was begun before, nothing begins again.',
    scope: 'operate',
    body: v.strictObject({
      journey: described(Id, 'Its name in the lab file'),
      labware: Labware,
      journey_id: v.optional(SubmissionId),
    }),
    success: {
      status: 202,
      description: 'The journey has begun, or waits for room on its benches',
      schema: Journey,
      headers: ['Location'],
    },
    errors: [400, 404, 409, 500, 503],
    async handle({ rooms, body }) {
      const { journey, ...its } = body()
      const shown = await of(rooms).start({ name: journey, ...its })
      return json(shown, 202, { Location: `/api/lab/journeys/${shown.journey_id}` })
    },
  }),
  route('GET', '/api/lab/journeys/:journey_id', {
    operation_id: 'getJourney',
    summary: 'Get one journey by its id, the beginning of it, or its labware',
    scope: 'read',
    success: { description: 'The journey at this moment', schema: Journey },
    errors: [404, 409, 503],
    handle: async ({ rooms, param }) => json(await of(rooms).journey(param('journey_id'))),
  }),
  route('GET', '/api/lab/journeys/:journey_id/why', {
    operation_id: 'whyJourney',
    summary: 'Say what a journey waits for, with the words of its bench',
    scope: 'read',
    success: { description: 'Sentences', schema: v.strictObject({ journey_id: v.string(), because: v.array(v.string()) }) },
    errors: [404, 409, 503],
    handle: async ({ rooms, param }) => json(await of(rooms).why(param('journey_id'))),
  }),
  route('POST', '/api/lab/journeys/:journey_id/decide', {
    operation_id: 'decideJourney',
    summary: 'Decide about a journey that cannot go on by itself',
    description:
      '`retry` does the step again with a new run; `done`: the bench has done its part, and the labware stands at `position`; `back`: the carrier has brought it back to where ' +
      'it took it; `lost`: nobody knows where it is, and the journey ends; `end`: the journey ends, and the labware stays with who has it. `decisions` of the journey says which are possible.',
    scope: 'operate',
    body: v.strictObject({
      decision: v.picklist(verbs),
      position: v.optional(Name),
      step: v.optional(
        described(
          v.pipe(v.number(), v.integer()),
          'The `step` of the journey that was looked at: a decision about an earlier one is refused',
        ),
      ),
    }),
    success: { description: 'The journey takes the decision', schema: Journey },
    errors: [400, 404, 409, 503],
    async handle({ rooms, param, body, c }) {
      const { decision, position, step } = body()
      return json(await of(rooms).decide(param('journey_id'), { verb: decision, position, step, by: c.get('principal').name }))
    },
  }),
  route('POST', '/api/lab/simulations', {
    operation_id: 'simulateJourney',
    summary: 'Try a journey out on the clock alone',
    description: "Each leg is a dry run of its bench; between them are the carriers' times of the lab file. Nothing moves.",
    scope: 'operate',
    body: v.strictObject({ journey: Id }),
    success: {
      description: 'How long the journey takes, and who does what when',
      schema: v.strictObject({
        journey: v.string(),
        makespan_s: v.number(),
        legs: v.array(
          v.strictObject({
            bench: v.string(),
            workflow: v.string(),
            verdict: v.string(),
            conflict: v.nullable(v.string()),
            makespan_s: v.number(),
          }),
        ),
        gantt: v.array(v.strictObject({ lane: v.string(), name: v.string(), from_s: v.number(), to_s: v.number() })),
      }),
    },
    errors: [400, 404, 409, 500, 503],
    async handle({ rooms, body }) {
      const { journey } = body()
      return json(await of(rooms).simulate(journey))
    },
  }),
  route('GET', '/api/lab/tasks', {
    operation_id: 'listTasks',
    summary: 'List what people and carriers are to do',
    scope: 'read',
    success: { description: 'The oldest journey first', schema: v.strictObject({ tasks: v.array(Task) }) },
    errors: [503],
    handle: async ({ rooms }) => json({ tasks: await of(rooms).tasks() }),
  }),
  route('POST', '/api/lab/tasks/:task_id/confirm', {
    operation_id: 'confirmTask',
    summary: 'Say that a task is done',
    description:
      'The bench is told; what the bench refuses, as another barcode, is a conflict, and the task stays. Labware that is placed wants its `barcode`.',
    scope: 'operate',
    body: v.strictObject({ barcode: v.optional(Barcode) }),
    body_may_be_empty: true,
    success: { description: 'The bench has taken it', schema: OperationResult },
    errors: [400, 404, 409, 500, 503],
    async handle({ rooms, param, body }) {
      const { barcode } = body()
      return json({ success: true, message: await of(rooms).confirm(param('task_id'), barcode) })
    },
  }),
  route('GET', '/api/lab/custody', {
    operation_id: 'listCustody',
    summary: 'Show who has which labware',
    scope: 'read',
    success: { description: 'One holder for each labware', schema: v.strictObject({ custody: v.array(Custody) }) },
    errors: [503],
    handle: async ({ rooms }) => json({ custody: await of(rooms).custody() }),
  }),
  route('GET', '/api/lab/custody/:labware', {
    operation_id: 'getCustody',
    summary: 'Show who has had a labware, from the first holder on',
    scope: 'read',
    success: { description: 'The oldest first', schema: v.strictObject({ custody: v.array(Custody) }) },
    errors: [404, 503],
    async handle({ rooms, param }) {
      const custody = await of(rooms).custodyOf(param('labware'))
      if (!custody.length)
        throw new LabError('not_found', `nobody has had the labware ${JSON.stringify(param('labware'))} on a journey so far`)
      return json({ custody })
    },
  }),
]
