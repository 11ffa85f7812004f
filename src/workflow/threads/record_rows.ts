// The rows that actions and moves leave in the record of their run, and what their last events say beside their names.

import type { RecordRow } from '../../events/run_record_file.ts'
import { isLabware } from '../state/labware.ts'
import type { WindowState } from '../state/run.ts'
import type { RunRecord } from '../state/run_record.ts'
import type { Carrier } from './carrier.ts'
import type { TimelineRow } from './timeline.ts'

/** An operation that an action began at its device. */
export type BegunOperation = { operation: string; params: Readonly<Record<string, unknown>>; operation_id: string | null }

/** An operation that a move began at its transporter. */
export type MoveOperation = { operation: string; operation_id: string; part: 'pick' | 'place' }

/** A value as the event of its action has it: `value` only if it is short. */
export type EventValue = { name: string; unit: string | null; value?: unknown }

/** `now` returns Unix time, s. */
type RecordedRun = { readonly record: RunRecord; readonly started_at: number; now(): number }

/** The longest JSON of all values in an event together; further ones are there by their names. */
const mostInEvent = 4096
/** The most operations in the row of an action, and the most names of values in an event. */
export const mostOperations = 100
const mostNames = 100

/** Adds the group and the barcode of the labware to the context of an event, as far as there are any. */
export function withSample<Its extends object>(context: Its, { labware, origin }: Pick<Carrier, 'labware' | 'origin'>): Its & Sample {
  const its: Its & Sample = context
  if (origin.group_id !== null) its.group_id = origin.group_id
  if (labware.barcode !== null) its.barcode = labware.barcode
  return its
}
type Sample = { group_id?: string; barcode?: string }

type LabwareMembers = { labware_id?: string; labware?: string; barcode?: string | null; group_id?: string | null; part?: string }

/** Returns the labware of a thread, as rows and events have it; for the operations of the run itself, their part. */
export function labwareIn({ labware, origin }: Pick<Carrier, 'labware' | 'origin'>): LabwareMembers {
  if (!isLabware(labware)) return { part: labware.template }
  return { labware_id: labware.labware_id, labware: labware.name, barcode: labware.barcode, group_id: origin.group_id }
}

type ActionParts = { owner: Carrier; others: readonly Carrier[]; operations: readonly BegunOperation[]; error: string | null }

export function addActionRow(run: RecordedRun, row: TimelineRow, { owner, others, operations, error }: ActionParts): void {
  if (!run.record.isKept) return
  run.record.add({
    ...beginning('action', row, owner),
    method_id: row.method_id,
    method_name: row.method_name,
    device_id: row.device,
    position: positionOf(row.device, owner),
    operations,
    ...(others.length > 0 && { others: others.map(labwareIn) }),
    ...times(run, row),
    error,
  })
}

/** Returns the position at the device where the labware stands; null if it is elsewhere. */
function positionOf(device: string | null, { environment, labware }: Carrier): string | null {
  const { graph } = environment.scheduler
  const position = environment.scheduler.whereIs(labware.labware_id)
  return device !== null && position !== undefined && graph.positions.get(position)?.device === device ? position : null
}

export function addMoveRow(run: RecordedRun, row: TimelineRow, thread: Carrier, operations: readonly MoveOperation[]): void {
  if (!run.record.isKept) return
  const { from, to, transporter } = row
  run.record.add({ ...beginning('move', row, thread), from, to, transporter, operations, ...times(run, row), error: thread.last_error })
}

/** Adds the row of a window that the labware missed. `before` is the action that began too late; null if none began. */
export function addWindowRow(run: RecordedRun, { after, allowed_s, until }: WindowState, thread: Carrier, before: string | null): void {
  const at = run.now()
  const took_s = before === null ? null : Math.round((at - until + allowed_s) * 1000) / 1000
  const whose = { thread_id: thread.thread_id, thread_name: thread.name, ...labwareIn(thread) }
  run.record.add({ kind: 'window_missed', at, ...whose, after, before, allowed_s, took_s })
}

function beginning(kind: 'action' | 'move', { action_id, name }: TimelineRow, thread: Carrier): RecordRow {
  const { thread_id, name: thread_name, origin } = thread
  return { kind, action_id, name, thread_id, thread_name, submission_id: origin.submission_id, ...labwareIn(thread) }
}

/** Returns the times of a row in Unix seconds, exact enough to find the milliseconds of the timeline again. */
function times({ started_at }: RecordedRun, { created, started, ended, status }: TimelineRow) {
  const unix = (seconds: number | null) => (seconds === null ? null : Math.round((started_at + seconds) * 1e6) / 1e6)
  return { created: unix(created), started: unix(started), ended: unix(ended), outcome: status }
}

/** Returns the row of a timeline from its row in the record, whose run began at `started_at` (Unix time, s). */
export function timelineRowOf(row: Readonly<Record<string, unknown>>, started_at: number): TimelineRow {
  const since = (unix: unknown) => (typeof unix === 'number' ? Math.round((unix - started_at) * 1000) / 1000 : null)
  const { kind, action_id, name, thread_id, thread_name, method_id, method_name, device_id, from, to, transporter, outcome } = row
  return {
    ...{ action_id, thread_id, thread_name, kind, name, method_id: method_id ?? null, method_name: method_name ?? null },
    ...{ device: device_id ?? null, from: from ?? null, to: to ?? null, transporter: transporter ?? null, status: outcome },
    ...{ created: since(row.created) ?? 0, started: since(row.started), ended: since(row.ended) },
  } as TimelineRow
}

/** An action or a move, in whose state its times are kept. */
type Timed = {
  readonly state: { created?: number | undefined; started?: number | undefined }
  set(times: { created: number; started?: number }): void
}

/** Keeps the times of a row in the state, from which a restart ends the row. */
export function keepTimes(run: Timed, { created, started }: TimelineRow): void {
  if (started !== null && started !== run.state.started) run.set({ created, started })
  else if (run.state.created === undefined) run.set({ created })
}

/** Returns the values for an event, in so far as they fit; the rest by name. */
export function inEvent(values: readonly EventValue[]): { values: EventValue[] } | undefined {
  if (values.length === 0) return undefined
  let room = mostInEvent
  return {
    values: values.slice(0, mostNames).map(({ name, unit, value }) => {
      const length = value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
      if (value === undefined || length > room) return { name, unit }
      room -= length
      return { name, unit, value }
    }),
  }
}

type Units = Readonly<Record<string, string>>

/** The members of an operation's data as values. A member with a `value` and a `unit` has that unit, any other that of `units`. */
export function valuesIn(
  data: unknown,
  units: Units = {},
): { name: string; value: unknown; unit: string | null; shape: number[] | null }[] {
  if (data === undefined || data === null) return []
  const members = typeof data === 'object' && !Array.isArray(data) ? Object.entries(data) : [['value', data] as const]
  return members.map(([name, member]) => {
    const { value, unit = Object.hasOwn(units, name) ? units[name]! : null } = withUnit(member)
    return { name, value, unit, shape: shapeOf(value) }
  })
}

function withUnit(member: unknown): { value: unknown; unit?: string } {
  if (typeof member === 'object' && member !== null && 'value' in member && 'unit' in member && typeof member.unit === 'string')
    return { value: member.value, unit: member.unit }
  return { value: member }
}

/** Returns the lengths of nested arrays, of the outermost first; null for a value that is no array. */
function shapeOf(value: unknown): number[] | null {
  if (!Array.isArray(value)) return null
  const [first] = value
  const inner = value.every((item) => Array.isArray(item) && item.length === (first as unknown[]).length) ? shapeOf(first) : null
  return [value.length, ...(inner ?? [])]
}
