// A device call that takes too long on a bench with drivers: the run's deadline is the only one, and asks somebody.

import { type Test, test } from 'tap'
import type { Device, Link } from '../../../devices/device.ts'
import { Ledger } from '../../../devices/ledger.ts'
import { noStores } from '../../../devices/no_stores.ts'
import { Registry } from '../../../devices/registry.ts'
import { WireLog } from '../../../devices/wire_log.ts'
import { sleep, VirtualClock } from '../../../kit/clock.ts'
import { silent } from '../../../kit/log.ts'
import { oneArm, standing, workflowOf } from '../../../testing/documents.ts'
import { testRuntime, threadIn } from '../../../testing/workflow.ts'
import { DrivenEquipment } from '../../equipment/driven_equipment.ts'
import type { Bench } from '../../plans/bench.ts'
import { compileLibrary } from '../../plans/library.ts'

const topology = oneArm({ nests: { nest: 'shaker-1' } })
const workflow = workflowOf(
  'shaken',
  { plate: { ...standing('nest'), steps: [{ method: 'shake_it' }] } },
  { methods: { shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 7200 } }] } },
)
const configured: Bench = {
  devices: (['shaker-1', 'arm'] as const).map((device_id) => ({
    device_id,
    type: device_id === 'arm' ? 'transporter' : 'shaker',
    driven: true,
    operations: ['shake'],
    limits: {},
    simulated: false,
  })),
  hasTeachpoint: () => true,
}

/** A shaker that shakes until it is told that it has done so, in a LIVE run. */
async function shaking(t: Test) {
  const clock = new VirtualClock()
  const said: string[] = []
  let done = () => {}
  const device: Device = {
    initialize: async () => ({ identity: null }),
    identify: async () => null,
    check: async () => {},
    lock_plate: () => sleep(clock, 20_000),
    shake: (_, signal) =>
      new Promise((resolve, reject) => {
        said.push('shake')
        done = resolve
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
    halt: async () => {
      said.push('halt')
    },
  }
  const link: Link = { state: 'open', open: async () => {}, close: async () => {}, onLost: () => {} }
  const driven = { device, link, profile: { model: 'endless', limits: {}, features: {} }, wire: new WireLog() }
  const shaker = {
    device_id: 'shaker-1',
    type: 'shaker',
    name: 'shaker-1',
    driver: 'endless',
    simulated: false,
    time_scale: 1,
    bounds: {},
    identity: {},
    on_restart: 'leave',
    driven,
  } as const
  const registry = new Registry([shaker], { ...noStores, clock, hub: { emit: () => ({}) as never }, ledger: new Ledger(), log: silent })
  const live = new DrivenEquipment({ registry, teachpoints: { list: () => t.fail() as never }, forgives: false, clock })
  t.ok(live.isReal('shaker-1') && !live.isReal('arm'), 'what is an instrument is known')
  const library = compileLibrary(
    [topology, workflow].map((input, i) => ({ origin: `document ${i}`, form: 'typescript', input })),
    configured,
  )
  const made = testRuntime([], { clock, live, bench: configured, library })
  made.runtime.load('bench')
  const { execution_id } = await made.runtime.submit({
    workflow: 'shaken',
    run_mode: 'LIVE',
    groups: [],
    batch_mode: 'STANDALONE',
    variables: {},
    operator_id: null,
  })
  const execution = made.runtime.runs.get(execution_id)!
  await clock.advance(1000)
  const plate = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  const incident = () => made.told.findLast(({ event_name }) => event_name.endsWith('.RECOVERABLE_TIMEOUT'))!.event_name.split('.')[1]!
  return { ...made, clock, said, registry, execution, plate, incident, end: () => done() }
}

test('a call is late when its time and the margin of its operation are over, and the device goes on', async (t) => {
  const { clock, plate, said, registry, end, execution, runtime } = await shaking(t)
  await clock.advance(7200_000)
  t.equal(plate.status.current, 'EXECUTING_ACTION')
  await clock.advance(31_000)
  t.equal(plate.status.current, 'EXECUTING_ACTION', 'the plate was locked first, which is not counted')
  await clock.advance(20_000)
  t.equal(plate.control.pausedAt, 'DEVICE_TIMEOUT')
  await clock.advance(3600_000)
  t.match(registry.find('shaker-1').info(), { state: 'busy', fault: null })
  t.same(said, ['shake'], 'nothing was told to it')
  end()
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('extended, it has so much more time; aborted, the device is halted and latched', async (t) => {
  const { clock, plate, said, registry, incident, runtime, execution } = await shaking(t)
  await clock.advance(7251_000)
  runtime.decideLateCall(incident(), { extend: 600 })
  await clock.advance(599_000)
  t.equal(plate.status.current, 'EXECUTING_ACTION')
  await clock.advance(2000)
  t.equal(plate.control.pausedAt, 'DEVICE_TIMEOUT')
  runtime.decideLateCall(incident(), 'abort')
  await clock.advance(3000)
  t.equal(plate.control.pausedAt, 'DEVICE_OP')
  t.same(said, ['shake', 'halt'])
  t.match(registry.find('shaker-1').info(), { state: 'stopped' })
  plate.control.recover('ABORT_THREAD')
  await runtime.over(execution)
})

test('a call that nobody of a run makes keeps its own deadline', async (t) => {
  const { clock, registry, execution, runtime, end } = await shaking(t)
  await clock.advance(21_000)
  end()
  await runtime.over(execution)
  const shake = registry.find('shaker-1').perform('shake', { speed: 500, duration: 5 })
  await t.rejects(clock.run(shake), { code: 'no_reply', message: /within 35 s/ })
})
