// The metrics of each device: its state, its temperature, and the speed of the operation that runs.

import type { Instrument } from '../devices/instrument.ts'
import type { Ledger } from '../devices/ledger.ts'
import { deviceStates } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { type Clock, sleep } from '../kit/clock.ts'

/** The rooms of the lab that these metrics use. */
type Rooms = { registry: Registry; ledger: Ledger; clock: Clock }

/** A line of a metric: its labels and its value. */
export type Sample = { labels?: Record<string, string>; value: number }
export type Metric = { name: string; help: string; type: 'gauge' | 'counter'; values: Sample[] }

type Reading = { temperature: number; target: number | null }

/** A scrape waits no longer for an instrument, which may be silent. In ms. */
const patience = 1000

/** Only these are asked: a question to any other device would fail, or latch a fault anew. */
const readable: readonly string[] = ['ready', 'busy']

export async function deviceMetrics({ registry, ledger, clock }: Rooms): Promise<Metric[]> {
  const devices = registry.all()
  const readings = await Promise.all(devices.map(async (device) => ({ device, reading: await readingOf(device, clock) })))
  const read = (value: (reading: Reading) => number | null) =>
    readings.flatMap(({ device, reading }) => samples(device, reading ? value(reading) : null))
  const speeds = devices.flatMap((device) => samples(device, speedOf(device, ledger)))
  return [
    { name: 'benchd_device_state', type: 'gauge', help: 'Which of its states a device is in', values: devices.flatMap(states) },
    gauge(
      'benchd_device_temperature_celsius',
      'Temperature of a device that is initialized and can tell it',
      read(({ temperature }) => temperature),
    ),
    gauge(
      'benchd_device_target_temperature_celsius',
      'Temperature that a device was set to; absent when none is set',
      read(({ target }) => target),
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

/** Questions on their way. Scrapes that come meanwhile share the answer, so that they cannot fill the wire. */
const asked = new WeakMap<Instrument, Promise<Reading | null>>()

/** Null when the device has no temperature, is not asked, fails, or answers too late. */
async function readingOf(device: Instrument, clock: Clock): Promise<Reading | null> {
  if (!device.knows('get_temperature') || !readable.includes(device.state)) return null
  const answer = asked.get(device) ?? device.getTemperature().catch(() => null)
  asked.set(device, answer)
  void answer.then(() => asked.delete(device))
  const late = new AbortController()
  try {
    return await Promise.race([
      answer,
      sleep(clock, patience, late.signal).then(
        () => null,
        () => null,
      ),
    ])
  } finally {
    late.abort()
  }
}

/** In rpm; null while nothing runs that has a speed. */
function speedOf(device: Instrument, ledger: Ledger): number | null {
  const { operation } = device.info()
  const speed = operation && ledger.get(operation.operation_id)?.params.speed
  return typeof speed === 'number' ? speed : null
}
