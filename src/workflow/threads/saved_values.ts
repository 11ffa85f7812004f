// The values that actions of one run have saved for later steps, by name and group.

import { LabError } from '../../errors.ts'
import { Entry, type Fixed, type RunState } from '../state/entry.ts'
import type { Scalar, ValueState } from '../state/saved_value.ts'
import type { Scope } from './channels.ts'

export class SavedValues {
  readonly #state: RunState
  /** Keyed by name and group. */
  readonly #values = new Map<string, Entry<'value'>>()

  constructor(state: RunState) {
    this.#state = state
  }

  /** Saves a value for a group, or for all groups. It replaces the earlier one. */
  save(name: string, value: Scalar, scope: Scope): void {
    const key = keyOf(name, scope)
    const { submission_id, group_id } = scope ?? { submission_id: null, group_id: null }
    const entry = this.#values.get(key) ?? this.#add(key, { name, submission_id, group_id, value })
    entry.set({ value })
  }

  /** Returns the value of the group, else the one for all groups. Throws `conflict` if neither was saved. */
  get(name: string, scope: Scope): Scalar {
    const found = this.find(name, scope)
    if (found !== undefined) return found
    const whose = scope === null ? '' : ` for ${scope.group_id}`
    throw new LabError(
      'conflict',
      `the value ${name} was not saved${whose}: the action that measures it has not ended well; skip this step, then recover the thread with RETRY`,
    )
  }

  /** Returns the value as `get` does; undefined if it was not saved. */
  find(name: string, scope: Scope): Scalar | undefined {
    return (this.#values.get(keyOf(name, scope)) ?? this.#values.get(keyOf(name, null)))?.state.value
  }

  restore(saved: ValueState): void {
    const { name, submission_id, group_id } = saved
    this.#add(keyOf(name, submission_id === null || group_id === null ? null : { submission_id, group_id }), saved)
  }

  /** Lists all values, in the order in which they were first saved. */
  all(): Fixed<ValueState>[] {
    return [...this.#values.values()].map(({ state }) => state)
  }

  #add(key: string, state: ValueState): Entry<'value'> {
    const entry = new Entry(this.#state, 'value', state, key)
    this.#values.set(key, entry)
    return entry
  }
}

/** A name has no control character, so the key of one value is never the key of another. */
function keyOf(name: string, scope: Scope): string {
  return scope === null ? name : `${name}\n${scope.submission_id} ${scope.group_id}`
}
