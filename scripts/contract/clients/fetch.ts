// The client that openapi-fetch makes of the types of openapi-typescript.

import createClient from 'openapi-fetch'
import { answered, api_key, check, ended, url } from './checks.ts'
import type { paths } from './generated/paths.ts'

const { GET, POST } = createClient<paths>({ baseUrl: url, headers: { 'X-API-Key': api_key } })

await check({
  devices: async () => answered(await GET('/api/devices')).devices,
  initialize: async (device_id) => ended(answered(await POST('/api/devices/{device_id}/initialize', { params: { path: { device_id } } }))),
  lockPlate: async (device_id) => ended(answered(await POST('/api/devices/{device_id}/lock_plate', { params: { path: { device_id } } }))),
  shake: async (device_id, body) =>
    ended(answered(await POST('/api/devices/{device_id}/shake', { params: { path: { device_id } }, body }))),
  submit: async (workflow) => answered(await POST('/api/submissions', { body: { workflow, run_mode: 'LIVE' } })),
  events: async () => answered(await GET('/events', { params: { query: { since: 0, wait: 10 } } })).events,
  async unknownDevice(device_id) {
    const { error, response } = await GET('/api/devices/{device_id}', { params: { path: { device_id } } })
    return { status: response.status, detail: error?.detail }
  },
})
