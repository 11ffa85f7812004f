// The door and the plate lock of an instrument, as the last operation left them.

import { type Parts, rowOf } from './operations.ts'

export class KnownParts {
  known: Parts = {}
  #before: Parts = {}

  /**
   * Forgets what the operation will set: a lock that does not obey may stand anywhere. An initialization may move everything, and so may an operation
   * of which only the program behind the device knows what it does.
   */
  begin(name: string): void {
    const { plate_lock, door } = this.known
    const row = rowOf(name)
    const sets = row?.sets ?? {}
    this.#before = this.known
    if (name === 'initialize' || !row) this.forget()
    else this.known = { ...(plate_lock && !('plate_lock' in sets) && { plate_lock }), ...(door && !('door' in sets) && { door }) }
  }

  /** Takes back `begin`: the operation was refused, and nothing was moved. */
  refused(): void {
    this.known = this.#before
  }

  /** Notes what an operation that has ended well has set. */
  done(name: string): void {
    const { plate_lock, door } = rowOf(name)?.sets ?? {}
    this.known = { ...this.known, ...(plate_lock && { plate_lock }), ...(door && { door }) }
  }

  /** Forgets everything: while the connection was lost, somebody may have moved it. */
  forget(): void {
    this.known = {}
  }
}
