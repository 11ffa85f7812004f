// Ends executions that were open when the service ended and are not restored.

import type { Context, RuntimeEvent } from '../../events/event.ts'
import type { EndStatus, Records } from '../records/records.ts'
import { catchUp } from '../records/tracking_sink.ts'
import { isTerminal, threadTransitions } from '../state/statuses.ts'
import { endOf, LogReplay } from './log_replay.ts'
import { restarted } from './restore.ts'

type Emit = (event_name: string, context: Context, execution_id: string) => unknown

type Around = {
  isTakenUp(execution_id: string): boolean
  /** Keyed by execution: why it cannot be restored, if there is another reason than the restart. */
  reasons?: ReadonlyMap<string, string>
  /** Yields the events of an execution in the log. */
  events(execution_id: string): AsyncIterable<RuntimeEvent>
  /** Resolves with the time of the oldest event in the log, Unix time, s; undefined for an empty log. */
  oldest(): Promise<number | undefined>
  emit: Emit
  /** Called for each run after its end was published. */
  ended?(execution_id: string): Promise<void>
}

/**
 * Fires the end of every entity without an end in the log, in the usual order, and updates the records. An entity that has a record and no event
 * begins first: the record can reach the disk before the events. Returns the number of executions.
 */
export async function abortOrphanedRuns(records: Records, { isTakenUp, reasons, events, oldest, emit, ended }: Around): Promise<number> {
  const open = records.executions().filter(({ ended_at, execution_id }) => ended_at === null && !isTakenUp(execution_id))
  let count = 0
  for (const { execution_id } of open.reverse()) {
    const replay = new LogReplay()
    for await (const event of events(execution_id)) {
      replay.see(event)
      catchUp(records, event)
    }
    if (records.execution(execution_id)?.ended_at !== null) continue
    count++
    // Old events are removed from the log, so a missing one proves nothing unless the log reaches back to the beginning of the run.
    const isWhole = replay.isEmpty ? ((await oldest()) ?? Infinity) <= records.execution(execution_id)!.started_at : replay.hasBeginning
    new Ending(records, { execution_id, replay, isWhole, reason: reasons?.get(execution_id) ?? restarted, emit }).tell()
    await ended?.(execution_id)
  }
  return count
}

class Ending {
  readonly #records: Records
  readonly #execution_id: string
  readonly #replay: LogReplay
  /** Whether the log has each event of the run that was fired. */
  readonly #isWhole: boolean
  readonly #reason: string
  readonly #emit: Emit

  constructor(
    records: Records,
    {
      execution_id,
      replay,
      isWhole,
      reason,
      emit,
    }: { execution_id: string; replay: LogReplay; isWhole: boolean; reason: string; emit: Emit },
  ) {
    this.#records = records
    this.#execution_id = execution_id
    this.#replay = replay
    this.#isWhole = isWhole
    this.#reason = reason
    this.#emit = emit
  }

  tell(): void {
    if (this.#isWhole) this.#begin()
    this.#endActions()
    this.#endThreads()
    for (const { submission_id, group_id, ended } of this.#records.groups(this.#execution_id)) {
      if (Object.keys(ended).length === 0 || this.#replay.isComplete({ submission_id, group_id })) continue
      this.#say(`GROUP.${group_id}.COMPLETED`, { submission_id, group_id, ended })
    }
    const status = this.#outcome()
    this.#endWorkflow(status)
    this.#endSubmissions(status)
    this.#say(`EXECUTION.${this.#execution_id}.${status}`, { reason: this.#reasonFor(status) })
  }

  #say(event_name: string, more: Context): void {
    const execution_id = this.#execution_id
    const { workflow_name } = this.#records.execution(execution_id)!
    this.#emit(event_name, { execution_id, workflow_name, ...more }, execution_id)
  }

  /** Fires the beginning of the submissions, the workflow and the threads of which the log has no event. */
  #begin(): void {
    const id = this.#execution_id
    const isUntold = (entity_id: string) => this.#replay.statusOf(entity_id) === undefined
    for (const { submission_id, group_ids } of this.#records.submissionsOf(id))
      if (isUntold(submission_id))
        this.#say(`SUBMISSION.${submission_id}.ACCEPTED`, { submission_id, group_count: group_ids.length, reason: null })
    if (isUntold(id)) this.#say(`WORKFLOW.${id}.CREATED`, {})
    for (const { thread_id, thread_name, template_name, status } of this.#records.threads(id))
      if (isUntold(thread_id) && !isTerminal(threadTransitions, status))
        this.#say(`THREAD.${thread_id}.CREATED`, { thread_id, thread_name, template_name, pause_reason: null, last_error: null })
  }

  #endActions(): void {
    for (const event of this.#replay.open()) {
      if (event.entity_type !== 'ACTION' && event.entity_type !== 'METHOD') continue
      const { status, context } = endOf(event, this.#reason)
      this.#emit(`${event.entity_type}.${event.entity_id}.${status}`, context, this.#execution_id)
    }
  }

  /** Returns the status in the log, which the record may be ahead of; that of the record if the log has none. */
  #statusOf<Known extends string>(id: string, recorded: Known): Known {
    return (this.#replay.statusOf(id) as Known | undefined) ?? recorded
  }

  /** Ends the threads with a record, and those that have events and no record. */
  #endThreads(): void {
    const known = this.#records.threads(this.#execution_id)
    for (const { thread_id, thread_name, template_name, status } of known) {
      if (isTerminal(threadTransitions, this.#statusOf(thread_id, status))) continue
      const its = { thread_id, thread_name, template_name, pause_reason: null, last_error: this.#reason }
      this.#say(`THREAD.${thread_id}.ABORTED`, its)
    }
    const ids = new Set(known.map(({ thread_id }) => thread_id))
    for (const event of this.#replay.open()) {
      if (event.entity_type !== 'THREAD' || ids.has(event.entity_id)) continue
      this.#emit(`THREAD.${event.entity_id}.ABORTED`, endOf(event, this.#reason).context, this.#execution_id)
    }
  }

  /** Returns the outcome. The service may have ended between two of the last events. */
  #outcome(): EndStatus {
    const [ended] = this.#records.submissionsOf(this.#execution_id).flatMap(({ status }) => (status === 'IN_PROGRESS' ? [] : status))
    if (ended) return ended
    const workflow = this.#replay.statusOf(this.#execution_id)
    const isFailed = () => this.#records.threads(this.#execution_id).some(({ status }) => status === 'FAILED')
    if (workflow === 'COMPLETED') return 'COMPLETED'
    return workflow === 'ERRORED' && isFailed() ? 'FAILED' : 'ABORTED'
  }

  #reasonFor(status: EndStatus): string | null {
    return status === 'ABORTED' ? this.#reason : null
  }

  #endWorkflow(status: EndStatus): void {
    const last = this.#replay.statusOf(this.#execution_id)
    const name = `WORKFLOW.${this.#execution_id}`
    if (last !== 'COMPLETED' && last !== 'ERRORED') this.#say(`${name}.${status === 'COMPLETED' ? 'COMPLETED' : 'ERRORED'}`, {})
  }

  #endSubmissions(status: EndStatus): void {
    for (const { submission_id, group_ids, ended_at } of this.#records.submissionsOf(this.#execution_id)) {
      const last = this.#replay.statusOf(submission_id)
      if (last === undefined ? ended_at !== null : last !== 'ACCEPTED') continue
      this.#say(`SUBMISSION.${submission_id}.${status}`, { submission_id, group_count: group_ids.length, reason: this.#reasonFor(status) })
    }
  }
}
