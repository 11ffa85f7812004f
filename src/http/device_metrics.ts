// The metrics of each device: its state, its readings, and the speed of the running operation.

import type { Instrument } from '../devices/instrument.ts'
import type { Ledger } from '../devices/ledger.ts'
import type { Readings } from '../devices/readings.ts'
import { deviceStates, type Reading } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'

type Rooms = { registry: Registry; ledger: Ledger; readings: Readings }

/** A line of a metric: its labels and its value. */
type Sample = { labels?: Record<string, string>; value: number }
export type Metric = { name: string; help: string; type: 'gauge' | 'counter'; values: Sample[] }

/** The age from which a reading is left out, after three unanswered questions. */
const oldest_ms = 30_000

/** Returns the metrics without asking an instrument, from the background readings. */
export function deviceMetrics({ registry, ledger, readings }: Rooms): Metric[] {
  const devices = registry.all()
  const newest = new Map(readings.newest(oldest_ms))
  const read = (values: (reading: Reading, device: Instrument) => Sample[]) =>
    devices.flatMap((device) => {
      const reading = device.state === 'disconnected' ? undefined : newest.get(device.device_id)
      return reading ? values(reading, device) : []
    })
  const speeds = devices.flatMap((device) => samples(device, speedOf(device, ledger)))
  return [
    { name: 'benchd_device_state', type: 'gauge', help: 'Which of its states a device is in', values: devices.flatMap(states) },
    gauge(
      'benchd_device_may_still_be_on',
      'Whether a device may still move or be hot though nothing runs: it was left on, and nobody has seen it off since',
      devices.map(({ device_id, mayStillBeOn }) => ({ labels: { device_id }, value: Number(mayStillBeOn) })),
    ),
    gauge(
      'benchd_device_temperature_celsius',
      'Temperature of a device that tells it, also while it is stopped or has a fault',
      read(({ temperature }, device) => samples(device, temperature)),
    ),
    gauge(
      'benchd_device_target_temperature_celsius',
      'Temperature that a device was set to; absent when none is set',
      read(({ target }, device) => samples(device, target)),
    ),
    gauge(
      'benchd_device_reading',
      'Any other value that a device measures, in its own unit',
      read(({ others = {} }, { device_id }) =>
        Object.entries(others).map(([reading, { value, unit }]) => ({ labels: { device_id, reading, unit }, value })),
      ),
    ),
    gauge('benchd_device_speed_rpm', 'Speed that the running operation of a device asks for; absent when there is none', speeds),
  ]
}

function gauge(name: string, help: string, values: Sample[]): Metric {
  return { name, type: 'gauge', help, values }
}

function states({ device_id, state: its }: Instrument): Sample[] {
  return deviceStates.map((state) => ({ labels: { device_id, state }, value: Number(its === state) }))
}

function samples({ device_id }: Instrument, value: number | null): Sample[] {
  return value === null ? [] : [{ labels: { device_id }, value }]
}

/** Returns the speed in rpm of the running operation; null without one that has a speed. */
function speedOf(device: Instrument, ledger: Ledger): number | null {
  const { operation } = device.info()
  const speed = operation && ledger.get(operation.operation_id)?.params.speed
  return typeof speed === 'number' ? speed : null
}
