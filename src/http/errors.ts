// Errors on the wire: `{detail}` and a status. Only this file maps codes to statuses.

import type { ServerResponse } from 'node:http'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { type ErrorCode, LabError } from '../errors.ts'
import { withoutSecrets } from '../keys/secret.ts'
import { asTyped } from '../kit/as_typed.ts'
import { isOfDisk, storageError } from '../kit/durable.ts'
import type { Log } from '../kit/log.ts'
import type { Exchange } from './contract.ts'
import { requestIdOf } from './headers.ts'
import { apiVersion } from './version.ts'

export const statuses: Record<ErrorCode, ContentfulStatusCode> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  busy: 409,
  interlock: 409,
  not_initialized: 409,
  stopped: 409,
  faulted: 409,
  exists: 409,
  conflict: 409,
  in_progress: 409,
  safe_mode: 409,
  too_large: 413,
  media_type: 415,
  misdirected: 421,
  locked: 423,
  too_many_wrong_keys: 429,
  headers_too_large: 431,
  disconnected: 500,
  no_reply: 500,
  device_failed: 500,
  stop_not_sent: 500,
  internal: 500,
  config: 500,
  in_use: 500,
  storage: 503,
  stopping: 503,
  overloaded: 503,
}

const longestDetail = 300

/** Converts any thrown value to an answer. The client does not see the message of an unexpected error. */
export function errorAnswer(error: unknown): {
  status: ContentfulStatusCode
  body: { detail: string; mistakes?: readonly object[] }
  headers: Record<string, string>
} {
  const { code, message, retry_after_s, mistakes } =
    error instanceof LabError ? error : new LabError('internal', 'something went wrong inside the service; its log says what')
  const status = statuses[code]
  const retry = retry_after_s ?? (status === 503 ? 1 : undefined)
  return {
    status,
    body: { detail: shortened(asTyped(message)), ...(mistakes && { mistakes }) },
    headers: {
      'X-API-Version': apiVersion,
      'X-Reason': code,
      ...(retry !== undefined && { 'Retry-After': String(Math.ceil(retry)) }),
      ...(status === 401 && { 'WWW-Authenticate': 'ApiKey, Bearer' }),
    },
  }
}

/** Answers with an error before or instead of the entrance. */
export function refuse(response: ServerResponse, error: LabError): void {
  const { status, body, headers } = errorAnswer(error)
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(status, { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
}

/** Answers with an error. A refusal for overload closes the connection if the body has not arrived, which would have to be read otherwise. */
export function answerError(c: Exchange, error: unknown, more: Record<string, string> = {}): Response {
  const { status, body, headers } = errorAnswer(error)
  const operation_id = c.get('operation_id')
  const begun = operation_id !== undefined && { 'Operation-Id': operation_id }
  const closing = headers['X-Reason'] === 'overloaded' && c.env?.incoming?.complete === false && { Connection: 'close' }
  const all = { 'Content-Type': 'application/json', ...headers, ...closing, ...begun, ...more }
  return new Response(`${JSON.stringify(body)}\n`, { status, headers: all })
}

/** Answers as `answerError` does, and logs an unexpected error. An error of the disk is answered with the next step. */
export function answerFailure(log: Log, c: Exchange, error: unknown): Response {
  if (!(error instanceof LabError)) log.error(`${c.req.method} ${withoutSecrets(c.req.path)} failed, request ${requestIdOf(c)}`, error)
  return answerError(c, isOfDisk(error) ? storageError('a file could not be read or written', error) : error)
}

function shortened(text: string): string {
  return text.length <= longestDetail ? text : `${text.slice(0, longestDetail - 1)}…`
}
