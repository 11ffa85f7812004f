// The state of a run as values with keys. What is written on the card is what lives in memory: a value changes through its entry alone, which marks
// its key for the next transaction. So a write costs as much as has changed, however many threads the run has had.

import type { StateSource } from '../../events/states.ts'
import { type Kinds, keyOf } from './state.ts'

/** A value that only its entry changes. */
export type Fixed<Value> = Value extends object ? { readonly [Name in keyof Value]: Fixed<Value[Name]> } : Value

/** Writes the state of all runs, in one transaction with their events. */
export interface RunStates {
  /** Writes the state of this run from now on. */
  add(execution_id: string, source: StateSource): void
  /** Has all that has changed written at the end of this turn. */
  changed(): void
  /** Resolves when all events so far, and the state of all runs as it is at the end of this turn, are on the card. Rejects with `storage`. */
  persist(): Promise<void>
  /** At the end of this turn the state of the run is written for the last time. `left` is called in that very moment. */
  leave(execution_id: string, left: () => void): void
  /** The run is over: with the next transaction its state is gone. */
  drop(execution_id: string): void
}

type Journal = {
  takeChanges(change: (key: string, value: object | null) => void): void
  entries(): Iterable<[string, object]>
  stop(): void
}

/** One value of a run. */
export class Entry<Value> {
  readonly state: Fixed<Value>
  readonly #changed: () => void

  constructor(state: Value, changed: () => void) {
    this.state = state as Fixed<Value>
    this.#changed = changed
  }

  /** Changes members of the value, which goes with the next transaction: that of the next event, or sooner where somebody asks for it. */
  set(members: Partial<Value>): void {
    Object.assign(this.state as object, members)
    this.#changed()
  }

  /** As `set`, for what lies deeper in the value. */
  update(change: (state: Value) => unknown): void {
    change(this.state as Value)
    this.#changed()
  }
}

export class RunState implements StateSource {
  /** The JSON of each value as it is written. */
  readonly standing = new Map<string, string>()
  readonly #values = new Map<string, unknown>()
  readonly #changed = new Set<string>()
  #written: { execution_id: string; states: RunStates; journal: Journal } | null = null

  /** Adds a value. Another with its key is replaced. */
  add<Kind extends keyof Kinds>(kind: Kind, state: Kinds[Kind], id?: string): Entry<Kinds[Kind]> {
    const key = keyOf(kind, id)
    this.#values.set(key, state)
    this.#mark(key)
    return new Entry(state, () => this.#mark(key))
  }

  remove(kind: keyof Kinds, id: string): void {
    const key = keyOf(kind, id)
    this.#values.delete(key)
    this.#mark(key)
  }

  /** Whether the run outlasts the service. */
  get isWritten(): boolean {
    return this.#written !== null
  }

  /** Has the state written from now on. */
  writeTo(states: RunStates, execution_id: string, journal: Journal): void {
    this.#written = { execution_id, states, journal }
    for (const key of this.#values.keys()) this.#changed.add(key)
    states.add(execution_id, this)
  }

  /**
   * Resolves when the present state of every run is on the card, as it must be before something moves. Otherwise it could say that a run has put
   * labware somewhere, and not that the position was free. Rejects with `storage`. Undefined for a run that is not written.
   */
  persisted(): Promise<void> | undefined {
    return this.#written?.states.persist()
  }

  /** Has all that has changed written at the end of this turn. */
  writeSoon(): void {
    this.#written?.states.changed()
  }

  /** Writes the state for the last time; it stands when this resolves. `left` is called when nothing that happens is written any more. */
  async leave(left: () => void): Promise<void> {
    const { execution_id, states } = this.#written!
    states.leave(execution_id, () => {
      this.#written?.journal.stop()
      this.#written = null
      left()
    })
    await states.persist()
  }

  /** Removes the state of a run that has ended: there is nothing to take up. */
  end(): void {
    this.#written?.journal.stop()
    this.#written?.states.drop(this.#written.execution_id)
    this.#written = null
  }

  changes(): Map<string, string | null> {
    const changes = new Map<string, string | null>()
    for (const key of this.#changed) {
      const text = this.#textOf(key)
      if (text === (this.standing.get(key) ?? null)) continue
      changes.set(key, text)
      if (text === null) this.standing.delete(key)
      else this.standing.set(key, text)
    }
    this.#changed.clear()
    this.#written?.journal.takeChanges((key, value) => {
      const text = value && JSON.stringify(value)
      if (text === (this.standing.get(key) ?? null)) return
      changes.set(key, text)
      if (text === null) this.standing.delete(key)
      else this.standing.set(key, text)
    })
    return changes
  }

  /** Lists the keys whose values differ from what is written although nothing marked them: a test fails on each. */
  unmarked(): string[] {
    const others = new Map(this.#written?.journal.entries())
    const keys = new Set([...this.#values.keys(), ...this.standing.keys(), ...others.keys()])
    const textOf = (key: string) => (others.has(key) ? JSON.stringify(others.get(key)) : this.#textOf(key))
    return [...keys].filter((key) => !this.#changed.has(key) && textOf(key) !== (this.standing.get(key) ?? null))
  }

  #textOf(key: string): string | null {
    return this.#values.has(key) ? JSON.stringify(this.#values.get(key)) : null
  }

  #mark(key: string): void {
    if (this.#written) this.#changed.add(key)
  }
}
