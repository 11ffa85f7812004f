// A disk that refuses writes when a run ends.

import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { beginRun, plateRun, stateFilesIn } from '../testing/http_runs.ts'

test('the state of a run that ends while the disk refuses its labware goes when the disk takes that', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
  const { data_dir } = run.bench
  const states = () => stateFilesIn(data_dir)
  await run.thread('plate', 'AWAITING_EVENT')
  t.match(states(), [/^state-/])
  renameSync(data_dir, `${data_dir}.away`)
  writeFileSync(data_dir, '')
  await run.emits('go')
  t.equal(await run.over(), 'COMPLETED')
  for (let seconds = 0; seconds < 3; seconds++) await run.bench.clock.advance(1000)
  rmSync(data_dir)
  renameSync(`${data_dir}.away`, data_dir)
  t.match(states(), [/^state-/], 'nothing else knows where the plate is')
  await run.until('its state is gone', async () => states().length === 0)
})
