// The screen of one run: what was planned and what happens, its threads with their waits, its log, and the possible decisions.
// With the list of runs it is the file run.js, which is fetched when one of them is opened.

import { useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type ExecutionSummary, type GetForecastResponse, modeWords, type TimelineRow } from '../../clients/ts/benchd.ts'
import { planWords } from '../../clients/ts/plan_words.ts'
import { Gantt } from '../gantt.tsx'
import { type Bar, scaleEnd } from '../gantt_layout.ts'
import { Act, Empty, useAnswer } from '../parts.tsx'
import { RunEnd, RunProgress } from '../run_end.tsx'
import { endOf, lateBy, lateWords, type PacedLane, planOf, RunLanes } from '../run_plan.ts'
import { type RecordRow, useRecord } from '../run_record.tsx'
import { needsPerson, runWord } from '../run_words.ts'
import { ask, bench, download, ifState, now, state, timeScale } from '../store.tsx'
import { Time } from '../time.tsx'
import { clockTime, duration, sentence, stillHeating } from '../words.ts'
import { QueueScreen } from './queue.tsx'
import { Compare, Delete, Exports, RunAgain } from './run_after.tsx'
import { Changes, NoteForm } from './run_changes.tsx'
import { RunLog } from './run_log.tsx'
import { StepSheet } from './run_step.tsx'
import { Threads } from './run_threads.tsx'
import { RunsScreen } from './runs.tsx'

/** The list of runs, the queue, or one run. */
export function RunsPart({ id }: { id: string | undefined }) {
  if (id === undefined || id === '') return <RunsScreen />
  return id === 'queue' ? <QueueScreen /> : <RunScreen key={id} execution_id={id} />
}

function RunScreen({ execution_id }: { execution_id: string }) {
  const live = useComputed(() => state.value.run[execution_id])
  const isKnown = live.value !== undefined
  // An older run is not in the live state.
  const older = useAnswer('getExecution', { path: { execution_id } }, [isKnown])
  const run = live.value ?? older.value
  if (!run) return <Empty>Loading the run … If it was deleted, it is not among the runs any more.</Empty>
  return <Shown run={run} isKnown={isKnown} />
}

/** The rows of a run may change a thousand times a second; the chart is drawn at most so often, ms. */
const drawn_ms = 200

/** Returns the rows of the timeline: those of the stream, at most five times a second, or of an older run those of its record. */
function useTimeline(execution_id: string, isKnown: boolean) {
  const rows = useSignal<Readonly<Record<string, TimelineRow>>>(state.peek().timeline)
  const older = useAnswer('getTimeline', { path: { execution_id } }, [isKnown])
  const timer = useRef<number | undefined>(undefined)
  useSignalEffect(() => {
    if (state.value.timeline === rows.peek() || timer.current !== undefined) return
    timer.current = setTimeout(() => {
      timer.current = undefined
      rows.value = state.peek().timeline
    }, drawn_ms)
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  return useMemo(
    () => (isKnown ? rows.value : Object.fromEntries((older.value?.rows ?? []).map((row) => [row.action_id, row]))),
    [isKnown, rows.value, older.value],
  )
}

function Shown({ run, isKnown }: { run: ExecutionSummary; isKnown: boolean }) {
  const { execution_id, run_mode, started_at, ended_at } = run
  const isOpen = ended_at === null
  const hasRecord = run_mode !== 'PURE_SIM'
  const rows = useTimeline(execution_id, isKnown)
  const forecast = useForecast(execution_id, hasRecord)
  const lanesOf = useMemo(() => lanesFor(forecast.value), [forecast.value, execution_id])
  const lanes = useMemo(() => lanesOf.take(rows), [lanesOf, rows])
  const ended = useMemo(() => endedIn(rows), [rows])
  const all = useMemo(() => Object.values(rows), [rows])
  const record = useRecord(execution_id, { hasRecord, isOpen, change: `${ended} ${ended_at} ${run.needs_person_count} ${run.paused?.at}` })
  const opened = useSignal<{ thread: string; id: string } | undefined>(undefined)
  const latest = useRef(rows)
  latest.current = rows
  const openStep = (id: string) => {
    const row = latest.current[id]
    if (row) opened.value = { thread: row.thread_name, id }
  }
  // A thousand lines are not worded again each second.
  const log = useMemo(
    () => <RunLog {...{ execution_id, hasRecord, rows: record.value, onOpen: openStep }} />,
    [execution_id, hasRecord, record.value],
  )
  const took_s = (ended_at ?? now.value / 1000) - started_at
  return (
    <section aria-label={`Run of ${run.workflow_name}`} class="run">
      <Head run={run} lanes={lanes} took_s={took_s} />
      {run.reason && <p class="fault long">{sentence(run.reason)}</p>}
      {run.still_heating && <p class="fault long">At its end:{stillHeating(run)}</p>}
      {run.not_done?.map(({ part, operation, on, reason }) => (
        <p key={`${part} ${operation} ${on}`} class="fault long">
          Not done {part} the run: {operation} of {on}. {sentence(reason)}
        </p>
      ))}
      <PlanFigures forecast={forecast.value} />
      <Chart {...{ run, lanes, took_s, record: record.value }} onOpen={(thread, id) => (opened.value = { thread, id })} />
      {isOpen && <Threads {...{ execution_id, rows: all, began_at: started_at }} />}
      {!isOpen && (
        <>
          <p class="row">
            {hasRecord && (
              <Act label="Download the report" kind="main" free onPress={() => download('getReport', { path: { execution_id } })} />
            )}
            <RunAgain execution_id={execution_id} />
          </p>
          <Compare run={run} rows={all} />
        </>
      )}
      {log}
      {isOpen && <Changes run={run} shown={run.paused ? 'PAUSED' : run.status} />}
      {hasRecord && <NoteForm execution_id={execution_id} />}
      <Exports execution_id={execution_id} name={run.workflow_name} hasRecord={hasRecord && isOpen} rows={all} />
      {!isOpen && <Delete execution_id={execution_id} />}
      <OpenedStep {...{ run, lanes, rows, took_s, record: record.value }} opened={opened.value} onOpen={(next) => (opened.value = next)} />
    </section>
  )
}

/** The plan beside dispatch alone and the bound, in real time like the chart. */
function PlanFigures({ forecast }: { forecast: GetForecastResponse | undefined }) {
  const { plan, verdict, makespan_s } = forecast ?? {}
  if (!plan || !verdict || makespan_s === undefined) return null
  return <p class="hint">{sentence(planWords({ verdict, makespan_s, plan }, (seconds) => duration(seconds / timeScale.value)))}</p>
}

/** The plan of a run that waits for somebody, or fails, does not go to the end of the run. */
function lanesFor(forecast: GetForecastResponse | undefined): RunLanes {
  return new RunLanes(planOf(forecast?.gantt ?? [], timeScale.value), forecast?.verdict === 'completes')
}

/** Returns the forecast; undefined while it is made, and for a run without one. */
function useForecast(execution_id: string, hasRecord: boolean) {
  const forecast = useSignal<GetForecastResponse | undefined>(undefined)
  useEffect(() => {
    if (!hasRecord) return
    bench.value?.call('getForecast', { path: { execution_id } }).then(
      (answer) => {
        forecast.value = answer
      },
      () => undefined,
    )
  }, [execution_id, hasRecord])
  return forecast
}

/** Counts the steps that have ended, of which the record has new rows. */
function endedIn(rows: Readonly<Record<string, TimelineRow>>): number {
  let count = 0
  for (const id in rows) if (rows[id]!.ended !== null) count++
  return count
}

type HeadProps = { run: ExecutionSummary; lanes: readonly PacedLane[]; took_s: number }

/** The state of the run, when it ends, and the buttons that control it. */
function Head({ run, lanes, took_s }: HeadProps) {
  const { word, tone, mark } = runWord(run)
  const { workflow_name, workflow_version, run_mode, started_at, ended_at } = run
  return (
    <>
      <div class="row">
        <h2>
          {workflow_name}
          {workflow_version !== undefined && <small> version {workflow_version}</small>}
        </h2>
        {ended_at === null && <Control run={run} />}
      </div>
      <p class={`state ${tone}`}>
        <span aria-hidden="true">{mark}</span> {word}, {modeWords[run_mode]},{' '}
        {ended_at === null ? (
          <>
            for {duration(took_s)}, began <Time at={started_at} />
          </>
        ) : (
          <>
            took {duration(took_s)}, <Time at={started_at} /> to <Time at={ended_at} />
          </>
        )}
        <Ending run={run} lanes={lanes} now_s={took_s} />
      </p>
      {ended_at === null && <RunProgress run={run} />}
    </>
  )
}

/** The end of the run, the time left, and whether that is late. */
function Ending({ run, lanes, now_s }: { run: ExecutionSummary; lanes: readonly PacedLane[]; now_s: number }) {
  const { started_at, ended_at, paused, open_count, needs_person_count, eta, eta_reason } = run
  const planned_s = Math.max(...lanes.map(({ pace }) => pace.planned_s ?? 0), 0)
  if (ended_at === null && typeof eta === 'number') {
    const late_s = Math.max(eta, started_at + now_s) - started_at - planned_s
    return (
      <>
        ; <RunEnd run={run} />
        {planned_s > 0 && <LateWord late_s={late_s} planned_s={planned_s} />}
      </>
    )
  }
  if (ended_at === null && eta_reason && run.run_mode !== 'PURE_SIM' && !paused)
    return (
      <>
        ; <RunEnd run={run} />
      </>
    )
  if (planned_s === 0) return null
  if (ended_at !== null) return <LateWord late_s={now_s - planned_s} planned_s={planned_s} />
  const end_s = Math.max(...lanes.map(({ pace }) => endOf(pace, now_s) ?? 0))
  const isStanding = paused || needs_person_count === open_count
  return (
    <>
      {isStanding ? '; it would end about ' : '; ends about '}
      <strong>
        <Time at={started_at + end_s} />
      </strong>
      , {duration(end_s - now_s)} left
      <LateWord late_s={end_s - planned_s} planned_s={planned_s} />
    </>
  )
}

function LateWord({ late_s, planned_s }: { late_s: number; planned_s: number }) {
  const { word, isLate } = lateWords(late_s, planned_s)
  return (
    <>
      , <span class={isLate ? 'bad' : undefined}>{word}</span>
    </>
  )
}

function Control({ run: { execution_id, status, paused } }: { run: ExecutionSummary }) {
  const armed = useSignal(false)
  const wasPaused = useSignal(false)
  const path = { execution_id }
  /** The status for the header If-State. */
  const shown = paused ? 'PAUSED' : status
  const resume = () => {
    armed.value = false
    return ask('resumeExecution', { path, body: {}, ...ifState('PAUSED') })
  }
  return (
    <>
      {paused ? (
        <Act label="Resume run" kind="main" onPress={resume} />
      ) : (
        <Act label="Pause run" onPress={() => ask('pauseExecution', { path, body: {}, ...ifState(shown) })} />
      )}
      <Act
        label={armed.value ? 'Stop run: press again' : 'Stop run'}
        name="Stop run"
        kind="danger"
        onPress={async () => {
          // The first press has paused the run, although the stream may not show that yet.
          const asked = ifState(armed.value ? 'PAUSED' : shown)
          if (!armed.value) wasPaused.value = paused !== null
          // The label says how to go on, and the message would lie over the button.
          const answer = await ask('stopExecution', { path, body: { confirm: armed.value }, ...asked }, { quiet: !armed.value })
          armed.value = answer !== undefined && !armed.value
        }}
      />
      {armed.value && (
        <Act
          label="Cancel"
          onPress={() => {
            if (!wasPaused.value) return resume()
            armed.value = false
          }}
        />
      )}
    </>
  )
}

type ChartProps = HeadProps & { record: readonly RecordRow[] | undefined; onOpen: (thread: string, id: string) => unknown }

function Chart({ run: { execution_id, started_at, ended_at }, lanes, took_s, record, onOpen }: ChartProps) {
  const barcodes = useMemo(() => barcodesIn(record ?? []), [record])
  // The names are joined to one text, which signals compare by its content: the chart is drawn again only when a name changes.
  const held = useComputed(() =>
    Object.values(state.value.thread)
      .flatMap((one) => (one.execution_id === execution_id && needsPerson(one) ? one.thread_name : []))
      .join('\n'),
  ).value
  const waiting = useMemo(() => new Set(held.split('\n')), [held])
  const isOpen = ended_at === null
  if (lanes.every(({ plan, bars }) => plan.length + bars.length === 0))
    return (
      <figure class="gantt" aria-label="Timeline">
        <figcaption class="empty">Nothing was done yet, or the timeline is no longer stored: see the log below.</figcaption>
      </figure>
    )
  const last_s = lanes.reduce(
    (most, { plan, pace }) => Math.max(most, pace.ended_s, plan.at(-1)?.to_s ?? 0, (isOpen && endOf(pace, took_s)) || 0),
    0,
  )
  const noteOf = ({ thread, pace }: PacedLane) => {
    if (waiting.has(thread)) return { word: '‖ needs you', isLate: true }
    if (pace.planned_s === undefined) return undefined
    const isOver = pace.due_s === undefined
    if (!isOpen && !isOver) return { word: 'not all was done', isLate: true }
    const { word, isLate } = lateWords(lateBy(pace, took_s), pace.planned_s)
    const end = clockTime(started_at + endOf(pace, took_s)!, started_at)
    return word === 'on time' ? { word: `${isOver ? 'ended' : 'ends'} ${end}`, isLate } : { word, end, isLate }
  }
  return (
    <Gantt
      label="Timeline"
      lanes={lanes}
      end_s={scaleEnd(Math.max(last_s, isOpen ? took_s : 0))}
      now_s={isOpen ? took_s : undefined}
      hasHappened
      began_s={started_at}
      nameOf={({ thread }) => [thread, barcodes.get(thread)].filter(Boolean).join(' ')}
      noteOf={noteOf}
      onOpen={({ thread }, bar) => bar && onOpen(thread, bar.id)}
    />
  )
}

/** Returns the barcodes of the threads, as far as they were read. */
function barcodesIn(rows: readonly RecordRow[]): Map<unknown, string> {
  return new Map(rows.flatMap(({ thread_name, barcode }) => (typeof barcode === 'string' ? [[thread_name, barcode] as const] : [])))
}

type OpenedProps = HeadProps & {
  rows: Readonly<Record<string, TimelineRow>>
  record: readonly RecordRow[] | undefined
  opened: { thread: string; id: string } | undefined
  onOpen: (next: { thread: string; id: string } | undefined) => unknown
}

/** The sheet of the step that was tapped. */
function OpenedStep({ run: { execution_id, started_at }, lanes, rows, took_s, record = [], opened, onOpen }: OpenedProps) {
  const lane = opened && lanes.find(({ thread }) => thread === opened.thread)
  const bar = [...(lane?.bars ?? []), ...(lane?.plan ?? [])].find(({ id }) => id === opened?.id)
  if (!lane || !bar) return null
  const barcode = barcodesIn(record).get(lane.thread)
  const group = record.find(({ thread_name, group_id }) => thread_name === lane.thread && typeof group_id === 'string')?.group_id
  return (
    <StepSheet
      {...{ execution_id, lane, bar }}
      name={[lane.thread, barcode, group && `(group ${group})`].filter(Boolean).join(' ')}
      row={rows[bar.id]}
      began_s={started_at}
      now_s={took_s}
      rows={record}
      onOpen={({ id }: Bar) => onOpen({ thread: lane.thread, id })}
      onClose={() => onOpen(undefined)}
    />
  )
}
