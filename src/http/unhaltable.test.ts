// A device that no stop ends: the answer to a stop, the device, the metrics and the next start say that it may still be on.

import type { Test } from 'tap'
import { bridgeTo, programFile, reader, until } from '../testing/bridges.ts'
import { openService } from '../testing/http.ts'
import { withPython } from '../testing/python.ts'

const base = '/api/devices/reader-1'
/** `heat` leaves a heater on; `fail` ends badly in the middle of a motion. */
const oven = reader.replace(
  '    def halt(self)',
  `    @operation(seconds=1, leaves_on="heat")
    def heat(self) -> None: pass

    @operation(seconds=1)
    def fail(self) -> None:
        raise DeviceFailed("the motor is blocked")

    def halt(self)`,
)

async function bench(t: Test, halt: string, more: object = {}) {
  const path = programFile(t, oven)
  const service = await openService(t, { devices: [bridgeTo(path, { settings: { halt } })], ...more })
  const { ask, bench } = service
  const instrument = bench.registry.find('reader-1')
  await until(() => instrument.info().identity ?? instrument.info().fault)
  const perform = (operation: string) => ask('POST', `${base}/perform`, { json: { operation } })
  const mayBeOn = async () => ((await ask('GET', base)).body as { may_still_be_on: boolean }).may_still_be_on
  return { ...service, instrument, perform, mayBeOn }
}

const words = /^reader-1 may still be on: use its red button \(.*no stop ends/

withPython('what was left hot and nothing halts is never stopped, until somebody has seen that it is off', async (t) => {
  const { ask, perform, mayBeOn } = await bench(t, 'none')
  await ask('POST', `${base}/initialize`)
  await perform('read')
  t.match((await ask('POST', `${base}/stop`)).body, { success: true, message: /no stop ends what it does, and it does nothing/ })
  t.equal(await mayBeOn(), false)
  await ask('POST', `${base}/initialize`)
  await perform('heat')
  t.equal(await mayBeOn(), false, 'it is ready, and does what it was asked')
  for (const again of [false, true]) {
    t.match((await ask('POST', `${base}/stop`)).body, { success: false, message: words })
    t.match((await ask('POST', '/api/stop')).body, {
      success: false,
      message: /not confirmed/,
      devices: [{ success: false, message: words }],
    })
    t.equal(await mayBeOn(), true)
    t.match((await ask('GET', '/metrics', { key: 'read' })).text, /^benchd_device_may_still_be_on\{device_id="reader-1"\} 1$/m)
    if (!again) t.equal((await ask('POST', `${base}/initialize`)).status, 200, 'it can be used again, and is still hot')
  }
  t.match(await ask('POST', `${base}/clear_fault`), { status: 200 })
  t.equal(await mayBeOn(), false)
  t.match((await ask('POST', `${base}/stop`)).body, { success: true })
})

withPython('what failed in the middle of a motion may still move, and can be initialized by somebody who has looked', async (t) => {
  const { ask, perform, mayBeOn, instrument } = await bench(t, 'none')
  await ask('POST', `${base}/initialize`)
  t.match(await perform('fail'), { status: 500 })
  t.match(instrument.info(), { fault: { may_still_be_moving: true } })
  t.equal(await mayBeOn(), true)
  t.match((await ask('POST', `${base}/stop`)).body, { success: false, message: words })
  t.equal((await ask('POST', `${base}/initialize`)).status, 200)
  t.match((await ask('POST', `${base}/stop`)).body, { success: true })
})

withPython('the end of a program ends no heat that it says goes on', async (t) => {
  const { ask, perform, mayBeOn } = await bench(t, 'kill')
  await ask('POST', `${base}/initialize`)
  await perform('read')
  t.match((await ask('POST', `${base}/stop`)).body, { success: true, message: 'reader-1 stopped' })
  await until(async () => (await ask('POST', `${base}/initialize`)).status === 200)
  await perform('heat')
  t.match((await ask('POST', `${base}/stop`)).body, { success: false, message: words })
  await until(mayBeOn)
})
