// The least program that promises of labware threads what the runtime promises: each goes on a step at a time, some steps in a turn of the event
// loop, waits for its arm behind those who came before, and fires every event of its methods when it happens.

import { randomUUID } from 'node:crypto'
import type { Context, NameParts, RuntimeEvent } from '../../../src/events/event.ts'
import { StepQueue } from '../../../src/kit/steps.ts'

type LeastThreads = {
  /** The number of labware, and of the methods that each goes through. */
  threads: number
  methods: number
  arms: number
  /** The events of one method of one labware, in their order. */
  method: readonly RuntimeEvent[]
  emit(event_name: string, context: Context, execution_id: string, parts: NameParts): void
  backpressure?: (() => Promise<void> | undefined) | undefined
}

/** A thread goes on in another turn before it fires one of these: it has got its device, its way, its arm, or an answer of a device. */
const turnBefore = new Set(['RESOLVED', 'AWAITING_MOVE_TARGET_AVAILABILITY', 'PICKING', 'PLACING', 'EXECUTING_ACTION'])

export async function runLeastThreads({ threads, methods, arms, method, emit, backpressure }: LeastThreads): Promise<void> {
  const steps = new StepQueue(backpressure ? { backpressure } : {})
  /** By arm, resolves when those who came before have put down what they moved. */
  const free = new Array<Promise<void>>(arms).fill(Promise.resolve())
  const go = async (n: number) => {
    const ids: Record<string, string> = { THREAD: randomUUID() }
    for (let i = 0; i < methods; i++) {
      let letGo: (() => void) | undefined
      ids.METHOD = randomUUID()
      for (const { entity_type, status, context, execution_id } of method) {
        if (status === 'CREATED') ids[entity_type] = randomUUID()
        if (status === 'PREPARING_TO_MOVE') {
          const before = free[n % arms]
          free[n % arms] = new Promise((resolve) => {
            letGo = resolve
          })
          await before
        }
        if (turnBefore.has(status)) await steps.turn()
        const entity_id = ids[entity_type] ?? ''
        emit(`${entity_type}.${entity_id}.${status}`, { ...context, thread_id: ids.THREAD }, execution_id, {
          entity_type,
          entity_id,
          status,
        })
        if (status === 'COMPLETED') letGo?.()
      }
    }
  }
  await Promise.all(Array.from({ length: threads }, (_, n) => go(n)))
}

/** The events of the first method of a labware, among those of many. Throws where there is none that is whole. */
export function methodIn(events: readonly RuntimeEvent[]): RuntimeEvent[] {
  const first = events.find(({ entity_type }) => entity_type === 'METHOD')
  const its = events.filter(({ context }) => context.thread_id === first?.context.thread_id)
  const end = its.findIndex(({ entity_id, status }) => entity_id === first?.entity_id && status === 'COMPLETED')
  if (!first || end === -1) throw new Error('no method is whole among the events')
  return its.slice(its.indexOf(first), end + 1)
}
