// One labware's journey, and what an operator tells it.

import * as v from 'valibot'
import { OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import type { Lab } from '../lab.ts'
import { decisions } from '../workflow/threads/recovery.ts'
import type { LabwareThread } from '../workflow/threads/thread.ts'
import { json, type Route, route } from './contract.ts'

type Verb<Body> = {
  name: string
  summary: string
  description?: string
  body?: v.GenericSchema<unknown, Body>
  /** Answers what has come of it, in words. */
  tell(thread: LabwareThread, body: Body, lab: Lab): string
}

export const threadRoutes: Route[] = [
  verb({
    name: 'pause',
    summary: 'Pause a thread at its next safe point',
    tell: (thread) =>
      thread.pause('manual') ? 'it pauses at its next safe point' : 'it is paused, or on its way to a pause or a stop, already',
  }),
  verb({
    name: 'resume',
    summary: 'Resume a thread that was paused',
    description: 'Also calls off a pause that has not begun. One that an error holds is recovered, not resumed.',
    tell: (thread) => (thread.resume() ? 'resumed' : 'it was not paused'),
  }),
  verb({
    name: 'stop',
    summary: 'Stop a thread',
    description: 'It ends when what is under way has ended, and its labware stays where it is. Where an error holds it, it is aborted.',
    tell: (thread) => (thread.stop() ? 'it stops' : 'it is stopping already'),
  }),
  verb({
    name: 'recover',
    summary: 'Decide about the error that holds a thread',
    description:
      'RETRY does all of it again, RETRY_OP the failed call alone; CONTINUE is your word that it is dealt with; ABORT_ACTION goes on with the next action, ' +
      'ABORT_METHOD with the next method, ABORT_THREAD ends it. A decision that is not possible there is a conflict that says which are.',
    body: v.strictObject({ decision: v.picklist(decisions) }),
    tell(thread, { decision }) {
      thread.recover(decision)
      return `${decision} it is`
    },
  }),
  verb({
    name: 'placed',
    summary: 'Say that the labware a thread waits for stands at its start',
    body: v.strictObject({ barcode: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(128))) }),
    tell(thread, { barcode }, { runs }) {
      runs.runtime.operator.done(thread, 'place', barcode ?? null)
      return `${thread.labware.name} stands at ${thread.startsAt}`
    },
  }),
  verb({
    name: 'removed',
    summary: 'Say that the labware of a thread was taken away from its end',
    tell(thread, _, { runs }) {
      runs.runtime.operator.done(thread, 'remove', null)
      return `${thread.labware.name} is taken away`
    },
  }),
]

function verb<Body = unknown>({ name, summary, description, body, tell }: Verb<Body>): Route {
  return route<Body>({
    method: 'POST',
    path: `/api/threads/:thread_id/${name}`,
    operation_id: name === 'placed' || name === 'removed' ? `labware${name[0]!.toUpperCase()}${name.slice(1)}` : `${name}Thread`,
    tag: 'runs',
    summary,
    ...(description && { description }),
    scope: 'operate',
    body: body ?? (v.strictObject({}) as unknown as v.GenericSchema<unknown, Body>),
    body_may_be_empty: name !== 'recover',
    success: { status: 200, description: 'Told', schema: OperationResult },
    errors: [404, 409],
    handle({ lab, param, body }) {
      const thread = lab.runs.runtime.thread(param('thread_id'))
      if (!thread) throw new LabError('not_found', `there is no thread ${JSON.stringify(param('thread_id'))} in the runs that are open`)
      const given = body()
      if (thread.isOver) throw new LabError('conflict', `thread ${thread.name} has ended: it is ${thread.status.current}`)
      return json({ success: true, message: tell(thread, given, lab) })
    },
  })
}
