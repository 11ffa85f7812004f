// The groups of a submission. A group is complete when all its threads have ended, with or without success.

import { LabError } from '../../errors.ts'
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

  /** Returns the group of this name. Throws `not_found`; `conflict` if several submissions have such a group, and none of them is named. */
  find(group_id: string, submission_id?: string): { submission_id: string; group_id: string } {
    const known = [...this.#groups.values()].map(({ state }) => state)
    const found = known.filter((group) => group.group_id === group_id && (submission_id ?? group.submission_id) === group.submission_id)
    if (found.length > 1) {
      const submissions = found.map((group) => group.submission_id).join(', ')
      throw new LabError(
        'conflict',
        `several submissions of this run have a group ${group_id}; name one of them as submission_id: ${submissions}`,
      )
    }
    if (found[0]) return { submission_id: found[0].submission_id, group_id }
    const names = [...new Set(known.map((group) => group.group_id))]
    const those = names.length === 0 ? 'it has none' : `it has ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}`
    throw new LabError('not_found', `there is no group ${group_id} in this run; ${those}`)
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
