// One request to a running service: over its control socket, or over the network with a key.

import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { exists, socketPath } from '../kit/folder.ts'
import type { Given } from './command.ts'
import { CliError, exitOfStatus } from './exit.ts'
import { dataDir } from './places.ts'

export type Service = { socket_of: string } | { url: string; api_key: string | undefined }

/** Options of every command that asks a service. */
export const serviceOptions = {
  url: { type: 'string', value: 'URL', help: 'Service to talk to over the network; else the one on the data folder' },
  key: { type: 'string', value: 'KEY', help: 'API key for --url; better: BENCHD_API_KEY' },
  'data-dir': { type: 'string', value: 'DIR', help: 'Data folder of the service on this machine' },
  json: { type: 'boolean', help: 'Print JSON; a line for each of what streams' },
} as const

/** The service that the options and the environment name. */
export function serviceOf(options: Given<typeof serviceOptions>): Service {
  const url = options.url ?? process.env.BENCHD_URL
  if (url) return { url, api_key: options.key ?? process.env.BENCHD_API_KEY }
  const isNamed = options['data-dir'] ?? process.env.BENCHD_DATA_DIR
  if (!isNamed && exists(`${groupDoor}/control.sock`)) return { socket_of: groupDoor }
  return { socket_of: dataDir(options['data-dir']) }
}

/** Where systemd has the service open a socket for the group `benchd`. */
const groupDoor = '/run/benchd'

/** Whether a service holds the folder. */
export async function isServed(folder: string): Promise<boolean> {
  if (!exists(folder)) return false
  const socket = connect(socketPath(folder, 'control.sock'))
  const answers = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  return answers
}

/** What the service answers, parsed. Throws `CliError`; `unreachable` when nobody listens there. */
export async function ask<Answer>(service: Service, method: string, path: string, body?: object): Promise<Answer> {
  return JSON.parse(await text(await open(service, method, path, { body }))) as Answer
}

/** An answer whose body is still to be read. Throws `CliError` for any but a good one. */
export async function open(
  service: Service,
  method: string,
  path: string,
  { body, headers = {} }: { body?: object | undefined; headers?: Record<string, string> } = {},
): Promise<IncomingMessage> {
  const response = await exchange(service, method, path, headers, body)
  const status = response.statusCode ?? 0
  if (status >= 200 && status < 300) return response
  throw new CliError(exitOfStatus(status), detailOf(await text(response)) ?? `the service answered ${status}`)
}

function exchange(service: Service, method: string, path: string, more: Record<string, string>, body?: object): Promise<IncomingMessage> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const headers = { ...more, ...(sent !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(sent) }) }
  return new Promise((resolve, reject) => {
    const asking =
      'url' in service
        ? (service.url.startsWith('https:') ? requestHttps : requestHttp)(new URL(path, service.url), {
            method,
            headers: { ...headers, ...(service.api_key && { 'X-API-Key': service.api_key }) },
          })
        : requestHttp({ socketPath: controlSocket(service), method, path, headers })
    asking.on('error', (error) => reject(unreachable(service, error)))
    asking.on('response', resolve)
    asking.end(sent)
  })
}

function detailOf(content: string): string | undefined {
  try {
    return (JSON.parse(content) as { detail?: string }).detail
  } catch {
    return undefined
  }
}

function controlSocket(service: { socket_of: string }): string {
  try {
    return socketPath(service.socket_of, 'control.sock')
  } catch (error) {
    // There is no such folder, so nobody serves it.
    throw unreachable(service, error as Error)
  }
}

const selfSigned = new Set(['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])

function unreachable(service: Service, error: Error): CliError {
  if ((error as NodeJS.ErrnoException).code === 'EACCES') {
    return new CliError('not_allowed', `you may not use ${error.message.split(' ').at(-1)}: be a member of the group benchd, or use sudo`, {
      cause: error,
    })
  }
  if (selfSigned.has((error as NodeJS.ErrnoException).code ?? '')) {
    const sentence = `${error.message}: fetch its certificate, see that it is the right one, and name it in NODE_EXTRA_CA_CERTS`
    return new CliError('unreachable', sentence, { cause: error })
  }
  const where = 'url' in service ? service.url : `the folder ${service.socket_of}`
  return new CliError('unreachable', `no service answers at ${where}: ${error.message}`, { cause: error })
}
