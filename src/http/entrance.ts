// The entrance of every request: it gives the request an id, checks Host, key and address, and at the end records what the request came to.

import type { IncomingMessage } from 'node:http'
import { hostname, networkInterfaces } from 'node:os'
import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import type { Audit } from '../keys/audit.ts'
import type { Keys } from '../keys/keys.ts'
import type { Refusals } from '../kit/refusals.ts'
import { detailsOf } from './audit_details.ts'
import { addHeader, type Env, type Exchange, type Principal, requestIdHeader } from './contract.ts'
import { answerError } from './errors.ts'
import { headerOf, rawHeaderOf, requestIdOf } from './headers.ts'
import { type MaybePromise, thenMaybe } from './maybe_promise.ts'
import { saidClientOf } from './said_client.ts'
import { WrongKeys } from './wrong_keys.ts'

/** The rooms of the bench that the entrance uses. `keys_made` says how a key is made, where that is not at a bench. */
type Rooms = { config: Config; keys: Keys; refusals: Refusals; audit: Audit; keys_made?: string }

/** The caller at the socket of the service, who needs no key. */
export const local: Principal = { key_id: 'local', name: 'local', scope: 'admin' }

/** Answers a request with a refusal, or as `proceed` does, which never fails. A request to what is public needs no key. */
export type Enter = (
  c: Exchange,
  proceed: () => MaybePromise<Response>,
  options?: { isPublic?: boolean | undefined },
) => MaybePromise<Response>

export type Entrance = {
  enter: Enter
  /** Tells of a request that came over the network whether its Host is ours and its key valid. Counts nothing and throws nothing. */
  admits(request: IncomingMessage): boolean
}

export function entrance(rooms: Rooms): Entrance {
  const ours = ourHosts(() => rooms.config.hosts)
  const wrongKeys = new WrongKeys((address) =>
    rooms.refusals.count('wrong_keys', `${address} has tried too many wrong keys: its requests are refused for a while`),
  )

  const enter: Enter = (c, proceed, { isPublic } = {}) => {
    try {
      const known = c.env?.local ? local : c.env?.plugin
      if (known) c.set('principal', known)
      else {
        if (!ours(headerOf(c, 'host')))
          throw new LabError('misdirected', 'this is not the host that was asked for; add its name to "hosts" in the configuration')
        if (!isPublic)
          c.set(
            'principal',
            admitted(
              rooms,
              wrongKeys,
              keyOf((name) => headerOf(c, name)),
              () => addressOf(c.env),
            ),
          )
      }
      mustDecode(c.req.url)
    } catch (error) {
      return audited(rooms, c, identified(c, answerError(c, error)))
    }
    return thenMaybe(proceed(), (answer) => audited(rooms, c, identified(c, answer)))
  }
  const admits = ({ rawHeaders }: IncomingMessage) => {
    const header = (name: string) => rawHeaderOf(rawHeaders, name)
    try {
      const key = keyOf(header)
      return key !== undefined && ours(header('host')) && rooms.keys.check(key) !== undefined
    } catch {
      return false
    }
  }
  return { enter, admits }
}

/** Adds the id of the request to its answer. */
function identified(c: Exchange, answer: Response): Response {
  const id = requestIdOf(c)
  // Over a socket: Node sets the headers of an answer one by one where one was set before, and that costs as much as looking for the route.
  const { outgoing } = c.env ?? {}
  if (!outgoing) answer.headers.set(requestIdHeader, id)
  else if (!outgoing.headersSent && !addHeader(answer, requestIdHeader, id)) outgoing.setHeader(requestIdHeader, id)
  return answer
}

/** Records a request that may have changed something, or was refused that, and returns its answer. */
function audited(rooms: Rooms, c: Exchange, answer: Response): Response {
  const { method, path } = c.req
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return answer
  const { key_id = null, name = null, scope = null } = c.get('principal') ?? {}
  const { status } = answer
  if (status < 400 && c.get('is_unrecorded')) return answer
  const reason = status >= 400 ? answer.headers.get('x-reason') : null
  const operation_id = c.get('operation_id') ?? null
  const from = remoteAddress(c.env) ?? null
  const details = detailsOf(c, { status, reason, operation_id, location: answer.headers.get('location') })
  const request_id = requestIdOf(c)
  const operator = c.get('operator')
  const said = saidClientOf(c)
  rooms.audit.note({
    what: `${method} ${path}`,
    key_id,
    name,
    operator,
    said,
    scope,
    from,
    status,
    reason,
    operation_id,
    request_id,
    details,
  })
  return answer
}

/** Returns the key from `X-API-Key` or `Authorization: Bearer`. Throws `invalid` when both are there and differ. */
export function keyOf(header: (name: string) => string | undefined): string | undefined {
  const [, bearer] = /^bearer +(\S+) *$/i.exec(header('authorization') ?? '') ?? []
  const key = header('x-api-key')
  if (key !== undefined && bearer !== undefined && key !== bearer)
    throw new LabError('invalid', 'X-API-Key and Authorization hold different keys; send one of the two')
  return key ?? bearer
}

function admitted(rooms: Rooms, wrongKeys: WrongKeys, header: string | undefined, address: () => string): Principal {
  const key = header === undefined ? undefined : rooms.keys.check(header)
  if (key) return key
  if (header !== undefined) wrongKeys.count(address())
  const { keys_made = 'make one at the bench with: benchd key create --name NAME --scope operate' } = rooms
  throw new LabError('unauthorized', `the header X-API-Key, or Authorization: Bearer, must hold a valid key; ${keys_made}`)
}

function addressOf(env: Env['Bindings'] | undefined): string {
  return remoteAddress(env) ?? 'unknown'
}

export function remoteAddress(env: Env['Bindings'] | undefined): string | undefined {
  return env?.incoming?.socket?.remoteAddress
}

/** A bad escape would make two addresses of one thing. */
function mustDecode(url: string): void {
  if (!url.includes('%')) return
  try {
    decodeURIComponent(url)
  } catch (error) {
    throw new LabError('invalid', 'the address has a bad % escape; percent-encode names as UTF-8', { cause: error })
  }
}

/** The system is asked for the addresses of this machine this often at most, whatever hosts strangers name. */
const addressesFor_ms = 1000

type HostOptions = { now?: () => number; interfaces?: () => NodeJS.Dict<{ address: string }[]> }

/**
 * Against DNS rebinding: names and addresses of this machine, and those that are configured. `now` is in milliseconds. An address that the
 * machine was given just now counts within a second.
 */
export function ourHosts(
  configured: () => readonly string[],
  { now = () => performance.now(), interfaces = networkInterfaces }: HostOptions = {},
): (header: string | undefined) => boolean {
  const known = new Set<string>()
  let addresses: ReadonlySet<string> = new Set()
  let askedAt = Number.NEGATIVE_INFINITY
  const isAddress = (name: string) => {
    if (now() - askedAt >= addressesFor_ms) {
      askedAt = now()
      addresses = new Set(Object.values(interfaces()).flatMap((all) => (all ?? []).map(({ address }) => address.toLowerCase())))
    }
    return addresses.has(name)
  }
  let of: readonly string[] | undefined
  let always: ReadonlySet<string>
  return (header) => {
    if (header === undefined) return false
    if (of !== configured()) {
      of = configured()
      always = new Set(['localhost', hostname(), `${hostname()}.local`, ...of].map((name) => name.toLowerCase()))
      known.clear()
    }
    if (known.has(header)) return true
    const name = header
      .replace(/:\d*$/, '')
      .replace(/^\[(.*)\]$/, '$1')
      .toLowerCase()
    const good = always.has(name) || isAddress(name)
    if (good && known.size < 100) known.add(header)
    return good
  }
}
