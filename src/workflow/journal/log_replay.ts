// What the log knows of a run that is taken up. It may know more than was saved: what happened in the turn in which the service ended.
// Or less: what was on its way into it when the power failed.

import type { Context, RuntimeEvent } from '../../events/event.ts'
import {
  actionTransitions,
  isTerminal,
  methodTransitions,
  submissionTransitions,
  type Transitions,
  threadTransitions,
  workflowTransitions,
} from '../statuses.ts'
import type { ChannelState } from './checkpoint.ts'

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
  readonly #done = new Set<string>()
  readonly #complete = new Set<string>()
  /** The latest of each custom event, and how often there was one. */
  readonly #published = new Map<string, ChannelState>()

  /** In the order of the log. */
  see(event: RuntimeEvent): void {
    const { entity_type, entity_id, status, context } = event
    if (entity_type === 'GROUP') this.#complete.add(`${context.submission_id} ${entity_id}`)
    if (entity_type === 'CUSTOM') this.#publish(context)
    if (!(entity_type in tables)) return
    this.#last.set(entity_id, event)
    if (entity_type === 'ACTION' && status === 'COMPLETED') this.#done.add(`${context.method_id} ${context.action_name}`)
  }

  #publish({ event_name, value, data }: Context): void {
    const name = String(event_name)
    const count = (this.#published.get(name)?.count ?? 0) + 1
    this.#published.set(name, { name, count, value: value as string | null, data: data as Record<string, unknown> })
  }

  /** Custom events as they stand, those that were saved included. */
  channels(saved: readonly ChannelState[]): ChannelState[] {
    const known = new Map(this.#published)
    for (const channel of saved) if (channel.count >= (known.get(channel.name)?.count ?? 0)) known.set(channel.name, channel)
    return [...known.values()]
  }

  /** It knows nothing of the run: then it says nothing about what is not in it, either. */
  get isEmpty(): boolean {
    return this.#last.size === 0
  }

  /** Of a thread, a method, an action, a submission, or of the workflow by the id of its execution. */
  statusOf(id: string): string | undefined {
    return this.#last.get(id)?.status
  }

  /** The action of that method was completed. */
  isDone(method_id: string, action_name: string): boolean {
    return this.#done.has(`${method_id} ${action_name}`)
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
