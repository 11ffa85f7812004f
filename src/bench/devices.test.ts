// The bench of a rehearsal, beside the one that is configured.

import { readdirSync } from 'node:fs'
import { type Test, test } from 'tap'
import { checkConfig } from '../config.ts'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import { openTestBench } from '../testing/http.ts'
import { carrying } from '../testing/moves.ts'
import { DrivenEquipment } from '../workflow/equipment/driven_equipment.ts'
import { simulatedBench } from './devices.ts'

const calm = new AbortController().signal
const execution_id = '5e3c7b1e-4c57-4b65-8d0f-3f3c1b8f6a11'

/** A rehearsal of the demo bench beside it. */
async function setup(t: Test) {
  const made = await openTestBench(t)
  const { bench, clock, data_dir } = made
  await clock.run(bench.teachpoints.importAll(demoTeachpoints, { overwrite: false }))
  // The last use of a key is noted behind the back of its request.
  const files = () => readdirSync(data_dir).filter((name) => !/^(keys\.json|backups$)/.test(name))
  const before = files()
  const rehearsal = simulatedBench(bench.config, bench)
  const equipment = new DrivenEquipment({ registry: rehearsal, teachpoints: bench.teachpoints, forgives: true, clock })
  return { ...made, rehearsal, equipment, files, before, deviceEvents }

  async function deviceEvents() {
    const events = await clock.run(bench.hub.getEventsSince())
    return events.filter(({ entity_type }) => entity_type === 'DEVICE')
  }
}

test('a rehearsal drives each device over a simulator of its own, and the configured one hears nothing', async (t) => {
  const { bench, clock, rehearsal, equipment } = await setup(t)
  await clock.run(equipment.carry('arm-1', 'pick', carrying('pad_1', calm)))
  t.match(rehearsal.find('arm-1').info(), { state: 'ready', simulated: true, last_operation: { operation: 'pick' } })
  t.match(bench.registry.find('arm-1').info(), { state: 'not_initialized', last_operation: null })
  t.equal(bench.ledger.get(rehearsal.find('arm-1').info().last_operation!.operation_id), undefined)
  await clock.run(rehearsal.close())
})

test('a fault of a rehearsal is an event of its execution, is kept nowhere, and does not stand in the way of the configured device', async (t) => {
  const { bench, clock, rehearsal, equipment, files, before, deviceEvents, ask } = await setup(t)
  await clock.run(equipment.ready('shaker-1', calm))
  const release = equipment.hold('shaker-1', execution_id)
  await clock.run(rehearsal.halt('shaker-1'))
  t.match(await deviceEvents(), [{ event_name: 'DEVICE.shaker-1.FAULTED', execution_id, context: { execution_id, cleared: false } }])
  await clock.run(equipment.ready('shaker-1', calm))
  release()
  t.match((await deviceEvents())[1], { event_name: 'DEVICE.shaker-1.FAULT_CLEARED', execution_id })
  await clock.run(rehearsal.halt('sealer-1'))
  t.equal((await deviceEvents()).length, 2, 'what no execution holds is none of its events')
  t.match(bench.registry.find('shaker-1').info(), { state: 'not_initialized', fault: null, lock: null })
  t.same(files(), before)
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize')).status, 200)
  await clock.run(rehearsal.close())
})

test('closing a rehearsal leaves no timer, and the next one is as new', async (t) => {
  const { bench } = await setup(t)
  // That of the service is used by what looks after the computer as well.
  const clock = new VirtualClock()
  const rehearsal = simulatedBench(bench.config, { ...bench, clock })
  const shaker = rehearsal.find('shaker-1')
  await clock.run(shaker.perform('initialize', {}))
  await clock.run(shaker.perform('set_temperature', { temperature: 60 }))
  t.ok(clock.timers > 0)
  await clock.run(rehearsal.close())
  // What was asked last is given up at its deadline.
  await clock.advance(1000)
  t.equal(clock.timers, 0)
  const next = simulatedBench(bench.config, { ...bench, clock })
  await clock.advance(5000)
  t.match(next.find('shaker-1').info(), { state: 'not_initialized', fault: null })
  await clock.run(next.close())
  // What was on the wire arrives.
  await clock.advance(1000)
  t.equal(clock.timers, 0)
})

test('real instruments are rehearsed without a byte to their ports, whoever they must be', async (t) => {
  const { clock, bench } = await openTestBench(t)
  const devices = [
    {
      device_id: 'shaker-9',
      driver: 'bioshake',
      transport: { kind: 'serial', path: '/dev/serial/by-id/there-is-none' },
      identity: { serial_number: '4711' },
      limits: { speed: { max: 900 } },
    },
    {
      device_id: 'relay-9',
      driver: 'gpio_shaker',
      transport: { kind: 'pins' },
      settings: {
        pins: { enable: { bcm: 17, active_low: true }, lid: { bcm: 27, active_low: true }, tach: { bcm: 24 } },
        i2c: { speed: { part: 'mcp4725', address: 96 } },
        rpm: { min: 100, max: 1200 },
        full_scale_rpm: 1500,
      },
    },
    { device_id: 'robot-9', driver: 'external' },
  ]
  const config = await checkConfig({ format: 1, devices }, 'the bench')
  const rehearsal = simulatedBench(config, { clock, log: silent, hub: bench.hub })
  const equipment = new DrivenEquipment({ registry: rehearsal, teachpoints: bench.teachpoints, forgives: true, clock })
  const shake = (device_id: string, speed: number) =>
    clock.run(equipment.perform(device_id, 'shake', { speed, duration: 5 }, { signal: calm }))
  t.match(await shake('shaker-9', 800), { success: true })
  t.match(await shake('relay-9', 800), { success: true })
  await t.rejects(shake('shaker-9', 901), { code: 'invalid', message: /900 rpm/ }, 'its limits hold here too')
  t.match(rehearsal.find('shaker-9').info(), { simulated: true, identity: { serial_number: /^(?!4711)/ } })
  t.equal(rehearsal.find('robot-9').state, 'external')
  await clock.run(rehearsal.close())
})
