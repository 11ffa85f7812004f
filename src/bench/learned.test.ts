import { existsSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { openLearned } from './learned.ts'

test('what was learned is known after a restart, each mode for itself', async (t) => {
  const data_dir = t.testdir()
  const clock = new VirtualClock()
  const open = () => openLearned({ data_dir, clock, report: (trouble) => t.fail(trouble.message) })
  const learned = await open()
  learned.LIVE.performed('shaker-1', 'shake', { seconds: 65, params: { duration: 60 } })
  learned.DEVICE_SIM.carried('arm-1', 11)
  await learned.close()
  const again = await open()
  t.equal(again.LIVE.beyond('shaker-1', 'shake'), 5)
  t.equal(again.LIVE.hop('arm-1'), undefined)
  t.equal(again.DEVICE_SIM.hop('arm-1'), 11)
  again.LIVE.performed('shaker-1', 'shake', { seconds: 9, params: {} })
  t.equal(again.LIVE.beyond('shaker-1', 'shake'), 9)
  await again.close()
  t.equal(clock.timers, 0)
})

test('a file of a version that learned no initialization and no heating is read, and what it knows stays', async (t) => {
  const old = { operations: { 'sealer-1 seal': [12] }, hops: { 'arm-1': [9] } }
  const data_dir = t.testdir({ 'durations.json': JSON.stringify({ format: 1, LIVE: old, DEVICE_SIM: { operations: {}, hops: {} } }) })
  const open = () => openLearned({ data_dir, clock: new VirtualClock(), report: (trouble) => t.fail(trouble.message) })
  const learned = await open()
  t.same([learned.LIVE.beyond('sealer-1', 'seal'), learned.LIVE.hop('arm-1')], [12, 9])
  t.same([learned.LIVE.initialization('sealer-1'), learned.LIVE.heating('sealer-1')], [undefined, undefined])
  learned.LIVE.initialized('sealer-1', 3)
  learned.LIVE.heated('sealer-1', { seconds: 30, degrees: 20 })
  for (const seconds of [0, 4]) learned.LIVE.opened('sealer-1', seconds)
  await learned.close()
  const again = await open()
  const { LIVE } = again
  t.same([LIVE.initialization('sealer-1'), LIVE.heating('sealer-1'), LIVE.opening('sealer-1'), LIVE.hop('arm-1')], [3, 1.5, 2, 9])
  await again.close()
})

test('it is written once a minute while that changes a forecast, and all of it at the end', async (t) => {
  const data_dir = t.testdir()
  const clock = new VirtualClock()
  const open = () => openLearned({ data_dir, clock, report: (trouble) => t.fail(trouble.message) })
  const learned = await open()
  const samples = () => JSON.parse(readFileSync(`${data_dir}/durations.json`, 'utf8')).LIVE.hops['arm-1']
  const carried = async (seconds: number) => {
    learned.LIVE.carried('arm-1', seconds)
    await clock.advance(60_000)
    await learned.settled()
    return samples()
  }
  t.same(await carried(10), [10])
  t.same(await carried(11), [10])
  t.same(await carried(10.5), [10])
  t.same(await carried(14), [10])
  t.same(await carried(14), [10])
  t.same(await carried(14), [10, 11, 10.5, 14, 14, 14])
  await carried(14)
  await learned.close()
  t.same(samples(), [10, 11, 10.5, 14, 14, 14, 14])
  t.equal(clock.timers, 0)
})

test('it is written once a minute however much is learned, and not at all while nothing is', async (t) => {
  const data_dir = t.testdir()
  const clock = new VirtualClock()
  const learned = await openLearned({ data_dir, clock, report: (trouble) => t.fail(trouble.message) })
  t.equal(clock.timers, 0)
  for (let i = 0; i < 100; i++) learned.LIVE.carried('arm-1', i)
  t.equal(clock.timers, 1)
  t.notOk(existsSync(`${data_dir}/durations.json`))
  await clock.advance(60_000)
  await learned.close()
  t.ok(existsSync(`${data_dir}/durations.json`))
  t.equal(clock.timers, 0)
})
