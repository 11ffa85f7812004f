// A question of the table that measures something is asked for in the background, and shown wherever readings are shown, with its unit.

import { test } from 'tap'
import * as v from 'valibot'
import { driver as bioshake } from '../../drivers/bioshake/driver.ts'
import type { Driver } from '../../drivers/driver.ts'
import { deviceMetrics } from '../http/device_metrics.ts'
import { described } from '../kit/described.ts'
import { oneDevice } from '../testing/devices.ts'
import type { Device } from './device.ts'
import { Ledger } from './ledger.ts'
import { measurements, type Question, questions } from './reading_table.ts'
import { Readings } from './readings.ts'

const name = 'get_humidity' as Question
const row = {
  summary: 'Get the humidity in %',
  success: 'The humidity now',
  answer: v.strictObject({ device_id: v.string(), humidity: described(v.number(), 'Relative humidity', '%') }),
  shown: (read: { humidity: number }) => read,
}

/** A shaker that also measures the humidity. */
const humid: typeof bioshake = {
  ...bioshake,
  open: (at: Parameters<typeof bioshake.open>[0]) =>
    Object.assign(bioshake.open(at), { [name]: async () => ({ humidity: 41.5 }) }) as Device,
}

test('a question with a unit measures a value, and one without measures none', (t) => {
  const measured = measurements().map(({ question, name, unit }) => `${question}: ${name} in ${unit}`)
  t.match(measured, ['get_temperature: temperature in °C', 'get_lid_temperature: lid_temperature in °C', 'humidity: humidity in %'])
  t.notOk(
    measured.some((words) => /^(pose|barcode)/.test(words)),
    'they have no unit',
  )
  t.end()
})

test('one row of the table and one method of a driver put a reading among the readings and the metrics, unit included', async (t) => {
  Object.assign(questions, { [name]: row })
  t.teardown(() => delete (questions as Record<string, unknown>)[name])
  const { clock, instrument, link, registry, start, perform } = await oneDevice(t, humid as Driver<unknown>)
  await start()
  await perform('initialize', {})
  const readings = new Readings({ devices: () => registry.all(), clock })
  t.teardown(() => readings.close())
  await clock.advance(10_500)

  t.match(readings.between('d'), [{ temperature: Number, target: null, others: { humidity: { value: 41.5, target: null, unit: '%' } } }])
  t.same(await clock.run(instrument.questions.ask(name)), { humidity: 41.5 })
  t.ok(instrument.abilities.names.includes('get_temperature') && instrument.abilities.knows(name))

  const metric = () => deviceMetrics({ registry, readings, ledger: new Ledger() }).find((one) => one.name === 'benchd_device_reading')
  t.same(metric()?.values, [{ labels: { device_id: 'd', reading: 'humidity', unit: '%' }, value: 41.5 }])
  await clock.run(registry.halt('d'))
  t.match(metric()?.values, [{ value: 41.5 }], 'a device that is stopped tells it still')
  link.setFault('unplug')
  await clock.advance(3000)
  t.equal(instrument.state, 'disconnected')
  t.same(metric()?.values, [], 'a device that cannot be reached tells nothing')
})
