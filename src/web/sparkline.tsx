// The readings of a device, and a line of the last 15 minutes of one of them: its temperature, else its first reading.

import { signal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Reading } from '../clients/ts/benchd.ts'
import { bench, now, state } from './store.tsx'
import { changeOf, least_c, secondsUntil } from './temperature_trend.ts'
import { duration, readingWords } from './words.ts'

const shown_s = 900
/** The shortest time span of the line, which begins with the first reading. */
const least_s = 60
/** The age at which a reading is outdated: three intervals. */
const stale_s = 6
const size = { width: 120, height: 24 }

/** The readings of each device, oldest first: the fetched past ones, then those of the stream. */
const past = signal<Record<string, readonly Reading[]>>({})

/** Renders nothing for a device without readings. */
export function Readings({ device_id }: { device_id: string }) {
  const newest = state.value.reading[device_id]
  const known = past.value[device_id]
  useEffect(() => {
    if (!newest) return
    if (known) {
      past.value = { ...past.value, [device_id]: joined(known, [newest]) }
      return
    }
    past.value = { ...past.value, [device_id]: [newest] }
    bench.value?.call('getDeviceReadings', { path: { device_id }, query: { since: newest.at - shown_s } }).then(
      ({ readings }) => {
        past.value = { ...past.value, [device_id]: joined(readings, past.value[device_id] ?? []) }
      },
      () => undefined,
    )
  }, [newest, device_id])
  if (!newest) return null
  const age_s = now.value / 1000 - newest.at
  return (
    <p class={age_s > stale_s ? 'temperature stale' : 'temperature'}>
      <span>
        <Main reading={newest} trend={<Trend readings={known ?? []} />} />
        {age_s > stale_s && ` · ${duration(age_s)} ago`}
      </span>
      <Line readings={known ?? [newest]} until={newest.at} />
    </p>
  )
}

/** The temperature large, and its target and the other readings beside it. */
function Main({ reading, trend }: { reading: Reading; trend: ComponentChild }) {
  const words = readingWords(reading)
  const [, large, rest] = /^(\S+ °C)(.*)$/.exec(words) ?? [undefined, '', words]
  return (
    <>
      <strong>{large}</strong>
      {trend}
      {rest}
    </>
  )
}

/** Returns the seconds that the device needs to come to this temperature; 0 if that cannot be said. */
export function secondsTo(target: number | null | undefined, device_id: string): number {
  return secondsUntil(target ?? null, past.value[device_id] ?? [])
}

function Trend({ readings }: { readings: readonly Reading[] }) {
  const change = changeOf(readings)
  if (Math.abs(change) < least_c) return null
  return (
    <span role="img" aria-label={change > 0 ? 'rising' : 'falling'}>
      {change > 0 ? ' ↗' : ' ↘'}
    </span>
  )
}

function Line({ readings, until }: { readings: readonly Reading[]; until: number }) {
  const { width, height } = size
  const drawn = readings.flatMap((reading) => {
    const value = reading.temperature ?? Object.values(reading.others ?? {})[0]?.value
    return value === undefined ? [] : [{ at: reading.at, value }]
  })
  const values = drawn.map(({ value }) => value)
  const least = Math.min(...values) - 0.5
  const most = Math.max(...values) + 0.5
  const span = Math.min(shown_s, Math.max(least_s, until - (readings[0]?.at ?? until)))
  const points = drawn.map(({ at, value }) => {
    const x = width * (1 - (until - at) / span)
    return `${x.toFixed(1)},${(height * (1 - (value - least) / (most - least))).toFixed(1)}`
  })
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  )
}

/** Merges two lists of readings, without duplicates and old ones. */
function joined(older: readonly Reading[], newer: readonly Reading[]): Reading[] {
  const last = older.at(-1)?.at ?? 0
  const all = [...older, ...newer.filter(({ at }) => at > last)]
  const from = all.at(-1)!.at - shown_s
  return all.filter(({ at }) => at >= from)
}
