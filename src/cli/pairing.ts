// `benchd key pair`, `key requests`, `key approve`: requests for a key, and their approval.

import { json as jsonOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PairingAnswer, PairingRequest } from '../keys/pairing.ts'
import { shows } from './asking.ts'
import { ask, open, type Service, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { expiresOption, expiryOf } from './expiry.ts'
import { date, print, table, tell } from './table.ts'
import { noteNone, type OperationAnswer, say } from './terminal.ts'

const again_ms = 1000

const keyPair = command({
  name: 'key pair',
  summary: 'Request a key from a service, wait for the approval there, and print the key once',
  options: {
    name: { type: 'string', value: 'NAME', help: 'Name of the key' },
    scope: { type: 'string', value: 'SCOPE', one_of: ['read', 'operate', 'admin'], help: 'Scope: read, operate or admin' },
    ...serviceOptions,
  },
  example: 'benchd key pair --url http://lab-pi-1.local:8520 --name notebook --scope operate',
  async run({ options }) {
    const { name, scope } = options
    if (!name || !scope) throw new CliError('usage', 'benchd key pair wants --name NAME and --scope read, operate or admin')
    const service = serviceOf(options)
    const asked = await ask<PairingAnswer>(service, 'POST', '/api/keys/requests', { app_name: name, scope })
    tell(`asked; the code is ${asked.code}`)
    tell(`approve it on the bench with: benchd key approve ${asked.code}`)
    const api_key = await fetched(service, asked)
    print(options.json ? JSON.stringify({ api_key }) : api_key)
  },
})

const keyRequests = shows({
  name: 'key requests',
  summary: 'List the pairing requests with code, address and name',
  path: () => '/api/keys/requests',
  text: ({ requests }: { requests: PairingRequest[] }) => listed(requests),
  also: ({ requests }) => noteNone(requests, 'nobody asks for a key'),
})

const keyApprove = command({
  name: 'key approve',
  summary: 'Approve or deny a pairing request',
  operands: ['CODE'],
  options: { deny: { type: 'boolean', help: 'Deny the request' }, ...expiresOption, ...serviceOptions },
  example: 'benchd key approve K7M-2QX',
  async run({ options, operands: [code = ''] }) {
    const service = serviceOf(options)
    const request = (await waiting(service)).find((one) => plain(one.code) === plain(code))
    if (!request) throw new CliError('not_found', `nobody who asks for a key shows the code ${code}; see: benchd key requests`)
    const path = `/api/keys/requests/${request.request_id}`
    const answer = await (options.deny
      ? ask<OperationAnswer>(service, 'DELETE', path)
      : ask<OperationAnswer>(service, 'POST', `${path}/approve`, expiryOf(options)))
    return say(answer, options.json)
  },
})

export const commands = [keyPair, keyRequests, keyApprove]

async function fetched(service: Service, { request_id, request_secret }: PairingAnswer): Promise<string> {
  const headers = { 'X-Request-Secret': request_secret }
  for (;;) {
    const response = await open(service, 'GET', `/api/keys/requests/${request_id}`, { headers }).catch(refused)
    const { api_key } = (await jsonOf(response)) as { api_key?: string }
    if (api_key !== undefined) return api_key
    await sleep(again_ms)
  }
}

function refused(error: unknown): never {
  if (error instanceof CliError && error.exit === 'not_found')
    throw new CliError('not_allowed', 'it was denied, or nobody approved it within ten minutes', { cause: error })
  throw error
}

async function waiting(service: Service): Promise<PairingRequest[]> {
  return (await ask<{ requests: PairingRequest[] }>(service, 'GET', '/api/keys/requests')).requests
}

/** Normalizes a typed code. */
function plain(code: string): string {
  return code.replace(/[^A-Za-z0-9]/g, '').toUpperCase()
}

function listed(requests: readonly PairingRequest[]): string {
  const rows = requests.map(({ code, scope, from, requested_at, expires_at, app_name }) => [
    code,
    scope,
    from ?? '-',
    date(requested_at),
    date(expires_at),
    JSON.stringify(app_name),
  ])
  return table(['CODE', 'SCOPE', 'FROM', 'ASKED', 'UNTIL', 'CALLS ITSELF'], rows)
}
