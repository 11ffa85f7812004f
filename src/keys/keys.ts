// The keys of the service, hashed, in `keys.json`. Keys that other programs put there are loaded within seconds.
// While the file is damaged, the last good set stays valid; without one, no key is accepted.

import { timingSafeEqual } from 'node:crypto'
import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { described } from '../kit/described.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { Name } from '../kit/name.ts'
import { Scope, scopes } from '../kit/scope.ts'
import { digestOf, mint, partsOf } from './secret.ts'

export { Scope, scopes } from '../kit/scope.ts'

export function allows(scope: Scope, wanted: Scope): boolean {
  return scopes.indexOf(scope) >= scopes.indexOf(wanted)
}

const UnixSeconds = described(v.pipe(v.number(), v.finite()), 'Unix time', 's')

/** The beginning of the year 2100. A later end is a mistake, most often milliseconds. */
const latestEnd = 4_102_444_800

/** When a key is to end; null is never. */
export const KeyEnd = v.optional(
  v.nullable(
    described(
      v.pipe(UnixSeconds, v.maxValue(latestEnd, 'lies beyond the year 2100: it is Unix time in seconds, not in milliseconds')),
      'Unix time at which the key ends; null is never',
    ),
  ),
)

export const KeyRequest = v.strictObject({ name: Name, scope: Scope, expires_at: KeyEnd })
export type KeyRequest = v.InferOutput<typeof KeyRequest>

const keyIdPattern = /^[a-z0-9]{8}$/

/** The public part of a key. */
export const PublicKey = v.strictObject({
  key_id: v.pipe(v.string(), v.regex(keyIdPattern, 'must be 8 of a-z and 0-9')),
  name: v.string(),
  scope: Scope,
  created_at: UnixSeconds,
  expires_at: v.nullable(UnixSeconds),
  revoked_at: v.nullable(UnixSeconds),
  last_used_at: described(v.nullable(UnixSeconds), 'To the hour'),
})
export type PublicKey = v.InferOutput<typeof PublicKey>

/** A key with its text, which is shown only once. */
export const CreatedKey = v.strictObject({ ...PublicKey.entries, api_key: v.string() })
export type CreatedKey = v.InferOutput<typeof CreatedKey>

const StoredKey = v.strictObject({ ...PublicKey.entries, sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)) })
type StoredKey = v.InferOutput<typeof StoredKey>

const Content = v.strictObject({
  keys: v.pipe(
    v.array(StoredKey),
    v.check((keys) => new Set(keys.map(({ key_id }) => key_id)).size === keys.length, 'a key_id is there twice'),
  ),
})
type Content = v.InferOutput<typeof Content>

export type Rotation = { overlap_s?: number | undefined; expires_at?: number | null | undefined }

/** A key of the list, and its secret once somebody has sent it. */
type Known = { key: StoredKey; shown: PublicKey; digest: Buffer; secret?: Buffer }

const mostKeys = 1000
const lookEveryMs = 2000
const usedEverySeconds = 3600
/** A digest that no secret has. */
const nobody = Buffer.alloc(32)

type KeysOptions = {
  folder: string
  report: Report
  clock?: Clock
  /** Unix seconds. */
  now?: () => number
  /** A moment that has certainly passed, in Unix seconds; undefined if the clock is known to be right. */
  passed?: () => number | undefined
}

/** `create`, `rotate` and `revoke` reject with `storage` when the outcome is not known to be stored. */
export class Keys {
  readonly #file: JsonFile<Content>
  readonly #report: Report
  readonly #now: () => number
  readonly #passed: () => number | undefined
  readonly #unwatch: () => void
  readonly #noted = new Map<string, number>()
  #indexed: Content | undefined
  #known = new Map<string, Known>()
  /** The latest moment that the file knows of. */
  #newest = 0

  static async open(options: KeysOptions): Promise<Keys> {
    const { folder, report } = options
    return new Keys(
      await JsonFile.open({ path: `${folder}/keys.json`, format: 1, schema: Content, empty: { keys: [] }, report, secret: true }),
      options,
    )
  }

  private constructor(
    file: JsonFile<Content>,
    { report, clock = systemClock, now = () => Date.now() / 1000, passed = () => 0 }: KeysOptions,
  ) {
    this.#file = file
    this.#report = report
    this.#now = now
    this.#passed = passed
    this.#unwatch = file.watch(clock, lookEveryMs)
  }

  /** Returns the key of the header; undefined if it is malformed, unknown, wrong, expired or revoked. */
  check(header: string): PublicKey | undefined {
    const parts = partsOf(header)
    if (!parts) return undefined
    const known = this.#index().get(parts.key_id)
    if (!isSecretOf(known, Buffer.from(parts.secret)) || known.key.revoked_at !== null) return undefined
    this.#noteUse(known.key)
    return this.#isValid(known.key) ? known.shown : undefined
  }

  /** Whether there is such a key, and it is valid. */
  opens(key_id: string): boolean {
    const known = this.#index().get(key_id)
    return known !== undefined && this.#isValid(known.key)
  }

  /** Whether the id belongs to a key that has ended, also to one that the list no longer holds. */
  isOver(key_id: string): boolean {
    const known = this.#index().get(key_id)
    return known ? !this.#isValid(known.key) : keyIdPattern.test(key_id)
  }

  /** Lists all keys with the expired and revoked ones, the oldest first. At a thousand, new keys replace those that ended first. */
  list(): PublicKey[] {
    return this.#file.content.keys.map(publicRecord)
  }

  /** Rejects with `invalid` if the key would be expired already, or if there are too many valid keys. */
  create(wanted: KeyRequest): Promise<CreatedKey> {
    return this.#add((keys) => {
      this.mustLieAhead(wanted.expires_at)
      return { keys, wanted }
    })
  }

  /**
   * A new key of the same name and scope, and of the same length of life unless `expires_at` says another end. The old one ends
   * `overlap_s` seconds from now; without that it works until it is revoked. Rejects with `not_found`, and with `invalid` for one that is revoked.
   */
  rotate(key_id: string, { overlap_s, expires_at }: Rotation = {}): Promise<CreatedKey> {
    return this.#add((keys) => {
      const now = this.#time()
      const old = found(keys, key_id)
      if (old.revoked_at !== null) throw new LabError('invalid', 'a revoked key cannot be rotated: create a new one')
      const asLong = old.expires_at === null ? null : Math.min(now + (old.expires_at - old.created_at), latestEnd)
      const wanted = { name: old.name, scope: old.scope, expires_at: expires_at === undefined ? asLong : expires_at }
      this.mustLieAhead(wanted.expires_at)
      const end = overlap_s === undefined ? old.expires_at : Math.min(now + overlap_s, old.expires_at ?? Number.POSITIVE_INFINITY)
      return { keys: replaced(keys, { ...old, expires_at: end }), wanted }
    })
  }

  /** Revokes a key; does nothing for one that is revoked. Rejects with `not_found`. */
  async revoke(key_id: string): Promise<PublicKey> {
    const { keys } = await this.#file.change((content) => {
      const key = found(content.keys, key_id)
      return key.revoked_at === null ? { keys: replaced(content.keys, { ...key, revoked_at: this.#now() }) } : content
    })
    return publicRecord(found(keys, key_id))
  }

  /** Throws `invalid` for an end that has passed. */
  mustLieAhead(expires_at: KeyRequest['expires_at']): void {
    if ((expires_at ?? Number.POSITIVE_INFINITY) > this.#time()) return
    throw new LabError('invalid', 'expires_at lies in the past; it is in Unix seconds: name a later moment or leave it out')
  }

  /** Reads the file at once, for keys that another program has put there. */
  reload(): Promise<void> {
    return this.#file.reload()
  }

  /** Stops watching the file. Resolves when the last use of each key is stored. */
  async close(): Promise<void> {
    this.#unwatch()
    await this.#file.settled()
  }

  async #add(plan: (keys: StoredKey[]) => { keys: StoredKey[]; wanted: KeyRequest }): Promise<CreatedKey> {
    const { key_id, sha256, api_key } = mint()
    const content = await this.#file.change((before) => {
      const { keys, wanted } = plan(before.keys)
      const { name, scope, expires_at = null } = wanted
      return {
        keys: [
          ...this.#withRoom(keys),
          { key_id, name, scope, created_at: this.#time(), expires_at, revoked_at: null, last_used_at: null, sha256 },
        ],
      }
    })
    return { ...publicRecord(found(content.keys, key_id)), api_key }
  }

  /** Drops ended keys, the earliest first, until one more key fits. Throws `invalid` if too many are valid. */
  #withRoom(keys: StoredKey[]): StoredKey[] {
    const tooMany = keys.length + 1 - mostKeys
    if (tooMany <= 0) return keys
    const ended = keys.filter((key) => !this.#isValid(key)).sort((one, other) => endOf(one) - endOf(other))
    if (ended.length < tooMany)
      throw new LabError('invalid', `there are ${mostKeys} valid keys, which is the limit: revoke one that nobody uses any more`)
    const left = new Set(ended.slice(0, tooMany))
    return keys.filter((key) => !left.has(key))
  }

  /** Reads the time only for keys with an end, as that can involve the disk. */
  #isValid({ expires_at, revoked_at }: PublicKey): boolean {
    return revoked_at === null && (expires_at === null || this.#time() < expires_at)
  }

  /**
   * Returns the time by which keys end. The clock of a board without a battery begins in the past, and must not make an ended key valid
   * again.
   */
  #time(): number {
    this.#index()
    const [now, passed] = [this.#now(), this.#passed()]
    return passed === undefined ? now : Math.max(now, passed, this.#newest)
  }

  #index(): Map<string, Known> {
    if (this.#file.content !== this.#indexed) {
      this.#indexed = this.#file.content
      this.#known = new Map(
        this.#indexed.keys.map((key) => [key.key_id, { key, shown: publicRecord(key), digest: Buffer.from(key.sha256, 'hex') }]),
      )
      for (const key_id of this.#noted.keys()) if (!this.#known.has(key_id)) this.#noted.delete(key_id)
      this.#newest = this.#indexed.keys.reduce((newest, key) => Math.max(newest, key.created_at, key.last_used_at ?? 0), 0)
    }
    return this.#known
  }

  /** Notes a use once an hour, and once after the key's end. The request does not wait, so that a failing disk locks nobody out. */
  #noteUse({ key_id, last_used_at, expires_at }: StoredKey): void {
    const now = this.#now()
    const noted = this.#noted.get(key_id) ?? last_used_at ?? Number.NEGATIVE_INFINITY
    if (expires_at !== null && noted >= expires_at) return
    const hasEnded = expires_at !== null && now >= expires_at
    if (!hasEnded && Math.abs(now - noted) < usedEverySeconds) return
    this.#noted.set(key_id, now)
    this.#file
      .change(({ keys }) => ({ keys: keys.map((key) => (key.key_id === key_id ? { ...key, last_used_at: now } : key)) }))
      .catch((error) => this.#report({ kind: 'storage', message: `the last use of a key was not noted: ${messageOf(error)}` }))
  }
}

/** When a key ended, or is to end, in Unix seconds. */
function endOf({ expires_at, revoked_at }: StoredKey): number {
  return Math.min(expires_at ?? Number.POSITIVE_INFINITY, revoked_at ?? Number.POSITIVE_INFINITY)
}

function found(keys: readonly StoredKey[], key_id: string): StoredKey {
  const key = keys.find((candidate) => candidate.key_id === key_id)
  // The id is not repeated: people have put whole keys there.
  if (!key) throw new LabError('not_found', 'there is no key of that key_id; the list of keys tells which there are')
  return key
}

function replaced(keys: readonly StoredKey[], by: StoredKey): StoredKey[] {
  return keys.map((key) => (key.key_id === by.key_id ? by : key))
}

function publicRecord({ sha256: _, ...key }: StoredKey): PublicKey {
  return key
}

function isSecretOf(known: Known | undefined, secret: Buffer): known is Known {
  // A stop waits for this check, and hashing the secret is its most expensive part.
  if (known?.secret && timingSafeEqual(secret, known.secret)) return true
  // An unknown id costs the same work as a wrong secret, so that the time does not reveal which ids exist.
  const isRight = timingSafeEqual(digestOf(secret), known?.digest ?? nobody)
  if (known && isRight) known.secret = secret
  return isRight
}
