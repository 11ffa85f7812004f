// Sends requests to a running service, over its control socket or over the network with a key.

import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { userInfo } from 'node:os'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { TLSSocket } from 'node:tls'
import { exists, socketPath } from '../kit/folder.ts'
import { deepestWritten, isDeeper } from '../kit/json.ts'
import { atShell } from './at_shell.ts'
import { commonOptions, type OptionValues } from './command.ts'
import { credentials } from './credentials.ts'
import { CliError, exitOfStatus, NotServed } from './exit.ts'
import { secondsOf } from './numbers.ts'
import { pinned } from './pinned.ts'
import { dataDir } from './places.ts'

/** A service on the network. With a `fingerprint`, its certificate must have that SHA-256. */
type Far = { url: string; api_key: string | undefined; fingerprint?: string | undefined }

/** A service on a data folder of this computer. `isUsual`: the folder is the default. */
/** `starts` names the commands that start the service, if they are not those of a bench. */
type Near = { socket_of: string; isUsual?: boolean; starts?: string }

/** `wait_s` is the requested time limit of an answer. */
export type Service = (Near | Far) & { wait_s?: number | undefined }

/** Options of every command that asks a service. */
export const serviceOptions = {
  url: { type: 'string', value: 'URL', help: 'Address of a service on the network; default: the service of the data folder' },
  key: { type: 'string', value: 'KEY', help: 'API key for --url; safer in BENCHD_API_KEY' },
  fingerprint: { type: 'string', value: 'SHA256', help: 'Fingerprint that the certificate of --url must have' },
  'data-dir': { type: 'string', value: 'DIR', help: 'Data folder of the service on this machine' },
  timeout: { type: 'string', value: 'S', help: 'Seconds to wait for an answer; default 60, without limit for an operation' },
  json: commonOptions.json,
} as const

/** Returns the service that the options or the environment name; else that of the system, that of the credentials file, or that on the data folder. */
export function serviceOf(options: OptionValues<typeof serviceOptions>): Service {
  return { ...whereabouts(options), wait_s: options.timeout === undefined ? undefined : secondsOf('--timeout', options.timeout, isTimeout) }
}

function whereabouts(options: OptionValues<typeof serviceOptions>): Service {
  // A folder in the options has priority over an address in the environment.
  const url = webAddress(options.url ?? (options['data-dir'] ? undefined : process.env.BENCHD_URL || undefined))
  // A file with Windows line ends leaves a carriage return after the key.
  const api_key = (options.key ?? process.env.BENCHD_API_KEY)?.trim()
  const fingerprint = (options.fingerprint ?? (process.env.BENCHD_FINGERPRINT || undefined))?.trim()
  if (url) {
    const known = api_key ? undefined : credentials(url)
    return { url, api_key: api_key ?? known?.api_key, fingerprint: fingerprint ?? known?.fingerprint }
  }
  const isNamed = options['data-dir'] ?? process.env.BENCHD_DATA_DIR
  if (isNamed) return { socket_of: dataDir(options['data-dir']) }
  // The system's own service has priority over a stored address.
  if (exists(`${groupDoor}/control.sock`)) return { socket_of: groupDoor }
  const known = credentials()
  if (!known) return { socket_of: dataDir(undefined), isUsual: true }
  return { url: known.url, api_key: api_key ?? known.api_key, fingerprint: fingerprint ?? known.fingerprint }
}

/** Checks the address of a service; undefined if none was given. */
function webAddress(text: string | undefined): string | undefined {
  if (text === undefined || (/^https?:\/\//i.test(text) && URL.canParse(text))) return text
  if (text === '') throw new CliError('usage', 'the URL of the service is empty; for the service on this machine leave --url out')
  const whole = `http://${text}`
  const advice = text.includes('://') || !URL.canParse(whole) ? 'it begins with http:// or https://' : `write ${whole}, or https://${text}`
  throw new CliError('usage', `${text} is not the URL of a service; ${advice}`)
}

/** Makes a URL below the service's base path, which a proxy may add. */
function urlOf(service: Far, path: string): URL {
  return new URL(service.url.replace(/[?#].*$/, '').replace(/\/+$/, '') + path)
}

/** Returns the same service without a time limit, unless the caller gave one. */
export function patiently(service: Service): Service {
  return { ...service, wait_s: service.wait_s ?? 0 }
}

const usual_s = 60

const isTimeout = (seconds: number) => seconds > 0 && seconds <= 86_400

/** The folder of the service's socket for the group `benchd`. */
const groupDoor = '/run/benchd'

/** Resolves with the parsed answer. Throws `CliError`, with `unreachable` if nobody listens. */
export async function ask<Answer>(service: Service, method: string, path: string, body?: object, more: Asking = {}): Promise<Answer> {
  const response = await open(service, method, path, { ...more, body })
  try {
    const answer: unknown = JSON.parse(await text(response))
    if (isDeeper(answer, deepestWritten)) throw new Error(`its answer is nested deeper than ${deepestWritten} levels`)
    return answer as Answer
  } catch (error) {
    throw unreachable(service, error as Error)
  }
}

/** The body of a request: JSON, or a file as it is. */
type Sent = { body?: object | undefined; file?: { path: string; bytes: number } }

/** `also` is an error status that is returned as an answer. */
type Asking = { headers?: Record<string, string> | undefined; signal?: AbortSignal; also?: number }

/** Sends a request. Resolves with an answer whose body is not read yet. Throws `CliError` for an error status. */
export async function open(service: Service, method: string, path: string, asking: Asking & Sent = {}): Promise<IncomingMessage> {
  const response = await exchange(service, method, path, asking)
  const status = response.statusCode ?? 0
  if ((status >= 200 && status < 300) || status === asking.also) return response
  const [reason] = [response.headers['x-reason']].flat()
  throw new CliError(exitOfStatus(status), detailOf(await text(response)) ?? `the service answered ${status}`, { reason })
}

/** Sends a request. Resolves with the answer, whatever its status. Throws `CliError` if nobody answers. */
export async function exchange(
  service: Service,
  method: string,
  path: string,
  { body, file, headers: more, signal }: Asking & Sent,
): Promise<IncomingMessage> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const wait_s = service.wait_s ?? usual_s
  const headers = {
    ...operatorHeader(method),
    ...more,
    ...(file && { 'Content-Length': file.bytes }),
    ...(sent !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(sent) }),
  }
  const socket = await pinnedSocket(service, path, wait_s)
  return new Promise((resolve, reject) => {
    const asking =
      'url' in service
        ? (/^https:/i.test(service.url) ? requestHttps : requestHttp)(urlOf(service, path), {
            method,
            signal,
            headers: { ...headers, ...(service.api_key && { 'X-API-Key': service.api_key }) },
            ...(socket && { createConnection: () => socket }),
          })
        : requestHttp({ socketPath: controlSocket(service), method, path, headers: { ...headers, ...localUser(method) }, signal })
    // The limit also applies to connecting, and between two pieces of an answer.
    if (wait_s > 0) asking.setTimeout(wait_s * 1000, () => asking.destroy(new Error(`no answer within ${wait_s} s`)))
    asking.on('error', (error) => reject(unreachable(service, error)))
    asking.on('response', resolve)
    if (file) void sendFile(file.path, asking)
    else asking.end(sent)
  })
}

/** Sends a file piece by piece. If the service answers before it has all of the file, the answer says why. */
async function sendFile(path: string, asking: ClientRequest): Promise<void> {
  const { bytesOf } = await import('../kit/tree.ts')
  await pipeline(bytesOf(path), asking).catch((error) => asking.destroy(error))
}

/** Opens a connection that verifies the fingerprint; undefined without a fingerprint. */
async function pinnedSocket(service: Service, path: string, wait_s: number): Promise<TLSSocket | undefined> {
  if (!('url' in service) || service.fingerprint === undefined) return undefined
  try {
    return await pinned(new URL(path, service.url), service.fingerprint, wait_s)
  } catch (error) {
    throw error instanceof CliError ? error : unreachable(service, error as Error)
  }
}

/** Returns the header with the local user, also behind sudo, by which leases distinguish callers on the socket, who are all administrators. */
/** Names the person of BENCHD_OPERATOR in a request that changes something. */
function operatorHeader(method: string): Record<string, string> {
  const operator = process.env.BENCHD_OPERATOR?.trim()
  return method === 'GET' || !operator ? {} : { 'X-Operator': encodeURIComponent(operator) }
}

function localUser(method: string): Record<string, string> {
  if (method === 'GET') return {}
  try {
    return { 'X-Local-User': encodeURIComponent(process.env.SUDO_USER || userInfo().username) }
  } catch {
    // A user id without an account has no name.
    return {}
  }
}

function detailOf(content: string): string | undefined {
  try {
    const { detail, mistakes = [] } = JSON.parse(content) as { detail?: string; mistakes?: { message: string }[] }
    if (detail === undefined || mistakes.length < 2) return detail === undefined ? undefined : atShell(detail)
    // The detail tells of the first mistakes only.
    const [head] = /^\w+: \d+ mistakes/.exec(detail) ?? [detail]
    return [`${head}:`, ...mistakes.map(({ message }) => atShell(message))].join('\n  ')
  } catch {
    return undefined
  }
}

function controlSocket(service: Near): string {
  try {
    return socketPath(service.socket_of, 'control.sock')
  } catch (error) {
    // The folder does not exist, so no service uses it.
    throw unreachable(service, error as Error)
  }
}

const selfSigned = new Set(['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])

const notServed = (starts = 'benchd serve, benchd demo') =>
  `no service runs on it; start one (${starts}), or name its folder by --data-dir or its address by --url`
const noSocket: readonly string[] = ['ENOENT', 'ECONNREFUSED']
const farAway = 'its computer cannot be reached; see that it is on and in the same network'
const brokenOff = 'the connection broke off; try again'

/** Keyed by error code: why no service answers at an address. */
const unanswered: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; see that the service runs, and that its port is right (benchd discover)',
  ENOTFOUND: 'nobody knows the name of its computer; check it, or write its address (benchd discover)',
  EAI_AGAIN: 'the name of its computer cannot be looked up now; check the network, or write its address',
  EHOSTUNREACH: farAway,
  ENETUNREACH: farAway,
  ETIMEDOUT: farAway,
  ECONNRESET: brokenOff,
  EPIPE: brokenOff,
}

function unreachable(service: Service, error: Error): CliError {
  if ((error as NodeJS.ErrnoException).code === 'EACCES') {
    return new CliError('not_allowed', `you may not use ${error.message.split(' ').at(-1)}: be a member of the group benchd, or use sudo`, {
      cause: error,
    })
  }
  if (selfSigned.has((error as NodeJS.ErrnoException).code ?? '')) {
    const sentence = `${error.message}: fetch its certificate, see that it is the right one, and name it in NODE_EXTRA_CA_CERTS, or its SHA-256 by --fingerprint`
    return new CliError('unreachable', sentence, { cause: error })
  }
  if (error.message.startsWith('no answer within'))
    return new CliError('unreachable', `${error.message}: what was asked for may go on all the same; see: benchd status`, { cause: error })
  if ((error as NodeJS.ErrnoException).code === 'EPROTO' && 'url' in service)
    return new CliError('unreachable', `${service.url} does not speak TLS; write http://`, { cause: error })
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if ('url' in service) {
    const why = unanswered[code] ?? error.message
    const mayBeTls = why === brokenOff && service.url.startsWith('http:') ? ', or write https:// if it speaks TLS' : ''
    return new CliError('unreachable', `no service answers at ${service.url}: ${why}${mayBeTls}`, { cause: error })
  }
  const sentence = `no service answers at the folder ${service.socket_of}`
  if (!noSocket.includes(code)) return new CliError('unreachable', `${sentence}: ${error.message}`, { cause: error })
  const said = [`${sentence}: ${notServed(service.starts)}`, { cause: error }] as const
  return service.isUsual ? new NotServed(service.socket_of, ...said) : new CliError('unreachable', ...said)
}
