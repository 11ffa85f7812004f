// Operations that last only while their caller holds them: when they end, how, and who may renew them.

import { type Test, test } from 'tap'
import { driver as arm } from '../../drivers/arm/driver.ts'
import { tampered } from '../conformance/tampered.ts'
import { oneDevice } from '../testing/devices.ts'
import type { OperationRecord } from './records.ts'

const somebody = { key_id: 'somebody', override: false }
const another = { key_id: 'another', override: false }
const along = { axis: 'x', direction: '+', speed: 10 }

type Bench = Awaited<ReturnType<typeof oneDevice>>

const homed = async (t: Test, settings: object = {}) => initialized(await oneDevice(t, arm, { settings }))

async function initialized(bench: Bench): Promise<Bench> {
  await bench.start()
  await bench.perform('initialize', {})
  return bench
}

/** Begins an operation, and lets `ms` pass. */
async function held({ instrument, clock }: Bench, name = 'jog', params: Record<string, unknown> = along, ms = 100) {
  let record: OperationRecord | undefined
  const begun = (its: OperationRecord) => {
    record = its
  }
  const ended = instrument.perform(name, params, { by: somebody, begun })
  ended.catch(() => undefined)
  await clock.advance(ms)
  return { ended, record: record!, renew: (by = somebody) => instrument.renew(record!.operation_id, by) }
}

test('a jog that nobody renews ends gently after 150 ms, says how far it went, and latches nothing', async (t) => {
  const bench = await homed(t)
  const { clock, instrument, perform } = bench
  const { ended, record } = await held(bench, 'jog', along, 140)
  t.equal(instrument.state, 'busy')
  await clock.advance(60)
  t.equal(instrument.state, 'ready', '200 ms after it began, the arm stands')
  const message = /^d: jogged x by \+\d(\.\d)? mm; it ended because nothing renewed it for 150 ms$/
  t.match(await ended, { success: true, message })
  t.match(record, { status: 'ended', ended_early: true, notice: null, detail: null })
  await perform('jog', along)
})

test('a jog goes on while it is renewed, and ends by its caller or after its longest time', async (t) => {
  const bench = await homed(t, { speed: 50 })
  const { clock, instrument } = bench
  const first = await held(bench)
  for (let i = 0; i < 50; i++) {
    first.renew()
    await clock.advance(100)
  }
  t.equal(instrument.state, 'busy')
  instrument.endEarly(first.record.operation_id, somebody)
  await clock.advance(50)
  t.equal(instrument.state, 'ready')
  t.match(await first.ended, { success: true, message: /^d: jogged x by \+2\d(\.\d)? mm; its caller ended it$/ })

  const second = await held(bench, 'jog', { ...along, direction: '-', speed: 1 })
  for (let i = 0; i < 598; i++) {
    second.renew()
    await clock.advance(100)
  }
  t.equal(instrument.state, 'busy')
  second.renew()
  await clock.advance(200)
  t.match(await second.ended, { success: true, message: /; it ended after 60 s, the longest time$/ })
})

test('an end by itself needs no renewal, and says nothing of one', async (t) => {
  const bench = await homed(t)
  const { clock } = bench
  const { ended, renew } = await held(bench, 'jog', { axis: 'x', direction: '+', speed: 20 })
  let isOver = false
  ended.then(() => {
    isOver = true
  })
  while (!isOver) {
    renew()
    await clock.advance(100)
  }
  t.match(await ended, { success: true, message: /^d: jogged x by \+1\d{3}(\.\d)? mm$/ })
})

test('only the key that began it renews it, and nobody one that has ended, is ending or is not held', async (t) => {
  const bench = await homed(t)
  const { clock, instrument } = bench
  const jog = await held(bench)
  t.throws(() => jog.renew(another), { code: 'locked', message: /jog of d is held by another key/ })
  t.throws(() => instrument.renew('other', somebody), { code: 'conflict' })
  instrument.endEarly(jog.record.operation_id, somebody)
  t.throws(() => jog.renew(), { code: 'conflict', message: /is ending/ })
  await clock.advance(100)
  t.throws(() => jog.renew(), { code: 'conflict', message: /does not run this operation any more/ })
  const home = await held(bench, 'initialize', {})
  t.throws(() => home.renew(), { code: 'conflict', message: /initialize of d is not held: it ends by itself/ })
})

test('a lease of another key ends the hold: no renewal is taken any more', async (t) => {
  const bench = await homed(t)
  const { clock, instrument } = bench
  const { renew, ended } = await held(bench)
  await instrument.lock.lease({ key_id: 'another', override: true }, { owner: 'Anna', ttl_s: 60 })
  t.throws(() => renew(), { code: 'locked', message: /leased by Anna/ })
  await clock.advance(150)
  t.match(await ended, { success: true })
  await t.rejects(instrument.perform('jog', along, { by: somebody }), { code: 'locked' })
})

test('a run that wants the device waits for the person who holds the arm, whose end and renewals are taken', async (t) => {
  const bench = await homed(t)
  const { renew, record, ended } = await held(bench)
  const release = bench.instrument.lock.hold('a run')
  renew()
  const message = /^a person holds d \(jog\); wait until they let go, or stop it$/
  await t.rejects(bench.instrument.perform('initialize', {}), { code: 'busy', message })
  bench.instrument.endEarly(record.operation_id, somebody)
  await bench.clock.advance(50)
  t.match(await ended, { success: true })
  await t.rejects(bench.instrument.perform('jog', along, { by: somebody }), { code: 'locked', message: /held by execution/ })
  release()
  t.equal(bench.instrument.state, 'ready')
})

test('one at a time: a second jog is refused, and the first goes on', async (t) => {
  const bench = await homed(t)
  const { ended, renew } = await held(bench)
  await t.rejects(bench.instrument.perform('jog', along, { by: somebody }), { code: 'busy' })
  renew()
  await bench.clock.advance(140)
  t.equal(bench.instrument.state, 'busy')
  await bench.clock.advance(100)
  t.match(await ended, { success: true })
})

test('a stop in a jog is on the wire before it returns, and is latched', async (t) => {
  const bench = await homed(t)
  const { clock, instrument, written } = bench
  const { ended, renew } = await held(bench)
  const halted = instrument.halt()
  t.equal(written.at(-1), 'stop')
  await clock.run(instrument.halted(halted))
  t.match(await clock.run(ended), { success: false, message: 'stopped' })
  t.equal(instrument.state, 'stopped')
  t.throws(() => renew(), { code: 'conflict' })
  await t.rejects(instrument.perform('jog', along, { by: somebody }), { code: 'stopped' })
})

test('an instrument that does not acknowledge the end of a hold is halted, and has a fault', async (t) => {
  const { driver, hand } = tampered(arm)
  const bench = await initialized(await oneDevice(t, driver))
  hand.hear((frame) => !frame.startsWith('end'))
  const { ended } = await held(bench)
  await t.rejects(bench.clock.run(ended), { code: 'no_reply' })
  t.ok(bench.written.includes('stop'))
  t.match(bench.instrument.info(), { state: 'faulted', fault: { command: 'jog', may_still_be_moving: false } })
})

test('an instrument that refuses the end of a hold, or goes on after it, is halted, and has a fault', async (t) => {
  for (const [answer, code] of [
    ['err 4 end: it is moving', 'device_failed'],
    ['ok end', 'no_reply'],
  ] as const) {
    const { driver, hand } = tampered(arm)
    const bench = await initialized(await oneDevice(t, driver))
    hand.hear((frame) => {
      if (!frame.startsWith('end')) return true
      hand.say(Buffer.from(`${answer}\n`))
      return false
    })
    const { ended } = await held(bench)
    await bench.clock.advance(2500)
    await t.rejects(bench.clock.run(ended), { code }, answer)
    t.ok(bench.written.includes('stop'), answer)
    t.match(bench.instrument.info(), { state: 'faulted', fault: { command: 'jog' } }, answer)
  }
})

test('a free drive ends after three seconds without a renewal, and after two minutes', async (t) => {
  const bench = await homed(t)
  const { clock, instrument } = bench
  const first = await held(bench, 'free_drive', {}, 2900)
  t.equal(instrument.state, 'busy')
  await clock.advance(200)
  t.match(await first.ended, { success: true, message: /^d: led by hand.*; it ended because nothing renewed it for 3 s$/ })
  const second = await held(bench, 'free_drive', {})
  for (let i = 0; i < 59; i++) {
    second.renew()
    await clock.advance(2000)
  }
  t.equal(instrument.state, 'busy')
  second.renew()
  await clock.advance(2000)
  t.match(await second.ended, { success: true, message: /after 120 s, the longest time$/ })
})

test('capabilities name the axes of this arm, and another axis is refused', async (t) => {
  const bench = await homed(t)
  const { operations } = bench.instrument.capabilities()
  const jog = operations.find(({ name }) => name === 'jog')
  const axis = { type: 'string', enum: ['x', 'y', 'z', 'yaw', 'base', 'shoulder', 'elbow', 'wrist', 'rail'] }
  const speed = { type: 'number', minimum: 1, maximum: 20, default: 10, unit: '%' }
  t.match(jog, { can_end_early: true, renewed_within_ms: 150, params: { properties: { axis, direction: { enum: ['+', '-'] }, speed } } })
  await t.rejects(bench.instrument.perform('jog', { ...along, axis: 'roll' }, { by: somebody }), {
    code: 'invalid',
    message: 'd has no axis "roll"; it has x, y, z, yaw, base, shoulder, elbow, wrist, rail',
  })
})

test('an arm whose adapter lacks the skill does not offer a jog, and says what it takes', async (t) => {
  const bench = await homed(t, { can: [] })
  t.notOk(bench.instrument.capabilities().operations.some(({ name }) => ['jog', 'go_to', 'free_drive'].includes(name)))
  await t.rejects(bench.instrument.perform('jog', along, { by: somebody }), {
    code: 'invalid',
    message: /^d cannot jog: it knows .*; its adapter has no skill jog; extend it/,
  })
})
