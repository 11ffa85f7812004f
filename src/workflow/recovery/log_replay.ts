// Finds in the log the open entities of a run that is not restored.

import type { Context, RuntimeEvent } from '../../events/event.ts'
import {
  actionTransitions,
  isTerminal,
  methodTransitions,
  submissionTransitions,
  type Transitions,
  threadTransitions,
  workflowTransitions,
} from '../state/statuses.ts'

const tables: Readonly<Record<string, Transitions<string>>> = {
  ACTION: actionTransitions,
  METHOD: methodTransitions,
  THREAD: threadTransitions,
  SUBMISSION: submissionTransitions,
  WORKFLOW: workflowTransitions,
}

export class LogReplay {
  /** The last event of each entity. */
  readonly #last = new Map<string, RuntimeEvent>()
  readonly #complete = new Set<string>()
  #hasBeginning = false

  /** Takes the events in the order of the log. */
  see(event: RuntimeEvent): void {
    const { entity_type, entity_id, status, context } = event
    if (entity_type === 'GROUP') this.#complete.add(`${context.submission_id} ${entity_id}`)
    if (!(entity_type in tables)) return
    if (this.isEmpty) this.#hasBeginning = entity_type === 'SUBMISSION' && status === 'ACCEPTED'
    this.#last.set(entity_id, event)
  }

  /** Whether the first event of the run is in the log. */
  get hasBeginning(): boolean {
    return this.#hasBeginning
  }

  /** Whether the log has no event of the run. */
  get isEmpty(): boolean {
    return this.#last.size === 0
  }

  /** Returns the status of a thread, method, action or submission by its id, or of a workflow by the id of its execution. */
  statusOf(id: string): string | undefined {
    return this.#last.get(id)?.status
  }

  isComplete({ submission_id, group_id }: { submission_id: string; group_id: string }): boolean {
    return this.#complete.has(`${submission_id} ${group_id}`)
  }

  /** Returns the last event of each open entity, in order. */
  open(): RuntimeEvent[] {
    return [...this.#last.values()].filter(({ entity_type, status }) => !isTerminal(tables[entity_type]!, status))
  }
}

/** Returns the end of an entity that is not continued, from its last event. */
export function endOf({ entity_type, status, context }: RuntimeEvent, reason: string): { status: string; context: Context } {
  if (entity_type === 'METHOD') return { status: status === 'CREATED' ? 'SKIPPED' : 'PARTIAL_COMPLETE', context: { ...context } }
  const { execution_id, workflow_name, thread_id, thread_name, template_name } = context
  const names = { execution_id, workflow_name, thread_id, thread_name, template_name }
  if (entity_type === 'THREAD') return { status: 'ABORTED', context: { ...names, pause_reason: null, last_error: reason } }
  return { status: 'ABORTED', context: { ...context, ...(entity_type === 'ACTION' ? { action_status: 'ABORTED' } : { reason }) } }
}
