// The routes of threads: the journeys of labware, and the commands of an operator.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { described } from '../kit/described.ts'
import { Barcode } from '../kit/name.ts'
import { addDecision, recoveryIn } from '../workflow/runs/decision.ts'
import { recover } from '../workflow/runs/retry.ts'
import { decisions } from '../workflow/threads/recovery.ts'
import type { LabwareThread } from '../workflow/threads/thread.ts'
import { askArm } from '../workflow/whereabouts.ts'
import { authorOf } from './author.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { hub: Hub; runs: Runs }

const route = routesOf<Rooms>('runs')

type Verb<Body> = {
  name: string
  summary: string
  description?: string
  body?: v.GenericSchema<unknown, Body>
  /** Whether it decides about the error that holds the thread, which its incidents report. */
  solves?: true
  /** Carries the command out. */
  tell(thread: LabwareThread, body: Body, rooms: Rooms): Told | Promise<Told>
}

/** The outcome in words, and the decision for the record of the run, whose verb is the name of the command by default; without a `text`, nothing was decided. */
type Told = { message: string; text?: string; decision?: string }

export const threadRoutes: Route<Rooms>[] = [
  verb({
    name: 'pause',
    summary: 'Pause a thread at its next safe point',
    tell: (thread) =>
      thread.control.pause('manual')
        ? { message: 'it pauses at its next safe point', text: `Paused the thread ${thread.name}` }
        : { message: 'it is paused, or on its way to a pause or a stop, already' },
  }),
  verb({
    name: 'resume',
    summary: 'Resume a thread that was paused',
    description:
      'Also calls off a pause that has not begun. One that an error holds is recovered, not resumed. A conflict while nobody has said where its labware is, whose move the end of the service cut off.',
    async tell(thread) {
      await askArm(thread)
      return thread.control.resume() ? { message: 'resumed', text: `Resumed the thread ${thread.name}` } : { message: 'it was not paused' }
    },
  }),
  verb({
    name: 'stop',
    summary: 'Stop a thread',
    description:
      'The thread ends when its current action has ended, and its labware stays where it is. A thread that an error holds is aborted.',
    solves: true,
    tell: (thread) =>
      thread.control.stop() ? { message: 'it stops', text: `Stopped the thread ${thread.name}` } : { message: 'it is stopping already' },
  }),
  verb({
    name: 'recover',
    summary: 'Decide about the error that holds a thread',
    description:
      'RETRY does all of it again, RETRY_OP the failed call alone; CONTINUE is your word that it is dealt with; ABORT_ACTION goes on with the next action, ' +
      'ABORT_METHOD with the next method, ABORT_THREAD ends it. RETRY with `on` does the action at that device of its pool, and brings the labware there ' +
      '(`retry_on` of the thread names them); a device that is busy, stopped or taken is refused. RETRY with `by` has a person make the move of an arm that is stopped or has a ' +
      'fault (`retry_by` names them; while the arm may still move, nobody, unless the power of the arm is off: `arm_is_off`). CONTINUE about labware that a scanner did not know is ' +
      'your word that it is the right one, with another `barcode` if you give one. A decision that is not possible there is a conflict that says which are.',
    body: v.strictObject({
      decision: v.picklist(decisions),
      on: v.optional(described(v.pipe(v.string(), v.minLength(1), v.maxLength(128)), 'With RETRY: the device at which the action is done')),
      by: v.optional(described(v.pipe(v.string(), v.minLength(1), v.maxLength(128)), 'With RETRY: the person who makes the move')),
      arm_is_off: v.optional(described(v.boolean(), 'With `by`: your word that the power of the arm is off')),
      barcode: v.optional(described(Barcode, 'With CONTINUE, of labware that a scanner did not know: the barcode that it has')),
    }),
    solves: true,
    tell(thread, { decision, on, by, arm_is_off, barcode }) {
      const its = recoveryIn(thread, decision, { on, by, barcode })
      recover(thread, decision, { on, by, arm_is_off, barcode })
      const how = [on && ` at ${on}`, by && ` by ${by}`, barcode && ` with the barcode ${barcode}`].filter(Boolean).join('')
      return { message: `the decision about ${thread.name} is ${decision}${how}`, ...its }
    },
  }),
  verb({
    name: 'placed',
    summary: 'Say that the labware a thread waits for stands at its start',
    body: v.strictObject({ barcode: v.optional(Barcode) }),
    tell(thread, { barcode }, { runs }) {
      runs.runtime.placed(thread, barcode ?? null)
      const read = barcode === undefined ? '' : `, and read its barcode ${barcode}`
      const where = `${thread.labware.name} stands at ${thread.state.starts_at}`
      return { message: where, text: `Said that ${where}${read}` }
    },
  }),
  verb({
    name: 'removed',
    summary: 'Say that the labware of a thread was taken away from its end',
    tell(thread, _, { runs }) {
      runs.runtime.operator.done(thread, 'remove', null)
      const what = `${thread.labware.name} is taken away`
      return { message: what, text: `Said that ${what}` }
    },
  }),
]

function verb<Body = unknown>({ name, summary, description, body, solves, tell }: Verb<Body>): Route<Rooms> {
  return route<Body>('POST', `/api/threads/:thread_id/${name}`, {
    operation_id: name === 'placed' || name === 'removed' ? `labware${name[0]!.toUpperCase()}${name.slice(1)}` : `${name}Thread`,
    summary,
    ...(description && { description }),
    scope: 'operate',
    body: body ?? (v.strictObject({}) as unknown as v.GenericSchema<unknown, Body>),
    body_may_be_empty: name !== 'recover',
    state_of: ({ runs }, param) => runs.runtime.runs.thread(param('thread_id'))?.status.current,
    success: { description: 'The thread has taken the request.', schema: OperationResult },
    errors: [404, 409],
    async handle({ rooms, c, param, body }) {
      const thread = rooms.runs.runtime.runs.thread(param('thread_id'))
      if (!thread) throw new LabError('not_found', `there is no thread ${JSON.stringify(param('thread_id'))} in the runs that are open`)
      const given = body()
      if (thread.isOver) throw new LabError('conflict', `thread ${thread.name} has ended: it is ${thread.status.current}`)
      const { message, text, decision = name } = await tell(thread, given, rooms)
      if (text !== undefined) {
        const author = authorOf(c)
        addDecision(thread.execution, { ...author, decision, text, params: given as object }, thread)
        const { thread_id } = thread.following ?? thread
        if (solves) rooms.hub.incidents.solve((incident) => incident.thread_id === thread_id, { ...author, text })
      }
      return json({ success: true, message })
    },
  })
}
