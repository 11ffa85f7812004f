// For tests: a bench with a simulated storage of slots, an arm and a shaker, and a workflow that takes a plate out, shakes it and stores it again.

import { workflowOf } from './documents.ts'

export const slots = 8
const slot = {
  type: 'object',
  properties: { slot: { type: 'integer', minimum: 1, maximum: slots } },
  required: ['slot'],
  additionalProperties: false,
}
export const devices = [
  {
    ...{ device_id: 'incubator-1', driver: 'simulated', type: 'storage', transport: { kind: 'simulated' } },
    settings: { operations: { store: { params: slot, seconds: 10 }, retrieve: { params: slot, seconds: 10 } } },
  },
  { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  { device_id: 'arm-1', driver: 'arm', transport: { kind: 'simulated' } },
]
export const topology = {
  ...{ format: 1, name: 'stored' },
  transporters: { 'arm-1': { positions: ['door', 'shaker_in'] }, 'incubator-1': { positions: ['door', 'incubator'] } },
  positions: { door: {}, shaker_in: { device: 'shaker-1' }, incubator: { slots } },
}
export const teachpoints = ['door', 'shaker_in'].map((name, i) => {
  return { device_id: 'arm-1', name, coord_type: 'cartesian', coords: { x: 100 + 200 * i, y: 300, z: 40, yaw: 0, pitch: 0, roll: 0 } }
})
export const workflow = workflowOf(
  'shake-stored',
  {
    plate: {
      ...{ start: { at: 'incubator', mode: 'REUSE_EXISTING' }, end: { at: ['incubator'], mode: 'LEAVE_IN_PLACE' } },
      steps: [{ action: { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } } }],
    },
  },
  { topology: 'stored' },
)

export const barcodes = ['P-1', 'P-2', 'P-3', 'P-4']
/** The inventory with which it begins. */
export const first = barcodes.map((barcode, i) => ({ slot: i + 1, labware: { barcode, type: '96-well' } }))
