// The gentle end of an operation: what its record says, who may ask for it, and that nothing is latched whatever comes of it.

import { test } from 'tap'
import { driver as a4s } from '../../drivers/a4s/driver.ts'
import { driver as bioshake } from '../../drivers/bioshake/driver.ts'
import { driver as inheco } from '../../drivers/inheco_incubator_shaker/driver.ts'
import { driver as ohaus } from '../../drivers/ohaus_endeavor/driver.ts'
import type { Simulator } from '../../drivers/transports/simulator.ts'
import { tampered } from '../conformance/tampered.ts'
import { oneDevice } from '../testing/devices.ts'
import type { OperationRecord } from './records.ts'

const somebody = { key_id: 'somebody', override: false }
const execution_id = 'b1f3c9a2-6f5e-4a53-9c3d-0d6b7f1f3a10'

/** A shaker that shakes for a minute, 12 s ago. */
async function shaking(
  ...[t, driver = bioshake, by = somebody]: [Parameters<typeof oneDevice>[0], typeof bioshake?, (typeof somebody | null)?]
) {
  const bench = await oneDevice(t, driver)
  const { instrument, clock, perform, start } = bench
  await start()
  await perform('initialize', {})
  await perform('lock_plate', {})
  let record: OperationRecord | undefined
  const begun = (its: OperationRecord) => {
    record = its
  }
  const asking = { begun, ...(by && { by }) }
  const shaken = instrument.perform('shake', { speed: 500, duration: 60 }, asking)
  shaken.catch(() => undefined)
  await clock.advance(12_000)
  return { ...bench, shaken, record: record! }
}

test('an operation that is ended early ends well, says after how long, and the next one needs no initialize', async (t) => {
  const { instrument, clock, perform, shaken, record } = await shaking(t)
  t.match(instrument.info().operation, { ending: false, notice: null })
  instrument.endEarly(record.operation_id, somebody)
  instrument.endEarly(record.operation_id, somebody)
  t.match(instrument.info().operation, { ending: true, notice: 'it is being ended early' })
  t.ok(instrument.info().operation!.seconds_left < 20, 'at once, not after the instrument has acknowledged')
  await clock.advance(500)
  t.ok(instrument.info().operation!.seconds_left < 20, 'the time that is left is that of slowing down')
  t.match(await clock.run(shaken), { success: true, message: /^d: ended after 1[12](\.\d)? s of 60 s$/ })
  t.match(record, { status: 'ended', ended_early: true, notice: null, detail: null })
  t.ok(clock.now() < 40_000)
  t.match(instrument.info(), { state: 'ready', fault: null })
  t.throws(() => instrument.endEarly(record.operation_id, somebody), { code: 'conflict', message: /does not run this operation any more/ })
  await perform('shake', { speed: 500, duration: 2 })
  t.match(instrument.info().last_operation, { ended_early: false, result: { message: 'd: shook at 500 rpm for 2 s' } })
})

test('asked before its first byte it ends as soon as it has begun', async (t) => {
  const { instrument, clock, perform, start } = await oneDevice(t, bioshake)
  await start()
  await perform('initialize', {})
  await perform('lock_plate', {})
  const begun = ({ operation_id }: OperationRecord) => instrument.endEarly(operation_id, somebody)
  const { success, message } = await clock.run(instrument.perform('shake', { speed: 500, duration: 60 }, { by: somebody, begun }))
  t.match({ success, message }, { success: true, message: /ended after 0(\.\d)? s of 60 s/ })
})

test('an instrument that does not acknowledge latches nothing: the operation goes on to its time, and says so', async (t) => {
  const { driver, hand } = tampered(bioshake)
  const { instrument, clock, shaken, record } = await shaking(t, driver)
  hand.deafen()
  instrument.endEarly(record.operation_id, somebody)
  while (instrument.info().operation?.ending) await clock.advance(20)
  hand.leave()
  t.match(instrument.info(), {
    fault: null,
    operation: { notice: /^it was asked to end early, which failed, so it goes on: no reply within/ },
  })
  t.match(await clock.run(shaken), { success: true, message: 'd: shook at 500 rpm for 60 s' })
  t.match(record, { ended_early: false, notice: /so it goes on/ })
  t.equal(instrument.info().fault, null)
})

test('a stop goes before an early end', async (t) => {
  const { instrument, clock, shaken, record } = await shaking(t)
  instrument.endEarly(record.operation_id, somebody)
  await clock.run(instrument.halted(instrument.halt()))
  t.match(await clock.run(shaken), { success: false, message: 'stopped' })
  t.match(record, { ended_early: false })
  t.equal(instrument.info().state, 'stopped')
})

test('another key that has the device, a run, and an operation that cannot end early are refused', async (t) => {
  const { instrument, clock, record, shaken } = await shaking(t)
  await clock.run(instrument.lock.lease(somebody, { owner: 'Anna', ttl_s: 600 }))
  t.throws(() => instrument.endEarly(record.operation_id, { key_id: 'other', override: false }), {
    code: 'locked',
    message: /leased by Anna/,
  })
  instrument.endEarly(record.operation_id, { key_id: 'other', override: true })
  await clock.run(shaken)

  const run = await oneDevice(t, bioshake)
  await run.start()
  const letGo = run.instrument.lock.hold(execution_id)
  let its: OperationRecord | undefined
  const begun = (record: OperationRecord) => {
    its = record
  }
  const done = run.instrument.perform('initialize', {}, { begun })
  const asked = () => run.instrument.endEarly(its!.operation_id, { key_id: 'other', override: true })
  t.throws(asked, { code: 'conflict', message: new RegExp(`belongs to a run.*executions/${execution_id}/skip.*complete`) })
  await run.clock.run(done)
  letGo()

  const sealer = await oneDevice(t, a4s)
  await sealer.start()
  const unsealed = sealer.instrument.perform('initialize', {}, { by: somebody, begun })
  const ask = () => sealer.instrument.endEarly(its!.operation_id, somebody)
  t.throws(ask, { code: 'conflict', message: /d cannot end initialize early; .*POST \/api\/devices\/d\/stop/ })
  await sealer.clock.run(unsealed)
})

test('the capabilities tell which operations can end early, where the model can', async (t) => {
  const early = async (bench: Awaited<ReturnType<typeof oneDevice>>) =>
    bench.instrument.capabilities().operations.flatMap(({ name, can_end_early }) => (can_end_early ? [name] : []))
  t.same(await early(await oneDevice(t, inheco)), ['shake'])
  t.same(await early(await oneDevice(t, bioshake, { settings: { model: 'Heatplate' } })), [])
})

test('a run that the instrument began before this start, and times itself, is ended early too', async (t) => {
  const left: [Parameters<typeof oneDevice>[1], string[]][] = [
    [bioshake, ['setShakeTargetSpeed500\r', 'shakeOnWithRuntime60\r']],
    [ohaus, ['TARGET_SPEED 300\r\n', 'TIMER 00:01:00\r\n', 'START_SHAKE\r\n']],
  ] as never
  for (const [driver, commands] of left) {
    const { instrument, clock, link, start, perform } = await oneDevice(t, driver)
    await start()
    await perform('initialize', {})
    if (instrument.abilities.knows('lock_plate')) await perform('lock_plate', {})
    for (const command of commands) {
      ;(link.simulator as Simulator).receive(Buffer.from(command))
      await clock.advance(200)
    }
    link.setFault('unplug')
    link.clearFaults()
    await clock.advance(5000)
    const { operation } = instrument.info()
    t.match(operation, { name: 'shake', ending: false })
    instrument.endEarly(operation!.operation_id, somebody)
    await clock.advance(20_000)
    t.match(instrument.info(), { operation: null, last_operation: { ended_early: true, result: { success: true } } })
  }
})
