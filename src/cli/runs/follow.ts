// What a run tells, line by line, until it ends.

import type { RuntimeEvent } from '../../events/event.ts'
import { short } from '../at_shell.ts'
import { ask, type Service } from '../client.ts'
import { print } from '../table.ts'

const page = 1000
const wait_s = 20

/** Answers the exit code: 0 if the execution is COMPLETED. */
export async function follow(service: Service, execution_id: string, asJson: boolean): Promise<number> {
  for (let since = 0; ; ) {
    const query = new URLSearchParams({ execution_id, since: String(since), limit: String(page), wait: String(wait_s) })
    const { events, next_since } = await ask<{ events: RuntimeEvent[]; next_since: number }>(service, 'GET', `/events?${query}`)
    for (const event of events) {
      const text = asJson ? JSON.stringify(event) : line(event)
      if (text !== undefined) print(text)
      if (!asJson && event.entity_type === 'THREAD' && event.status === 'PAUSED')
        print(`  -> it stands until somebody decides; what to do: benchd runs why ${short(execution_id)}`)
      if (event.entity_type === 'EXECUTION') return event.status === 'COMPLETED' ? 0 : 1
    }
    since = next_since
  }
}

type Told = Readonly<Record<string, string | null | undefined>>

/** Undefined for what is left out: methods, submissions, the workflow. */
function line({ timestamp, entity_type, status, context }: RuntimeEvent): string | undefined {
  const its = context as Told
  const words = {
    THREAD: () => [its.thread_name, status, its.last_error],
    ACTION: () => [its.thread_name, its.action_name ?? 'move', status],
    CUSTOM: () => ['event', its.event_name, its.value],
    OPERATOR: () => ['operator', its.instruction, `confirm with: benchd runs confirm ${its.step_id}`],
    INCIDENT: () => ['incident', its.category, its.message],
    EXECUTION: () => ['execution', status, its.reason],
  }[entity_type]
  return words && [new Date(timestamp * 1000).toISOString().slice(11, 23), ...words().filter(Boolean)].join('  ')
}
