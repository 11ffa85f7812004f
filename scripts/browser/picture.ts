// Takes the picture of the README: a run of the demo, shown on the Run screen while the centrifuge spins.
//   npm run build && node dist/scripts/browser/picture.js

import { writeFileSync } from 'node:fs'
import { openBench } from './bench.ts'
import { smallPng } from './small_png.ts'

const file = 'src/web/run-screen.png'
const bench = await openBench({ time_scale: 1 })
try {
  const { submission_id } = await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
  const { executions } = (await bench.ask('GET', '/api/executions')) as { executions: { execution_id: string }[] }
  const [run] = executions
  if (!run) throw new Error(`the submission ${submission_id} has begun no run`)
  const page = await bench.open(`/#/runs/${run.execution_id}`, { width: 1000, height: 560 })
  await page.getByRole('list', { name: 'Threads' }).getByText('worked on at centrifuge-1').first().waitFor({ timeout: 600_000 })
  writeFileSync(file, smallPng(await page.screenshot({ animations: 'disabled' })))
  console.log(file)
} finally {
  await bench.close()
}
