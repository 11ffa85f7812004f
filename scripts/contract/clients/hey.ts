// The client that @hey-api/openapi-ts generates.

import { answered, api_key, check, ended, url } from './checks.ts'
import { client } from './generated/hey/client.gen.ts'
import { getDevice, getEvents, initializeDevice, listDevices, lockPlate, shakeDevice, submit } from './generated/hey/sdk.gen.ts'

client.setConfig({ baseUrl: url, headers: { 'X-API-Key': api_key } })

await check({
  devices: async () => answered(await listDevices()).devices,
  initialize: async (device_id) => ended(answered(await initializeDevice({ path: { device_id } }))),
  lockPlate: async (device_id) => ended(answered(await lockPlate({ path: { device_id } }))),
  shake: async (device_id, body) => ended(answered(await shakeDevice({ path: { device_id }, body }))),
  submit: async (workflow) => answered(await submit({ body: { workflow, run_mode: 'LIVE' } })),
  events: async () => answered(await getEvents({ query: { since: 0, wait: 10 } })).events,
  async unknownDevice(device_id) {
    const { error, response } = await getDevice({ path: { device_id } })
    return { status: response?.status ?? 0, detail: error?.detail }
  },
})
