// The routes of confirmations, by which a program has a person asked.

import * as v from 'valibot'
import type { Links } from '../bench/links.ts'
import { OperationResult } from '../devices/records.ts'
import { Code, ConfirmationAnswer, ConfirmationWish, ShownConfirmation } from '../keys/confirmations.ts'
import { json, type Route, routesOf } from './contract.ts'
import { clientOf } from './said_client.ts'

type Rooms = { links: Links }

const route = routesOf<Rooms>('keys')
const path = '/api/confirmations'

export const confirmationRoutes: Route<Rooms>[] = [
  route('POST', path, {
    operation_id: 'requestConfirmation',
    summary: 'Have a person asked whether something may be done',
    description:
      'The page of the bench and `benchd status` show the request with a code, which a person tells the program. It lasts two minutes and holds once. ' +
      'The code decides nothing at the bench: it is for programs such as `benchd mcp`, which do something only when a person has confirmed it.',
    scope: 'operate',
    body: ConfirmationWish,
    body_limit: 16_384,
    success: { status: 201, description: 'People are asked', schema: ConfirmationAnswer },
    errors: [400, 503],
    handle({ rooms, c, body }) {
      const { key_id, name } = c.get('principal')
      return json(rooms.links.confirmations.request(body().text, { key_id, name, client: clientOf(c) ?? null }), 201)
    },
  }),
  route('GET', path, {
    operation_id: 'listConfirmations',
    summary: 'List the confirmations that wait for a person',
    description: 'A key does not see the codes of its own requests.',
    scope: 'operate',
    success: { description: 'The oldest first', schema: v.strictObject({ confirmations: v.array(ShownConfirmation) }) },
    handle: ({ rooms, c }) => json({ confirmations: rooms.links.confirmations.list(c.get('principal').key_id) }),
  }),
  route('POST', `${path}/:confirmation_id/check`, {
    operation_id: 'checkConfirmation',
    summary: 'Check the code that a person told; it holds once',
    description: 'Only for the key that asked. 403 for a wrong code; the third one ends the confirmation.',
    scope: 'operate',
    body: Code,
    success: { description: 'A person has confirmed it', schema: OperationResult },
    errors: [400, 404],
    handle({ rooms, c, param, body }) {
      rooms.links.confirmations.check(param('confirmation_id'), body().code, c.get('principal').key_id)
      return json({ success: true, message: 'confirmed' })
    },
  }),
  route('DELETE', `${path}/:confirmation_id`, {
    operation_id: 'denyConfirmation',
    summary: 'Deny what a program asks for',
    scope: 'operate',
    success: { description: 'The code holds no longer', schema: OperationResult },
    errors: [404],
    handle({ rooms, param }) {
      rooms.links.confirmations.deny(param('confirmation_id'))
      return json({ success: true, message: 'denied' })
    },
  }),
]
