// A bench without a robot: a shaker and a sealer, and a person who carries the plates.

import { topology, workflow } from '../workflow/plans/author.ts'
import type { ConfigFileInput } from './demo_bench.ts'

/** The bench of `benchd demo --bench hands`, as it would stand in a configuration file. */
export const handsBench = {
  format: 1,
  devices: [
    { device_id: 'shaker-1', driver: 'bioshake', name: 'Plate shaker', transport: { kind: 'simulated' } },
    { device_id: 'sealer-1', driver: 'a4s', name: 'Plate sealer', transport: { kind: 'simulated' } },
    { device_id: 'hands', driver: 'person', name: 'A person at the bench' },
  ],
} satisfies Partial<ConfigFileInput>

export const handsTopology = topology({
  format: 1,
  name: 'hands',
  transporters: { hands: { positions: ['pad_1', 'pad_2', 'shaker_in', 'sealer_in'] } },
  positions: { pad_1: {}, pad_2: { parking: true }, shaker_in: { device: 'shaker-1' }, sealer_in: { device: 'sealer-1' } },
})

export const shakeAndSeal = workflow({
  format: 1,
  name: 'shake-by-hand',
  topology: 'hands',
  labware: { plate: { type: '96-well' } },
  variables: {
    speed: { type: 'integer', unit: 'rpm', default: 500, description: 'Of the shaker' },
    temperature: { type: 'integer', unit: '°C', default: 165, description: 'Of the sealing plate' },
  },
  methods: {
    shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: { variable: 'speed' }, duration: 20 } }],
    seal_it: [{ do: 'seal', on: 'sealer-1', with: { temperature: { variable: 'temperature' }, duration: 3 } }],
  },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1', 'pad_2'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'shake_it' }, { method: 'seal_it' }],
    },
  },
  start: ['plate'],
})
