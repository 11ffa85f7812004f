// Labware is scanned where the topology has a scanner, before it is used or carried on. A wrong plate is never processed.

import { test } from 'tap'
import { LabError } from '../../../errors.ts'
import { oneArm, standing, workflowOf } from '../../../testing/documents.ts'
import { begin, instantBench, liveRuntime, run, testRuntime, until } from '../../../testing/workflow.ts'
import type { Equipment } from '../../equipment/equipment.ts'
import { recover } from '../../runs/retry.ts'

const pads = { pads: ['pad_1', 'pad_2'], nests: { nest: 'mixer' }, operations: { mixer: { mix: 60 }, scan_1: { scan: 2 } } }
const atPad = oneArm({ ...pads, scanners: { pad_1: 'scan_1' } })
const atNest = oneArm({ ...pads, scanners: { nest: 'scan_1' } })
const onArm = oneArm({ ...pads, scanners: { arm: 'scan_1' } })

const mixed = workflowOf(
  'work',
  { plate: { ...standing('pad_1', 'pad_2'), steps: [{ method: 'mix_it' }] } },
  { methods: { mix_it: [{ do: 'mix', on: 'mixer' }] } },
)
const named = (barcode: string) => ({ groups: [{ group_id: 'g1', members: { plate: { location: 'pad_1', barcode } } }] })

/** A LIVE bench whose scanner reads these codes, one after the other; an error is thrown. `deeds` are the calls of the arm and the devices. */
async function scanned(topology: typeof atPad, codes: readonly (string | null | LabError)[], more: object = named('P1')) {
  const left = [...codes]
  const deeds: string[] = []
  const live: Partial<Equipment> = {
    perform: async (device, operation) => {
      deeds.push(`${operation} ${device}`)
      if (operation !== 'scan') return { success: true, message: 'done' }
      const code = left.shift()
      if (code === undefined) throw new Error('it was scanned too often')
      if (code instanceof LabError) throw code
      return { success: true, message: 'scanned', data: { barcode: code } }
    },
    carry: async (_, verb, { position }) => void deeds.push(`${verb} ${position}`),
  }
  const made = liveRuntime(topology, [mixed], { live: instantBench(live) })
  const execution = await begin(made.runtime, { workflow: 'work', run_mode: 'LIVE', ...more })
  const thread = [...execution.threads.values()][0]!
  await until(() => thread.status.current !== 'CREATED')
  if (thread.status.current === 'AWAITING_MANUAL_PLACE') made.runtime.placed(thread, thread.labware.barcode)
  return { ...made, execution, thread, deeds }
}

const through = ['pick pad_1', 'place nest', 'mix mixer', 'pick nest', 'place pad_2']

test('a plate with the right code is scanned once at its start, and goes on', async (t) => {
  const { runtime, execution, deeds, told } = await scanned(atPad, [' P1\r\n'])
  await runtime.over(execution)
  t.same(deeds, ['scan scan_1', ...through])
  const scans = told.filter(({ context }) => context.action_name === 'scan')
  t.equal(scans.at(-1)?.status, 'COMPLETED')
  t.match(scans.at(-1)?.context, { device_id: 'scan_1', barcode: 'P1', thread_name: 'plate' })
})

test('a wrong plate is held before it is moved, with both codes in the sentence; RETRY scans again', async (t) => {
  const { runtime, execution, thread, deeds, incidents } = await scanned(atPad, ['P2', 'P1'])
  await until(() => thread.status.current === 'PAUSED')
  t.same(deeds, ['scan scan_1'])
  t.equal(thread.control.pausedAt, 'IDENTITY')
  t.equal(thread.last_error, 'scan_1 read P2 at pad_1, and plate has the barcode P1')
  t.match(incidents, [{ category: 'BARCODE_MISMATCH', message: /scan_1 read P2 at pad_1, and plate has the barcode P1/ }])
  t.same(thread.control.decisions, ['RETRY', 'CONTINUE', 'ABORT_THREAD'])
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.same(deeds, ['scan scan_1', 'scan scan_1', ...through])
  t.equal(thread.labware.barcode, 'P1')
})

test('CONTINUE is the word of a person that it is the plate, which keeps its barcode', async (t) => {
  const { runtime, execution, thread, deeds } = await scanned(atPad, ['P2'])
  await until(() => thread.status.current === 'PAUSED')
  recover(thread, 'CONTINUE')
  await runtime.over(execution)
  t.same(deeds, ['scan scan_1', ...through])
  t.equal(thread.labware.barcode, 'P1')
})

test('CONTINUE with a barcode corrects that of the plate', async (t) => {
  const { runtime, execution, thread } = await scanned(atPad, ['P2'])
  await until(() => thread.status.current === 'PAUSED')
  t.throws(() => recover(thread, 'RETRY', { barcode: 'P2' }), { code: 'invalid' })
  recover(thread, 'CONTINUE', { barcode: 'P2' })
  await runtime.over(execution)
  t.equal(thread.labware.barcode, 'P2')
})

test('ABORT_THREAD ends the thread, and the plate stays where it is', async (t) => {
  const { runtime, execution, thread, deeds } = await scanned(atPad, ['P2'])
  await until(() => thread.status.current === 'PAUSED')
  thread.control.recover('ABORT_THREAD')
  await runtime.over(execution)
  t.same(deeds, ['scan scan_1'])
  t.equal(thread.status.current, 'ABORTED')
})

test('a plate without a barcode gets the code that was read', async (t) => {
  const { runtime, execution, thread } = await scanned(atPad, ['P7'], {})
  await runtime.over(execution)
  t.equal(thread.labware.barcode, 'P7')
})

test('a code that other labware has is refused, and the plate keeps none', async (t) => {
  const groups = [
    { group_id: 'g1', members: { plate: { location: 'pad_1' } } },
    { group_id: 'g2', members: { plate: { location: 'pad_2', barcode: 'P2' } } },
  ]
  const { execution, thread, runtime } = await scanned(atPad, ['P2'], { groups })
  await until(() => thread.status.current === 'PAUSED')
  t.match(thread.last_error, /scan_1 read P2 at pad_1, where plate should be: .*the barcode P2 is taken by thread/)
  t.equal(thread.labware.barcode, null)
  t.throws(() => recover(thread, 'CONTINUE', { barcode: 'P2' }), { code: 'conflict' })
  execution.abort('the test is over')
  await runtime.over(execution)
})

for (const [what, code] of [
  ['no code', null],
  ['an error', new LabError('interlock', 'scan_1: nothing was read')],
  ['a stopped scanner', new LabError('stopped', 'scan_1 was stopped; see that it is safe, then initialize it')],
] as const)
  test(`${what} of the scanner holds the plate`, async (t) => {
    const { execution, thread, runtime, deeds } = await scanned(atPad, [code, 'P1'])
    await until(() => thread.status.current === 'PAUSED')
    t.equal(thread.control.pausedAt, 'IDENTITY')
    t.match(thread.last_error, /scan_1/)
    thread.control.recover('RETRY')
    await runtime.over(execution)
    t.same(deeds, ['scan scan_1', 'scan scan_1', ...through])
  })

test('a plate is scanned when it has come to a device, before it is processed there', async (t) => {
  const { runtime, execution, thread, deeds } = await scanned(atNest, ['P9', 'P1'])
  await until(() => thread.status.current === 'PAUSED')
  t.same(deeds, ['pick pad_1', 'place nest', 'scan scan_1'])
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.same(deeds, ['pick pad_1', 'place nest', 'scan scan_1', 'scan scan_1', 'mix mixer', 'pick nest', 'place pad_2'])
})

test('a person who has carried the wrong plate away is not asked for it again: it is scanned where it comes next', async (t) => {
  const { runtime, execution, thread, deeds } = await scanned(atNest, ['P9', 'P1'])
  await until(() => thread.status.current === 'PAUSED')
  runtime.relocate(thread.labware.labware_id, { position: 'pad_1' })
  thread.control.recover('CONTINUE')
  await runtime.over(execution)
  t.same(deeds, ['pick pad_1', 'place nest', 'scan scan_1', ...through.slice(0, 2), 'scan scan_1', ...through.slice(2)])
})

test('an arm with a scanner scans in the gripper, at each pick, before it puts the plate down', async (t) => {
  const { runtime, execution, thread, deeds } = await scanned(onArm, ['P9', 'P1', 'P1'])
  await until(() => thread.status.current === 'PAUSED')
  t.same(deeds, ['pick pad_1', 'scan scan_1'])
  t.equal(thread.labware.held_by, 'arm')
  t.equal(thread.last_error, 'scan_1 read P9 in the gripper of arm, and plate has the barcode P1')
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.same(deeds, ['pick pad_1', 'scan scan_1', 'scan scan_1', 'place nest', 'mix mixer', 'pick nest', 'scan scan_1', 'place pad_2'])
})

test('a wrong plate that a person takes out of the gripper is picked and scanned anew', async (t) => {
  const { runtime, execution, thread, deeds } = await scanned(onArm, ['P9', 'P1', 'P1'])
  await until(() => thread.status.current === 'PAUSED')
  runtime.relocate(thread.labware.labware_id, { position: 'pad_1' })
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.same(deeds.slice(0, 5), ['pick pad_1', 'scan scan_1', 'pick pad_1', 'scan scan_1', 'place nest'])
})

test('CONTINUE puts the plate in the gripper down without another scan', async (t) => {
  const { runtime, execution, thread, deeds } = await scanned(onArm, ['P9', 'P1'])
  await until(() => thread.status.current === 'PAUSED')
  recover(thread, 'CONTINUE', { barcode: 'P9' })
  await until(() => deeds.length === 6 && thread.status.current === 'PAUSED')
  t.same(deeds, ['pick pad_1', 'scan scan_1', 'place nest', 'mix mixer', 'pick nest', 'scan scan_1'])
  t.equal(thread.last_error, 'scan_1 read P1 in the gripper of arm, and plate has the barcode P9', 'the next pick is scanned again')
  execution.abort('the test is over')
  await runtime.over(execution)
})

test('threads that share a scanner scan one after the other', async (t) => {
  const shared = oneArm({ ...pads, scanners: { pad_1: 'scan_1', pad_2: 'scan_1' } })
  let most = 0
  let now = 0
  const live = instantBench({
    perform: async () => {
      most = Math.max(most, ++now)
      await new Promise(setImmediate)
      now--
      return { success: true, message: 'scanned', data: { barcode: `P${most}${now}${Math.random()}` } }
    },
  })
  const two = workflowOf('work', { p: { ...standing('pad_1'), steps: [] }, q: { ...standing('pad_2'), steps: [] } })
  const { runtime } = liveRuntime(shared, [two], { live })
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  await runtime.over(execution)
  t.equal(most, 1)
})

test('simulated time takes the codes for the right ones, and counts the seconds of a scan', async (t) => {
  const { runtime } = testRuntime([atPad, mixed])
  const execution = await run(runtime, { workflow: 'work', ...named('P1') })
  t.equal(execution.phase.current, 'completed')
  const rows = execution.timeline.rows()
  t.match(rows[0], { kind: 'action', name: 'scan', device: 'scan_1', status: 'COMPLETED', started: 0, ended: 2 })
  t.match(
    rows.find(({ kind }) => kind === 'move'),
    { started: 2 },
  )
})
