// That what makes the daily backup is begun with everything else.

import { test } from 'tap'
import { openBench } from '../testing/http.ts'

test('a service that has no backup of today makes one by itself, a minute after its start at the latest', async (t) => {
  const { lab, clock } = await openBench(t)
  await clock.advance(60_000)
  while ((await lab.backups.list()).length === 0) await new Promise(setImmediate)
  t.match(await lab.backups.list(), [{ is_daily: true }])
})
