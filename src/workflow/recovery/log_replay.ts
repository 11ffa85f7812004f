// Reads from the log what was begun of a run that is not taken up, and has no end.

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
  /** The last of each. */
  readonly #last = new Map<string, RuntimeEvent>()
  readonly #complete = new Set<string>()
  /** Sorted in the order of the log. */
  see(event: RuntimeEvent): void {
    const { entity_type, entity_id, context } = event
    if (entity_type === 'GROUP') this.#complete.add(`${context.submission_id} ${entity_id}`)
    if (!(entity_type in tables)) return
    this.#last.set(entity_id, event)
  }

  /** The log knows nothing of the run, and so says nothing about what is not in it. */
  get isEmpty(): boolean {
    return this.#last.size === 0
  }

  /** The statuses of threads, methods, actions and submissions by id, and of workflows by the id of their execution. */
  statusOf(id: string): string | undefined {
    return this.#last.get(id)?.status
  }

  isComplete({ submission_id, group_id }: { submission_id: string; group_id: string }): boolean {
    return this.#complete.has(`${submission_id} ${group_id}`)
  }

  /** The last of each that did not come to its end, in the order of their last events. */
  open(): RuntimeEvent[] {
    return [...this.#last.values()].filter(({ entity_type, status }) => !isTerminal(tables[entity_type]!, status))
  }
}

/** How something ends that is not gone on with, by its last event. */
export function endOf({ entity_type, status, context }: RuntimeEvent, reason: string): { status: string; context: Context } {
  if (entity_type === 'METHOD') return { status: status === 'CREATED' ? 'SKIPPED' : 'PARTIAL_COMPLETE', context: { ...context } }
  const { execution_id, workflow_name, thread_id, thread_name, template_name } = context
  const names = { execution_id, workflow_name, thread_id, thread_name, template_name }
  if (entity_type === 'THREAD') return { status: 'ABORTED', context: { ...names, pause_reason: null, last_error: reason } }
  return { status: 'ABORTED', context: { ...context, ...(entity_type === 'ACTION' ? { action_status: 'ABORTED' } : { reason }) } }
}
