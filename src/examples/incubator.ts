// A bench with an incubator: plates come out of its slots, are shaken and sealed, and go back into slots to rest for a day.

import type { Teachpoint } from '../teachpoints/teachpoint.ts'
import type { SlotContent } from '../workflow/inventory.ts'
import { topology, workflow } from '../workflow/plans/author.ts'
import type { ConfigFileInput } from './demo_bench.ts'

const simulated = { transport: { kind: 'simulated' } } as const

/** The bench of `benchd demo --bench incubator`, as it would stand in a configuration file. The incubator has two racks with 21 slots each. */
export const incubatorBench = {
  format: 1,
  devices: [
    {
      ...{ device_id: 'incubator-1', driver: 'cytomat', name: 'Incubator', ...simulated },
      settings: { racks: [{ slots: 21 }, { slots: 21 }] },
    },
    { device_id: 'shaker-1', driver: 'bioshake', name: 'Plate shaker', ...simulated },
    { device_id: 'sealer-1', driver: 'a4s', name: 'Plate sealer', ...simulated },
    { device_id: 'peeler-1', driver: 'xpeel', name: 'Seal remover', ...simulated },
    {
      ...{ device_id: 'scan-1', driver: 'line_scanner', name: 'Scanner at the incubator', ...simulated },
      settings: { trigger: '\\x16T\\r', release: '\\x16U\\r' },
    },
    { device_id: 'arm-1', driver: 'arm', name: 'Robot arm', ...simulated },
  ],
} satisfies Partial<ConfigFileInput>

const reached: [name: string, x: number, y: number, z: number, yaw: number][] = [
  ['door', 0, 420, 130, 0],
  ['pad_1', 200, 320, 40, 0],
  ['shaker_in', 310.5, -42, 118.2, 90],
  ['sealer_in', 122, -180.4, 96.7, 90],
  ['peeler_in', -210.3, 144.9, 132, 180],
]

/** A point of the arm for each position that it reaches. */
export const incubatorTeachpoints: readonly Teachpoint[] = reached.map(([name, x, y, z, yaw]) => ({
  device_id: 'arm-1',
  name,
  coord_type: 'cartesian',
  coords: { x, y, z, yaw, pitch: 0, roll: 0 },
}))

/** The plates that are in the incubator when the demo begins: one in each of the first eight slots. */
export const storedPlates: readonly SlotContent[] = Array.from({ length: 8 }, (_, i) => ({
  slot: i + 1,
  labware: { barcode: `P-000${i + 1}`, type: '96-well' },
}))

export const incubatorTopology = topology({
  format: 1,
  name: 'incubator',
  transporters: {
    'arm-1': { positions: ['door', 'pad_1', 'shaker_in', 'sealer_in', 'peeler_in'] },
    // The storage itself carries plates between its transfer station and its slots: 20 s a transfer.
    'incubator-1': { positions: ['door', 'incubator'], seconds: { pick: 7, move: 4, place: 9 } },
  },
  positions: {
    door: { scanner: 'scan-1' },
    incubator: { slots: 42 },
    pad_1: { parking: true },
    shaker_in: { device: 'shaker-1' },
    sealer_in: { device: 'sealer-1' },
    peeler_in: { device: 'peeler-1' },
  },
})

const day_s = 86_400

/** A plate is stained and sealed, rests in the incubator, is peeled, washed and sealed, and rests there again. */
const withRests = (name: string, rest_s: number) =>
  workflow({
    format: 1,
    name,
    topology: 'incubator',
    labware: { plate: { type: '96-well' } },
    variables: {
      speed: { type: 'integer', unit: 'rpm', default: 500, description: 'Of the shaker' },
      temperature: { type: 'integer', unit: '°C', default: 165, description: 'Of the sealing plate' },
    },
    methods: {
      // An open plate is sealed within five minutes, so that it does not dry.
      stain: [
        { do: 'shake', on: 'shaker-1', with: { speed: { variable: 'speed' }, duration: 60 }, max_wait_after: 300 },
        { do: 'seal', on: 'sealer-1', with: { temperature: { variable: 'temperature' }, duration: 3 } },
      ],
      wash: [
        { do: 'peel', on: 'peeler-1', max_wait_after: 300 },
        { do: 'shake', on: 'shaker-1', with: { speed: { variable: 'speed' }, duration: 30 }, max_wait_after: 300 },
        { do: 'seal', on: 'sealer-1', with: { temperature: { variable: 'temperature' }, duration: 3 } },
      ],
    },
    threads: {
      plate: {
        labware: 'plate',
        start: { at: 'incubator', mode: 'REUSE_EXISTING' },
        end: { at: ['incubator'], mode: 'LEAVE_IN_PLACE' },
        steps: [
          { method: 'stain' },
          { park: ['incubator'] },
          { delay: rest_s },
          { method: 'wash' },
          { park: ['incubator'] },
          { delay: rest_s },
        ],
      },
    },
    start: ['plate'],
  })

export const twoDayAssay = withRests('two-day-assay', day_s)

/** An assay like it with rests of 20 seconds, to be watched on the demo. The clock of a run is that of the room, also where simulators are faster. */
export const shortRests = withRests('short-rests', 20)
