// The whole service as it ships, with a driver whose instruments are done at once.

import * as v from 'valibot'
import type { Driver } from '../../../drivers/driver.ts'
import type { DeviceConfig } from '../../../src/config/devices.ts'
import { serviceWith } from './service.ts'
import { devices, limits, tellOf } from './serving.ts'

const nobody = { model: null, serial_number: null, firmware_version: null }

/** Has no protocol and writes nothing to its line. */
const instant: Driver = {
  type: 'shaker',
  about: { instrument: 'none: it answers at once' },
  typical: { initialize_s: 0 },
  settings: v.strictObject({}),
  serial: { baud: 9600 },
  profile: () => ({
    model: 'instant',
    features: {},
    limits: { speed: { ...limits.speed, unit: 'rpm' }, duration: { ...limits.duration, unit: 's' } },
  }),
  open: () => ({
    initialize: async () => ({ identity: nobody }),
    identify: async () => nobody,
    check: async () => {},
    halt: async () => {},
    shake: async () => {},
  }),
  simulate: () => ({ receive() {}, setFault: () => false, powerOff() {}, world: { moving: false, heating: false } }),
}

const { bench, url } = await serviceWith({}, { devices: devices.map(({ device_id, name }) => configured(device_id, name)) })
for (const { device_id } of devices) await bench.registry.find(device_id).perform('initialize', {})
const { api_key: key } = await bench.keys.create({ name: 'bench', scope: 'operate' })
const { host, port } = new URL(url)
tellOf({ port: Number(port), host, key })

function configured(device_id: string, name: string): DeviceConfig {
  const driven = { kind: 'driven', driver: 'bioshake', driven_by: instant, transport: { kind: 'simulated' } } as const
  return { device_id, name, limits: {}, identity: {}, settings: {}, on_restart: 'halt', ...driven }
}
