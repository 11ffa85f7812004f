// The log of a run in the words of an operator, from the rows of its record.

import { moveIn, stepIn } from '../clients/ts/event_words.ts'
import { authorText, duration, onPage, sentence } from './words.ts'

type Row = Readonly<Record<string, unknown>>

/** `at` in Unix seconds. `action_id` leads to the step. */
export type LogEntry = { id: string; at: number; text: string; tone?: 'bad' | 'decision' | undefined; action_id?: string | undefined }

/** Formats a value as `od 0.52 AU`; a long one only by its name. */
function valueWords({ name, value, unit }: Row): string {
  if (value === undefined || typeof value === 'object') return String(name)
  return `${name} ${value}${unit ? ` ${unit}` : ''}`
}

/** Returns the name of the plate in the log: its thread, and its barcode where it has one. */
export function plateOf({ thread_name, barcode }: Row): string {
  return [thread_name, barcode].filter(Boolean).join(' ')
}

type Operation = { operation: string; params: Row }

/** Words an action of the record: `shaking on shaker-1, 500 rpm, 5 s`. */
export function actionWords({ name, device_id, operations, outcome }: Row): string {
  if (outcome === 'SKIPPED') return `${name} was left out`
  const done = (operations ?? []) as readonly Operation[]
  if (done.length === 0) return `${name}${device_id ? ` on ${device_id}` : ''}`
  return done.map(({ operation, params }) => stepIn({ device_id, action_name: name, operation, params })).join('; ')
}

/** Words a move of the record: `moved from pad_1 to shaker_in by arm-1`; one that was not done as `move from …`. */
export function moveWords(row: Row): string {
  const { from, to, transporter } = row
  const words = moveIn({ from, to, device_id: transporter })
  return isBad(row) ? words.replace('moved', 'move') : words
}

/** Returns the end of the words of a step: the reason if it failed, and no incident says so. */
function outcomeWords({ outcome, error }: Row, incidents: string): string {
  if (outcome === 'ERRORED') {
    const isTold = !error || incidents.includes(String(error).replace(/\.$/, ''))
    return isTold ? '; failed' : `; failed: ${onPage(String(error))}`
  }
  return outcome === 'ABORTED' ? '; aborted' : ''
}

const isBad = ({ outcome }: Row) => outcome === 'ERRORED' || outcome === 'ABORTED'
const author = ({ by, operator }: Row) => authorText(by as string | null, operator as string | undefined)

type Words = { text: string; at?: unknown; tone?: LogEntry['tone'] }

/** The words of each kind of row; kinds that are not here belong to no operator. `incidents` are the messages of all incidents. */
const words: Record<string, (row: Row, incidents: string) => Words | undefined> = {
  submission: (row) => ({ text: `${row['workflow']} was submitted by ${author(row)}` }),
  action(row, incidents) {
    const done = row['operations'] as readonly unknown[]
    // Steps of the engine alone, such as an event, are seen with the engine states.
    if (row['device_id'] === null && done.length === 0 && !isBad(row)) return undefined
    return {
      text: `${plateOf(row)}: ${actionWords(row)}${outcomeWords(row, incidents)}`,
      at: row['started'] ?? row['created'],
      tone: isBad(row) ? 'bad' : undefined,
    }
  },
  move: (row, incidents) => ({
    text: `${plateOf(row)}: ${moveWords(row)}${outcomeWords(row, incidents)}`,
    at: row['started'] ?? row['created'],
    tone: isBad(row) ? 'bad' : undefined,
  }),
  incident: (row) => ({ text: sentence(String(row['message'])), tone: row['severity'] === 'INFO' ? undefined : 'bad' }),
  decision: (row) => ({ text: `${onPage(String(row['text']))}, by ${author(row)}`, tone: 'decision' }),
  note: (row) => ({ text: `Note by ${author(row)}: ${row['text']}`, tone: 'decision' }),
  file: (row) => ({ text: `The file ${row['name']} was attached${row['by'] ? ` by ${author(row)}` : ''}` }),
  condition: (row) => ({ text: `${plateOf(row)}: ${row['text']}` }),
  wait: (row) => ({
    text: `${plateOf(row)}: waited ${duration(Number(row['ended'] ?? row['at']) - Number(row['began'] ?? row['at']))}${row['outcome'] ? `, ${row['outcome']}` : ''}`,
    at: row['began'],
  }),
  window_missed: (row) => ({
    text: `${plateOf(row)}: began too late after ${row['after']}: ${row['allowed_s']} s were allowed`,
    tone: 'bad',
  }),
  plan: ({ reason, makespan_s }) => ({
    text: `${reason === 'came' ? 'A plan was made' : `The plan was made anew, because ${planReasons[String(reason)] ?? reason}`}: all labware is done in ${duration(Number(makespan_s))}`,
  }),
  not_done: ({ part, operation, on, reason }) => ({
    text: `Not done ${part} the run: ${operation} of ${on}. ${sentence(String(reason))}`,
    tone: 'bad',
  }),
  gap: () => ({ text: 'Rows before this one are missing', tone: 'bad' }),
  ended: (row) => ({ text: endWords(row), tone: row['status'] === 'COMPLETED' ? undefined : 'bad' }),
}

/** The reasons for which a plan is made anew. */
const planReasons: Readonly<Record<string, string>> = {
  off_time: 'labware was early or late',
  held: 'labware was held or went on',
  deadlock: 'labware waited for each other',
  priority: 'a run got another priority',
}

function endWords({ status, reason }: Row): string {
  if (status === 'COMPLETED') return 'The run has completed'
  return `The run ${status === 'ABORTED' ? 'was aborted' : 'failed'}${reason ? `: ${onPage(String(reason))}` : ''}`
}

/** Returns the entries of a record, the oldest first. The values that an operation gave stand in the entry of its action. */
export function entriesOf(rows: readonly Row[]): LogEntry[] {
  const values = new Map<unknown, string[]>()
  for (const row of rows) {
    if (row['kind'] !== 'value') continue
    values.set(row['action_id'], [...(values.get(row['action_id']) ?? []), valueWords(row)])
  }
  const incidents = rows.flatMap(({ kind, message }) => (kind === 'incident' ? String(message) : [])).join('\n')
  const entries = rows.flatMap((row, i): LogEntry[] => {
    const found = words[String(row['kind'])]?.(row, incidents)
    if (!found) return []
    const { text, at = row['at'], tone } = found
    const action_id = row['kind'] === 'action' || row['kind'] === 'move' ? String(row['action_id']) : undefined
    const given = (action_id && values.get(action_id)) || []
    return [{ id: `${i} ${at}`, at: Number(at), text: given.length ? `${text} → ${given.join(', ')}` : text, tone, action_id }]
  })
  return entries.sort((one, other) => one.at - other.at)
}
