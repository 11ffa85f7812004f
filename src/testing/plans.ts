// For tests of plans: a small bench, documents for it, and a check of the error after a change in them.

import type { Test } from 'tap'
import { messageOf } from '../errors.ts'
import type { Bench, BenchDevice } from '../workflow/plans/bench.ts'
import { compileWorkflow } from '../workflow/plans/compile.ts'
import type { Workflow } from '../workflow/plans/plan.ts'
import { compileTopology, type Topology } from '../workflow/plans/topology.ts'

const device = (device_id: string, type: BenchDevice['type'], operations: string[], limits: BenchDevice['limits'] = {}): BenchDevice => ({
  device_id,
  type,
  driven: true,
  simulated: true,
  operations: ['initialize', 'stop', ...operations],
  limits,
})

/** Two shakers, one of which cannot lock; a sealer; an arm with all teachpoints; and a robot that another program drives. */
export const smallBench: Bench = {
  devices: [
    device('shaker-1', 'shaker', ['shake', 'lock_plate'], {
      speed: { min: 200, max: 3000, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 99_999, unit: 's', step: 1 },
    }),
    device('shaker-2', 'shaker', ['shake'], { speed: { min: 100, max: 1000, unit: 'rpm' } }),
    device('sealer-1', 'sealer', ['seal', 'get_temperature'], { temperature: { min: 50, max: 200, unit: '°C', step: 1 } }),
    device('arm-1', 'transporter', []),
    { ...device('robot-1', 'transporter', []), driven: false, operations: [] },
  ],
  hasTeachpoint: (device_id) => device_id === 'arm-1',
}

// biome-ignore lint/suspicious/noExplicitAny: a document that a test takes apart.
export type Loose = any

/** Returns a new copy of the topology document. */
export const topologyDocument = (): Loose => ({
  format: 1,
  name: 'demo',
  transporters: { 'arm-1': { positions: ['pad_1', 'pad_2', 'rack', 'shaker_in', 'shaker_2_in', 'sealer_in', 'washer_in'] } },
  positions: {
    pad_1: {},
    pad_2: { parking: true },
    rack: { storage: true },
    shaker_in: { device: 'shaker-1' },
    shaker_2_in: { device: 'shaker-2' },
    sealer_in: { device: 'sealer-1' },
    washer_in: { device: 'washer' },
  },
  pools: { shakers: ['shaker-1', 'shaker-2'] },
  devices: { washer: { sites: 2, operations: { run_protocol: { seconds: 240 } } }, 'sealer-1': { operations: { seal: { seconds: 7 } } } },
})

export const workflowDocument = (): Loose => ({
  format: 1,
  name: 'seal-and-spin',
  topology: 'demo',
  labware: { plate: { type: '96-well', kind: 'plate' }, tips: { type: '96-tips', kind: 'tip_rack', tips: 96 } },
  variables: { speed: { default: 500 }, nothing: {} },
  methods: {
    shake_it: [
      { do: 'shake', on: 'shakers', labware: ['plate'], with: { speed: 500, duration: 5 } },
      { emit: 'qc.done', value: 'complete' },
    ],
    seal_it: [{ do: 'seal', on: 'sealer-1', with: { temperature: 165, duration: 3 } }],
    wash: [{ do: 'run_protocol', on: 'washer', labware: ['plate', 'tips'], tips: { tips: 8 }, sites: { tips: 2 } }],
  },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'shake_it' }, { branch: 'qc.done', cases: { complete: [{ method: 'seal_it' }] }, else: [] }, { method: 'wash' }],
    },
    tips: { labware: 'tips', start: { at: 'rack', mode: 'DISPENSE' }, end: { at: ['rack'] }, steps: [{ join: ['wash'] }] },
  },
  start: ['plate'],
})

/** Compiles the documents after these changes. */
export function compiled({
  topology = () => {},
  workflow = () => {},
  form = 'typescript',
}: {
  topology?: (document: Loose) => void
  workflow?: (document: Loose) => void
  form?: Workflow['form']
} = {}): Workflow {
  const document = workflowDocument()
  workflow(document)
  return compileWorkflow(document, topologyWith(topology), 'the file', form)
}

export function topologyWith(change: (document: Loose) => void = () => {}): Topology {
  const document = topologyDocument()
  change(document)
  return compileTopology(document, smallBench, 'the file')
}

/** Fails unless `work` throws exactly this sentence. */
export function says(t: Test, work: () => unknown, sentence: string): void {
  try {
    work()
    t.fail(`nothing is said, instead of: ${sentence}`)
  } catch (error) {
    t.equal(messageOf(error), sentence)
    t.match(error, { code: 'invalid' })
  }
}
