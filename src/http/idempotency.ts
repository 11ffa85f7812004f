// Carries out a POST with an Idempotency-Key once, and repeats its answer to later requests with the same key.

import type { Ledger } from '../devices/ledger.ts'
import { LabError } from '../errors.ts'
import { type Idempotency, type IdempotentRequest, interrupted, type Worth } from '../keys/idempotency.ts'
import type { StoredAnswer } from '../keys/idempotency_table.ts'
import type { Log } from '../kit/log.ts'
import type { Exchange, Route } from './contract.ts'
import { answerFailure } from './errors.ts'
import { catchMaybe, type MaybePromise } from './maybe_promise.ts'

/** The rooms of the bench that idempotency uses. */
type Rooms = { idempotency: Idempotency; ledger: Ledger; log: Log }

/** Whether a route honours the header. A stop never does, nor does a route without an API key; a file is attached once anyway. */
export function takesIdempotencyKey({ method, scope, takes_file }: Route): boolean {
  return method === 'POST' && !takes_file && scope !== 'any' && scope !== 'public'
}

/** Returns the answer of `handle`, or its earlier answer. Fails as `Idempotency.begin`, and with `invalid` for an invalid key. */
export function idempotent(
  rooms: Rooms,
  route: Route,
  c: Exchange,
  body: Uint8Array,
  handle: () => MaybePromise<Response>,
): MaybePromise<Response> {
  const idempotency_key = c.req.header('idempotency-key')
  return idempotency_key === undefined ? handle() : once(rooms, route, c, { idempotency_key, body, handle })
}

type Keyed = { idempotency_key: string; body: Uint8Array; handle: () => MaybePromise<Response> }

async function once(rooms: Rooms, route: Route, c: Exchange, { idempotency_key, body, handle }: Keyed): Promise<Response> {
  if (!/^[\x20-\x7e]{1,64}$/.test(idempotency_key))
    throw new LabError('invalid', 'an Idempotency-Key has 1 to 64 printable ASCII characters')
  const asked: IdempotentRequest = {
    key_id: c.get('principal').key_id,
    method: route.method,
    path: c.req.path,
    idempotency_key,
    body,
  }
  const before = await rooms.idempotency.begin(asked)
  if (before) {
    const headers = { ...before.headers, 'Idempotency-Replayed': 'true' }
    return new Response(await bodyNow(rooms, asked, before), { status: before.status, headers })
  }
  const response = await catchMaybe(handle, (error) => answerFailure(rooms.log, c, error))
  const answer = { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  await rooms.idempotency.end(asked, answer, worthOf(route, response))
  return new Response(answer.body, answer)
}

/**
 * Returns the body of a repeated answer: for an operation that was answered before its end, its present outcome. Throws `conflict` if a
 * restart interrupted the operation.
 */
async function bodyNow(rooms: Rooms, asked: IdempotentRequest, { status, headers, body }: StoredAnswer): Promise<string> {
  const operation_id = headers['operation-id']
  if (status !== 202 || operation_id === undefined) return body
  const record = await rooms.ledger.find(operation_id)
  if (!record && rooms.idempotency.isInterrupted(asked)) throw interrupted()
  return record ? `${JSON.stringify(record)}\n` : body
}

/**
 * Returns how long an answer is stored. A refused request was not carried out and may be tried again with the same key; one that began and failed
 * may not.
 */
function worthOf({ is_secret }: Route, { status, headers }: Response): Worth {
  const isDone = status < 400 || status === 500 || (status > 500 && headers.has('operation-id'))
  if (!isDone) return 'forget'
  return is_secret ? 'secret' : 'keep'
}
