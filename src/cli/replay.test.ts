import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { test } from 'tap'
import { drivers, type SerialDriverName } from '../../drivers/index.ts'
import type { Device } from '../devices/device.ts'
import { WireLog } from '../devices/wire_log.ts'
import { sleep } from '../kit/clock.ts'
import { benchd } from '../testing/cli.ts'
import { onSimulator } from '../testing/drivers.ts'

type Said = { device: Device; wait(ms: number): Promise<void> }

/** What an instrument and its driver said, in a file. */
async function recorded(folder: string, name: SerialDriverName, ...work: ((at: Said) => Promise<unknown>)[]): Promise<string> {
  const { device, line, clock } = await onSimulator(await drivers[name]())
  const wire = new WireLog(() => clock.now())
  line.onWire((direction, bytes) => wire.note(direction, bytes))
  for (const part of work) await clock.run(part({ device, wait: (ms) => sleep(clock, ms) }))
  line.simulator.powerOff()
  const file = `${folder}/wire.json`
  await writeFile(file, JSON.stringify({ device_id: 'device-1', frames: wire.frames(), fault_frames: null }))
  return file
}

const { signal } = new AbortController()
const identify = ({ device }: Said) => device.identify()
const check = ({ device }: Said) => device.check!()
const initialize = ({ device }: Said) => device.initialize({}, signal)

const replay = (file: string, ...words: string[]) => benchd(dirname(file), ['replay', file, ...words])

test('a driver that says what was recorded gets the answers that were recorded', async (t) => {
  const file = await recorded(t.testdir(), 'bioshake', identify, initialize)
  const { code, stdout } = await replay(file, '--driver', 'bioshake')
  t.equal(code, 0)
  t.match(stdout, /^> shakeGoHome\.$/m)
  t.match(stdout, /initialize went as recorded/)
})

test('a driver that says something else is told where', async (t) => {
  const file = await recorded(t.testdir(), 'bioshake', identify, initialize)
  t.match(await replay(file, '--driver', 'bioshake', '--operation', 'lock_plate'), {
    code: 1,
    stderr: /lock_plate failed: the driver said .*, but .* was recorded/,
  })
})

test('questions that the service asked before and after do not matter', async (t) => {
  const shake = ({ device }: Said) => device.shake!({ speed: 100, duration: 5 }, signal)
  const file = await recorded(t.testdir(), 'ohaus_endeavor', identify, check, initialize, check, check, shake, check)
  const asShaken = ['--operation', 'shake', '--params', '{"speed": 100, "duration": 5}']
  for (const words of [[], asShaken]) {
    t.match(await replay(file, '--driver', 'ohaus_endeavor', ...words), { code: 0, stdout: /went as recorded/ })
  }
})

test('what an instrument says unasked is said again', async (t) => {
  const listen = ({ wait }: Said) => wait(3500)
  const file = await recorded(
    t.testdir(),
    'a4s',
    listen,
    initialize,
    listen,
    ({ device }) => device.set_temperature!({ temperature: 60 }, signal),
    listen,
  )
  t.match(await replay(file, '--driver', 'a4s'), { code: 0, stdout: /initialize went as recorded/ })
  const set = ['--operation', 'set_temperature', '--params', '{"temperature": 60}']
  t.match(await replay(file, '--driver', 'a4s', ...set), { code: 0, stdout: /set_temperature went as recorded/ })
})

test('what cannot be meant is told', async (t) => {
  const file = await recorded(t.testdir(), 'bioshake', initialize)
  const cases: [string[], RegExp][] = [
    [[], /--driver is missing; there is: /],
    [['--driver', 'toString'], /there is no driver toString; there is: /],
    [['--driver', 'bioshak'], /did you mean "bioshake"\?/],
    [['--driver', 'gpio_shaker'], /not on a serial line/],
    [['--driver', 'bioshake', '--operation', 'toString'], /there is no operation toString; there is: initialize, /],
    [['--driver', 'bioshake', '--operation', 'seal', '--params', '{"temperature": 1, "duration": 1}'], /cannot seal/],
    [['--driver', 'bioshake', '--operation', 'shake'], /--params: speed is missing/],
    [['--driver', 'bioshake', '--operation', 'shake', '--params', '{"speed": "fast", "duration": 1}'], /--params: speed must be/],
  ]
  for (const [words, stderr] of cases) t.match(await replay(file, ...words), { code: 2, stderr })
})
