// Prints runs: the list, one run, and its timeline.

import { clockTime, etaWords, timeLeft } from '../../clients/ts/eta_words.ts'
import type { PlanRow } from '../../workflow/records/plan_story.ts'
import type { GroupOutcome } from '../../workflow/records/records.ts'
import type { ExecutionSnapshot, ExecutionSummary } from '../../workflow/snapshot.ts'
import type { TimelineRow } from '../../workflow/threads/timeline.ts'
import { shows } from '../asking.ts'
import { atShell, short } from '../at_shell.ts'
import { ask, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { stillHeating } from '../heating.ts'
import { queryOf, spanOptions } from '../moment.ts'
import { modeOption, modeText } from '../run_modes.ts'
import { date, print, table } from '../table.ts'
import { note, noteNone } from '../terminal.ts'
import { documentText } from '../versions.ts'
import { shownPathOf } from './ids.ts'
import { notDoneText } from './not_done.ts'
import { runsWhy } from './why.ts'

type Page = { executions: ExecutionSummary[]; next: string | null }

const runsList = shows({
  name: 'runs list',
  summary: 'List the runs, or find some, the newest first, with times in the zone of this computer',
  options: {
    ...spanOptions,
    status: {
      type: 'string',
      value: 'STATUS',
      one_of: ['IN_PROGRESS', 'COMPLETED', 'FAILED', 'ABORTED'],
      help: 'Status: IN_PROGRESS, COMPLETED, FAILED or ABORTED',
    },
    workflow: { type: 'string', value: 'NAME', help: 'Only runs of this workflow' },
    mode: modeOption(),
    barcode: { type: 'string', value: 'TEXT', help: 'Only runs that had labware with this barcode' },
    tag: { type: 'string', value: 'TAG', help: 'Only runs with this tag' },
    project: { type: 'string', value: 'NAME', help: 'Only runs of this project' },
    text: { type: 'string', value: 'TEXT', help: 'Only runs with this text in their workflow, reason, notes, tags, groups or barcodes' },
    limit: { type: 'string', value: 'N', help: 'Largest number of entries; default 20' },
  },
  example: 'benchd runs list --since 2026-11-01 --barcode P001',
  path: ({ options: { limit = '20', ...options } }) => `/api/executions${queryOf({ ...searchOf(options), limit })}`,
  text: ({ executions }: Page) => table(['ID', 'WORKFLOW', 'MODE', 'STATE', 'THREADS', 'STARTED', 'TOOK', 'ENDS'], executions.map(row)),
  also({ executions, next }, { options }) {
    const { status, ...others } = searchOf(options)
    const isSearch = Object.values(others).some((value) => value !== undefined)
    const none = isSearch ? 'no run that is kept is like that' : status ? `no run is ${status}` : undefined
    noteNone(executions, none ?? 'there is no run yet; to start one: benchd runs submit WORKFLOW')
    if (next !== null) note('there are more runs; --limit N shows them')
  },
})

const runsShow = command({
  name: 'runs show',
  summary: 'Show a run with its threads, the place of their labware, the reason why they wait, its plan, and when it ends',
  operands: ['ID'],
  options: serviceOptions,
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const path = await shownPathOf(service, id)
    const snapshot = await ask<ExecutionSnapshot>(service, 'GET', path)
    print(
      options.json
        ? JSON.stringify(snapshot)
        : described(snapshot, { plan: await planOf(service, path, snapshot), foretold: await foretoldOf(service, path, snapshot) }),
    )
  },
})

/** Words the plan of a run and what became of it; empty without one. The forecast of an open run is not made for this. */
async function planOf(service: Service, path: string, { run_mode, started_at, ended_at }: ExecutionSnapshot): Promise<string> {
  if (run_mode === 'PURE_SIM') return ''
  const { rows } = await ask<{ rows: PlanRow[] }>(service, 'GET', `${path}/record?kind=plan`).catch(() => ({ rows: [] }))
  if (rows.length === 0) return ''
  const forecast = ended_at === null ? undefined : ask<{ makespan_s: number }>(service, 'GET', `${path}/forecast`).catch(() => undefined)
  const { planStory } = await import('../../workflow/records/plan_story.ts')
  const { time_scale } = await ask<{ time_scale: number }>(service, 'GET', '/api/system')
  const took_s = ((ended_at ?? started_at) - started_at) * time_scale
  const story = planStory(rows, { foretold_s: (await forecast)?.makespan_s, took_s, isOver: ended_at !== null })
  return time_scale === 1 ? story : `${story}; in simulated time`
}

/** Words when an open run ends, and of one that has ended what was foretold; empty where nothing is known of it. */
async function foretoldOf(service: Service, path: string, snapshot: ExecutionSnapshot): Promise<string> {
  const { run_mode, started_at, ended_at } = snapshot
  if (run_mode === 'PURE_SIM') return ''
  if (ended_at === null) return [etaWords(snapshot, Date.now() / 1000), ...assumedIn(snapshot)].filter(Boolean).join('\n  ')
  const { rows } = await ask<{ rows: PlanRow[] }>(service, 'GET', `${path}/record?kind=forecast`).catch(() => ({ rows: [] }))
  const { foretoldStory } = await import('../../workflow/records/foretold_story.ts')
  return foretoldStory(rows, { started_at, ended_at })
}

function assumedIn({ forecast }: ExecutionSnapshot): string[] {
  return forecast?.basis.assumed.map((sentence) => `assumed: ${sentence}`) ?? []
}

const runsTimeline = shows({
  name: 'runs timeline',
  summary: 'Show the timeline of a run, in seconds since its start',
  operands: ['ID'],
  path: async ({ service, operands: [id = ''] }) => `${await shownPathOf(service, id)}/timeline`,
  text: ({ rows }: { rows: (TimelineRow & Sample)[] }) =>
    table(['THREAD', 'WHAT', 'BY', 'STATUS', 'WANTED', 'STARTED', 'ENDED'], rows.map(timelineRow)),
  also: ({ rows }) => noteNone(rows, 'the run has done nothing yet'),
})

const runsWorkflow = shows({
  name: 'runs workflow',
  summary: 'Print the document that a run ran, also after the workflow was changed or deleted',
  operands: ['ID'],
  path: async ({ service, operands: [id = ''] }) => `${await shownPathOf(service, id)}/workflow`,
  text: documentText,
})

export const shown = [runsList, runsShow, runsWhy, runsTimeline, runsWorkflow]

type Going = Pick<ExecutionSummary, 'status' | 'phase' | 'paused' | 'open_count' | 'needs_person_count'>

/** Words the state of a run: its phase, the threads that wait for a person, or its outcome. */
export function stateOf({ status, phase, paused, open_count, needs_person_count = 0 }: Going): string {
  if (status !== 'IN_PROGRESS') return status
  if (paused) return 'paused'
  const going = phase === 'accepting' ? 'running' : phase
  if (needs_person_count === 0) return going
  if (needs_person_count === open_count) return 'needs a person'
  return `${going}, ${needs_person_count} of ${open_count} need a person`
}

/** Makes the rows of threads: the place of the labware, and what the thread waits for. */
export function threadRows({ threads, moves }: Pick<ExecutionSnapshot, 'threads' | 'moves'>): string[][] {
  return threads.map(({ thread_id, thread_name, status, position, held_by, last_error, waiting }) => {
    const move = moves.find((move) => move.thread_id === thread_id)
    const where = move ? `${move.from} -> ${move.to}` : whereOf({ position, held_by })
    return [short(thread_id), thread_name, status, where, atShell(waiting?.what ?? last_error ?? '')]
  })
}

type Search = Partial<
  Record<'since' | 'until' | 'status' | 'workflow' | 'mode' | 'barcode' | 'tag' | 'project' | 'text', string | undefined>
>

function searchOf({ since, until, status, workflow, mode, barcode, tag, project, text }: Search): Search {
  return { since, until, status, workflow, mode, barcode, tag, project, text }
}

function row({ execution_id, workflow_name, run_mode, thread_count, started_at, ended_at, ...its }: ExecutionSummary): string[] {
  const took = ended_at === null ? '' : `${(ended_at - started_at).toFixed(1)} s`
  const ends = ended_at === null ? endOf(its) : ''
  return [short(execution_id), workflow_name, modeText(run_mode), stateOf(its), String(thread_count), date(started_at), took, ends]
}

/** Words the end of an open run for a table: `14:32, 12 min left`; empty where it cannot be foretold. */
export function endOf({ eta }: Pick<ExecutionSummary, 'eta'>): string {
  const now = Date.now() / 1000
  return typeof eta === 'number' ? `${clockTime(eta, now)}, ${timeLeft(eta - now)} left` : ''
}

type Sample = { group_id?: string | null | undefined; barcode?: string | null | undefined }

function timelineRow({
  thread_name,
  kind,
  name,
  device,
  from,
  to,
  transporter,
  status,
  created,
  started,
  ended,
  ...its
}: TimelineRow & Sample): string[] {
  const [what, by] = kind === 'move' ? [`${from} -> ${to}`, transporter] : [name, device]
  const sample = [its.barcode, its.group_id].filter(Boolean).join(', ')
  return [
    sample ? `${thread_name} (${sample})` : thread_name,
    what ?? '',
    by ?? '',
    status,
    String(created),
    String(started ?? ''),
    String(ended ?? ''),
  ]
}

function described(snapshot: ExecutionSnapshot, { plan, foretold }: { plan: string; foretold: string }): string {
  const { execution_id, workflow_name, workflow_version, run_mode, reason } = snapshot
  const version = workflow_version === undefined ? '' : `, version ${workflow_version}`
  const head = `${execution_id}  ${workflow_name}${version}  ${modeText(run_mode)}  ${stateOf(snapshot)}${reason ? `: ${reason}` : ''}`
  const stands = snapshot.threads.some(({ status }) => status === 'PAUSED')
  return [
    [head, ...(plan ? [`plan: ${plan}`] : []), ...(foretold ? [`forecast: ${foretold}`] : [])].join('\n'),
    threadTable(snapshot),
    ...(snapshot.groups.length > 0 ? [table(['GROUP', 'OUTCOME', 'THREADS'], snapshot.groups.map(groupRow))] : []),
    ...(snapshot.still_heating ? [['at its end:', ...stillHeating(snapshot.still_heating)].join('\n  ')] : []),
    ...(snapshot.not_done ? [['not done:', ...snapshot.not_done.map(notDoneText)].join('\n  ')] : []),
    ...(stands ? [`what to do: benchd runs why ${short(execution_id)}`] : []),
  ].join('\n\n')
}

/** Makes the table of threads, with their samples where there are any. */
function threadTable(snapshot: ExecutionSnapshot): string {
  const rows = threadRows(snapshot)
  if (!snapshot.threads.some(({ group_id, barcode }) => group_id !== null || (barcode ?? null) !== null))
    return table(['THREAD', 'NAME', 'STATUS', 'WHERE', 'WAITS FOR'], rows)
  const samples = snapshot.threads.map(({ group_id, barcode, labware }) => [group_id ?? '', barcode ?? labware?.barcode ?? ''])
  const wide = rows.map(([id = '', name = '', ...others], i) => [id, name, ...samples[i]!, ...others])
  return table(['THREAD', 'NAME', 'GROUP', 'BARCODE', 'STATUS', 'WHERE', 'WAITS FOR'], wide)
}

function groupRow({ group_id, outcome, open, ended }: GroupOutcome): string[] {
  const counts = Object.entries({ ...ended, ...(open > 0 && { open }) })
  return [group_id, outcome, counts.map(([status, count]) => `${count} ${status}`).join(', ')]
}

/** Words the place of labware; both places if its move was cut off: `pad_1 or in arm-1`. */
export function whereOf({ position, held_by }: { position: string | null; held_by: string | null }): string {
  return [position, held_by && `in ${held_by}`].filter(Boolean).join(' or ')
}
