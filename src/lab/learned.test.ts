import { existsSync } from 'node:fs'
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
