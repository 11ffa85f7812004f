// A route is a record from which the routing, the checks and the OpenAPI text are made.

import type { HttpBindings } from '@hono/node-server'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type * as v from 'valibot'
import type { Scope } from '../keys/keys.ts'
import { apiVersion } from './version.ts'

/** The holder of the key of a request. Over the control socket that is somebody with a shell on this machine. */
export type Principal = { key_id: string; name: string; scope: Scope }

/** The properties of a request on its way: `request_id` once somebody has asked for it, `operation_id` once an operation has begun. */
export type Variables = { principal: Principal; request_id?: string; operation_id?: string }

export type Bindings = Partial<HttpBindings> & { local?: boolean }

export type Env = { Bindings: Bindings | undefined; Variables: Variables }

/** A request on its way through the checks to its route, and what they may ask of it. Hono's context is one. */
export type Exchange = {
  readonly env: Bindings | undefined
  readonly req: {
    /** Absent where the request came over a socket and past Hono: `env.incoming` is the request then. */
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
  /** The query, held against its schema. Throws `invalid`. */
  query(): Query
  /** Asks this service with GET, with all rights, and resolves with the text of its answer. */
  ask(path: string): Promise<string>
  /** The body, held against its schema; asked for once device and operation are known to be there. Throws `invalid`. */
  body(): Body
}

type Success = {
  status: 200 | 201 | 202
  description: string
  schema?: v.GenericSchema
  media_type?: string
  /** Besides those that every answer has. */
  headers?: readonly ('Location' | 'Operation-Id' | 'ETag' | 'Content-Disposition')[]
  /** Statuses that have the same body. */
  also?: readonly ContentfulStatusCode[]
}

type Description<Rooms, Body, Query> = {
  operation_id: string
  summary: string
  description?: string
  /** The smallest scope that may call the route, `any` for every valid key, or `public` without one. */
  scope: Scope | 'any' | 'public'
  query?: v.GenericSchema<unknown, Query> & { entries: Record<string, v.GenericSchema> }
  /** Absent: a body is neither wanted nor read. */
  body?: v.GenericSchema<unknown, Body>
  /** An empty body stands for `{}`. */
  body_may_be_empty?: boolean
  /** Unit: bytes; 256 KiB by default. */
  body_limit?: number
  /** Takes `If-Match`. */
  conditional?: true
  /** Takes `If-State`: the state of the thing that the path names, as its own resource shows it, and after a space the time of its last stop; undefined when it is not there. */
  state_of?: (rooms: Rooms, param: (name: string) => string) => string | undefined
  /** The answer holds a secret, and is written down nowhere. */
  is_secret?: true
  /** The answer with 202 and a `Location` to a request with `Prefer: respond-async`. */
  accepted?: { description: string; schema: v.GenericSchema }
  handle(call: Call<Rooms, Body, Query>): Response | Promise<Response>
}

type Tag = 'devices' | 'teachpoints' | 'workflows' | 'runs' | 'events' | 'keys' | 'system' | 'simulation'

/** `Rooms` are the rooms of the bench that its handler uses; without them it can be described, and not called. */
export type Route<Rooms = never, Body = unknown, Query = unknown> = Description<Rooms, Body, Query> & {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With Hono's `:name` for parameters. */
  path: string
  tag: Tag
  success: Success
  /** The statuses it answers besides those that every route can. */
  errors: readonly ContentfulStatusCode[]
}

/** A route as its file declares it: the tag is that of the file, the answer has status 200, and no other errors are answered, unless it says so. */
type Declaration<Rooms, Body, Query> = Description<Rooms, Body, Query> & {
  tag?: Tag
  success: Omit<Success, 'status'> & Partial<Success>
  errors?: readonly ContentfulStatusCode[]
}

export const requestIdHeader = 'X-Request-Id'

/** Makes the function that declares the routes of one file. It keeps the types of a route's body and query for the route's handler. */
export function routesOf<Rooms>(tag: Tag) {
  return <Body = unknown, Query = unknown>(
    method: Route['method'],
    path: string,
    { success, ...its }: Declaration<Rooms, Body, Query>,
  ): Route<Rooms> =>
    ({ method, path, tag, errors: [], ...its, success: { status: 200, ...success } }) as Route<Rooms, Body, Query> as Route<Rooms>
}

/** The parts of a JSON answer. The server reads it when it sends the answer, so a header can be added until then. */
type PlainAnswer = { status: number; headers: Record<string, string | number>; text: string }

const plain = Symbol('plain')

/** Undefined for an answer that `json` did not make. Not by a `WeakMap`, which the collector of garbage looks through again and again. */
export function plainAnswerOf(answer: Response & { [plain]?: PlainAnswer }): PlainAnswer | undefined {
  return answer[plain]
}

/**
 * A JSON answer with the headers that all have. The body ends with a line end, for terminals. Not `c.json`: that makes a `Headers` object, which
 * costs more than all else here.
 */
export function json(value: object, status: ContentfulStatusCode = 200, headers: Record<string, string> = {}): Response {
  const all = { 'Content-Type': 'application/json', 'X-API-Version': apiVersion, 'Cache-Control': 'no-store', ...headers }
  const text = `${JSON.stringify(value)}\n`
  return Object.assign(new Response(text, { status, headers: all }), { [plain]: { status, headers: all, text } })
}

/** Adds a header to an answer of `json` that nobody has looked at, at no cost. False for any other answer. */
export function addHeader(answer: Response, name: string, value: string): boolean {
  const parts = plainAnswerOf(answer)
  if (parts) parts.headers[name] = value
  return parts !== undefined
}
