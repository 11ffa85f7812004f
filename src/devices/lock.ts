// The lock of a device: a running execution, or a key that has leased the device. Requests of others are refused
// meanwhile, except readings and a stop. A lease has priority over an execution, because its holder may have their hands in the machine.

import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Lease, LeaseStore } from './leases.ts'
import type { LeaseWish, Lock } from './records.ts'

/** The caller of a request. `override`: the caller may pass a lock, and asks for that. `operator` is the unchecked name of the person. */
export type Caller = { key_id: string; override: boolean; operator?: string | undefined }

/** The key id of callers over the control socket without a name, of whom there may be several. */
const anyoneHere = 'local'

/** The seconds of difference from the monotonic clock by which a wall clock counts as set. */
const isSet_s = 2

type Around = { clock: Clock; leases: LeaseStore }

export class DeviceLock {
  readonly #device_id: string
  readonly #clock: Clock
  readonly #leases: LeaseStore
  #execution_id: string | null = null
  /** The number of holds of the execution, of which several threads may hold the device. */
  #holds = 0
  /** `ends` is a moment of the monotonic clock. */
  #leased: { lease: Lease; ends: number } | undefined

  constructor(device_id: string, { clock, leases }: Around) {
    this.#device_id = device_id
    this.#clock = clock
    this.#leases = leases
    const lease = leases.get(device_id)
    // A wall clock that was wrong or set back does not prolong the lease beyond its granted time.
    if (lease) this.#leased = this.#from(lease, Math.min(lease.ttl_s, lease.expires_at - Date.now() / 1000))
  }

  /** The id of the execution that holds the device. */
  get execution_id(): string | null {
    return this.#execution_id
  }

  /** The lock as the API shows it; null if anybody may use the device. */
  get shown(): Lock | null {
    const lease = this.#lease
    if (lease) return shownOf(lease)
    return this.#execution_id === null ? null : { owner: `execution ${this.#execution_id}`, note: null, expires_at: null }
  }

  /** Holds the device for an execution. Returns the function that releases it, which may be called twice. Throws `locked` if another holds it. */
  hold(execution_id: string): () => void {
    if (this.#execution_id !== null && this.#execution_id !== execution_id) throw this.#heldByExecution()
    this.#execution_id = execution_id
    this.#holds++
    let held = true
    return () => {
      if (held) this.#letGo()
      held = false
    }
  }

  /** Throws `locked`, naming the holder, unless the caller may use the device. Without a caller an execution asks, which a lease keeps out too. */
  admit(by: Caller | undefined): void {
    this.mustNotBeLeasedToAnother(by)
    if (!by?.override && !this.#lease && by && this.#execution_id !== null) throw this.#heldByExecution()
  }

  /** Throws `locked` if somebody else has leased the device, whether an execution holds it or not. */
  mustNotBeLeasedToAnother(by: Caller | undefined): void {
    const lease = this.#lease
    if (by?.override || !lease || lease.key_id === by?.key_id) return
    throw this.#leasedBy(lease, by ? `ask them, wait, or ${pass}` : this.#endOfLease)
  }

  /** Leases the device, or renews the lease, and resolves with the lease when it is on the disk. Rejects with `locked` as `admit`, and with `storage`. */
  async lease(by: Caller, { owner, note, ttl_s }: LeaseWish): Promise<Lock> {
    this.admit(by)
    const before = this.#lease
    if (before?.key_id === anyoneHere && before.owner !== owner && !by.override) throw this.#leasedBy(before, `ask them, wait, or ${pass}`)
    const lease = { key_id: by.key_id, owner, note: note ?? null, ttl_s, expires_at: Date.now() / 1000 + ttl_s }
    await this.#change(this.#from(lease, ttl_s))
    return shownOf(lease)
  }

  /** Ends the lease, and returns whether there was one. Rejects with `locked` for another's lease, and with `storage`. */
  async release(by: Caller): Promise<boolean> {
    const lease = this.#lease
    if (!lease) return false
    this.admit(by)
    await this.#change(undefined)
    return true
  }

  get #lease(): Lease | undefined {
    const leased = this.#leased
    if (leased && (this.#clock.now() >= leased.ends || this.#leases.isOver(leased.lease))) this.#leased = undefined
    else if (leased) this.#correct(leased)
    return this.#leased?.lease
  }

  /** Recomputes the shown end of a lease, because the wall clock may have been set since it began. */
  #correct(leased: { lease: Lease; ends: number }): void {
    const expires_at = (Date.now() + leased.ends - this.#clock.now()) / 1000
    if (Math.abs(expires_at - leased.lease.expires_at) < isSet_s) return
    leased.lease = { ...leased.lease, expires_at }
    void this.#leases.set(this.#device_id, leased.lease).catch(() => undefined)
  }

  #from(lease: Lease, left_s: number) {
    return { lease, ends: this.#clock.now() + left_s * 1000 }
  }

  /** Puts the lease in force at once, so that only one of two simultaneous callers gets it. Takes it back if it cannot be stored. */
  async #change(leased: { lease: Lease; ends: number } | undefined): Promise<void> {
    const before = this.#leased
    this.#leased = leased
    try {
      await this.#leases.set(this.#device_id, leased?.lease)
    } catch (error) {
      if (this.#leased === leased) this.#leased = before
      throw error
    }
  }

  #heldByExecution(): LabError {
    const holder = `${this.#device_id} is held by execution ${this.#execution_id}`
    return new LabError('locked', `${holder}; wait until that lets go of it, or ${pass}`)
  }

  /** How a person lets a run pass the lease. */
  get #endOfLease(): string {
    return `ask them to release it, wait, or let an admin end the lease: DELETE /api/devices/${this.#device_id}/lock with X-Override: true`
  }

  #leasedBy({ owner, note, expires_at }: Lease, advice: string): LabError {
    const until = new Date(expires_at * 1000).toISOString().slice(0, 19)
    const holder = `${this.#device_id} is leased by ${owner}${note ? ` (${note.slice(0, 60)})` : ''} until ${until}Z`
    return new LabError('locked', `${holder}; ${advice}`)
  }

  #letGo(): void {
    this.#holds--
    if (this.#holds === 0) this.#execution_id = null
  }
}

const pass = 'pass with a key of scope admin and X-Override: true'

function shownOf({ owner, note, expires_at }: Lease): Lock {
  return { owner, note, expires_at }
}
