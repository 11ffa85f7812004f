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
  emit: Emit
}

/**
 * Fires the end of every entity without an end in the log, in the usual order, and updates the records. Returns the
 * number of executions.
 */
export async function abortOrphanedRuns(records: Records, { isTakenUp, reasons, events, emit }: Around): Promise<number> {
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
    new Ending(records, { execution_id, replay, reason: reasons?.get(execution_id) ?? restarted, emit }).tell()
  }
  return count
}

class Ending {
  readonly #records: Records
  readonly #execution_id: string
  readonly #replay: LogReplay
  readonly #reason: string
  readonly #emit: Emit

  constructor(
    records: Records,
    { execution_id, replay, reason, emit }: { execution_id: string; replay: LogReplay; reason: string; emit: Emit },
  ) {
    this.#records = records
    this.#execution_id = execution_id
    this.#replay = replay
    this.#reason = reason
    this.#emit = emit
  }

  tell(): void {
    const groups = this.#records.groups(this.#execution_id).filter((group) => !this.#replay.isComplete(group))
    this.#endActions()
    this.#endThreads()
    for (const { submission_id, group_id, open, ended } of groups) {
      if (open === 0 && Object.keys(ended).length === 0) continue
      const all = open === 0 ? ended : { ...ended, ABORTED: (ended['ABORTED'] ?? 0) + open }
      this.#say(`GROUP.${group_id}.COMPLETED`, { submission_id, group_id, ended: all })
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

  #endActions(): void {
    for (const event of this.#replay.open()) {
      if (event.entity_type !== 'ACTION' && event.entity_type !== 'METHOD') continue
      const { status, context } = endOf(event, this.#reason)
      this.#emit(`${event.entity_type}.${event.entity_id}.${status}`, context, this.#execution_id)
    }
  }

  /** Ends the threads with a record, and those that have events and no record. */
  #endThreads(): void {
    const known = this.#records.threads(this.#execution_id)
    for (const { thread_id, thread_name, template_name, status } of known) {
      if (isTerminal(threadTransitions, status)) continue
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
    if (last === undefined && !this.#replay.isEmpty) this.#say(`${name}.CREATED`, {})
    if (last !== 'COMPLETED' && last !== 'ERRORED') this.#say(`${name}.${status === 'COMPLETED' ? 'COMPLETED' : 'ERRORED'}`, {})
  }

  #endSubmissions(status: EndStatus): void {
    for (const { submission_id, group_ids, ended_at } of this.#records.submissionsOf(this.#execution_id)) {
      if (ended_at !== null) continue
      this.#say(`SUBMISSION.${submission_id}.${status}`, { submission_id, group_count: group_ids.length, reason: this.#reasonFor(status) })
    }
  }
}
