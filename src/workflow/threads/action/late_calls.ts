// Device calls that take too long, by the ids of their incidents. An operator decides about one while it goes on.

import { LabError } from '../../../errors.ts'

/** The decision of an operator: this many seconds more, or end the call as failed or as done. */
export type OperatorVerdict = { extend: number } | 'abort' | 'complete'
/** `ended`: the call ended by itself before anybody decided. */
export type LateVerdict = OperatorVerdict | 'ended'

/** The call in words, and its thread. */
type Call = { what: string; thread_id: string }
type Late = Call & { tell(verdict: LateVerdict): void; isOver: boolean }

/** The number of calls that are over and still remembered, to refuse late decisions with the right reason. */
const mostOver = 100

export class LateCalls {
  readonly #calls = new Map<string, Late>()

  /** Offers a call for decision. `tell` is called with the first decision. */
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

  /** Returns the incident of the thread's late call that awaits a decision. */
  incidentOf(thread_id: string): string | undefined {
    for (const [incident_id, late] of this.#calls) if (late.thread_id === thread_id && !late.isOver) return incident_id
    return undefined
  }

  /** Decides about a call, and returns the call. Throws `not_found` if the incident has no such call, `conflict` if the call is over. */
  decide(incident_id: string, verdict: OperatorVerdict): Call {
    const late = this.#calls.get(incident_id)
    if (!late) throw new LabError('not_found', `incident ${incident_id} is not about a late device call`)
    if (late.isOver)
      throw new LabError('conflict', `${late.what} does not wait for a decision any more: somebody has decided, or it has ended`)
    late.isOver = true
    late.tell(verdict)
    return late
  }
}
