// For tests: a class of PyLabRobot as the client of one of our simulators on a pseudo-terminal. PYLABROBOT names a checkout of it.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Test, test } from 'tap'
import type { Driver } from '../../drivers/driver.ts'
import { serveOnPty } from '../../drivers/serve.ts'
import type { Simulator } from '../../drivers/transports/simulator.ts'

const checkout = process.env.PYLABROBOT
const run_ms = 120_000

type Trial<Settings> = {
  driver: Driver<Settings>
  settings?: object
  /** The speed of the instrument's time. */
  time_scale?: number
  /** Whether a plate stands at the transfer station at first. */
  plateAtStation?: boolean
  /** The path of the script from the folder of the drivers; it gets the checkout and the port, and prints JSON. */
  script: string
}

/** Runs the script against a fresh simulator, and passes what it prints to `judge`. Skips without a checkout. The `python3` of the path needs pyserial. */
export function byPyLabRobot<Settings>(
  name: string,
  { driver, settings = {}, time_scale = 1, plateAtStation = false, script }: Trial<Settings>,
  judge: (t: Test, printed: unknown, simulator: Simulator) => void,
): void {
  test(name, { skip: checkout ? false : 'PYLABROBOT names no checkout of PyLabRobot' }, async (t) => {
    const served = await serveOnPty(driver, settings, { time_scale })
    t.teardown(() => served.close())
    if (plateAtStation) served.simulator.places!.put('station')
    // Tests run from `dist`.
    const path = fileURLToPath(new URL(`../../../drivers/${script}`, import.meta.url))
    const { stdout } = await promisify(execFile)('python3', [path, checkout!, served.path], { timeout: run_ms })
    judge(t, JSON.parse(stdout.trim().split('\n').at(-1)!), served.simulator)
  })
}
