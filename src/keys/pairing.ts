// Pairing: a program asks for a key, an admin approves the request, and the program fetches the key, once. The key is made when it is fetched.

import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { described } from '../kit/described.ts'
import { newCode } from './code.ts'
import { type KeyRequest, type Keys, Scope } from './keys.ts'
import { digestOf } from './secret.ts'

/** The name of a program. It is shown beside a command, so it has no character that could end a quotation or begin a line. */
const AppName = described(
  v.pipe(
    v.string(),
    v.regex(
      /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._()+@-]{0,63}$/u,
      'must be 1 to 64 letters, digits, spaces and . _ ( ) + @ -, and begin with a letter or a digit',
    ),
  ),
  'The name of the key: 1 to 64 letters, digits, spaces and . _ ( ) + @ -',
)

export const PairingWish = v.strictObject({ app_name: AppName, scope: Scope })
export type PairingWish = v.InferOutput<typeof PairingWish>

const UnixSeconds = described(v.number(), 'Unix time', 's')

/** A request for a key, as the person who decides sees it. */
export const PairingRequest = v.strictObject({
  request_id: v.string(),
  app_name: v.string(),
  scope: Scope,
  code: described(v.string(), 'Shown by the program that asks, so that it is not mistaken for another'),
  from: described(v.nullable(v.string()), 'The address that the request came from; null for the control socket'),
  requested_at: UnixSeconds,
  expires_at: UnixSeconds,
})
export type PairingRequest = v.InferOutput<typeof PairingRequest>

/** The answer to the program that asks. */
export const PairingAnswer = v.strictObject({ request_id: v.string(), request_secret: v.string(), code: v.string() })
export type PairingAnswer = v.InferOutput<typeof PairingAnswer>

const mostPairings = 5
const pairing_s = 600
const hiddenName = '(a name with the code of a request)'

type Pending = PairingRequest & {
  digest: Buffer
  ends: number
  state: 'asked' | 'approved' | 'fetched'
  /** When the key that is made for the request ends. */
  key_ends: KeyRequest['expires_at']
}

type PairingOptions = {
  keys: Pick<Keys, 'create' | 'mustLieAhead'>
  /** Returns the number of requests of one address that may wait. */
  perAddress(): number
  /** Called for each request that is refused or displaced. */
  refused(message: string): void
  clock?: Clock
  now?: () => number
}

export class Pairing {
  readonly #options: PairingOptions
  readonly #keys: PairingOptions['keys']
  readonly #clock: Clock
  readonly #now: () => number
  readonly #pending = new Map<string, Pending>()

  constructor(options: PairingOptions) {
    const { keys, clock = systemClock, now = () => Date.now() / 1000 } = options
    this.#options = options
    this.#keys = keys
    this.#clock = clock
    this.#now = now
  }

  /** `from` is the address of the program that asks. `shown` is for the log. Throws `conflict` when too many requests wait, of that address or in all. */
  request({ app_name, scope }: PairingWish, from: string | null): { answer: PairingAnswer; shown: PairingRequest } {
    this.#makeRoomFor(from)
    const [request_id, request_secret, code] = [randomUUID(), randomBytes(32).toString('base64url'), newCode()]
    const requested_at = this.#now()
    const shown = { request_id, app_name, scope, code, from, requested_at, expires_at: requested_at + pairing_s }
    const ends = this.#clock.now() + pairing_s * 1000
    const pending: Pending = { ...shown, digest: digestOf(request_secret), ends, state: 'asked', key_ends: null }
    this.#pending.set(request_id, pending)
    return { answer: { request_id, request_secret, code }, shown: this.#shown(pending) }
  }

  /** Lists the requests that wait for a decision, the oldest first. */
  list(): PairingRequest[] {
    return this.#all()
      .filter(({ state }) => state === 'asked')
      .map((pending) => this.#shown(pending))
  }

  /** Resolves with the key, once; with undefined before the decision. Rejects with `not_found` in all other cases, also for a wrong secret, and with `storage`. */
  async fetch(request_id: string, secret: string): Promise<string | undefined> {
    const pending = this.#find(request_id)
    if (!pending || !timingSafeEqual(digestOf(secret), pending.digest) || pending.state === 'fetched') throw gone()
    if (pending.state === 'asked') return undefined
    pending.state = 'fetched'
    try {
      const { api_key } = await this.#keys.create({ name: pending.app_name, scope: pending.scope, expires_at: pending.key_ends })
      this.#pending.delete(request_id)
      return api_key
    } catch (error) {
      pending.state = 'approved'
      throw error
    }
  }

  /**
   * Approves a request; its key ends at `expires_at`, if that is a time. Throws `not_found`, and `invalid` for a time that has passed; a request
   * that is approved already stays so.
   */
  approve(request_id: string, expires_at?: KeyRequest['expires_at']): PairingRequest {
    const pending = this.#mustFind(request_id)
    this.#keys.mustLieAhead(expires_at)
    if (pending.state === 'asked') Object.assign(pending, { state: 'approved', key_ends: expires_at })
    return this.#shown(pending)
  }

  /** Denies a request, also one that was approved and not fetched yet. Throws `not_found`. */
  deny(request_id: string): PairingRequest {
    const pending = this.#mustFind(request_id)
    this.#pending.delete(request_id)
    return this.#shown(pending)
  }

  /**
   * Returns a request as people see it. A request could call itself by the code of another, and be approved for that one, so such a name is not
   * shown. It is not refused either: the answer would tell a stranger which codes wait.
   */
  #shown({ digest: _, ends: __, state: ___, key_ends: ____, ...shown }: Pending): PairingRequest {
    const letters = shown.app_name.toUpperCase().replace(/[^0-9A-Z]/g, '')
    const isMisleading = this.#all().some(({ code }) => letters.includes(code.replace('-', '')))
    return isMisleading ? { ...shown, app_name: hiddenName } : shown
  }

  /**
   * Makes room where all places are taken: an address that holds several gives up its oldest request to one that has none, so no address keeps
   * all others out. Throws `conflict` when there is no room.
   */
  #makeRoomFor(from: string | null): void {
    const all = this.#all()
    const mine = all.filter((pending) => pending.from === from).length
    if (mine >= this.#options.perAddress()) {
      const many = mine === 1 ? 'a request for a key waits' : `${mine} requests for a key wait`
      this.#refuse(`${many} from your address already; have one approved or denied, or wait ten minutes`, from)
    }
    if (all.length < mostPairings) return
    const oldest = mine === 0 ? oldestOfMost(all) : undefined
    if (!oldest)
      this.#refuse(`${mostPairings} requests for a key wait already; have one of them approved or denied, or wait ten minutes`, from)
    this.#pending.delete(oldest.request_id)
    this.#options.refused(`a request for a key from ${addressOf(oldest)} gave way to one from ${addressOf({ from })}, which had none`)
  }

  #refuse(message: string, from: string | null): never {
    this.#options.refused(`a request for a key from ${addressOf({ from })} is refused: ${message}`)
    throw new LabError('conflict', message)
  }

  #mustFind(request_id: string): Pending {
    const pending = this.#find(request_id)
    if (!pending || pending.state === 'fetched') throw gone()
    return pending
  }

  #find(request_id: string): Pending | undefined {
    return this.#all().find((pending) => pending.request_id === request_id)
  }

  #all(): Pending[] {
    for (const [request_id, { ends }] of this.#pending) if (this.#clock.now() >= ends) this.#pending.delete(request_id)
    return [...this.#pending.values()]
  }
}

/** Finds the oldest undecided request of the address with the most requests, if it has more than one. */
function oldestOfMost(all: readonly Pending[]): Pending | undefined {
  const asked = all.filter(({ state }) => state === 'asked')
  const held = (address: string | null) => asked.filter(({ from }) => from === address).length
  const [oldest] = [...asked].sort((a, b) => held(b.from) - held(a.from))
  return oldest && held(oldest.from) > 1 ? oldest : undefined
}

function addressOf({ from }: { from: string | null }): string {
  return from ?? 'the control socket'
}

function gone(): LabError {
  return new LabError(
    'not_found',
    'there is no such request for a key: it was denied, it gave way to another, its key was fetched, or ten minutes have passed; ask anew',
  )
}
