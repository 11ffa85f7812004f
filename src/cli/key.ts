// `benchd key …`: keys of the running service, or, when none runs, of the data folder itself.

import { LabError } from '../errors.ts'
import type { CreatedKey, KeyRequest, PublicKey } from '../keys/keys.ts'
import { shows } from './asking.ts'
import { ask, type Service, serviceOf, serviceOptions } from './client.ts'
import { command, type Given } from './command.ts'
import { CliError } from './exit.ts'
import { expiresOption, expiryOf } from './expiry.ts'
import { commands as pairing } from './pairing.ts'
import { date, print, table } from './table.ts'
import { say } from './terminal.ts'

const keyCreate = command({
  name: 'key create',
  summary: 'Make a key, and print it: it is shown this once',
  operands: [],
  options: {
    name: { type: 'string', value: 'NAME', help: 'Whose key it is' },
    scope: { type: 'string', value: 'SCOPE', one_of: ['read', 'operate', 'admin'], help: 'read, operate or admin' },
    ...expiresOption,
    ...serviceOptions,
  },
  example: 'benchd key create --name guest --scope operate --expires 90d',
  async run({ options }) {
    const { name, scope } = options
    if (!name || !scope) throw new CliError('usage', 'benchd key create wants --name NAME and --scope read, operate or admin')
    const wish = { name, scope, ...expiryOf(options) }
    const created = await withKeys(options, {
      online: (service) => ask<CreatedKey>(service, 'POST', '/api/keys', wish),
      offline: (keys, request) => keys.create(request(wish)),
      deed: `key create --name ${name} --scope ${scope}`,
    })
    print(options.json ? JSON.stringify(created) : created.api_key)
    return 0
  },
})

const keyList = command({
  name: 'key list',
  summary: 'List the keys, without their secrets',
  operands: [],
  options: serviceOptions,
  async run({ options }) {
    const keys = await withKeys(options, {
      online: async (service) => (await ask<{ keys: PublicKey[] }>(service, 'GET', '/api/keys')).keys,
      offline: async (all) => all.list(),
    })
    print(options.json ? JSON.stringify({ keys }) : listed(keys))
    return 0
  },
})

const keyRotate = command({
  name: 'key rotate',
  summary: 'Make a new key in the place of one, and print it: the old one works on until it is revoked, or for --overlap',
  operands: ['KEY_ID'],
  options: { overlap: { type: 'string', value: 'S', help: 'Seconds that both work' }, ...expiresOption, ...serviceOptions },
  example: 'benchd key rotate k3v9x2ab --overlap 86400',
  async run({ options, operands: [key_id = ''] }) {
    const wish = { ...(options.overlap !== undefined && { overlap_s: seconds(options.overlap) }), ...expiryOf(options) }
    const created = await withKeys(options, {
      online: (service) => ask<CreatedKey>(service, 'POST', `/api/keys/${encodeURIComponent(key_id)}/rotate`, wish),
      offline: (keys) => keys.rotate(key_id, wish),
      deed: `key rotate ${key_id}`,
    })
    print(options.json ? JSON.stringify(created) : created.api_key)
    return 0
  },
})

const whoami = shows({
  name: 'whoami',
  summary: 'Say which key this is, and what it may',
  operands: [],
  path: () => '/api/system/whoami',
  text: ({ key_id, name, scope }: { key_id: string; name: string; scope: string }) => `${name} (${key_id}), scope ${scope}`,
})

const keyRevoke = command({
  name: 'key revoke',
  summary: 'Revoke a key: it opens nothing from now on',
  operands: ['KEY_ID'],
  options: serviceOptions,
  example: 'benchd key revoke k3v9x2ab',
  async run({ options, operands: [key_id = ''] }) {
    await withKeys(options, {
      online: (service) => ask(service, 'DELETE', `/api/keys/${encodeURIComponent(key_id)}`),
      offline: (keys) => keys.revoke(key_id),
      deed: `key revoke ${key_id}`,
    })
    return say({ success: true, message: `key ${key_id} is revoked` }, options.json)
  },
})

export const commands = [keyCreate, keyList, keyRotate, keyRevoke, ...pairing, whoami]

type Keys = import('../keys/keys.ts').Keys
type Work<Result> = {
  online(service: Service): Promise<Result>
  offline(keys: Keys, request: (input: object) => KeyRequest): Promise<Result>
  /** What it is called in the record of who did what; absent for what changes nothing. */
  deed?: string
}

async function withKeys<Result>(options: Given<typeof serviceOptions>, work: Work<Result>): Promise<Result> {
  const service = serviceOf(options)
  try {
    return await work.online(service)
  } catch (error) {
    if ('url' in service || !(error instanceof CliError) || error.exit !== 'unreachable') throw error
    return withoutService(service.socket_of, work).catch((refusal) => {
      // One has begun meanwhile.
      if (refusal instanceof LabError && refusal.code === 'in_use') return work.online(service)
      throw refusal
    })
  }
}

/** Nobody serves the folder, so its file is ours to change; two of these at once take turns, or the record's chain would fork. */
async function withoutService<Result>(folder: string, work: Work<Result>): Promise<Result> {
  const [{ Keys, KeyRequest }, { checked }, { offline, report, takeDown }] = await Promise.all([
    import('../keys/keys.ts'),
    import('../kit/schema.ts'),
    import('./offline.ts'),
  ])
  return offline(folder, async () => {
    const keys = await Keys.open({ folder, report })
    try {
      const result = await work.offline(keys, (input) => checked(KeyRequest, input, 'the key'))
      if (work.deed !== undefined) await takeDown(folder, work.deed)
      return result
    } finally {
      await keys.close()
    }
  })
}

function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= 0) return value
  throw new CliError('usage', `--overlap ${text} is not a number of seconds`)
}

function listed(keys: readonly PublicKey[]): string {
  // The clock here may be behind, as that of the service may.
  const now = Math.max(Date.now() / 1000, ...keys.map(({ created_at, last_used_at }) => Math.max(created_at, last_used_at ?? 0)))
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
