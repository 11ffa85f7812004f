// The charts of a device: every reading of an hour, a day or a run, with operations, faults and stops.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Bench, Operations, Reading } from '../../clients/ts/benchd.ts'
import { Chart } from '../chart.tsx'
import { csvOf, linesOf, type Mark, moved, type Span, valuesOf, zoomed } from '../chart_data.ts'
import { eventSentence } from '../event_words.ts'
import { titled } from '../forms.ts'
import { Block, Choice, Empty } from '../parts.tsx'
import { bench, keepFile, now, state } from '../store.tsx'
import { clockMinutes, clockTime, readingWords, sentence } from '../words.ts'

export type Operation = Operations['listOperations']['answer']['operations'][number]

/** The most readings that are fetched for a chart: several for each pixel. */
const most = 4000
/** A device is asked each 10 s at least, so a longer pause is a gap. */
const gap_s = 45
/** The shortest chart, s. */
const least_s = 60
const spans: Record<string, number> = { hour: 3600, day: 86_400 }
/** The newest events, in which faults and stops are sought. */
const newestEvents = 1000
const mostRows = 200

type Props = { device_id: string; operations: readonly Operation[] }

export function DeviceCharts({ device_id, operations }: Props) {
  const chosen = useSignal('hour')
  const zoom = useSignal<Span | undefined>(undefined)
  const run = state.value.run[chosen.value]
  // A chart moves on with its readings, each 10 s at least.
  const present = Math.max(Math.floor(now.value / 10_000) * 10, state.value.reading[device_id]?.at ?? 0)
  const sought: Span = run
    ? { min: run.started_at, max: Math.max(run.ended_at ?? present, run.started_at + 10) }
    : { min: present - spans[chosen.value]!, max: present }
  const readings = useReadings(device_id, run?.execution_id, zoom.value ?? (spans[chosen.value] ? { min: sought.min } : sought))
  // A device that has run for some minutes would be a dot at the edge of an hour.
  const first = useRef<number>(undefined)
  if (!zoom.value) first.current = readings.value[0]?.at
  const begin = Math.min(Math.max(sought.min, first.current ?? 0), present - least_s)
  const whole = run ? sought : { ...sought, min: begin }
  const events = useMarks(device_id)
  const shown = zoom.value ?? whole
  const apart_s = Math.max(gap_s, ((shown.max - shown.min) / most) * 6)
  // Not again at each second, since a day has thousands of readings.
  const lines = useMemo(() => linesOf(readings.value, apart_s), [readings.value, Math.round(apart_s)])
  const actions = useActions(device_id, run?.execution_id, operations)
  const done = run ? actions.value : operations.map(markOf)
  const marks = useMemo(() => [...done, ...events.value], [operations, actions.value, events.value, present, run])
  const change = (span: Span) => {
    zoom.value = span.max - span.min >= (whole.max - whole.min) * 0.999 ? undefined : span
  }
  return (
    <Block title="Readings">
      <div class="row">
        <Choice label="Show" choices={choices()} value={chosen.value} onChange={(value) => choose(value, chosen, zoom)} />
        <Zoom span={shown} whole={whole} isZoomed={zoom.value !== undefined} onSpan={change} onReset={() => (zoom.value = undefined)} />
      </div>
      {lines.length === 0 && <Empty>There are no readings of this device in this time.</Empty>}
      {lines.map((its) => (
        <Chart key={its.unit} lines={its} marks={marks} span={shown} whole={whole} onSpan={change} />
      ))}
      {lines.length > 0 && (
        <p class="hint">
          Bars along the upper edge are operations; red ones with a triangle are failures, faults and stops. Drag or pinch to enlarge.
        </p>
      )}
      <Table device_id={device_id} readings={readings.value} />
    </Block>
  )
}

function choices(): Record<string, string> {
  const runs = Object.values(state.value.run)
    .filter(({ run_mode }) => run_mode === 'LIVE')
    .toSorted((a, b) => b.started_at - a.started_at)
    .map(({ execution_id, workflow_name, started_at }) => [
      execution_id,
      `Run of ${workflow_name}, ${clockMinutes(started_at, now.value / 1000)}`,
    ])
  return { hour: 'Last hour', day: 'Last day', ...Object.fromEntries(runs) }
}

function choose(value: string, chosen: Signal<string>, zoom: Signal<Span | undefined>): void {
  zoom.value = undefined
  chosen.value = value
}

type ZoomProps = { span: Span; whole: Span; isZoomed: boolean; onSpan: (span: Span) => void; onReset: () => void }

/** The buttons with which a chart is enlarged and moved without a mouse. */
function Zoom({ span, whole, isZoomed, onSpan, onReset }: ZoomProps) {
  const step_s = (span.max - span.min) / 2
  const buttons: [label: string, mark: string, isPossible: boolean, press: () => void][] = [
    ['Zoom in', '+', span.max - span.min > 20, () => onSpan(zoomed(span, 0.5, whole))],
    ['Zoom out', '−', isZoomed, () => onSpan(zoomed(span, 2, whole))],
    ['Earlier', '◀', isZoomed && span.min > whole.min, () => onSpan(moved(span, -step_s, whole))],
    ['Later', '▶', isZoomed && span.max < whole.max, () => onSpan(moved(span, step_s, whole))],
    ['Reset', 'Reset', isZoomed, onReset],
  ]
  return (
    <fieldset class="row" aria-label="Zoom">
      {buttons.map(([label, mark, isPossible, press]) => (
        <button key={label} type="button" class="plain" aria-label={label} disabled={!isPossible} onClick={press}>
          {mark}
        </button>
      ))}
    </fieldset>
  )
}

/** Fetches the readings of a span again when it changes, and adds those of the stream unless the span has an end. */
function useReadings(
  device_id: string,
  execution_id: string | undefined,
  { min, max }: { min: number; max?: number },
): Signal<readonly Reading[]> {
  const readings = useSignal<readonly Reading[]>([])
  const newest = state.value.reading[device_id]
  // An hour or a day without a zoom moves on by itself.
  const key = max === undefined ? Math.round((now.value / 1000 - min) / 3600) : `${min} ${max}`
  useEffect(() => {
    let isOld = false
    const query = { since: Math.max(0, min), ...(max !== undefined && { until: max + 1 }), most }
    const asked = execution_id
      ? readingsOfRun(bench.value!, execution_id, device_id)
      : bench.value!.call('getDeviceReadings', { path: { device_id }, query }).then((answer) => answer.readings)
    asked.then(
      (found) => {
        if (!isOld) readings.value = found
      },
      () => undefined,
    )
    return () => {
      isOld = true
    }
  }, [device_id, execution_id, execution_id ? '' : key])
  useEffect(() => {
    if (!newest || execution_id || max !== undefined) return
    const from = now.value / 1000 - spans['day']!
    if (newest.at > (readings.value.at(-1)?.at ?? 0)) readings.value = [...readings.value.filter(({ at }) => at > from), newest]
  }, [newest])
  return readings
}

/** Fetches the readings of a device from the record of a run. */
async function readingsOfRun(from: Bench, execution_id: string, device_id: string): Promise<Reading[]> {
  const path = { execution_id }
  const [recorded, about] = await Promise.all([
    from.call('listReadingsOfExecution', { path }),
    from.call('getRecord', { path, query: { kind: 'device' } }),
  ])
  const row = about.rows.findLast((one) => one['device_id'] === device_id) as { units?: Record<string, string> } | undefined
  return recorded.readings.flatMap((one) => {
    if (one.device_id !== device_id) return []
    const { temperature = null, ...rest } = one.values as Record<string, number | null>
    const others = Object.entries(rest).map(([name, value]) => [
      name,
      { value: value!, target: one.targets?.[name] ?? null, unit: row?.units?.[name] ?? '' },
    ])
    return [{ at: one.at, temperature, target: one.targets?.['temperature'] ?? null, others: Object.fromEntries(others) }]
  })
}

/** The faults and stops of the device among the newest events. */
function useMarks(device_id: string): Signal<readonly Mark[]> {
  const marks = useSignal<readonly Mark[]>([])
  const { fault, stopped } = state.value.device[device_id] ?? {}
  useEffect(() => {
    bench.value?.call('getEvents', { query: { newest: newestEvents } }).then(
      ({ events }) => {
        marks.value = events.flatMap((event) => {
          const isIts =
            event.entity_type === 'DEVICE' && event.entity_id === device_id && /^(FAULTED|STOPPED|FAULT_CLEARED)$/.test(event.status)
          const isBad = event.status !== 'FAULT_CLEARED'
          return isIts ? [{ from: event.timestamp, to: null, isBad, text: eventSentence(event) }] : []
        })
      },
      () => undefined,
    )
  }, [device_id, fault?.since, stopped?.at])
  return marks
}

/** The actions of the device in a run, from its record: what the devices did is listed for a day only. */
function useActions(device_id: string, execution_id: string | undefined, operations: readonly Operation[]): Signal<readonly Mark[]> {
  const marks = useSignal<readonly Mark[]>([])
  useEffect(() => {
    if (execution_id === undefined) return
    bench.value?.call('getRecord', { path: { execution_id }, query: { kind: 'action' } }).then(
      ({ rows }) => {
        marks.value = (rows as Action[]).flatMap(({ device_id: its, name, started, ended, outcome, error }) => {
          const text = `${titled(name)}: ${error ?? outcome.toLowerCase()}`
          return its === device_id && started !== null ? [{ from: started, to: ended, isBad: outcome !== 'COMPLETED', text }] : []
        })
      },
      () => undefined,
    )
  }, [device_id, execution_id, operations])
  return marks
}

type Action = {
  device_id: string | null
  name: string
  started: number | null
  ended: number | null
  outcome: string
  error: string | null
}

function markOf({ started, ended, result, text }: Operation): Mark {
  return { from: started, to: ended ?? (result ? null : now.value / 1000), isBad: result?.success === false, text: sentence(text) }
}

function Table({ device_id, readings }: { device_id: string; readings: readonly Reading[] }) {
  const isOpen = useSignal(false)
  const rows = isOpen.value ? readings.slice(-mostRows).toReversed() : []
  const download = () => keepFile(`${device_id}-readings.csv`, new Blob([csvOf(readings)], { type: 'text/csv' }))
  if (readings.length === 0) return null
  return (
    <div class="row as-table">
      <button type="button" class="plain" onClick={download}>
        Download as CSV
      </button>
      <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary>As a table</summary>
        <table>
          <caption class="hint">
            The newest {Math.min(mostRows, readings.length)} of {readings.length} readings, in the time zone of this browser.
          </caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Values</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((reading) => (
              <tr key={reading.at}>
                <td>{clockTime(reading.at, now.value / 1000)}</td>
                <td>{valuesOf(reading).length > 0 ? readingWords(reading) : '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  )
}
