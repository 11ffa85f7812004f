// The door and the plate lock of an instrument, as the last operation left them.

import { type Parts, rowOf } from './operations.ts'

export class KnownParts {
  known: Parts = {}
  #before: Parts = {}

  /** Forgets what the operation will set: a lock that does not obey may stand anywhere. An initialization may move everything. */
  begin(name: string): void {
    const { plate_lock, door } = this.known
    const sets = rowOf(name)?.sets ?? {}
    this.#before = this.known
    if (name === 'initialize') this.forget()
    else this.known = { ...(plate_lock && !('plate_lock' in sets) && { plate_lock }), ...(door && !('door' in sets) && { door }) }
  }

  /** Takes back `begin`: the operation was refused, and nothing was moved. */
  refused(): void {
    this.known = this.#before
  }

  /** Notes what an operation that has ended well has set. */
  done(name: string): void {
    this.known = { ...this.known, ...rowOf(name)?.sets }
  }

  /** Forgets everything: while the connection was lost, somebody may have moved it. */
  forget(): void {
    this.known = {}
  }
}
