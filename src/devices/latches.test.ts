import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { diskClock } from '../testing/kit.ts'
import { type Latch, openLatches } from './latches.ts'

const latch: Latch = {
  fault: { command: 'shake', outcome: 'unknown', error: 'stopped', error_type: 'Stopped', may_still_be_moving: true, since: 1e9 },
  stopped: true,
}

test('a latch that the disk refused is written as soon as the disk takes it, though nothing changes', async (t) => {
  const folder = `${t.testdir({})}/state`
  const clock = diskClock()
  const latches = await openLatches(folder, { clock, report: ({ message }) => t.fail(message) })
  writeFileSync(folder, 'a file in the place of the folder')
  await t.rejects(latches.set('shaker-1', latch), { code: 'storage' })
  await clock.advance(1000)
  rmSync(folder)
  await clock.advance(1000)
  t.match(JSON.parse(readFileSync(`${folder}/latches.json`, 'utf8')), { latches: { 'shaker-1': latch } })
  t.equal(clock.timers, 0, 'then it is not tried again')
  await latches.settled()
})
