import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { test } from 'tap'
import { drivers } from '../../drivers/index.ts'
import { onSimulator } from '../../drivers/testing.ts'
import { WireLog } from '../devices/wire_log.ts'

const benchd = new URL('./main.js', import.meta.url).pathname
const run = promisify(execFile)

/** What a shaker and its driver said while it was initialized, in a file. */
async function recorded(folder: string): Promise<string> {
  const { device, line, clock } = await onSimulator(await drivers.bioshake())
  const wire = new WireLog(() => clock.now())
  line.onWire((direction, bytes) => wire.note(direction, bytes))
  await clock.run(device.identify())
  await clock.run(device.initialize({}, new AbortController().signal))
  line.simulator.powerOff()
  const file = `${folder}/wire.json`
  await writeFile(file, JSON.stringify({ device_id: 'shaker-1', frames: wire.frames(), fault_frames: null }))
  return file
}

test('a driver that says what was recorded gets the answers that were recorded', async (t) => {
  const file = await recorded(t.testdir())
  const { stdout } = await run(process.execPath, [benchd, 'replay', file, '--driver', 'bioshake'])
  t.match(stdout, /^> shakeGoHome\.$/m)
  t.match(stdout, /initialize went as recorded/)
})

test('a driver that says something else is told where', async (t) => {
  const file = await recorded(t.testdir())
  await t.rejects(run(process.execPath, [benchd, 'replay', file, '--driver', 'bioshake', '--operation', 'lock_plate']), {
    code: 1,
    stderr: /lock_plate failed: the driver said .*, but .* was recorded/,
  })
})
