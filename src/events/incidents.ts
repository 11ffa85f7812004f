// Incidents: failures that a person has to know of. Each is an event, and a record with all its detail that outlasts a restart.

import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import type { Author } from '../kit/author.ts'
import type { Clock } from '../kit/clock.ts'
import { flatId } from '../kit/flat_id.ts'
import type { Report } from '../kit/json_file.ts'
import { LineFile } from '../kit/json_lines.ts'
import { WriteBehind } from '../kit/write_behind.ts'
import { IncidentContext } from './contexts.ts'

const incidentCategories = [
  'VARIABLE_RESOLUTION',
  'VARIABLE_VALIDATION',
  'CO_LABWARE_TIMEOUT',
  'AUTO_SPAWN_FAILED',
  'BARCODE_MISMATCH',
  'RESERVATION_DEADLOCK',
  'UNRESOLVABLE_DEADLOCK',
  'RECOVERABLE_TIMEOUT',
  'ACTION_FAILED',
  'ACTION_CONTINUED',
  'ACTION_REDIRECTED',
  'MOVE_FAILED',
  'MOVE_CONTINUED',
  'DEVICE_INIT_FAILED',
  'DEVICE_BUSY_EXHAUSTED',
  'PLUGIN_HANDLER_EXCEPTION',
  'EVENT_HANDLER_EXCEPTION',
  'UNRESOLVED_ANCHOR_INSERT',
  'SYSTEM_STALL',
  'ORPHANED_BACKLOG',
  'THREAD_DIED',
  'DECK_RECONCILE_CONFLICT',
  'LEDGER_CONTRADICTED',
  'STORAGE',
  'CLOCK',
  'POWER',
  'EVENT_FLOOD',
  'WINDOW_MISSED',
  'DEVICE_LINK',
  'OTHER',
] as const
export type IncidentCategory = (typeof incidentCategories)[number]

const recoveryActions = [
  'THREAD_RECOVER_RETRY',
  'THREAD_RECOVER_RETRY_OP',
  'THREAD_RECOVER_ABORT',
  'PLUGIN_DISABLE',
  'MANUAL_SPAWN',
  'RESTART_EXECUTION',
  'RESUME_EXECUTION',
  'NONE',
] as const

export const Incident = v.strictObject({
  ...IncidentContext.entries,
  category: v.picklist(incidentCategories),
  severity: v.picklist(['INFO', 'WARNING', 'ERROR', 'CRITICAL']),
  recovery_action: v.picklist(recoveryActions),
  detail: v.pipe(v.record(v.string(), v.unknown()), v.description('The members of this category')),
  timestamp: v.pipe(v.number(), v.description('Unix time of its event'), v.metadata({ unit: 's' })),
  acknowledged: v.pipe(
    v.nullable(v.strictObject({ by: v.string(), operator: v.optional(v.string()), timestamp: v.number() })),
    v.description('Only marks it'),
  ),
  solved: v.optional(
    v.pipe(
      v.strictObject({ by: v.string(), operator: v.optional(v.string()), timestamp: v.number(), text: v.string() }),
      v.description('The person who decided about the failure, the time, and the decision; absent while nobody has decided'),
    ),
  ),
})
export type Incident = v.InferOutput<typeof Incident>

export type NewIncident = Pick<Incident, 'category' | 'message'> &
  Partial<Pick<Incident, 'severity' | 'recovery_action' | 'execution_id' | 'thread_id' | 'detail'>> & {
    /** Not forgotten before it is acknowledged, however many come after it; for what happens once in a start. */
    stays?: true
  }

type IncidentsOptions = {
  path: string
  clock: Clock
  /** Fires the event and returns its time. */
  emit(context: IncidentContext): number
  /** Unix time, seconds. */
  now(): number
  warn(message: string): void
  /** Is called when the file is found damaged. */
  report: Report
}

/** The newest are kept; older ones remain as events only. */
const mostKept = 1000

export class Incidents {
  readonly #options: IncidentsOptions
  readonly #file: LineFile<Incident>
  readonly #behind: WriteBehind
  readonly #incidents = new Map<string, Incident>()
  /** The incidents among them that are not on the card yet. */
  readonly #unwritten = new Set<Incident>()
  readonly #staying = new Set<string>()

  /** Takes up what the file has; lines that are damaged are passed over. Rejects with `config` for a newer format. */
  static async open(options: IncidentsOptions): Promise<Incidents> {
    const incidents = new Incidents(options)
    await incidents.#load()
    return incidents
  }

  private constructor(options: IncidentsOptions) {
    const { path, clock, report, warn } = options
    const loss = 'incidents may be missing, or be no longer acknowledged; the event log has each one as an event'
    this.#options = options
    this.#file = new LineFile({ path, schema: Incident, report, loss })
    this.#behind = new WriteBehind({ clock, write: () => this.#write(), onFailure: (error) => warn(messageOf(error)) })
  }

  /** Records and fires it. The file is written soon after; the event itself is synced before it is shown. */
  record(wanted: NewIncident): Incident {
    const { category, message, severity = 'ERROR', recovery_action = 'NONE', execution_id = null, thread_id = null, detail = {} } = wanted
    const context = { incident_id: flatId(), category, severity, message, recovery_action, execution_id, thread_id }
    const incident: Incident = { ...context, detail, timestamp: this.#options.emit(context), acknowledged: null }
    if (wanted.stays) this.#staying.add(incident.incident_id)
    this.#keep(incident)
    return incident
  }

  /** The newest first. */
  list(): Incident[] {
    return [...this.#incidents.values()].reverse()
  }

  /** Undefined where it is not kept, or not any more. */
  find(incident_id: string): Incident | undefined {
    return this.#incidents.get(incident_id)
  }

  /** Throws `not_found`. */
  get(incident_id: string): Incident {
    const incident = this.find(incident_id)
    if (!incident) throw new LabError('not_found', `there is no incident ${incident_id}; the newest ${mostKept} are kept`)
    return incident
  }

  /** Marks it as seen; on the card when this resolves. A second time changes nothing. */
  async acknowledge(incident_id: string, author: Pick<Author, 'operator'> & { by: string }): Promise<Incident> {
    const incident = this.get(incident_id)
    if (incident.acknowledged) return incident
    const acknowledged: Incident = { ...incident, acknowledged: { ...author, timestamp: this.#options.now() } }
    this.#staying.delete(incident_id)
    this.#keep(acknowledged)
    await this.written()
    return acknowledged
  }

  /** Notes a decision about the failures that these incidents report, unless one was noted before. */
  solve(isIts: (incident: Incident) => boolean, decision: { by: string; operator?: string; text: string }): void {
    const solved = { ...decision, timestamp: this.#options.now() }
    for (const incident of this.list())
      if (!incident.solved && !incident.acknowledged && isIts(incident)) this.#keep({ ...incident, solved })
  }

  /** Forgets those of an execution, when the execution itself is removed; on the card when this resolves. Rejects with `storage`. */
  async remove(execution_id: string): Promise<void> {
    const isIts = (incident: Incident) => incident.execution_id === execution_id
    if (!this.list().some(isIts)) return
    await this.#behind.run(async () => {
      await this.#file.begin([...this.#incidents.values()].filter((incident) => !isIts(incident))).catch(reject)
      for (const incident of this.list().filter(isIts)) this.#forget(incident.incident_id, incident)
    })
  }

  /** Writes what waits, if that can be, and nothing afterwards. */
  close(): Promise<void> {
    return this.#behind.close(() => this.#file.close())
  }

  /** Whether all is on the card. */
  get isWritten(): boolean {
    return this.#unwritten.size === 0
  }

  /** Resolves when all is on the card. Rejects with `storage` when that cannot be. */
  written(): Promise<void> {
    return this.#behind.now()
  }

  #keep(incident: Incident): void {
    const before = this.#incidents.get(incident.incident_id)
    if (before) this.#unwritten.delete(before)
    this.#incidents.set(incident.incident_id, incident)
    this.#unwritten.add(incident)
    for (const [id, oldest] of this.#incidents) {
      if (this.#incidents.size <= mostKept) break
      if (!this.#staying.has(id)) this.#forget(id, oldest)
    }
    void this.#behind.settled()
  }

  #forget(incident_id: string, incident: Incident): void {
    this.#incidents.delete(incident_id)
    this.#unwritten.delete(incident)
  }

  /** Appends the new incidents to the file. A failed write is repeated with the next one. */
  async #write(): Promise<void> {
    const written = [...this.#unwritten]
    if (written.length === 0) return
    await this.#file.write(written, { isSynced: true, all: () => [...this.#incidents.values()] }).catch(reject)
    for (const incident of written) this.#unwritten.delete(incident)
  }

  async #load(): Promise<void> {
    const newest = new Map((await this.#file.read()).map((incident) => [incident.incident_id, incident]))
    for (const [id, incident] of [...newest].slice(-mostKept)) this.#incidents.set(id, incident)
  }
}

function reject(error: unknown): never {
  throw new LabError('storage', `incidents could not be written down: ${messageOf(error)}`, { cause: error, retry_after_s: 5 })
}
