// The workflow of the demo bench: a plate is shaken, sealed, spun, and put back where it came from.

import { topology, workflow } from '../workflow/plans/author.ts'

/** The demo bench as labware sees it. */
export const demoTopology = topology({
  format: 1,
  name: 'demo',
  transporters: {
    'arm-1': { positions: ['pad_1', 'pad_2', 'pad_3', 'pad_4', 'shaker_in', 'sealer_in', 'centrifuge_in', 'waste'] },
  },
  positions: {
    pad_1: {},
    pad_2: { parking: true },
    pad_3: { parking: true },
    pad_4: { parking: true },
    shaker_in: { device: 'shaker-1' },
    sealer_in: { device: 'sealer-1' },
    centrifuge_in: { device: 'centrifuge-1' },
    waste: { storage: true },
  },
  pools: { shakers: ['shaker-1'] },
})

export const sealAndSpin = workflow({
  format: 1,
  name: 'seal-and-spin',
  topology: 'demo',
  labware: { plate: { type: '96-well' } },
  variables: {
    speed: { type: 'integer', unit: 'rpm', default: 500, description: 'Of the shaker' },
    temperature: { type: 'integer', unit: '°C', default: 165, description: 'Of the sealing plate' },
  },
  methods: {
    shake_it: [
      { do: 'shake', on: 'shakers', with: { speed: { variable: 'speed' }, duration: 5 } },
      { emit: 'qc.done', value: 'complete' },
    ],
    seal_it: [{ do: 'seal', on: 'sealer-1', with: { temperature: { variable: 'temperature' }, duration: 3 } }],
    spin_it: [{ do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 } }],
  },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1', 'pad_2', 'pad_3', 'pad_4'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'shake_it' }, { branch: 'qc.done', cases: { complete: [{ method: 'seal_it' }, { method: 'spin_it' }] }, else: [] }],
    },
  },
  start: ['plate'],
})
