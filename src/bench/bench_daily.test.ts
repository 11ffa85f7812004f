// That what makes the daily backup is begun with everything else.

import { test } from 'tap'
import { openTestBench } from '../testing/http.ts'

test('a service that has no backup of today makes one by itself, a minute after its start at the latest', async (t) => {
  const { bench, clock } = await openTestBench(t)
  await clock.advance(60_000)
  while ((await bench.backups.list()).length === 0) await new Promise(setImmediate)
  t.match(await bench.backups.list(), [{ is_daily: true }])
})
