// The type of a route: a record from which routing, checks and the OpenAPI document are made.

import type { HttpBindings } from '@hono/node-server'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type * as v from 'valibot'
import type { Scope } from '../keys/keys.ts'
import { apiVersion } from './version.ts'

/** The holder of a request's key. Over the control socket it is a user of this computer. */
export type Principal = { key_id: string; name: string; scope: Scope }

/** A request for the audit trail, once it has come to its route. `bytes` is its body, `body` the checked body; absent before they were read. */
export type AuditedRequest = {
  route: Pick<Route, 'operation_id' | 'path' | 'summary'>
  parameters: Readonly<Record<string, string>>
  /** The query of a route whose body is a file. */
  query?: Readonly<Record<string, string>>
  bytes?: Uint8Array
  body?: unknown
  /** Names of the subject of the request, which the words of the trail use. */
  subject?: Readonly<Record<string, string | null | undefined>>
}

/**
 * The properties of a request: `request_id` when it was needed, `operation_id` when an operation has begun, `has_failed` when that has not ended well (or how, in words),
 * `is_unrecorded` of its route, `audited` for the audit trail.
 */
export type Variables = {
  principal: Principal
  /** The name that the person gave, unchecked. */
  operator?: string
  request_id?: string
  operation_id?: string
  has_failed?: true | string
  is_unrecorded?: boolean
  audited?: AuditedRequest
}

/** `local`: over the control socket. `plugin`: a request of a plug-in, which came over no connection. */
export type Bindings = Partial<HttpBindings> & { local?: boolean; plugin?: Principal }

export type Env = { Bindings: Bindings | undefined; Variables: Variables }

/** A request on its way through the checks to its route. Hono's context is one. */
export type Exchange = {
  readonly env: Bindings | undefined
  readonly req: {
    /** Absent for a request over a socket that does not pass through Hono; `env.incoming` is the request then. */
    readonly raw: Request | undefined
    readonly method: string
    readonly url: string
    readonly path: string
    header(name: string): string | undefined
    query(): Record<string, string>
  }
  get<Name extends keyof Variables>(name: Name): Variables[Name]
  set<Name extends keyof Variables>(name: Name, value: Variables[Name]): void
}

/** A request that has passed the checks that all routes share. */
export type Call<Rooms, Body, Query> = {
  /** The rooms of the bench that the handler uses. */
  rooms: Rooms
  c: Exchange
  /** A parameter of the path, decoded. */
  param(name: string): string
  /** Returns the checked query. Throws `invalid`. */
  query(): Query
  /** Asks this service with GET and all rights. Resolves with the text of the answer. */
  ask(path: string): Promise<string>
  /** Returns the checked body. Call it after device and operation were found. Throws `invalid`. */
  body(): Body
}

type Success = {
  status: 200 | 201 | 202 | 204
  description: string
  schema?: v.GenericSchema
  media_type?: string
  /** Another media type of the same content, which a client gets by `Accept`. */
  also_media_type?: string
  /** The headers besides those of every answer. */
  headers?: readonly ('Location' | 'Operation-Id' | 'ETag' | 'Content-Disposition')[]
  /** Other statuses with the same body. */
  also?: readonly ContentfulStatusCode[]
}

type Description<Rooms, Body, Query> = {
  operation_id: string
  summary: string
  description?: string
  /** The smallest scope that may call the route, `any` for every valid key, or `public` without one. */
  scope: Scope | 'any' | 'public'
  query?: v.GenericSchema<unknown, Query> & { entries: Record<string, v.GenericSchema> }
  /** Without it, no body is read. */
  body?: v.GenericSchema<unknown, Body>
  /** An empty body stands for `{}`. */
  body_may_be_empty?: boolean
  /** Whether the body is a file, which the handler reads as it comes. */
  takes_file?: true
  /** The limit of the body in bytes; by default 256 KiB. */
  body_limit?: number
  /** Whether it accepts `If-Match`. */
  conditional?: true
  /** For routes with `If-State`: returns the state of the path's object, as its resource shows it, and after a space the time of its last stop; undefined if it does not exist. */
  state_of?: (rooms: Rooms, param: (name: string) => string) => string | undefined
  /** Whether a request that was carried out has no line in the audit trail, because it repeats an earlier request that has one, or changes nothing. */
  is_unrecorded?: true
  /** Whether the answer holds a secret, and must not be stored. */
  is_secret?: true
  /** The answer 202 with a `Location` to a request with `Prefer: respond-async`. */
  accepted?: { description: string; schema: v.GenericSchema }
  handle(call: Call<Rooms, Body, Query>): Response | Promise<Response>
}

type Tag = 'devices' | 'teachpoints' | 'workflows' | 'runs' | 'events' | 'keys' | 'system' | 'simulation'

/** `Rooms` are the rooms of the bench that its handler uses; without them it can only be described. */
export type Route<Rooms = never, Body = unknown, Query = unknown> = Description<Rooms, Body, Query> & {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path, with Hono's `:name` for parameters. */
  path: string
  tag: Tag
  success: Success
  /** The error statuses besides those of every route. */
  errors: readonly ContentfulStatusCode[]
}

/** A route as its file declares it. Defaults: the tag of the file, status 200, no further errors. */
type Declaration<Rooms, Body, Query> = Description<Rooms, Body, Query> & {
  tag?: Tag
  success: Omit<Success, 'status'> & Partial<Success>
  errors?: readonly ContentfulStatusCode[]
}

export const requestIdHeader = 'X-Request-Id'

/** Makes the function that declares the routes of a file, and types each handler by its body and query. */
export function routesOf<Rooms>(tag: Tag) {
  return <Body = unknown, Query = unknown>(
    method: Route['method'],
    path: string,
    { success, ...its }: Declaration<Rooms, Body, Query>,
  ): Route<Rooms> =>
    ({ method, path, tag, errors: [], ...its, success: { status: 200, ...success } }) as Route<Rooms, Body, Query> as Route<Rooms>
}

/** The parts of a JSON answer. The server reads them when it sends the answer, so headers can be added until then. */
type PlainAnswer = { status: number; headers: Record<string, string | number>; text: string }

const plain = Symbol('plain')

/** Returns the parts of an answer by `json`, else undefined. A symbol is used, because a `WeakMap` burdens the garbage collector. */
export function plainAnswerOf(answer: Response & { [plain]?: PlainAnswer }): PlainAnswer | undefined {
  return answer[plain]
}

/**
 * Makes a JSON answer with the usual headers. The body ends with a line end, for terminals. It replaces `c.json`, whose `Headers` object
 * costs more than everything else here.
 */
export function json(value: object, status: ContentfulStatusCode = 200, headers: Record<string, string> = {}): Response {
  const all = { 'Content-Type': 'application/json', 'X-API-Version': apiVersion, 'Cache-Control': 'no-store', ...headers }
  const text = `${JSON.stringify(value)}\n`
  return Object.assign(new Response(text, { status, headers: all }), { [plain]: { status, headers: all, text } })
}

/** Makes an answer without a body. */
export function nothing(): Response {
  return new Response(null, { status: 204, headers: { 'X-API-Version': apiVersion, 'Cache-Control': 'no-store' } })
}

/** Adds a header to an unread answer of `json`, at no cost. Returns false for any other answer. */
export function addHeader(answer: Response, name: string, value: string): boolean {
  const parts = plainAnswerOf(answer)
  if (parts) parts.headers[name] = value
  return parts !== undefined
}
