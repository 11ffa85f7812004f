import { test } from 'tap'
import { compiled, type Loose, smallBench } from '../../testing/plans.ts'
import { refusalFor } from './refusal.ts'

const drivenOnly = (d: Loose) => {
  d.threads.plate.steps.splice(2, 1)
  delete d.threads.tips
  delete d.methods.wash
}

test('what is configured and taught can run in every mode', async (t) => {
  const workflow = compiled({ workflow: drivenOnly })
  for (const mode of ['LIVE', 'DEVICE_SIM', 'PURE_SIM'] as const) t.equal(refusalFor(workflow, mode, smallBench), undefined, mode)
})

test('a device that only the topology has runs in PURE_SIM alone', async (t) => {
  const workflow = compiled()
  t.equal(refusalFor(workflow, 'PURE_SIM', { devices: [], hasTeachpoint: () => false }), undefined)
  const sentence = 'workflow seal-and-spin cannot run in LIVE, only in PURE_SIM: the configuration has no device washer'
  t.equal(refusalFor(workflow, 'LIVE', smallBench), sentence)
  t.equal(refusalFor(workflow, 'DEVICE_SIM', smallBench), sentence.replace('LIVE', 'DEVICE_SIM'))
})

test('a transporter that is driven elsewhere, or misspelt, or a translator, is told', async (t) => {
  const change = (d: Loose) => {
    d.transporters = { 'robot-1': { ...d.transporters['arm-1'] }, arm_1: { positions: ['pad_1', 'one', 'two'] } }
    d.positions.one = {}
    d.positions.two = {}
    d.translators = { shuttle: ['one', 'two'] }
  }
  t.equal(
    refusalFor(compiled({ topology: change, workflow: drivenOnly }), 'LIVE', smallBench),
    'workflow seal-and-spin cannot run in LIVE, only in PURE_SIM: robot-1 is external, and is not driven from here; the configuration has no device arm_1' +
      ' (did you mean "arm-1"?); shuttle is a translator, and the configuration has no transporter of that name',
  )
})

test('places that were not taught are named, with each site of a device', async (t) => {
  const bench = { ...smallBench, hasTeachpoint: (_: string, name: string) => !['pad_2', 'washer_in/site-2'].includes(name) }
  t.equal(
    refusalFor(compiled({ workflow: drivenOnly }), 'LIVE', bench),
    'workflow seal-and-spin cannot run in LIVE, only in PURE_SIM: arm-1 was not taught pad_2, washer_in/site-2 (teach them: POST /api/teachpoints/bulk)',
  )
})

test('a scanner that the configuration does not have keeps a workflow off the bench', async (t) => {
  const topology = (d: Loose) => {
    d.positions.pad_1.scanner = 'scan-1'
    d.devices['scan-1'] = { operations: { scan: {} } }
  }
  const workflow = compiled({ workflow: drivenOnly, topology })
  t.equal(refusalFor(workflow, 'PURE_SIM', smallBench), undefined)
  t.match(refusalFor(workflow, 'LIVE', smallBench), /the configuration has no device scan-1/)
})
