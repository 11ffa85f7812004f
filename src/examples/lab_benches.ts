// The benches of `benchd lab demo`: two of the demo's benches, each with a hand-over position for incoming and one for outgoing labware, and the lab
// file with journeys between them.

import type { Keys } from '../keys/keys.ts'
import type { Teachpoints } from '../teachpoints/store.ts'
import type { Catalog } from '../workflow/catalog.ts'
import { workflow } from '../workflow/plans/author.ts'
import { demoBench, demoTeachpoints } from './demo_bench.ts'
import { demoTopology } from './seal_and_spin.ts'

export const labBench = demoBench

/** The demo's teachpoints, and those of the hand-over positions. */
export const labPoints = [
  ...demoTeachpoints,
  ...(['in', 'out'] as const).map((name, i) => ({
    device_id: 'arm-1',
    name,
    coord_type: 'cartesian' as const,
    coords: { x: 680, y: 100 + 200 * i, z: 40, yaw: 0, pitch: 0, roll: 0 },
  })),
]

export const labTopology = {
  ...demoTopology,
  name: 'lab-bench',
  transporters: { 'arm-1': { positions: [...demoTopology.transporters!['arm-1']!.positions, 'in', 'out'] } },
  positions: { ...demoTopology.positions, in: { handover: true }, out: { handover: true } },
}

const rests = ['pad_2', 'pad_3', 'pad_4']
const labware = { plate: { type: '96-well' } }

/** Seals a plate that a person has put on the bench, and keeps it for its carrier. */
const seal = workflow({
  format: 1,
  name: 'seal',
  topology: labTopology.name,
  labware,
  methods: {
    shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }],
    seal_it: [{ do: 'seal', on: 'sealer-1', with: { temperature: 165, duration: 3 } }],
  },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'MANUAL_PLACE' },
      end: { at: rests, mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'shake_it' }, { method: 'seal_it' }],
    },
  },
  start: ['plate'],
})

/** Spins a plate that its carrier has brought. */
const spin = workflow({
  format: 1,
  name: 'spin',
  topology: labTopology.name,
  labware,
  methods: { spin_it: [{ do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 } }] },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'in', mode: 'MANUAL_PLACE' },
      end: { at: ['pad_1'], mode: 'MANUAL_REMOVE' },
      steps: [{ method: 'spin_it' }],
    },
  },
  start: ['plate'],
})

/** Shakes a plate that its carrier has brought, and keeps it for the next one. */
const shake = workflow({
  format: 1,
  name: 'shake',
  topology: labTopology.name,
  labware,
  methods: { shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }] },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'in', mode: 'MANUAL_PLACE' },
      end: { at: rests, mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'shake_it' }],
    },
  },
  start: ['plate'],
})

export const labWorkflows = [seal, spin, shake]

type Rooms = { keys: Keys; teachpoints: Teachpoints; openRuns(): Promise<{ catalog: Catalog }> }

/** Puts teachpoints into a new bench whose topologies folder has the documents of this file, loads its topology, and returns a new key. */
export async function prepareLabBench({ keys, teachpoints, openRuns }: Rooms): Promise<string> {
  await teachpoints.importAll(labPoints, { overwrite: false })
  const { catalog } = await openRuns()
  await catalog.load(labTopology.name)
  return (await keys.create({ name: 'the demo', scope: 'admin' })).api_key
}

type LabPlace = { database: string; server: string; benches: { prep: { name: string; url: string }; read: { name: string; url: string } } }

/** The lab file of the demo. */
export function labFileOf({ database, server, benches }: LabPlace) {
  return {
    format: 1,
    name: 'floor-2',
    database,
    broker: { servers: [server] },
    benches,
    carriers: {
      anyone: {
        routes: [
          ['prep/out', 'read/in'],
          ['read/out', 'prep/in'],
        ],
        seconds: 120,
      },
    },
    journeys: {
      assay: [
        { on: 'prep', workflow: 'seal', until: 'out' },
        { carry: 'read/in', by: 'anyone', max_wait: 600 },
        { on: 'read', workflow: 'spin', from: 'in' },
      ],
      'there-and-back': [
        { on: 'prep', workflow: 'seal', until: 'out' },
        { carry: 'read/in', by: 'anyone' },
        { on: 'read', workflow: 'shake', until: 'out' },
        { carry: 'prep/in', by: 'anyone' },
        { on: 'prep', workflow: 'spin' },
      ],
    },
  }
}
