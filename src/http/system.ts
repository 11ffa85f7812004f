// The service itself.

import * as v from 'valibot'
import { healthStates } from '../lab.ts'
import { json, type Route, route } from './contract.ts'
import { apiVersion } from './version.ts'

const Health = v.strictObject({
  status: v.picklist(healthStates),
  version: v.string(),
  uptime_s: v.number(),
  reasons: v.array(v.pipe(v.string(), v.description('A word for each thing that is not well'))),
})

export const systemRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/health',
    operation_id: 'getHealth',
    tag: 'system',
    summary: 'Whether the service is well; needs no key',
    scope: 'public',
    success: { status: 200, description: 'It serves; 503 with the same body while it starts and stops', schema: Health, also: [503] },
    errors: [],
    handle({ lab }) {
      const health = lab.health()
      return json(health, health.status === 'ok' || health.status === 'degraded' ? 200 : 503)
    },
  }),
  route({
    method: 'GET',
    path: '/api/system',
    operation_id: 'getSystem',
    tag: 'system',
    summary: 'Versions and the id of this system',
    scope: 'read',
    success: {
      status: 200,
      description: 'What runs here',
      schema: v.strictObject({ version: v.string(), api_version: v.string(), system_id: v.string() }),
    },
    errors: [],
    handle: ({ lab }) => json({ version: lab.version, api_version: apiVersion, system_id: lab.config.system_id }),
  }),
  route({
    method: 'GET',
    path: '/api/system/whoami',
    operation_id: 'whoAmI',
    tag: 'system',
    summary: 'Which key this is, and what it may',
    scope: 'read',
    success: {
      status: 200,
      description: 'The key of this request',
      schema: v.strictObject({ key_id: v.string(), name: v.string(), scope: v.string() }),
    },
    errors: [],
    handle({ c }) {
      const { key_id, name, scope } = c.get('principal')
      return json({ key_id, name, scope })
    },
  }),
]
