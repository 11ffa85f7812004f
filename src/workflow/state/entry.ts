// The state of a run, as values with keys. The live values in memory are the ones that are written. Only an entry changes its value, and marks its
// key for the next transaction, so the cost of a write depends on what has changed, not on the number of threads.

import type { RunRecordFile } from '../../events/run_record_file.ts'
import type { Change, StateSource } from '../../events/states.ts'
import type { Attachments } from './attachments.ts'
import { apart, type Often, oftenOf, restOf } from './parts.ts'
import type { Kinds } from './run.ts'

/** A value that is read-only for all but its entry. */
export type Fixed<Value> = Value extends object ? { readonly [Name in keyof Value]: Fixed<Value[Name]> } : Value

/** Writes the state of all runs, in the same transactions as their events. */
export interface RunStates {
  /** Writes the state of this run from now on. */
  add(execution_id: string, source: StateSource): void
  /** Writes all changes at the end of this turn. */
  changed(): void
  /** Resolves when all events so far, and the state of all runs at the end of this turn, are on the disk. Rejects with `storage`. */
  persist(): Promise<void>
  /** Writes the state of all runs for the last time, at the end of this turn. Calls `left` at that moment. */
  leave(left: () => void): void
  /** Removes the state of a run that has ended, with the next transaction. */
  drop(execution_id: string): void
  /** Returns the file of the run's record; without this function, no run has a record on the disk. */
  record?(execution_id: string): RunRecordFile
  readonly attachments?: Attachments | undefined
}

/** Holds one value of a run, and is the only way to change it. */
export class Entry<Kind extends keyof Kinds> {
  readonly state: Fixed<Kinds[Kind]>
  readonly #run: RunState
  readonly #key: string
  readonly #often: Often
  /** The key of the members that change often (see `parts.ts`). */
  readonly #oftenKey: string

  /** Adds the value to the state of a run. A kind with many values needs an `id`. */
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
   * Changes members of the value. The change is written with the next transaction: at the next event, or earlier on request. The new members are
   * computed before the call, so an error while computing them changes nothing.
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

  /** Marks the parts of the value that contain the member; `members` names its changed inner members, if only some of them change. */
  #mark(name: string, members?: object): void {
    const often = this.#often[name]
    if (often !== undefined) this.#run.mark(this.#oftenKey)
    if (often === true || (often && members && Object.keys(members).every((inner) => often.includes(inner)))) return
    this.#run.mark(this.#key)
  }

  /** Removes the value from the state of its run. */
  remove(): void {
    this.#run.remove(this.#key)
    this.#run.remove(this.#oftenKey)
  }
}

export class RunState implements StateSource {
  /** The JSON of each value, as last made for the disk. */
  readonly standing = new Map<string, string>()
  readonly #values = new Map<string, () => unknown>()
  /** The keys of the values that may differ from `standing`. */
  #changed = new Set<string>()
  /** The keys of the changes being written whose JSON is not made yet; `#made` holds the JSON that is not handed over yet. */
  #taken = new Set<string>()
  readonly #made: Change[] = []
  #written: { execution_id: string; states: RunStates } | null = null
  /** The file of the run's record; undefined for a run that has none. */
  record: RunRecordFile | undefined
  #onRemoved = () => {}
  /** Resolves when the state is written no more. */
  readonly removed = new Promise<void>((resolve) => {
    this.#onRemoved = resolve
  })

  /** Adds a value; `read` returns what to write. */
  put(key: string, read: () => unknown): void {
    this.mark(key)
    this.#values.set(key, read)
  }

  remove(key: string): void {
    this.mark(key)
    this.#values.delete(key)
  }

  /** Notes that the value with this key is about to change. */
  mark(key: string): void {
    if (!this.#written) return
    if (this.#taken.has(key)) this.#make(key)
    this.#changed.add(key)
  }

  /** Whether the run survives a restart. */
  get isWritten(): boolean {
    return this.#written !== null
  }

  /** Starts writing the state. */
  writeTo(states: RunStates, execution_id: string): void {
    this.#written = { execution_id, states }
    for (const key of this.#values.keys()) this.#changed.add(key)
    states.add(execution_id, this)
  }

  /** Writes all changes at the end of this turn. */
  writeSoon(): void {
    this.#written?.states.changed()
  }

  /**
   * Resolves when the present state of all runs is on the disk, which is required before a motion. All runs, because the disk must not record that one
   * run has put labware at a position before it records that another has freed it. Rejects with `storage`. Undefined for a run that is not written.
   */
  persisted(): Promise<void> | undefined {
    return this.#written?.states.persist()
  }

  /** Stops writing the state. */
  leave(): void {
    this.#written = null
    this.#onRemoved()
  }

  /** Removes the state of a run that has ended, because there is nothing to restore. */
  end(): void {
    this.#written?.states.drop(this.#written.execution_id)
    this.leave()
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
      // `mark` may have made the JSON of others meanwhile, because they were about to change.
      for (let made = this.#made.pop(); made; made = this.#made.pop()) yield made
    }
    for (let made = this.#made.pop(); made; made = this.#made.pop()) yield made
  }

  /** Makes the JSON of a value, if it differs from `standing`. */
  #make(key: string): void {
    this.#taken.delete(key)
    const text = this.#textOf(key)
    if (text === (this.standing.get(key) ?? null)) return
    if (text === null) this.standing.delete(key)
    else this.standing.set(key, text)
    this.#made.push([key, text])
  }

  /** Returns the present JSON of each value, for tests. */
  present(): Map<string, string> {
    return new Map([...this.#values.keys()].map((key) => [key, this.#textOf(key)!]))
  }

  /** Lists the keys whose values have changed without `mark`, for tests: each is a defect. */
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
