// Updates the records of submissions, threads and executions from their events.

import type { Context, RuntimeEvent } from '../../events/event.ts'
import type { Sink } from '../../events/sinks.ts'
import type { RunPart } from '../plans/plan.ts'
import type { Execution } from '../runs/execution.ts'
import type { Submission } from '../runs/submission.ts'
import { isLabware } from '../state/labware.ts'
import type { ThreadState } from '../state/run.ts'
import {
  type EndStatus,
  type ExecutionRow,
  endings,
  type RecordStore,
  type Records,
  type SubmissionRecord,
  submissionRow,
  type ThreadRecord,
} from './records.ts'

type TrackingOptions = {
  /** The stores, each of which gets all changes, in this order. */
  stores: readonly RecordStore[]
  /** Finds the execution, because events do not contain all members of a record. */
  find(execution_id: string): Execution | undefined
}

export class ExecutionTrackingSink implements Sink {
  readonly name = 'ExecutionTrackingSink'
  readonly #stores: readonly RecordStore[]
  readonly #find: TrackingOptions['find']

  constructor({ stores, find }: TrackingOptions) {
    this.#stores = stores
    this.#find = find
  }

  onEvent(event: RuntimeEvent): void {
    if (event.entity_type === 'THREAD') this.#onThread(event)
    else if (event.entity_type === 'SUBMISSION') this.#onSubmission(event)
    else if (event.entity_type === 'EXECUTION') this.#onExecution(event)
  }

  #onThread({ execution_id, entity_id: thread_id, status, timestamp, context }: RuntimeEvent): void {
    const { thread_name, template_name, pause_reason, last_error } = context as Pick<
      ThreadRecord,
      'thread_name' | 'template_name' | 'pause_reason' | 'last_error'
    >
    const execution = this.#find(execution_id)
    // At the event CREATED, the execution does not have the thread yet.
    const making = execution?.threadFactory.making
    const state = execution?.threads.get(thread_id)?.state ?? (making?.thread_id === thread_id ? making : undefined)
    const { submission_id = null, group_id = null } = state ?? {}
    const record = {
      thread_id,
      execution_id,
      thread_name,
      template_name,
      submission_id,
      group_id,
      status: status as ThreadRecord['status'],
      since: timestamp,
      pause_reason,
      last_error,
      ...(state && labwareOf(state)),
    }
    for (const store of this.#stores) store.thread(record)
  }

  #onSubmission({ execution_id, entity_id: submission_id, status, timestamp, context }: RuntimeEvent): void {
    const execution = this.#find(execution_id)
    if (isEnding(status)) {
      const ending = { status, reason: reasonIn(context), ended_at: execution?.now() ?? timestamp }
      for (const store of this.#stores) store.submissionEnded(execution_id, submission_id, ending)
      return
    }
    const submission = execution?.submissions.find((one) => one.submission_id === submission_id)
    if (!execution || !submission) return
    for (const store of this.#stores) store.accepted(rowOf(execution), submissionOf(execution, submission))
  }

  #onExecution({ execution_id, status, timestamp, context }: RuntimeEvent): void {
    if (!isEnding(status)) return
    // The event may have a later time, because timestamps keep their order when the clock is set back.
    const ended_at = this.#find(execution_id)?.ended_at ?? timestamp
    const ending = { status, reason: reasonIn(context), ended_at, ...leftIn(context) }
    for (const store of this.#stores) store.executionEnded(execution_id, ending)
  }
}

/** Rewrites the record of a restored execution, which may be older or newer than the execution. */
export function recordAnew(execution: Execution, records: Records): void {
  const { execution_id } = execution
  records.remove(execution_id)
  for (const submission of execution.submissions) records.accepted(rowOf(execution), submissionOf(execution, submission))
  for (const thread of execution.threads.values()) {
    const { thread_id, name, plan, origin, status, state, control, last_error } = thread
    const names = { thread_id, execution_id, thread_name: name, template_name: plan.name, ...origin }
    records.thread({
      ...names,
      status: status.current,
      since: state.since,
      pause_reason: control.pause_reason,
      last_error,
      ...labwareOf(state),
    })
  }
}

function labwareOf({
  template,
  labware,
}: Pick<ThreadState, 'template' | 'labware'>): Pick<ThreadRecord, 'labware_id' | 'barcode' | 'part'> {
  // The operations of the run itself have the name of their part.
  if (!isLabware(labware)) return { part: template as RunPart }
  return { labware_id: labware.labware_id, barcode: labware.barcode }
}

function rowOf({ execution_id, workflow, environment, started_at, record }: Execution): ExecutionRow {
  const what = {
    execution_id,
    workflow_name: workflow.name,
    workflow_hash: workflow.hash,
    topology: workflow.topology.name,
    ...record.versions,
  }
  return { ...what, run_mode: environment.mode, status: 'IN_PROGRESS', reason: null, started_at, ended_at: null }
}

function submissionOf({ record }: Execution, submission: Submission): SubmissionRecord {
  const { workflow_version } = record.versions
  return { ...submissionRow(submission), ...(workflow_version !== undefined && { workflow_version }) }
}

function isEnding(status: string): status is EndStatus {
  return (endings as readonly string[]).includes(status)
}

function reasonIn({ reason }: Context): string | null {
  return typeof reason === 'string' ? reason : null
}

function leftIn(context: Context): Pick<ExecutionRow, 'still_heating' | 'not_done'> {
  const { still_heating, not_done } = context as Pick<ExecutionRow, 'still_heating' | 'not_done'>
  return { ...(still_heating && { still_heating }), ...(not_done && { not_done }) }
}

/** Updates records that are behind the log: they are written at intervals, and those of a backup are older. */
export function catchUp(records: Records, event: RuntimeEvent): void {
  const { execution_id, entity_type, entity_id, status, timestamp, context } = event
  if (entity_type === 'THREAD') {
    const known = records.threads(execution_id).find(({ thread_id }) => thread_id === entity_id)
    const { pause_reason, last_error } = context as Pick<ThreadRecord, 'pause_reason' | 'last_error'>
    if (known && known.since < timestamp)
      records.thread({ ...known, status: status as ThreadRecord['status'], since: timestamp, pause_reason, last_error })
  } else if (isEnding(status)) {
    const ending = { status, reason: reasonIn(context), ended_at: timestamp }
    if (entity_type === 'SUBMISSION') records.submissionEnded(execution_id, entity_id, ending)
    if (entity_type === 'EXECUTION') records.executionEnded(execution_id, { ...ending, ...leftIn(context) })
  }
}
