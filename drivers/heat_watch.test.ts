import { test } from 'tap'
import { LabError } from '../src/errors.ts'
import { VirtualClock } from '../src/kit/clock.ts'
import { HeatWatch, isBlind } from './heat_watch.ts'

const warming = { hottest: 100, overshoot: 10, gain: 2, within_s: 60, below: 5 }

function heatingFrom(reading: number, target: number) {
  const clock = new VirtualClock()
  const watch = new HeatWatch(clock, warming)
  watch.begin(target, reading)
  return { clock, watch }
}

test('the target is what was set until it ends', (t) => {
  const { watch } = heatingFrom(20, 60)
  t.equal(watch.target, 60)
  watch.end()
  t.equal(watch.target, null)
  t.end()
})

test('too hot for anything is wrong whether it heats or not', (t) => {
  const watch = new HeatWatch(new VirtualClock(), warming)
  t.equal(watch.wrongWith(100), undefined)
  t.match(watch.wrongWith(101), /hotter than it may ever be/)
  t.end()
})

test('so much above what was set is wrong, but not while it cools down to that', (t) => {
  const { watch } = heatingFrom(80, 40)
  for (const reading of [80, 70, 60, 52]) t.equal(watch.wrongWith(reading), undefined)
  t.match(watch.wrongWith(64), /was set to 40/, 'it warms up again')
  t.match(heatingFrom(20, 40).watch.wrongWith(51), /was set to 40/)
  t.end()
})

test('not getting warm is wrong after its time, and only while it is far too cold', async (t) => {
  const { watch, clock } = heatingFrom(20, 60)
  await clock.advance(60_000)
  t.equal(watch.wrongWith(21.9), undefined)
  await clock.advance(1)
  t.match(watch.wrongWith(21.9), /does not get warm/)
  t.equal(watch.wrongWith(22), undefined)
  await clock.advance(59_000)
  t.equal(watch.wrongWith(22), undefined, 'counted from the last gain')
  const near = heatingFrom(56, 60)
  await near.clock.advance(3_600_000)
  t.equal(near.watch.wrongWith(56), undefined)
})

test('a silence and a failure leave the heater unseen, a stop does not', (t) => {
  t.ok(isBlind(new LabError('no_reply', '')))
  t.ok(isBlind(new LabError('device_failed', '')))
  t.notOk(isBlind(new LabError('stopped', '')))
  t.notOk(isBlind(new LabError('disconnected', '')))
  t.notOk(isBlind(new Error('a mistake of ours')))
  t.end()
})

test('not getting cold is wrong for what cools, after its time, and only while it is far too warm', async (t) => {
  const clock = new VirtualClock()
  const watch = new HeatWatch(clock, { ...warming, cooling: { loss: 1, within_s: 60, above: 5 } })
  watch.begin(4, 22)
  await clock.advance(60_000)
  t.equal(watch.wrongWith(21.5), undefined)
  await clock.advance(1)
  t.match(watch.wrongWith(21.5), /does not get cold: 21.5 °C, set to 4 °C/)
  t.equal(watch.wrongWith(21), undefined)
  await clock.advance(3_600_000)
  t.equal(watch.wrongWith(8.9), undefined, 'near enough')
  const { watch: heater, clock: its } = heatingFrom(80, 40)
  await its.advance(3_600_000)
  t.equal(heater.wrongWith(80), undefined, 'what only heats cools as it likes')
})
