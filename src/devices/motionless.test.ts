import { test } from 'tap'
import { driver } from '../../drivers/line_scanner/driver.ts'
import { oneDevice } from '../testing/devices.ts'

test('a device of which nothing moves or heats is stopped without its line, and may never still be moving', async (t) => {
  const { clock, instrument, leftOn, link, perform, registry, start } = await oneDevice(t, driver, { settings: { trigger: 'S' } })
  await start()
  await perform('initialize', {})
  const scanning = instrument.perform('scan', {})
  scanning.catch(() => {})
  await clock.advance(100)
  link.setFault('unplug')
  await clock.advance(5000)
  t.match(instrument.info(), { state: 'disconnected', fault: { may_still_be_moving: false, error: /the connection was lost/ } })
  const { success, message } = await clock.run(instrument.halted(instrument.halt()))
  t.same({ success, message }, { success: true, message: 'd stopped' })
  t.same(leftOn(), [])
  link.clearFaults()
  await clock.advance(20_000)
  await perform('initialize', {})
  const { success: scanned, message: said, data } = await perform('scan', {})
  t.same([scanned, said], [true, 'd: read barcode PLATE-0002'])
  t.same(data, { barcode: 'PLATE-0002' })
  link.simulator.powerOff()
  await registry.close()
})
