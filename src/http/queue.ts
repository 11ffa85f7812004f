// The routes of the queue of runs.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { described } from '../kit/described.ts'
import { MoveRequest, QueueEntry, QueueRequest, ShownEntry } from '../queue/entry.ts'
import { QueueView } from '../queue/view.ts'
import { SubmissionRecord } from '../workflow/records/records.ts'
import { authorOf } from './author.ts'
import { type Exchange, json, type Route, routesOf } from './contract.ts'
import { longestSubmission } from './samples.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('runs')

const path = '/api/queue/:entry_id'
const entrySuccess = { description: 'The entry as it is now', schema: ShownEntry }

const Begun = v.strictObject({
  entry_id: v.string(),
  submission_id: v.string(),
  execution_id: v.string(),
  status: SubmissionRecord.entries.status,
})

export const queueRoutes: Route<Rooms>[] = [
  route('GET', '/api/queue', {
    operation_id: 'getQueue',
    summary: 'Get the queue of runs: its entries in order, and why each waits',
    description:
      'Clients may ask again and again, because an answer costs little: with `If-None-Match` and the `ETag` of the last answer, the answer is 304 until something has changed.',
    scope: 'read',
    success: { description: 'The queue', schema: QueueView, headers: ['ETag'] },
    async handle({ rooms, c }) {
      const { view } = await rooms.runs.queue.open()
      const ETag = `"${view.version}"`
      if (isKnown(c, ETag)) return new Response(null, { status: 304, headers: { ETag } })
      return json(view, 200, { ETag })
    },
  }),
  route('POST', '/api/queue', {
    operation_id: 'addToQueue',
    summary: 'Add a submission to the queue of runs',
    description:
      'The submission is checked as POST /api/submissions checks it, and begins when it is its turn, its start has come and the bench is fit: nothing that it uses is ' +
      'stopped, and nothing is in its way. The id of the entry is that of its submission, so a repeated request with a `submission_id` adds nothing, and each entry runs once. ' +
      'After a start of the service, a stop of a device that an entry uses, a run that a person stopped, and a failed run, the queue is paused until somebody resumes it.',
    scope: 'operate',
    body: QueueRequest,
    body_limit: longestSubmission,
    success: { status: 201, description: 'The entry; it may have begun already', schema: ShownEntry, headers: ['Location'] },
    errors: [400, 404, 409, 503],
    async handle({ rooms, c, body }) {
      const request = body()
      const audited = c.get('audited')
      if (audited) audited.subject = { queued: request.submission.workflow }
      const entry = await (await rooms.runs.queue.open()).add(request, authorOf(c))
      return json(entry, 201, { Location: `/api/queue/${entry.entry_id}` })
    },
  }),
  route('POST', '/api/queue/pause', {
    operation_id: 'pauseQueue',
    summary: 'Pause the queue of runs',
    description: 'No further entry begins. Open runs go on.',
    scope: 'operate',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: { description: 'The queue is paused', schema: OperationResult },
    errors: [400, 503],
    async handle({ rooms, c, body }) {
      body()
      await (await rooms.runs.queue.open()).pause(authorOf(c))
      return json({ success: true, message: 'the queue is paused; open runs go on' })
    },
  }),
  route('POST', '/api/queue/resume', {
    operation_id: 'resumeQueue',
    summary: 'Resume the queue of runs',
    description:
      'Its entries begin from now on, in order. With `since` it is refused with 409 if it was paused again meanwhile, for example by a stop.',
    scope: 'operate',
    body: v.strictObject({ since: v.optional(described(v.number(), 'The `since` of the pause that the person was shown', 's')) }),
    body_may_be_empty: true,
    success: { description: 'The queue goes on', schema: OperationResult },
    errors: [400, 409, 503],
    async handle({ rooms, body }) {
      const { since } = body()
      const queue = await rooms.runs.queue.open()
      await queue.resume(since)
      const { waiting } = queue.view
      return json({ success: true, message: waiting === 0 ? 'the queue goes on; no entry waits' : `the queue goes on; ${waiting} wait` })
    },
  }),
  route('POST', '/api/queue/clear', {
    operation_id: 'clearQueue',
    summary: 'Remove all entries that wait from the queue of runs',
    description: 'Open runs go on.',
    scope: 'operate',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: { description: 'The entries are removed', schema: v.strictObject({ ...OperationResult.entries, removed: v.number() }) },
    errors: [400, 503],
    async handle({ rooms, body }) {
      body()
      const removed = await (await rooms.runs.queue.open()).clear()
      return json({ success: true, message: `${removed === 1 ? 'an entry is' : `${removed} entries are`} removed`, removed })
    },
  }),
  route('GET', path, {
    operation_id: 'getQueueEntry',
    summary: 'Get one entry of the queue of runs, with its submission',
    scope: 'read',
    success: {
      description: 'The entry',
      schema: v.strictObject({ ...ShownEntry.entries, submission: QueueEntry.entries.submission }),
    },
    errors: [404],
    handle: async ({ rooms, param }) => json((await rooms.runs.queue.open()).entry(param('entry_id'))),
  }),
  route('DELETE', path, {
    operation_id: 'removeFromQueue',
    summary: 'Remove an entry that waits from the queue of runs',
    description:
      'An entry that has begun is refused with 409: stop its run instead. Entries that were to start after it wait for a person.',
    scope: 'operate',
    success: { description: 'The entry is removed', schema: OperationResult },
    errors: [404, 409, 503],
    async handle({ rooms, param }) {
      await (await rooms.runs.queue.open()).remove(param('entry_id'))
      return json({ success: true, message: `entry ${param('entry_id').slice(0, 8)} is removed from the queue` })
    },
  }),
  route('POST', `${path}/move`, {
    operation_id: 'moveInQueue',
    summary: 'Move an entry that waits in the queue of runs, or give it another start',
    scope: 'operate',
    body: MoveRequest,
    success: entrySuccess,
    errors: [400, 404, 409, 503],
    handle: async ({ rooms, param, body }) => json(await (await rooms.runs.queue.open()).move(param('entry_id'), body())),
  }),
  route('POST', `${path}/start`, {
    operation_id: 'startQueueEntry',
    summary: 'Start an entry of the queue of runs now',
    description:
      'Before its start, out of turn, and also while the queue is paused, which it stays. Refused with 409, with the reason, if the bench is not fit for it; the entry then waits as before.',
    scope: 'operate',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: { status: 202, description: 'The run has begun; its state is at `Location`', schema: Begun, headers: ['Location'] },
    errors: [400, 404, 409, 503],
    async handle({ rooms, c, param, body }) {
      body()
      const execution_id = await (await rooms.runs.queue.open()).startNow(param('entry_id'), authorOf(c))
      const [first] = rooms.runs.runtime.records.submissionsOf(execution_id)
      const { submission_id = param('entry_id'), status = 'IN_PROGRESS' as const } = first ?? {}
      const begun = { entry_id: param('entry_id'), submission_id, execution_id, status }
      return json(begun, 202, { Location: `/api/executions/${execution_id}` })
    },
  }),
]

/** Whether the caller has the present answer already. */
function isKnown(c: Exchange, tag: string): boolean {
  return (
    c.req
      .header('if-none-match')
      ?.split(',')
      .some((known) => known.trim() === tag) ?? false
  )
}
