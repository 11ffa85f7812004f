// The sheet of a step of a run: its device, parameters, times beside the plan, values, readings and outcome.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { TimelineRow } from '../../clients/ts/benchd.ts'
import { type Bar, happenedAs, stepsIn } from '../gantt_layout.ts'
import { actionWords, moveWords } from '../run_log.ts'
import { endOf, lateBy, lateWords, type PacedLane } from '../run_plan.ts'
import type { RecordRow } from '../run_record.tsx'
import { Sheet } from '../sheet.tsx'
import { bench, state } from '../store.tsx'
import { Time } from '../time.tsx'
import { duration, onPage, readingWords, sentence } from '../words.ts'

type StepProps = {
  execution_id: string
  /** The lane and the bar of the step, from which the sheet goes on to those beside it. */
  lane: PacedLane
  bar: Bar
  name: string
  row: TimelineRow | undefined
  began_s: number
  now_s: number
  rows: readonly RecordRow[]
  onOpen: (bar: Bar) => unknown
  onClose: () => unknown
}

export function StepSheet({ execution_id, lane, bar, name, row, began_s, now_s, rows, onOpen, onClose }: StepProps) {
  const recorded = useRecorded(execution_id, bar, rows)
  const steps = stepsIn(lane)
  const at = steps.findIndex(({ id }) => id === bar.id)
  const [before, after] = [steps[at - 1], at < 0 ? undefined : steps[at + 1]]
  const planned = lane.plan.find((one) => one === bar || happenedAs(lane, one)?.id === bar.id)
  const device = row?.device ?? row?.transporter ?? undefined
  const took = (bar.to_s ?? now_s) - bar.from_s
  const values = rows.filter(({ kind, action_id }) => kind === 'value' && action_id === bar.id)
  return (
    <Sheet title={`${name}: ${bar.label}`} onClose={() => onClose()}>
      <dl class="facts">
        <Fact of="State">{stateWords(bar, row)}</Fact>
        {recorded && <Fact of="Step">{sentence(bar.kind === 'move' ? moveWords(recorded) : actionWords(recorded))}</Fact>}
        {device && (
          <Fact of="Device">
            {state.value.device[device] ? (
              <a class="button quiet" href={`#/devices/${encodeURIComponent(device)}`}>
                {device}
              </a>
            ) : (
              device
            )}
          </Fact>
        )}
        {planned && (
          <Fact of="Planned">
            <Time at={began_s + planned.from_s} /> to <Time at={began_s + planned.to_s!} />, {duration(planned.to_s! - planned.from_s)}
          </Fact>
        )}
        {bar.tone !== 'planned' && (
          <Fact of="Took place">
            <Time at={began_s + bar.from_s} />
            {bar.to_s === null ? (
              `, for ${duration(took)}`
            ) : (
              <>
                {' '}
                to <Time at={began_s + bar.to_s} />, {duration(took)}
              </>
            )}
          </Fact>
        )}
        {values.length > 0 && (
          <Fact of="Values">
            {values.map(({ name, value, unit }) => `${name} ${shortened(value)}${unit ? ` ${unit}` : ''}`).join(', ')}
          </Fact>
        )}
        <Readings rows={rows} device={row?.device} from={began_s + bar.from_s} to={began_s + (bar.to_s ?? now_s)} />
        <Plate lane={lane} name={name} began_s={began_s} now_s={now_s} />
        {typeof recorded?.['error'] === 'string' && bar.tone === 'failed' && <Fact of="Reason">{sentence(recorded['error'])}</Fact>}
      </dl>
      <div class="row">
        <Beside label="Earlier step" bar={before} onOpen={onOpen} />
        <Beside label="Later step" bar={after} onOpen={onOpen} />
      </div>
    </Sheet>
  )
}

function Beside({ label, bar, onOpen }: { label: string; bar: Bar | undefined; onOpen: (bar: Bar) => unknown }) {
  return (
    <button type="button" class="plain" disabled={!bar} onClick={() => bar && onOpen(bar)}>
      {label}
    </button>
  )
}

/** The end of the plate, and whether that is late. */
function Plate({ lane: { pace }, name, began_s, now_s }: Pick<StepProps, 'lane' | 'name' | 'began_s' | 'now_s'>) {
  const end_s = endOf(pace, now_s)
  if (end_s === undefined || pace.planned_s === undefined) return null
  const isOver = pace.due_s === undefined
  const { word, isLate } = lateWords(lateBy(pace, now_s), pace.planned_s)
  return (
    <Fact of={name}>
      {isOver ? 'ended ' : 'ends about '}
      <Time at={began_s + end_s} />
      {!isOver && `, ${duration(end_s - now_s)} left`}, <span class={isLate ? 'bad' : undefined}>{word}</span>
    </Fact>
  )
}

function Fact({ of, children }: { of: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{of}</dt>
      <dd class="long">{children}</dd>
    </div>
  )
}

/** Returns the row of a step in the record, which is fetched where the newest rows do not have it. */
function useRecorded(execution_id: string, { id, kind, to_s, tone }: Bar, rows: readonly RecordRow[]): RecordRow | undefined {
  const isOfStep = (row: RecordRow) => row['kind'] === kind && row['action_id'] === id
  const newest = rows.find(isOfStep)
  const isMissing = !newest && to_s !== null && tone !== 'planned'
  const older = useSignal<RecordRow | undefined>(undefined)
  useEffect(() => {
    older.value = undefined
    if (!isMissing) return
    bench.value?.call('getRecord', { path: { execution_id }, query: { kind } }).then(
      (answer) => {
        older.value = answer.rows.find(isOfStep)
      },
      () => undefined,
    )
  }, [id, isMissing])
  return newest ?? older.value
}

function stateWords({ tone }: Bar, row: TimelineRow | undefined): string {
  if (tone === 'planned') return 'Not done yet.'
  if (tone === 'running') return 'Goes on.'
  if (tone === 'failed') return row?.status === 'ABORTED' ? '✕ Aborted.' : '✕ Failed.'
  return row?.status === 'SKIPPED' ? 'Skipped.' : '✓ Done.'
}

function shortened(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'in the record')
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** The first and the last readings of the device while the step lasted. */
function Readings({ rows, device, from, to }: { rows: readonly RecordRow[]; device: string | null | undefined; from: number; to: number }) {
  // A reading at the end of a step comes up to two seconds later.
  const its = rows.filter(
    ({ kind, device_id, at }) => kind === 'readings' && device_id === device && Number(at) >= from && Number(at) <= to + 2,
  )
  const [first, last] = [its[0], its.at(-1)]
  if (!device || !first || !last) return null
  const words = ({ values }: RecordRow) => {
    const { temperature, ...others } = values as Record<string, number>
    const shown = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, { value, unit: '', target: null }]))
    return readingWords({ at: 0, temperature: temperature ?? null, target: null, others: shown })
  }
  const [begin, end] = [words(first), words(last)]
  return <Fact of="Readings">{onPage(begin === end ? begin : `${begin}, then ${end}`)}</Fact>
}
