// The routes of runs: their state, their records, and the commands of an operator.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import type { Incident } from '../events/incidents.ts'
import { described } from '../kit/described.ts'
import { Id, Name } from '../kit/name.ts'
import type { Refusals } from '../kit/refusals.ts'
import { JsonStep } from '../workflow/plans/documents.ts'
import { wholeTimeline } from '../workflow/records/run_records.ts'
import { addDecision } from '../workflow/runs/decision.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import { Blocker, blockers, Reason, why } from '../workflow/runs/explanation.ts'
import {
  ExecutionSnapshot,
  ExecutionSummary,
  type Known,
  ShownThread,
  ShownTimelineRow,
  snapshotOf,
  summaryOf,
  threadsOf,
  withSample,
} from '../workflow/snapshot.ts'
import { Priority, SubmissionId } from '../workflow/state/submission_request.ts'
import type { LabwareThread } from '../workflow/threads/thread.ts'
import { askArm } from '../workflow/whereabouts.ts'
import { authorOf } from './author.ts'
import { type Exchange, json, type Route, routesOf } from './contract.ts'
import { knownBy, openOne } from './known_execution.ts'
import { countAnswerAbout } from './large_answers.ts'
import { Limit, Numeral, whole } from './numeral.ts'
import { readSaving } from './run_forecast.ts'
import { recordOn } from './run_records.ts'
import { foundRuns, RunSearch } from './run_search.ts'
import { Next } from './time_span.ts'

type Rooms = { hub: Hub; runs: Runs; refusals: Refusals; safe_mode: Incident | undefined }

const route = routesOf<Rooms>('runs')

const path = '/api/executions/:execution_id'
const Nothing = v.strictObject({})
const ItemName = described(v.pipe(v.string(), v.minLength(1), v.maxLength(400)), '`seal_it`, `plate/seal_it`, `plate/seal_it/seal`')

const Emission = v.strictObject({
  name: described(Name, 'As waiters know it, dots and all; not OPERATOR.…'),
  value: v.optional(v.nullable(v.string()), null),
  data: v.optional(v.record(v.string(), v.unknown()), {}),
  group_id: described(v.optional(Id), 'The group that it reaches; all groups if not said'),
  submission_id: described(v.optional(SubmissionId), 'The submission of the group, where joined submissions have groups of the same name'),
})

/** The most bytes of an emitted event, which is kept in the run, in every stream and in the log. */
const longestItem = 16_384
/** The most unwritten events; beyond that, emitters wait for the disk. */
const mostUnwritten = 200

const Offset = v.optional(described(Numeral(whole, 'it must be a whole number'), 'Begins behind so many'), '0')

export const executionRoutes: Route<Rooms>[] = [
  route('GET', '/api/executions', {
    operation_id: 'listExecutions',
    summary: 'List executions, or find some',
    description:
      'The open executions, and the newest thousand of those that have ended, also before a restart. Of several parameters, each must hold.',
    scope: 'read',
    query: RunSearch,
    success: { description: 'The newest first', schema: v.strictObject({ executions: v.array(ExecutionSummary), next: Next }) },
    errors: [400],
    handle({ rooms, query }) {
      const { items, next } = foundRuns(rooms.runs.runtime.records, query())
      return json({ executions: items.map((row) => summaryOf(knownBy(rooms, row.execution_id))), next })
    },
  }),
  route('GET', path, {
    operation_id: 'getExecution',
    summary: 'Get one execution: its threads, where their labware is, and what each waits for',
    description: 'For an execution that ended a while ago, or before a restart, this is its record: `is_live` is false then.',
    scope: 'read',
    success: { description: 'The execution at this moment', schema: ExecutionSnapshot },
    errors: [404, 503],
    handle: (call) => json(snapshotOf(wholeOf(call), now())),
  }),
  route('GET', `${path}/threads`, {
    operation_id: 'listThreads',
    summary: 'List the threads of an execution',
    scope: 'read',
    query: v.object({ limit: Limit, offset: Offset }),
    success: {
      description: 'The open threads, in the order they came; then the others, the newest first',
      schema: v.strictObject({ threads: v.array(ShownThread) }),
    },
    errors: [400, 404, 503],
    handle(call) {
      const known = wholeOf(call)
      const { limit, offset } = call.query()
      return json({ threads: threadsOf(known, now()).slice(offset, offset + limit) })
    },
  }),
  route('GET', `${path}/timeline`, {
    operation_id: 'getTimeline',
    summary: 'Get what an execution did when: a row for each action and each hop',
    description:
      'Read from the record of the execution, so it is the same after a restart. An execution in PURE_SIM has it for a while after its end.',
    scope: 'read',
    success: {
      description: 'The newest ten thousand rows, in the order they began',
      schema: v.strictObject({
        rows: v.array(ShownTimelineRow),
        dropped: described(v.number(), 'Rows that are no longer kept'),
      }),
    },
    errors: [404, 503],
    async handle(call) {
      const known = wholeOf(call)
      const { execution, row } = known
      if (!execution) {
        const record = recordOn(call.rooms, row.execution_id)
        if (record) {
          const { rows, dropped } = await wholeTimeline(record.path, row.started_at)
          return json({ rows: rows.map((one) => withSample(one, row.execution_id, known)), dropped })
        }
        throw new LabError(
          'not_found',
          `the timeline of execution ${row.execution_id} is no longer kept; its events are at /events?execution_id=${row.execution_id}`,
        )
      }
      const { timeline } = execution
      const answer = json({ rows: timeline.rows().map((one) => withSample(one, row.execution_id, known)), dropped: timeline.dropped })
      // A row that a client has seen must be there after a restart. Rows change while the log is written.
      await call.rooms.hub.log.until()
      return answer
    },
  }),
  route('GET', `${path}/blockers`, {
    operation_id: 'listBlockers',
    summary: 'List what stops an execution now, and what to do about it',
    scope: 'read',
    success: { description: 'The worst first', schema: v.strictObject({ blockers: v.array(Blocker) }) },
    errors: [404, 503],
    handle(call) {
      const { execution } = wholeOf(call)
      return json({ blockers: execution ? blockers(execution, call.rooms.safe_mode) : [] })
    },
  }),
  route('GET', `${path}/why`, {
    operation_id: 'explainExecution',
    summary: 'Say in words what each thread of an execution waits for, who holds it, and since when',
    scope: 'read',
    success: {
      description: 'The threads that have not ended, in the order they came',
      schema: v.strictObject({ threads: v.array(Reason) }),
    },
    errors: [404, 503],
    async handle(call) {
      const { execution, row } = wholeOf(call)
      if (execution) await readSaving(execution, recordOn(call.rooms, row.execution_id)?.path)
      return json({ threads: execution ? why(execution) : [] })
    },
  }),
  route('DELETE', path, {
    operation_id: 'deleteExecution',
    summary: 'Delete an execution that has ended, with its events and incidents',
    scope: 'admin',
    success: { description: 'Gone, from the log too', schema: OperationResult },
    errors: [404, 409, 503],
    async handle({ rooms, param }) {
      const execution_id = param('execution_id')
      await mustHaveEvents(rooms, execution_id)
      await rooms.runs.runtime.remove(execution_id)
      await rooms.runs.written()
      return json({ success: true, message: `execution ${execution_id}, its events and its incidents are deleted` })
    },
  }),
  route('POST', `${path}/emit`, {
    operation_id: 'emitCustomEvent',
    summary: 'Emit a custom event into an execution',
    description:
      'Releases the threads that wait for it, of all groups or of one, and fires `CUSTOM.<name>.EMITTED`. The body is 16 KiB at most.',
    scope: 'operate',
    body: Emission,
    body_limit: longestItem,
    success: { description: 'Emitted', schema: OperationResult },
    errors: [400, 404, 409],
    async handle(call) {
      const execution = openOne(call)
      const { name, value, data, group_id, submission_id } = call.body()
      const scope = group_id === undefined ? null : execution.groups.find(group_id, submission_id)
      execution.events.emitCustom(name, { value, data }, null, scope)
      decided(call, execution, 'emit', `Emitted ${name}${scope ? ` to ${scope.group_id}` : ''}`)
      const { log } = call.rooms.hub
      if (log.waiting > mostUnwritten) await log.until()
      return json({ success: true, message: `${name} is emitted${scope ? ` to ${scope.group_id}` : ''}` })
    },
  }),
  verb('pause', 'Pause all threads of an execution at their next safe points', (execution) => {
    if (execution.paused) return { message: 'it is paused already' }
    execution.pause('manual')
    return {
      message: 'each thread pauses at its next safe point; what a device does is not interrupted',
      text: 'Paused the run',
    }
  }),
  verb('resume', 'Resume an execution', async (execution) => {
    for (const thread of execution.live()) await askArm(thread)
    const message = resumedIn(execution)
    execution.resume()
    return { message, text: 'Resumed the run' }
  }),
  verb('close', 'Close an execution to further submissions', (execution) => {
    execution.close()
    return { message: 'it takes no more submissions', text: 'Closed the run to further submissions' }
  }),
  route('POST', `${path}/priority`, {
    operation_id: 'prioritizeExecution',
    summary: 'Set the priority of an open execution',
    description:
      'Of all its submissions so far. Labware that waits is ranked anew at once, and the bench is planned anew. Work that has begun is not interrupted.',
    scope: 'operate',
    body: v.strictObject({ priority: Priority }),
    state_of: stateOf,
    success: { description: 'The priority holds from now on', schema: OperationResult },
    errors: [400, 404, 409],
    async handle(call) {
      const execution = openOne(call)
      const { priority } = call.body()
      execution.planning.prioritize(priority)
      decided(call, execution, 'priority', `Set the priority of the run to ${priority}`)
      await execution.state.persisted()
      return json({ success: true, message: `the run has the priority ${priority}` })
    },
  }),
  route('POST', `${path}/skip`, {
    operation_id: 'skipStep',
    summary: 'Skip a step or an action that lies ahead',
    description:
      'By its name: `seal_it`, `plate/seal_it`, `plate/seal_it/seal`; the whole name where a shorter one is ambiguous. An action is also skipped while it waits ' +
      'for its device or for other labware. Its events say SKIPPED. What has begun is a conflict.',
    scope: 'operate',
    body: v.strictObject({ item: ItemName }),
    state_of: stateOf,
    success: { description: 'The item is skipped, now or when its thread comes to it', schema: OperationResult },
    errors: [400, 404, 409],
    handle(call) {
      const execution = openOne(call)
      const name = execution.skip(call.body().item)
      decided(call, execution, 'skip', `Skipped ${name}`)
      return json({ success: true, message: `${name} is skipped` })
    },
  }),
  route('POST', `${path}/insert`, {
    operation_id: 'insertStep',
    summary: 'Insert a step, or an action, before or after another',
    description:
      'The item is a step as a workflow has it, and is checked as one; beside an action of a method it is `{"action": {…}}`. It goes into every thread that has the other ' +
      'one ahead; if none has, into the first that comes to have it. One whose place never comes is an incident when the execution ends.',
    scope: 'operate',
    body: v.strictObject({ before: v.optional(ItemName), after: v.optional(ItemName), item: JsonStep }),
    body_limit: longestItem,
    state_of: stateOf,
    success: { description: 'Where it stands, in words', schema: OperationResult },
    errors: [400, 404, 409],
    handle(call) {
      const execution = openOne(call)
      const { before, after, item } = call.body()
      if ((before === undefined) === (after === undefined))
        throw new LabError('invalid', 'the body says either before or after which step the item comes')
      const message = execution.inserts.put(before !== undefined ? { before, item } : { after: after!, item })
      decided(call, execution, 'insert', `Inserted a step ${before !== undefined ? `before ${before}` : `after ${after}`}`)
      return json({ success: true, message })
    },
  }),
  route('POST', `${path}/spawn`, {
    operation_id: 'spawnThread',
    summary: 'Put one more thread into an execution',
    description: 'Also while it is paused: then the thread is held before its labware comes.',
    scope: 'operate',
    body: v.strictObject({
      thread: Id,
      start: v.optional(described(Name, 'The place where its labware comes from, if not that of the workflow')),
    }),
    state_of: stateOf,
    success: { description: 'The thread is there', schema: OperationResult },
    errors: [400, 404, 409],
    handle(call) {
      const execution = openOne(call)
      const { thread, start } = call.body()
      const spawned = execution.spawnNow(thread, start)
      decided(call, execution, 'spawn', `Added the thread ${spawned.name}`, spawned)
      return json({ success: true, message: `thread ${spawned.name} is there: ${spawned.thread_id}` })
    },
  }),
  route('POST', `${path}/stop`, {
    operation_id: 'stopExecution',
    summary: 'Stop an execution, in two calls',
    description:
      'The first call pauses it and arms the stop; the second, with `confirm`, aborts it: what a device does for it is halted. A confirmation alone does nothing. ' +
      'Resuming disarms it. This is not the emergency stop: that is `POST /api/stop`.',
    scope: 'operate',
    body: v.strictObject({ confirm: v.optional(v.boolean(), false) }),
    body_may_be_empty: true,
    state_of: stateOf,
    success: { description: 'Armed, or stopping', schema: OperationResult },
    errors: [400, 404, 409],
    handle(call) {
      const execution = openOne(call)
      const { confirm } = call.body()
      const isArmed = execution.stop(confirm) === 'armed'
      decided(call, execution, 'stop', isArmed ? 'Paused the run, and armed its stop' : 'Aborted the run')
      const message = isArmed ? 'armed: it pauses; stop it once more with confirm to abort it' : 'it is being aborted'
      return json({ success: true, message })
    },
  }),
]

type Asked = { rooms: Rooms; c: Exchange; param(name: string): string }

/** Returns the run for an answer with its whole content. Throws `not_found`, and `overloaded` if too many large answers are under way. */
function wholeOf({ rooms, c, param }: Asked): Known {
  const known = knownBy(rooms, param('execution_id'))
  countAnswerAbout(known, c, rooms.refusals)
  return known
}

type Deciding = { c: Exchange; body(): unknown }

/** Adds the decision of the caller to the record of the run, with the body of the request. */
function decided({ c, body }: Deciding, execution: Execution, decision: string, text: string, thread?: LabwareThread): void {
  addDecision(execution, { ...authorOf(c), decision, text, params: body() as object }, thread)
}

/** The outcome in words, and the decision for the record; without a `text`, nothing was decided. */
type Told = { message: string; text?: string }

/** Makes the route of a verb for an open run that needs no body. */
function verb(name: string, summary: string, tell: (execution: Execution) => Told | Promise<Told>): Route<Rooms> {
  return route('POST', `${path}/${name}`, {
    operation_id: `${name}Execution`,
    summary,
    scope: 'operate',
    body: Nothing,
    body_may_be_empty: true,
    state_of: stateOf,
    success: { description: 'The run has taken the request.', schema: OperationResult },
    errors: [404, 409],
    async handle(call) {
      const execution = openOne(call)
      call.body()
      const { message, text } = await tell(execution)
      if (text !== undefined) decided(call, execution, name, text)
      return json({ success: true, message })
    },
  })
}

/** Returns the status; `PAUSED` for a paused run. */
function stateOf({ runs }: Rooms, param: (name: string) => string): string | undefined {
  const { records } = runs.runtime
  const execution_id = param('execution_id')
  return runs.runtime.runs.get(execution_id)?.paused ? 'PAUSED' : records.execution(execution_id)?.status
}

/** Words the effect of a resume of the execution. */
function resumedIn({ paused, backlogs }: Execution): string {
  const orphaned = backlogs.orphaned().map(({ labware }) => labware)
  if (orphaned.length > 0) return `resumed: it goes on without ${orphaned.join(', ')}, which nobody brings any more`
  return paused ? 'resumed; threads that an error holds are recovered one by one' : 'it was not paused; threads that were are resumed'
}

/** Throws `not_found` unless the execution has events. Executions without a record can still have events, which only this route removes. */
async function mustHaveEvents(rooms: Rooms, execution_id: string): Promise<void> {
  if (rooms.runs.runtime.records.execution(execution_id)) return
  if (/^[0-9a-f-]{36}$/.test(execution_id)) {
    for await (const _ of rooms.hub.events({ execution_id })) return
  }
  throw new LabError('not_found', `there is no execution ${JSON.stringify(execution_id)}; /api/executions shows what there is`)
}

function now(): number {
  return Date.now() / 1000
}
