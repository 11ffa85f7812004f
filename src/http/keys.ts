// The routes of keys. A key is shown once, when it is made.

import * as v from 'valibot'
import { OperationResult } from '../devices/records.ts'
import { CreatedKey, KeyEnd, KeyRequest, type Keys, PublicKey } from '../keys/keys.ts'
import { type Pairing, PairingAnswer, PairingRequest, PairingWish } from '../keys/pairing.ts'
import { described } from '../kit/described.ts'
import type { Log } from '../kit/log.ts'
import { json, type Route, routesOf } from './contract.ts'
import { remoteAddress } from './entrance.ts'

type Rooms = { keys: Keys; pairing: Pairing; log: Log }

const route = routesOf<Rooms>('keys')

const Rotation = v.strictObject({
  overlap_s: v.optional(described(v.pipe(v.number(), v.minValue(0), v.maxValue(30 * 86_400)), 'How long both work', 's')),
  expires_at: KeyEnd,
})

const Approval = v.strictObject({ expires_at: KeyEnd })

const requestPath = '/api/keys/requests/:request_id'

export const keyRoutes: Route<Rooms>[] = [
  route('GET', '/api/system/whoami', {
    operation_id: 'whoAmI',
    tag: 'system',
    summary: 'Which key this is, and what it may',
    scope: 'read',
    success: {
      description: 'The key of this request',
      schema: v.strictObject({ key_id: v.string(), name: v.string(), scope: v.string() }),
    },
    handle({ c }) {
      const { key_id, name, scope } = c.get('principal')
      return json({ key_id, name, scope })
    },
  }),
  route('GET', '/api/keys', {
    operation_id: 'listKeys',
    summary: 'List keys, without their secrets',
    scope: 'admin',
    success: {
      description: 'Every key, revoked ones too; of a thousand keys, those that ended first give way to new ones',
      schema: v.strictObject({ keys: v.array(PublicKey) }),
    },
    handle: ({ rooms }) => json({ keys: rooms.keys.list() }),
  }),
  route('POST', '/api/keys', {
    operation_id: 'createKey',
    summary: 'Create a key',
    scope: 'admin',
    body: KeyRequest,
    is_secret: true,
    success: { status: 201, description: 'The key; `api_key` is shown this once', schema: CreatedKey, headers: ['Location'] },
    errors: [400, 503],
    async handle({ rooms, body }) {
      const created = await rooms.keys.create(body())
      return json(created, 201, { Location: `/api/keys/${created.key_id}` })
    },
  }),
  route('POST', '/api/keys/:key_id/rotate', {
    operation_id: 'rotateKey',
    summary: 'Put a new key in the place of one',
    description:
      'Of the same name and scope, and of the same length of life unless `expires_at` says another end. The old one works for `overlap_s` more seconds; without that, until it is revoked.',
    scope: 'admin',
    body: Rotation,
    body_may_be_empty: true,
    is_secret: true,
    success: { status: 201, description: 'The new key; `api_key` is shown this once', schema: CreatedKey, headers: ['Location'] },
    errors: [400, 404, 503],
    async handle({ rooms, param, body }) {
      const created = await rooms.keys.rotate(param('key_id'), body())
      return json(created, 201, { Location: `/api/keys/${created.key_id}` })
    },
  }),
  route('DELETE', '/api/keys/:key_id', {
    operation_id: 'revokeKey',
    summary: 'Revoke a key',
    description: 'The key opens nothing from this moment on; its record stays.',
    scope: 'admin',
    success: { description: 'Revoked', schema: OperationResult },
    errors: [404, 503],
    async handle({ rooms, param }) {
      await rooms.keys.revoke(param('key_id'))
      return json({ success: true, message: `key ${param('key_id')} is revoked` })
    },
  }),
  route('POST', '/api/keys/requests', {
    operation_id: 'requestKey',
    summary: 'Ask for a key, which somebody with a key of scope admin then approves or denies',
    description:
      'Show the `code` to whoever is to approve it. Five may wait, each for ten minutes, and two of one address (`limits.pairings_per_address`); ' +
      'where five wait, an address that has several gives its oldest to one that has none.',
    scope: 'public',
    body: PairingWish,
    body_limit: 4096,
    success: {
      status: 201,
      description: 'The request waits; the `request_secret` is shown this once',
      schema: PairingAnswer,
      headers: ['Location'],
    },
    errors: [400, 409],
    handle({ rooms, c, body }) {
      const wish = body()
      const from = remoteAddress(c.env) ?? null
      const { answer, shown } = rooms.pairing.request(wish, from)
      // The program's own name comes last, in quotes, so that it cannot imitate the rest of the sentence.
      const who = `somebody${from === null ? '' : ` at ${from}`} asks for a key of scope ${wish.scope} and shows the code ${shown.code}`
      rooms.log.warn(
        `${who}; if you know who that is: benchd key approve ${shown.code} (the program calls itself ${JSON.stringify(shown.app_name)})`,
      )
      return json(answer, 201, { Location: `/api/keys/requests/${answer.request_id}` })
    },
  }),
  route('GET', '/api/keys/requests', {
    operation_id: 'listKeyRequests',
    summary: 'List the requests for a key that wait for a decision',
    scope: 'admin',
    success: { description: 'The oldest first', schema: v.strictObject({ requests: v.array(PairingRequest) }) },
    handle: ({ rooms }) => json({ requests: rooms.pairing.list() }),
  }),
  route('GET', requestPath, {
    operation_id: 'fetchRequestedKey',
    summary: 'Fetch the key that was asked for: 202 until it is approved, then the key, once',
    description: '404 when it was denied, when its key was fetched, and after ten minutes.',
    scope: 'public',
    success: {
      description: 'The key; it is shown this once. With 202 an empty object: nobody has decided yet',
      schema: v.strictObject({ api_key: v.optional(v.string()) }),
      also: [202],
    },
    errors: [404, 503],
    async handle({ rooms, c, param }) {
      const api_key = await rooms.pairing.fetch(param('request_id'), c.req.header('x-request-secret') ?? '')
      return api_key === undefined ? json({}, 202) : json({ api_key })
    },
  }),
  route('POST', `${requestPath}/approve`, {
    operation_id: 'approveKeyRequest',
    summary: 'Let whoever asked for a key have it',
    scope: 'admin',
    body: Approval,
    body_may_be_empty: true,
    success: { description: 'The key is made when it is fetched', schema: OperationResult },
    errors: [400, 404],
    handle({ rooms, param, body }) {
      const request = rooms.pairing.approve(param('request_id'), body().expires_at)
      return json({ success: true, message: `${named(request)} may fetch a key of scope ${request.scope}` })
    },
  }),
  route('DELETE', requestPath, {
    operation_id: 'denyKeyRequest',
    summary: 'Deny a request for a key',
    scope: 'admin',
    success: { description: 'The request is deleted', schema: OperationResult },
    errors: [404],
    handle({ rooms, param }) {
      return json({ success: true, message: `${named(rooms.pairing.deny(param('request_id')))} gets no key` })
    },
  }),
]

function named({ app_name, from }: PairingRequest): string {
  return `${JSON.stringify(app_name)}${from === null ? '' : ` at ${from}`}`
}
