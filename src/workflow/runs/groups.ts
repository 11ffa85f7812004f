// The groups of a submission. A group is complete when all its threads have ended, with or without success.

import { Entry, type Fixed, type RunState } from '../state/entry.ts'
import type { GroupState } from '../state/run.ts'
import type { Carrier, RunEvents, ThreadOrigin } from '../threads/carrier.ts'

export class Groups {
  readonly #run: { readonly state: RunState; readonly events: RunEvents }
  readonly #groups = new Map<string, Entry<'group'>>()

  constructor(run: { readonly state: RunState; readonly events: RunEvents }) {
    this.#run = run
  }

  restore(saved: GroupState): void {
    this.#add(saved)
  }

  /** Notes that a thread has begun. Has no effect for a thread without a group. */
  began({ origin }: Carrier): void {
    const group = this.#of(origin)
    group?.set({ open: group.state.open + 1 })
  }

  ended({ origin, status }: Carrier): void {
    const group = this.#of(origin)
    if (!group) return
    const { open, is_complete, ended } = group.state
    const isLast = open === 1 && !is_complete
    const count = (ended[status.current] ?? 0) + 1
    group.set({ open: open - 1, is_complete: is_complete || isLast, ended: { ...ended, [status.current]: count } })
    if (isLast) this.#completed(group.state)
  }

  #completed({ submission_id, group_id, ended }: Fixed<GroupState>): void {
    const { events } = this.#run
    events.emit('GROUP', group_id, 'COMPLETED', { ...events.context(), submission_id, group_id, ended })
  }

  #of({ submission_id, group_id }: ThreadOrigin): Entry<'group'> | undefined {
    if (group_id === null) return undefined
    return (
      this.#groups.get(keyOf({ submission_id, group_id })) ?? this.#add({ submission_id, group_id, open: 0, is_complete: false, ended: {} })
    )
  }

  #add(state: GroupState): Entry<'group'> {
    const entry = new Entry(this.#run.state, 'group', state, keyOf(state))
    this.#groups.set(keyOf(state), entry)
    return entry
  }
}

function keyOf({ submission_id, group_id }: Pick<GroupState, 'submission_id' | 'group_id'>): string {
  return `${submission_id} ${group_id}`
}
