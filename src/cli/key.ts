// `benchd key …`: keys of the running service, or, when none runs, of the data folder itself.

import type { CreatedKey, KeyRequest, PublicKey } from '../keys/keys.ts'
import { ask, type Service, serviceOf, serviceOptions } from './client.ts'
import { command, type Given } from './command.ts'
import { CliError } from './exit.ts'

const json = { json: { type: 'boolean', help: 'Print JSON' } } as const

export const keyCreate = command({
  name: 'key create',
  summary: 'Make a key, and print it: it is shown this once',
  operands: [],
  options: {
    name: { type: 'string', value: 'NAME', help: 'Whose key it is' },
    scope: { type: 'string', value: 'SCOPE', help: 'read, operate or admin' },
    ...serviceOptions,
    ...json,
  },
  example: 'benchd key create --name laptop --scope operate',
  async run({ options }) {
    const { name, scope } = options
    if (!name || !scope) throw new CliError('usage', 'benchd key create wants --name NAME and --scope read, operate or admin')
    const created = await withKeys(options, {
      online: (service) => ask<CreatedKey>(service, 'POST', '/api/keys', { name, scope }),
      offline: (keys, request) => keys.create(request({ name, scope })),
    })
    print(options.json ? JSON.stringify(created) : created.api_key)
    return 0
  },
})

export const keyList = command({
  name: 'key list',
  summary: 'List the keys, without their secrets',
  operands: [],
  options: { ...serviceOptions, ...json },
  async run({ options }) {
    const keys = await withKeys(options, {
      online: async (service) => (await ask<{ keys: PublicKey[] }>(service, 'GET', '/api/keys')).keys,
      offline: async (all) => all.list(),
    })
    print(options.json ? JSON.stringify({ keys }) : table(keys))
    return 0
  },
})

export const keyRevoke = command({
  name: 'key revoke',
  summary: 'Revoke a key: it opens nothing from now on',
  operands: ['KEY_ID'],
  options: { ...serviceOptions, ...json },
  example: 'benchd key revoke k3v9x2ab',
  async run({ options, operands: [key_id = ''] }) {
    await withKeys(options, {
      online: (service) => ask(service, 'DELETE', `/api/keys/${encodeURIComponent(key_id)}`),
      offline: (keys) => keys.revoke(key_id),
    })
    print(options.json ? JSON.stringify({ success: true, message: `key ${key_id} is revoked` }) : `key ${key_id} is revoked`)
    return 0
  },
})

type Keys = import('../keys/keys.ts').Keys
type Work<Result> = {
  online(service: Service): Promise<Result>
  offline(keys: Keys, request: (input: object) => KeyRequest): Promise<Result>
}

async function withKeys<Result>(options: Given<typeof serviceOptions>, work: Work<Result>): Promise<Result> {
  const service = serviceOf(options)
  try {
    return await work.online(service)
  } catch (error) {
    if ('url' in service || !(error instanceof CliError) || error.exit !== 'unreachable') throw error
    return offline(service.socket_of, work)
  }
}

/** Nobody serves the folder, so its file is ours to change. */
async function offline<Result>(folder: string, work: Work<Result>): Promise<Result> {
  const [{ Keys, KeyRequest }, { checked }] = await Promise.all([import('../keys/keys.ts'), import('../kit/schema.ts')])
  const keys = await Keys.open({ folder, report: ({ message }) => process.stderr.write(`benchd: ${message}\n`) })
  try {
    return await work.offline(keys, (input) => checked(KeyRequest, input, 'the key'))
  } finally {
    await keys.close()
  }
}

function table(keys: readonly PublicKey[]): string {
  const rows = keys.map(({ key_id, name, scope, created_at, last_used_at, expires_at, revoked_at }) => [
    key_id,
    scope,
    revoked_at !== null ? 'revoked' : expires_at !== null ? `until ${date(expires_at)}` : 'valid',
    date(created_at),
    last_used_at === null ? 'never' : date(last_used_at),
    name,
  ])
  const all = [['ID', 'SCOPE', 'STATE', 'CREATED', 'LAST USED', 'NAME'], ...rows]
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function date(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 16)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
