import { calm, onSimulator, perform, test } from 'benchd/driver-test'
import { driver } from './driver.ts'

test('it dispenses what it was asked, and says so', async (t) => {
  const { device, run, written, clock } = await onSimulator(driver)
  await run(device.initialize({}, calm))
  written.length = 0
  const began = clock.now()
  t.same(await run(perform(device, 'dispense', { volume: 2, rate: 12 })), { dispensed: 2 })
  t.same(written.slice(0, 6), ['\r', 'CLD INF\r', 'DIR INF\r', 'VOL 2.000\r', 'RAT 12.00 MM\r', 'RUN\r'])
  t.ok(clock.now() - began >= 10_000)
})
