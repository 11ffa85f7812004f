// The state of a run as values with keys. What is written on the card is what lives in memory: a value changes through its entry alone, which marks
// its key for the next transaction. So a write costs as much as has changed, however many threads the run has had.

import type { Change, StateSource } from '../../events/states.ts'
import { apart, type Often, oftenOf, restOf } from './parts.ts'
import type { Kinds } from './run.ts'

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
  /** At the end of this turn the state of all runs is written for the last time. `left` is called in that very moment. */
  leave(left: () => void): void
  /** The run is over: with the next transaction its state is gone. */
  drop(execution_id: string): void
}

/** A value of a run, and the only way to change it. */
export class Entry<Kind extends keyof Kinds> {
  readonly state: Fixed<Kinds[Kind]>
  readonly #run: RunState
  readonly #key: string
  readonly #often: Often
  /** The key of what changes often. */
  readonly #oftenKey: string

  /** Adds the value to the state of a run. There are many values of most kinds: each has an id. */
  constructor(run: RunState, kind: Kind, state: Kinds[Kind], id?: string) {
    this.state = state as Fixed<Kinds[Kind]>
    this.#run = run
    const its = apart[kind]
    const often = its?.often ?? {}
    const keyOf = (name: string) => (id === undefined ? name : `${name} ${id}`)
    this.#key = keyOf(kind)
    this.#often = often
    this.#oftenKey = keyOf(its?.kind ?? kind)
    run.put(this.#key, () => (its ? restOf(state as object, often) : state))
    if (its) run.put(this.#oftenKey, () => oftenOf(state as object, often))
  }

  /**
   * Changes members of the value, which goes with the next transaction: that of the next event, or sooner where somebody asks for it. The new members
   * are made before the call, so an error while they are made changes nothing.
   */
  set(members: Partial<Fixed<Kinds[Kind]>>): void {
    for (const name in members) this.#mark(name)
    Object.assign(this.state as object, members)
  }

  /** Changes members of an object inside the member with this name, as `set` does. */
  setIn<Part extends object>(name: keyof Kinds[Kind] & string, part: Part, members: Partial<Part>): void {
    this.#mark(name, members)
    Object.assign(part, members)
  }

  /** Marks the parts of the value that a change of the member is in; `members` are those of its own that change, where not all of it does. */
  #mark(name: string, members?: object): void {
    const often = this.#often[name]
    if (often !== undefined) this.#run.mark(this.#oftenKey)
    if (often === true || (often && members && Object.keys(members).every((inner) => often.includes(inner)))) return
    this.#run.mark(this.#key)
  }

  /** Takes the value out of the state of its run. */
  remove(): void {
    this.#run.remove(this.#key)
    this.#run.remove(this.#oftenKey)
  }
}

export class RunState implements StateSource {
  /** The JSON of each value as it is written. */
  readonly standing = new Map<string, string>()
  readonly #values = new Map<string, () => unknown>()
  /** The keys of the values that may differ from what is written. */
  #changed = new Set<string>()
  /** The keys of taken changes whose texts are not made yet; below, the texts that are not handed over. */
  #taken = new Set<string>()
  readonly #made: Change[] = []
  #written: { execution_id: string; states: RunStates } | null = null

  /** Adds a value; `read` returns what is written of it. */
  put(key: string, read: () => unknown): void {
    this.mark(key)
    this.#values.set(key, read)
  }

  remove(key: string): void {
    this.mark(key)
    this.#values.delete(key)
  }

  /** The value with this key is about to change. */
  mark(key: string): void {
    if (!this.#written) return
    if (this.#taken.has(key)) this.#make(key)
    this.#changed.add(key)
  }

  /** Whether the run outlasts the service. */
  get isWritten(): boolean {
    return this.#written !== null
  }

  /** Has the state written from now on. */
  writeTo(states: RunStates, execution_id: string): void {
    this.#written = { execution_id, states }
    for (const key of this.#values.keys()) this.#changed.add(key)
    states.add(execution_id, this)
  }

  /** Has all that has changed written at the end of this turn. */
  writeSoon(): void {
    this.#written?.states.changed()
  }

  /**
   * Resolves when the present state of every run is on the card, as it must be before something moves. Otherwise it could say that a run has put
   * labware somewhere, and not that the position was free. Rejects with `storage`. Undefined for a run that is not written.
   */
  persisted(): Promise<void> | undefined {
    return this.#written?.states.persist()
  }

  /** The state stays as it was written last. */
  leave(): void {
    this.#written = null
  }

  /** Removes the state of a run that has ended: there is nothing to take up. */
  end(): void {
    this.#written?.states.drop(this.#written.execution_id)
    this.#written = null
  }

  changes(): Iterable<Change> {
    for (const key of this.#taken) this.#changed.add(key)
    this.#taken = this.#changed
    this.#changed = new Set()
    return this.#handOver(this.#taken)
  }

  *#handOver(keys: ReadonlySet<string>): Generator<Change> {
    for (const key of keys) {
      this.#make(key)
      // Others were made meanwhile, because they were about to change.
      for (let made = this.#made.pop(); made; made = this.#made.pop()) yield made
    }
    for (let made = this.#made.pop(); made; made = this.#made.pop()) yield made
  }

  /** Makes the text of a value, if it is not as it is written. */
  #make(key: string): void {
    this.#taken.delete(key)
    const text = this.#textOf(key)
    if (text === (this.standing.get(key) ?? null)) return
    if (text === null) this.standing.delete(key)
    else this.standing.set(key, text)
    this.#made.push([key, text])
  }

  /** Returns the JSON of each value as it is now. Tests compare it with what is written. */
  present(): Map<string, string> {
    return new Map([...this.#values.keys()].map((key) => [key, this.#textOf(key)!]))
  }

  /** Lists the keys whose values differ from what is written although nothing marked them: a test fails on each. */
  unmarked(): string[] {
    const isKnown = (key: string) => this.#changed.has(key) || this.#taken.has(key)
    const keys = new Set([...this.#values.keys(), ...this.standing.keys()])
    return [...keys].filter((key) => !isKnown(key) && this.#textOf(key) !== (this.standing.get(key) ?? null))
  }

  #textOf(key: string): string | null {
    const read = this.#values.get(key)
    return read ? JSON.stringify(read()) : null
  }
}
