// Device calls that take too long, each under the id of its incident: what an operator may say about one while it goes on.

import { LabError } from '../../../errors.ts'

/** The word of an operator: so many seconds more, or the end as a failure or as done. */
export type OperatorVerdict = { extend: number } | 'abort' | 'complete'
/** `ended`: by itself, before anybody said anything. */
export type LateVerdict = OperatorVerdict | 'ended'

/** `what` it is, and whose. */
type Call = { what: string; thread_id: string }
type Late = Call & { tell(verdict: LateVerdict): void; isOver: boolean }

/** Calls that are over, about which somebody may still ask. */
const mostOver = 100

export class LateCalls {
  readonly #calls = new Map<string, Late>()

  /** `tell` hears of the first thing that is said. */
  open(incident_id: string, call: Call, tell: (verdict: LateVerdict) => void): { close(): void } {
    const late: Late = { ...call, tell, isOver: false }
    this.#calls.set(incident_id, late)
    this.#forgetOldest()
    return {
      close: () => {
        late.isOver = true
      },
    }
  }

  #forgetOldest(): void {
    const over = [...this.#calls].filter(([, { isOver }]) => isOver)
    for (const [incident_id] of over.slice(0, Math.max(0, over.length - mostOver))) this.#calls.delete(incident_id)
  }

  has(incident_id: string): boolean {
    return this.#calls.has(incident_id)
  }

  /** The incident of the call of a thread about which nobody has decided. */
  incidentOf(thread_id: string): string | undefined {
    for (const [incident_id, late] of this.#calls) if (late.thread_id === thread_id && !late.isOver) return incident_id
    return undefined
  }

  /** Throws `not_found` for an incident of no such call; `conflict` when it is over. */
  decide(incident_id: string, verdict: OperatorVerdict): string {
    const late = this.#calls.get(incident_id)
    if (!late) throw new LabError('not_found', `no device call that takes too long belongs to incident ${incident_id}`)
    if (late.isOver)
      throw new LabError('conflict', `${late.what} does not wait for a decision any more: somebody has decided, or it has ended`)
    late.isOver = true
    late.tell(verdict)
    return late.what
  }
}
