// `benchd key …`: keys of the running service, or without one, of the data folder itself.

import { LabError } from '../errors.ts'
import type { CreatedKey, PublicKey } from '../keys/keys.ts'
import { shows } from './asking.ts'
import { ask, type Service, serviceOf, serviceOptions } from './client.ts'
import { command, type OptionValues } from './command.ts'
import { tellNoService } from './elsewhere.ts'
import { CliError } from './exit.ts'
import { expiresOption, expiryOf } from './expiry.ts'
import { secondsOf } from './numbers.ts'
import { offline } from './offline.ts'
import { commands as pairing } from './pairing.ts'
import { date, print, table } from './table.ts'
import { mustBeSure, note, noteNone, say, yesOption } from './terminal.ts'

const keyCreate = command({
  name: 'key create',
  summary: 'Create a key and print it once',
  options: {
    name: { type: 'string', value: 'NAME', help: 'Name of the key' },
    scope: { type: 'string', value: 'SCOPE', one_of: ['read', 'operate', 'admin'], help: 'Scope: read, operate or admin' },
    ...expiresOption,
    ...serviceOptions,
  },
  example: 'benchd key create --name guest --scope operate --expires 90d',
  async run({ options }) {
    const { name, scope } = options
    if (!name || !scope) throw new CliError('usage', 'benchd key create wants --name NAME and --scope read, operate or admin')
    const wish = { name, scope: scope as CreatedKey['scope'], ...expiryOf(options) }
    const created = await withKeys(options, {
      online: (service) => ask<CreatedKey>(service, 'POST', '/api/keys', wish),
      offline: (folder) => offline(folder, 'key create', wish),
      what: 'the key is made for the next service that uses it',
    })
    print(options.json ? JSON.stringify(created) : created.api_key)
  },
})

const keyList = command({
  name: 'key list',
  summary: 'List the keys, without their secrets',
  options: serviceOptions,
  async run({ options }) {
    const keys = await withKeys(options, {
      online: keysOf,
      offline: (folder) => offline(folder, 'key list', undefined),
      what: 'these are the keys that it holds',
    })
    print(options.json ? JSON.stringify({ keys }) : listed(keys))
    noteNone(keys, 'there is no key yet; to make one: benchd key create --name NAME --scope operate')
  },
})

const keyRotate = command({
  name: 'key rotate',
  summary: 'Replace a key and print the new key once; the old key stays valid until it is revoked, or for --overlap',
  operands: ['KEY'],
  options: { overlap: { type: 'string', value: 'S', help: 'Seconds for which both keys are valid' }, ...expiresOption, ...serviceOptions },
  example: 'benchd key rotate laptop --overlap 86400',
  async run({ options, operands: [named = ''] }) {
    const wish = {
      ...(options.overlap !== undefined && { overlap_s: secondsOf('--overlap', options.overlap, (seconds) => seconds >= 0) }),
      ...expiryOf(options),
    }
    let before = ''
    const created = await withKeys(options, {
      async online(service) {
        const { key_id } = keyNamed(named, await keysOf(service))
        before = key_id
        return ask<CreatedKey>(service, 'POST', `/api/keys/${key_id}/rotate`, wish)
      },
      async offline(folder) {
        const { key_id } = keyNamed(named, await keysIn(folder))
        before = key_id
        return offline(folder, 'key rotate', { key_id, ...wish })
      },
      what: 'the new key is made for the next service that uses it',
    })
    // Both keys have the same name until then, so the sentence needs the id.
    if (options.overlap === undefined) note(`the old key stays valid until you revoke it: benchd key revoke ${before}`)
    print(options.json ? JSON.stringify(created) : created.api_key)
  },
})

const whoami = shows({
  name: 'whoami',
  summary: 'Show the key in use and its scope',
  path: () => '/api/system/whoami',
  text: ({ key_id, name, scope }: { key_id: string; name: string; scope: string }) => `${name} (${key_id}), scope ${scope}`,
})

const keyRevoke = command({
  name: 'key revoke',
  summary: 'Revoke a key, named by its id or its name, at once',
  operands: ['KEY'],
  options: { ...yesOption, ...serviceOptions },
  example: 'benchd key revoke guest',
  async run({ options, operands: [named = ''] }) {
    /** Finds the key before it asks for a confirmation. */
    const sureOf = async (keys: readonly PublicKey[]) => {
      const key = keyNamed(named, keys)
      await mustBeSure(options, `revoke ${inWords(key)}: programs and people that use it are refused from then on`)
      return key
    }
    const revoked = await withKeys<PublicKey>(options, {
      async online(service) {
        const key = await sureOf(await keysOf(service))
        await ask(service, 'DELETE', `/api/keys/${key.key_id}`)
        return key
      },
      async offline(folder) {
        const key = await sureOf(await keysIn(folder))
        await offline(folder, 'key revoke', { key_id: key.key_id })
        return key
      },
      what: 'the key is revoked for the next service that uses it',
    })
    return say({ success: true, message: `${inWords(revoked)} is revoked` }, options.json)
  },
})

export const commands = [keyCreate, keyList, keyRotate, keyRevoke, ...pairing, whoami]

type Work<Result> = {
  online(service: Service): Promise<Result>
  /** Does the work on the file of a folder without a service. */
  offline(folder: string): Promise<Result>
  /** The sentence that says what is done with the folder. */
  what: string
}

async function withKeys<Result>(options: OptionValues<typeof serviceOptions>, work: Work<Result>): Promise<Result> {
  const service = serviceOf(options)
  try {
    return await work.online(service)
  } catch (error) {
    if ('url' in service || !(error instanceof CliError) || error.exit !== 'unreachable') throw error
    const { socket_of: folder } = service
    const isNamed = (options['data-dir'] ?? process.env.BENCHD_DATA_DIR) !== undefined
    await tellNoService({ folder, isNamed, what: work.what })
    return work.offline(folder).catch((refusal) => {
      // A service has started meanwhile.
      if (refusal instanceof LabError && refusal.code === 'in_use') return work.online(service)
      throw refusal
    })
  }
}

async function keysOf(service: Service): Promise<PublicKey[]> {
  return (await ask<{ keys: PublicKey[] }>(service, 'GET', '/api/keys')).keys
}

function keysIn(folder: string): Promise<PublicKey[]> {
  return offline(folder, 'key list', undefined)
}

/**
 * Finds the key by its id, or by its name if one unrevoked key has it; an expired one counts if no other has the name. The name is not
 * repeated in messages, because people have put whole keys there.
 */
function keyNamed(named: string, keys: readonly PublicKey[]): PublicKey {
  const byId = keys.find(({ key_id }) => key_id === named)
  const byName = keys.filter(({ name, revoked_at }) => name === named && revoked_at === null)
  const valid = byName.filter(({ expires_at }) => (expires_at ?? Number.POSITIVE_INFINITY) > latest(keys))
  const [first, ...others] = byId ? [byId] : valid.length > 0 ? valid : byName
  if (!first) throw new CliError('not_found', 'there is no key of that id or name; see: benchd key list')
  if (others.length === 0) return first
  const candidates = [first, ...others].map(({ key_id, created_at }) => `${key_id} (made ${date(created_at)})`)
  throw new CliError('usage', `several keys have that name: ${candidates.join(', ')}; name one by its id`)
}

/** Returns the latest known moment in Unix seconds, because both clocks may be behind. */
function latest(keys: readonly PublicKey[]): number {
  return Math.max(Date.now() / 1000, ...keys.map(({ created_at, last_used_at }) => Math.max(created_at, last_used_at ?? 0)))
}

function inWords({ key_id, name }: PublicKey): string {
  return `key ${key_id} (${name})`
}

function listed(keys: readonly PublicKey[]): string {
  const now = latest(keys)
  const rows = keys.map(({ key_id, name, scope, created_at, last_used_at, expires_at, revoked_at }) => [
    key_id,
    scope,
    revoked_at !== null ? 'revoked' : expires_at === null ? 'valid' : `${expires_at <= now ? 'expired' : 'until'} ${date(expires_at)}`,
    date(created_at),
    last_used_at === null ? 'never' : date(last_used_at),
    name,
  ])
  return table(['ID', 'SCOPE', 'STATE', 'CREATED', 'LAST USED', 'NAME'], rows)
}
