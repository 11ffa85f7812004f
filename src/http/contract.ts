// What a route is: a record that makes the routing, the checks and the OpenAPI text alike.

import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type * as v from 'valibot'
import type { Scope } from '../keys/keys.ts'
import type { Lab } from '../lab.ts'
import { apiVersion } from './version.ts'

/** Who asks. Over the control socket that is somebody with a shell on this machine. */
export type Principal = { key_id: string; name: string; scope: Scope }

/** What is known of a request on its way: `operation_id` once one has begun. */
type Variables = { principal: Principal; request_id: string; operation_id?: string }

/** `principal` and `request_id` where another app has found them out. */
type Bindings = Partial<HttpBindings> & { local?: boolean; principal?: Principal; request_id?: string }

export type Env = { Bindings: Bindings | undefined; Variables: Variables }

/** One request, past the checks that all have in common. */
export type Call<Body, Query> = {
  lab: Lab
  c: Context<Env>
  /** A parameter of the path, decoded. */
  param(name: string): string
  /** The query, held against its schema. Throws `invalid`. */
  query(): Query
  /** The body, held against its schema; asked for once device and operation are known to be there. Throws `invalid`. */
  body(): Body
}

export type Route<Body = unknown, Query = unknown> = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With Hono's `:name` for parameters. */
  path: string
  operation_id: string
  tag: 'devices' | 'teachpoints' | 'workflows' | 'runs' | 'events' | 'keys' | 'system' | 'simulation'
  summary: string
  description?: string
  /** Who may: the smallest scope, `any` valid key, or `public` without one. */
  scope: Scope | 'any' | 'public'
  query?: v.GenericSchema<unknown, Query> & { entries: Record<string, v.GenericSchema> }
  /** Absent: a body is neither wanted nor read. */
  body?: v.GenericSchema<unknown, Body>
  /** An empty body stands for `{}`. */
  body_may_be_empty?: boolean
  /** In bytes; 256 KiB unless said. */
  body_limit?: number
  success: {
    status: 200 | 201 | 202
    description: string
    schema?: v.GenericSchema
    media_type?: string
    /** Besides those that every answer has. */
    headers?: readonly ('Location' | 'Operation-Id' | 'ETag')[]
    /** Statuses that have the same body. */
    also?: readonly ContentfulStatusCode[]
  }
  /** Takes `If-Match`. */
  conditional?: true
  /** Its answer holds a secret, and is written down nowhere. */
  is_secret?: true
  /** What it answers with 202 and a `Location` when it is asked with `Prefer: respond-async`. */
  accepted?: { description: string; schema: v.GenericSchema }
  /** The statuses it answers besides those that every route can. */
  errors: readonly ContentfulStatusCode[]
  handle(call: Call<Body, Query>): Response | Promise<Response>
}

/** Keeps the types of a route's body and query for its handler. */
export function route<Body = unknown, Query = unknown>(definition: Route<Body, Query>): Route {
  return definition as Route
}

/**
 * A JSON answer with the headers that all have. The body ends with a line end, for terminals. Not `c.json`: that makes a `Headers` object, which
 * costs more than all else here.
 */
export function json(value: object, status: ContentfulStatusCode = 200, headers: Record<string, string> = {}): Response {
  const all = { 'Content-Type': 'application/json', 'X-API-Version': apiVersion, 'Cache-Control': 'no-store', ...headers }
  return new Response(`${JSON.stringify(value)}\n`, { status, headers: all })
}
