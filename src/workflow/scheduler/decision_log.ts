// The scheduler's decisions about threads that wait for each other, in words. The last decision about each thread is kept for explanations.

import type { Clock } from '../../kit/clock.ts'

/**
 * A decision about threads that wait for each other or for a device. `parked`: labware was moved out of the way. `buffered`: labware waits elsewhere, so that
 * others can use the device in which it stood. `granted_unsafe`: a request was granted although others
 * may be stuck afterwards. `granted_reserved`: a request was granted against another thread's reservation. `stuck`: a person has to make room.
 */
export type Decision = {
  kind: 'parked' | 'buffered' | 'granted_unsafe' | 'granted_reserved' | 'stuck'
  thread_ids: readonly string[]
  /** The thread that is parked, waits elsewhere, is granted its request, or is stuck. */
  thread_id: string
  /** The granted device or position, or the position where the labware waits; null if none. */
  granted: string | null
}

/** Beyond this number the oldest decision is dropped. */
const mostKept = 1000

type DecisionLogOptions = {
  clock: Clock
  nameOf(thread_id: string): string
  /** Called with each decision, as a sentence for the log. */
  note?: ((sentence: string) => void) | undefined
}

/** A sentence about a thread, and when it was decided, by the clock of the run. */
type Noted = { sentence: string; at_ms: number }

export class DecisionLog {
  readonly #options: DecisionLogOptions
  readonly #last = new Map<string, Noted>()

  constructor(options: DecisionLogOptions) {
    this.#options = options
  }

  add(decision: Decision): void {
    const { clock, nameOf, note } = this.#options
    const { kind, thread_id, thread_ids, granted } = decision
    const others = thread_ids.filter((other) => other !== thread_id).map(nameOf)
    const sentence = sentences[kind](nameOf(thread_id), others.join(', '), granted)
    this.#last.delete(thread_id)
    this.#last.set(thread_id, { sentence, at_ms: clock.now() })
    if (this.#last.size > mostKept) this.#last.delete(this.#last.keys().next().value!)
    note?.(sentence)
  }

  /** Returns the last decision about a thread. */
  of(thread_id: string): Noted | undefined {
    return this.#last.get(thread_id)
  }
}

/** `others` names the threads that wait with it; empty if it waits alone. */
const sentences: Record<Decision['kind'], (name: string, others: string, granted: string | null) => string> = {
  parked: (name, others) => `${name} was put out of the way, because ${deadlock(others)}`,
  buffered: (name, _others, granted) => `${name} waits at ${granted}, so that others can use the device in which it stood`,
  granted_unsafe: (name, others, granted) =>
    `${name} was granted ${granted} although ${others || 'others'} may be stuck afterwards, because nothing else could move`,
  granted_reserved: (name, others, granted) =>
    `${name} was granted ${granted} although another thread had reserved it, because ${deadlock(others)}`,
  stuck: (name, others) => `${name} was reported as stuck, because ${deadlock(others)}, and no place was free to make room`,
}

function deadlock(others: string): string {
  return others ? `it and ${others} waited for each other` : 'it could not go on'
}
