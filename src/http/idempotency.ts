// Carries out a POST with an Idempotency-Key once, and repeats its answer to later requests with the same key. Other requests pass through.

import type { Context } from 'hono'
import { LabError } from '../errors.ts'
import { type Answer, type IdempotentRequest, interrupted, type Worth } from '../keys/idempotency.ts'
import type { Lab } from '../lab.ts'
import type { Env, Route } from './contract.ts'
import { answerFailure } from './errors.ts'

/** Whether such a key means anything there: a stop is never held back by one, and who has no key of ours is nobody to remember. */
export function takesIdempotencyKey({ method, scope }: Route): boolean {
  return method === 'POST' && scope !== 'any' && scope !== 'public'
}

/** Answers what `handle` answers, or what it answered before. Throws as `Once.begin`, and `invalid` for a key that is none. */
export async function idempotent(
  lab: Lab,
  route: Route,
  c: Context<Env>,
  body: ArrayBuffer | Uint8Array,
  handle: () => Promise<Response>,
): Promise<Response> {
  const idempotency_key = takesIdempotencyKey(route) ? c.req.header('idempotency-key') : undefined
  if (idempotency_key === undefined) return handle()
  if (!/^[\x20-\x7e]{1,64}$/.test(idempotency_key))
    throw new LabError('invalid', 'an Idempotency-Key has 1 to 64 printable ASCII characters')
  const asked: IdempotentRequest = {
    key_id: c.get('principal').key_id,
    method: route.method,
    path: c.req.path,
    idempotency_key,
    body: new Uint8Array(body),
  }
  const before = await lab.idempotency.begin(asked)
  if (before) {
    const headers = { ...before.headers, 'Idempotency-Replayed': 'true' }
    return new Response(await bodyNow(lab, asked, before), { status: before.status, headers })
  }
  const response = await handle().catch((error) => answerFailure(lab.log, c, error))
  const answer = { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  await lab.idempotency.end(asked, answer, worthOf(route, response))
  return new Response(answer.body, answer)
}

/** Of an operation that was answered before its end: what it came to. Throws `conflict` where a restart has interrupted it. */
async function bodyNow(lab: Lab, asked: IdempotentRequest, { status, headers, body }: Answer): Promise<string> {
  const operation_id = headers['operation-id']
  if (status !== 202 || operation_id === undefined) return body
  const record = await lab.ledger.find(operation_id)
  if (!record && lab.idempotency.isLeft(asked)) throw interrupted()
  return record ? `${JSON.stringify(record)}\n` : body
}

/** What was refused was not done, so it may be tried again under the same key; what began and failed may not. */
function worthOf({ is_secret }: Route, { status, headers }: Response): Worth {
  const isDone = status < 400 || status === 500 || (status > 500 && headers.has('operation-id'))
  if (!isDone) return 'forget'
  return is_secret ? 'secret' : 'keep'
}
