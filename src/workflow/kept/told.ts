// What the log knows of a run that is taken up. It may know more than was saved: what happened in the turn in which the service ended.

import type { RuntimeEvent } from '../../events/event.ts'
import {
  actionTransitions,
  isTerminal,
  methodTransitions,
  submissionTransitions,
  type Transitions,
  threadTransitions,
} from '../statuses.ts'

const tables: Readonly<Record<string, Transitions<string>>> = {
  ACTION: actionTransitions,
  METHOD: methodTransitions,
  THREAD: threadTransitions,
  SUBMISSION: submissionTransitions,
}

export class Told {
  /** The last of each. */
  readonly #last = new Map<string, RuntimeEvent>()
  readonly #done = new Set<string>()
  readonly #complete = new Set<string>()

  /** In the order of the log. */
  see(event: RuntimeEvent): void {
    const { entity_type, entity_id, status, context } = event
    if (entity_type === 'GROUP') this.#complete.add(`${context.submission_id} ${entity_id}`)
    if (!(entity_type in tables)) return
    this.#last.set(entity_id, event)
    if (entity_type === 'ACTION' && status === 'COMPLETED') this.#done.add(`${context.method_id} ${context.action_name}`)
  }

  /** Of a thread, a method or an action. */
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

  /** The last of each that did not come to its end, in the order they were last told of. */
  open(): RuntimeEvent[] {
    return [...this.#last.values()].filter(({ entity_type, status }) => !isTerminal(tables[entity_type]!, status))
  }
}
