// Keys: who may what. A key is shown once, when it is made.

import * as v from 'valibot'
import { OperationResult } from '../devices/records.ts'
import { CreatedKey, KeyRequest, PublicKey } from '../keys/keys.ts'
import { json, type Route, route } from './contract.ts'

const Overlap = v.strictObject({
  overlap_s: v.optional(
    v.pipe(v.number(), v.minValue(0), v.maxValue(30 * 86_400), v.description('How long both work'), v.metadata({ unit: 's' })),
  ),
})

export const keyRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/keys',
    operation_id: 'listKeys',
    tag: 'keys',
    summary: 'List keys, without their secrets',
    scope: 'admin',
    success: { status: 200, description: 'Every key, revoked ones too', schema: v.strictObject({ keys: v.array(PublicKey) }) },
    errors: [],
    handle: ({ lab }) => json({ keys: lab.keys.list() }),
  }),
  route({
    method: 'POST',
    path: '/api/keys',
    operation_id: 'createKey',
    tag: 'keys',
    summary: 'Create a key',
    scope: 'admin',
    body: KeyRequest,
    success: { status: 201, description: 'The key; `api_key` is shown this once', schema: CreatedKey, headers: ['Location'] },
    errors: [400, 503],
    async handle({ lab, body }) {
      const created = await lab.keys.create(body())
      return json(created, 201, { Location: `/api/keys/${created.key_id}` })
    },
  }),
  route({
    method: 'POST',
    path: '/api/keys/:key_id/rotate',
    operation_id: 'rotateKey',
    tag: 'keys',
    summary: 'Put a new key in the place of one',
    description:
      'Of the same name, scope and length of life. The old one works for `overlap_s` more seconds; without that, until it is revoked.',
    scope: 'admin',
    body: Overlap,
    body_may_be_empty: true,
    success: { status: 201, description: 'The new key; `api_key` is shown this once', schema: CreatedKey, headers: ['Location'] },
    errors: [400, 404, 503],
    async handle({ lab, param, body }) {
      const created = await lab.keys.rotate(param('key_id'), body())
      return json(created, 201, { Location: `/api/keys/${created.key_id}` })
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/keys/:key_id',
    operation_id: 'revokeKey',
    tag: 'keys',
    summary: 'Revoke a key',
    description: 'It opens nothing from this moment on; its record stays.',
    scope: 'admin',
    success: { status: 200, description: 'Revoked', schema: OperationResult },
    errors: [404, 503],
    async handle({ lab, param }) {
      await lab.keys.revoke(param('key_id'))
      return json({ success: true, message: `key ${param('key_id')} is revoked` })
    },
  }),
]
