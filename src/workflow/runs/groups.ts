// The groups of a submission: each is complete when all its threads have ended, in whatever way.

import type { GroupState } from '../journal/checkpoint.ts'
import type { Carrier, ThreadOrigin } from '../threads/carrier.ts'

export class Groups {
  readonly #groups = new Map<string, GroupState>()
  /** The groups whose entry in the journal is out of date. */
  readonly dirty = new Set<GroupState>()
  readonly #completed: (group: GroupState) => void

  constructor(completed: (group: GroupState) => void) {
    this.#completed = completed
  }

  list(): GroupState[] {
    return [...this.#groups.values()].map((group) => ({ ...group, ended: { ...group.ended } }))
  }

  /** Restores the group with these threads. `isComplete`: its completion was published. */
  restore(threads: Iterable<Carrier>, isComplete: (group: GroupState) => boolean): void {
    for (const { origin, status, isOver } of threads) {
      const group = this.#of(origin)
      if (group && isOver) group.ended[status.current] = (group.ended[status.current] ?? 0) + 1
      else if (group) group.open++
    }
    for (const group of this.#groups.values()) group.is_complete = isComplete(group)
  }

  /** Notes that a thread has begun. A thread without a group holds none open. */
  began({ origin }: Carrier): void {
    const group = this.#of(origin)
    if (!group) return
    group.open++
    this.dirty.add(group)
  }

  ended({ origin, status }: Carrier): void {
    const group = this.#of(origin)
    if (!group) return
    group.open--
    this.dirty.add(group)
    group.ended[status.current] = (group.ended[status.current] ?? 0) + 1
    this.#completeIfOver(group)
  }

  #completeIfOver(group: GroupState): void {
    if (group.open > 0 || group.is_complete) return
    group.is_complete = true
    this.dirty.add(group)
    this.#completed(group)
  }

  #of({ submission_id, group_id }: ThreadOrigin): GroupState | undefined {
    if (group_id === null) return undefined
    const key = keyOf({ submission_id, group_id })
    let group = this.#groups.get(key)
    if (!group) {
      group = { submission_id, group_id, open: 0, is_complete: false, ended: {} }
      this.#groups.set(key, group)
    }
    return group
  }
}

function keyOf({ submission_id, group_id }: { submission_id: string; group_id: string }): string {
  return `${submission_id}:${group_id}`
}
