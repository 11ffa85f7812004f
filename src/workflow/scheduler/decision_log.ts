// The decisions of the scheduler about threads that wait for each other, in words: the last one about each thread is kept for those who ask why.

import type { Clock } from '../../kit/clock.ts'

/**
 * A decision about threads that wait for each other: `parked`, labware is put out of the way; `granted_unsafe`, a request is granted after which others may
 * be stuck; `granted_reserved`, a request is granted against the reservation of another thread; `stuck`, a person has to make room.
 */
export type Decision = {
  kind: 'parked' | 'granted_unsafe' | 'granted_reserved' | 'stuck'
  thread_ids: readonly string[]
  /** The thread that is parked, granted its request, or stuck. */
  thread_id: string
  /** The device or position that is granted; null where none is. */
  granted: string | null
}

/** Beyond this number the oldest decision is dropped. */
const mostKept = 1000

type DecisionLogOptions = {
  clock: Clock
  nameOf(thread_id: string): string
  /** Takes each decision as a sentence for the log. */
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

/** `others` are the names of the threads that wait with it; empty where it waits alone. */
const sentences: Record<Decision['kind'], (name: string, others: string, granted: string | null) => string> = {
  parked: (name, others) => `${name} was put out of the way, because ${deadlock(others)}`,
  granted_unsafe: (name, others, granted) =>
    `${name} was granted ${granted} although ${others || 'others'} may be stuck afterwards, because nothing else could move`,
  granted_reserved: (name, others, granted) =>
    `${name} was granted ${granted} although another thread had reserved it, because ${deadlock(others)}`,
  stuck: (name, others) => `${name} was reported as stuck, because ${deadlock(others)}, and no place was free to make room`,
}

function deadlock(others: string): string {
  return others ? `it and ${others} waited for each other` : 'it could not go on'
}
