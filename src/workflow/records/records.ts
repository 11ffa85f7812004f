// The records of executions, submissions and threads: kept in memory, and passed row by row to the file of records.

import * as v from 'valibot'
import { ExecutionLifecycleContext } from '../../events/contexts.ts'
import type { Submission } from '../runs/submission.ts'
import { runModes } from '../state/modes.ts'
import { isTerminal, type ThreadStatus, threadTransitions } from '../state/statuses.ts'
import { Group, requestHash, SubmissionRequest } from '../state/submission_request.ts'
import { LabwareIndex } from './labware_index.ts'

const UnixSeconds = v.pipe(v.number(), v.description('Unix time'), v.metadata({ unit: 's' }))
const MaybeUnixSeconds = v.pipe(v.nullable(v.number()), v.description('Unix time'), v.metadata({ unit: 's' }))
const MaybeText = v.nullable(v.string())
/** The versions that a run names. */
export const Versions = {
  workflow_version: v.optional(v.pipe(v.number(), v.description('The version of the workflow; absent where none was kept'))),
  topology_version: v.optional(v.pipe(v.number(), v.description('The version of the topology; absent where none was kept'))),
}

export const endings = ['COMPLETED', 'FAILED', 'ABORTED'] as const
export type EndStatus = (typeof endings)[number]
export const recordStatuses = ['IN_PROGRESS', ...endings] as const

const threadStatuses = Object.keys(threadTransitions) as ThreadStatus[]

export const ThreadRecord = v.strictObject({
  thread_id: v.string(),
  execution_id: v.string(),
  thread_name: v.string(),
  template_name: v.string(),
  submission_id: MaybeText,
  group_id: MaybeText,
  status: v.picklist(threadStatuses),
  since: v.pipe(v.number(), v.description('When it came to this status, Unix time'), v.metadata({ unit: 's' })),
  pause_reason: v.nullable(v.picklist(['manual', 'system', 'error'])),
  last_error: MaybeText,
  labware_id: v.optional(v.pipe(v.string(), v.description('Its labware; absent in records of earlier versions'))),
  barcode: v.optional(v.pipe(MaybeText, v.description('The barcode of its labware, as far as it was read'))),
  part: v.optional(v.pipe(v.picklist(['before', 'after']), v.description('Of the operations of the run itself; absent for labware'))),
})
export type ThreadRecord = v.InferOutput<typeof ThreadRecord>

export const SubmissionRecord = v.strictObject({
  submission_id: v.string(),
  execution_id: v.string(),
  workflow_name: v.string(),
  workflow_version: Versions.workflow_version,
  run_mode: v.picklist(runModes),
  batch_mode: v.picklist(['STANDALONE', 'JOIN_EXISTING']),
  group_ids: v.array(Group.entries.group_id),
  variables: v.record(v.string(), v.unknown()),
  operator_id: MaybeText,
  submitted_at: UnixSeconds,
  status: v.picklist(recordStatuses),
  reason: v.pipe(MaybeText, v.description('Why it ended as it did, where that is not COMPLETED')),
  ended_at: MaybeUnixSeconds,
  request_sha256: v.optional(v.pipe(v.string(), v.description('SHA-256 of the request, where its caller chose the id'))),
  project: SubmissionRequest.entries.project,
  tags: SubmissionRequest.entries.tags,
  notes: SubmissionRequest.entries.notes,
})
export type SubmissionRecord = v.InferOutput<typeof SubmissionRecord>

/** The record of an execution without its submissions and threads. */
export const ExecutionRow = v.strictObject({
  execution_id: v.string(),
  workflow_name: v.string(),
  workflow_hash: v.pipe(v.string(), v.description('SHA-256 of the workflow as it was')),
  workflow_version: Versions.workflow_version,
  topology: v.string(),
  topology_version: Versions.topology_version,
  run_mode: v.picklist(runModes),
  status: v.picklist(recordStatuses),
  reason: v.pipe(MaybeText, v.description('Why it ended as it did, where that is not COMPLETED')),
  started_at: UnixSeconds,
  ended_at: MaybeUnixSeconds,
  still_heating: ExecutionLifecycleContext.entries.still_heating,
  not_done: ExecutionLifecycleContext.entries.not_done,
})
export type ExecutionRow = v.InferOutput<typeof ExecutionRow>

const groupOutcomes = ['IN_PROGRESS', 'COMPLETED', 'FAILED', 'ABORTED'] as const
type GroupEnd = (typeof groupOutcomes)[number]

export const GroupOutcome = v.strictObject({
  submission_id: v.string(),
  group_id: v.string(),
  outcome: v.pipe(
    v.picklist(groupOutcomes),
    v.description('FAILED: a thread of it failed; ABORTED: none did, and one was aborted or stopped; COMPLETED: all are COMPLETED'),
  ),
  open: v.pipe(v.number(), v.description('Its threads that have not ended')),
  ended: v.pipe(v.record(v.string(), v.number()), v.description('How many of its threads ended how')),
})
export type GroupOutcome = v.InferOutput<typeof GroupOutcome>

/** A line of the file; the last one of each id is valid. */
export const Row = v.variant('kind', [
  v.strictObject({ kind: v.literal('execution'), ...ExecutionRow.entries }),
  v.strictObject({ kind: v.literal('submission'), ...SubmissionRecord.entries }),
  v.strictObject({ kind: v.literal('thread'), ...ThreadRecord.entries }),
  v.strictObject({ kind: v.literal('removed'), execution_id: v.string() }),
  v.strictObject({ kind: v.literal('withdrawn'), submission_id: v.string() }),
])
export type Row = v.InferOutput<typeof Row>

/** `ended_at` may be the time of an event, which a wrong clock may have set before the beginning. */
type Ending = { status: EndStatus; reason: string | null; ended_at: number }
type ExecutionEnding = Ending & Pick<ExecutionRow, 'still_heating' | 'not_done'>

/** The receiver of records. The runtime calls it synchronously, so slow work has to be deferred. */
export interface RecordStore {
  /** Called for an accepted submission; the first one begins the execution. */
  accepted(execution: ExecutionRow, submission: SubmissionRecord): void
  /** Called for a new thread, and for each new status. */
  thread(record: ThreadRecord): void
  submissionEnded(execution_id: string, submission_id: string, ending: Ending): void
  executionEnded(execution_id: string, ending: ExecutionEnding): void
}

/** A changed row. Rows are never modified, only replaced. */
export type Change =
  | { kind: 'execution'; record: ExecutionRow }
  | { kind: 'submission'; record: SubmissionRecord }
  | { kind: 'thread'; record: ThreadRecord }
  | { kind: 'removed'; record: { execution_id: string } }
  | { kind: 'withdrawn'; record: { submission_id: string } }

type Held = { execution: ExecutionRow; submissions: Map<string, SubmissionRecord>; threads: Map<string, ThreadRecord> }

/** The most ended executions that are kept, the newest ones, and the most threads; those of the newest execution are always kept. */
const mostEnded = 1000
/** The most ended runs in PURE_SIM for which there is room at the expense of other runs. */
const mostPure = 100
const mostThreads = 10_000
/** The most ids of withdrawn submissions that are kept, the newest. */
const mostWithdrawn = 1000

export class Records implements RecordStore {
  /** The executions in the order of acceptance. */
  readonly #executions = new Map<string, Held>()
  readonly #executionOf = new Map<string, string>()
  readonly #labware = new LabwareIndex()
  /** Submissions that were withdrawn before they arrived. */
  readonly #withdrawn = new Set<string>()
  readonly #changed: (change: Change) => void

  constructor(changed: (change: Change) => void = () => {}) {
    this.#changed = changed
  }

  /**
   * Loads stored rows in their order. Rows before that of their execution wait for it, because earlier versions wrote the
   * row of a short run after those of its submissions. Rows without an execution are skipped.
   */
  static of(rows: readonly Row[], changed: (change: Change) => void): Records {
    const records = new Records(changed)
    const early = new Map<string, Change[]>()
    for (const { kind, ...record } of rows) records.#takeUp({ kind, record } as Change, early)
    return records
  }

  #takeUp(change: Change, early: Map<string, Change[]>): void {
    const { kind, record } = change
    const execution_id = kind === 'withdrawn' ? '' : record.execution_id
    const waiting = early.get(execution_id) ?? []
    if ((kind === 'submission' || kind === 'thread') && !this.#executions.has(execution_id)) {
      waiting.push(change)
      early.set(execution_id, waiting)
    } else {
      this.take(change)
      early.delete(execution_id)
      if (kind === 'execution') for (const one of waiting) this.take(one)
    }
  }

  /** Adds a row; skips one of an unknown execution. */
  take({ kind, record }: Change): void {
    if (kind === 'withdrawn') {
      this.#refuse(record.submission_id)
      return
    }
    const held = this.#executions.get(record.execution_id)
    if (kind === 'removed') this.#forget(record.execution_id)
    else if (kind === 'thread') this.#put(held, record)
    else if (kind === 'submission') this.#submit(record)
    else if (held) held.execution = record
    else this.#executions.set(record.execution_id, { execution: record, submissions: new Map(), threads: new Map() })
  }

  /** The number of rows. */
  get size(): number {
    let size = this.#withdrawn.size
    for (const { submissions, threads } of this.#executions.values()) size += 1 + submissions.size + threads.size
    return size
  }

  /** Returns all rows as changes. */
  all(): Change[] {
    const withdrawn = [...this.#withdrawn].map((submission_id): Change => ({ kind: 'withdrawn', record: { submission_id } }))
    const held = [...this.#executions.values()].flatMap(({ execution, submissions, threads }): Change[] => [
      { kind: 'execution', record: execution },
      ...[...submissions.values()].map((record): Change => ({ kind: 'submission', record })),
      ...[...threads.values()].map((record): Change => ({ kind: 'thread', record })),
    ])
    return [...withdrawn, ...held]
  }

  /** Lists the executions, the newest first. */
  executions(): ExecutionRow[] {
    return [...this.#executions.values()].map(({ execution }) => execution).reverse()
  }

  /** Lists the executions that had labware with this barcode or id, the newest first. */
  runsWith(labware: string): ExecutionRow[] {
    return this.#labware
      .runsWith(labware)
      .flatMap((execution_id) => this.execution(execution_id) ?? [])
      .sort((a, b) => b.started_at - a.started_at)
  }

  execution(execution_id: string): ExecutionRow | undefined {
    return this.#executions.get(execution_id)?.execution
  }

  /** Lists the threads in the order of their arrival. */
  threads(execution_id: string): ThreadRecord[] {
    return [...(this.#executions.get(execution_id)?.threads.values() ?? [])]
  }

  threadRow(execution_id: string, thread_id: string): ThreadRecord | undefined {
    return this.#executions.get(execution_id)?.threads.get(thread_id)
  }

  submissionsOf(execution_id: string): SubmissionRecord[] {
    return [...(this.#executions.get(execution_id)?.submissions.values() ?? [])]
  }

  /** Lists the submissions, the newest first. */
  submissions(): SubmissionRecord[] {
    const all = [...this.#executions.values()].flatMap(({ submissions }) => [...submissions.values()])
    return all.sort((a, b) => b.submitted_at - a.submitted_at)
  }

  submission(submission_id: string): SubmissionRecord | undefined {
    return this.#executions.get(this.#executionOf.get(submission_id) ?? '')?.submissions.get(submission_id)
  }

  isWithdrawn(submission_id: string): boolean {
    return this.#withdrawn.has(submission_id)
  }

  /** Notes that a submission with this id must not begin any more. */
  withdraw(submission_id: string): void {
    if (!this.#withdrawn.has(submission_id)) this.#keep({ kind: 'withdrawn', record: { submission_id } })
  }

  /** Returns the outcomes of each group's threads. */
  groups(execution_id: string): GroupOutcome[] {
    const found = new Map<string, GroupOutcome>()
    for (const { submission_id, group_ids } of this.submissionsOf(execution_id)) {
      for (const group_id of group_ids)
        found.set(`${submission_id} ${group_id}`, { submission_id, group_id, outcome: 'IN_PROGRESS', open: 0, ended: {} })
    }
    for (const { submission_id, group_id, status } of this.threads(execution_id)) {
      const group = found.get(`${submission_id} ${group_id}`)
      if (!group) continue
      if (isTerminal(threadTransitions, status)) group.ended[status] = (group.ended[status] ?? 0) + 1
      else group.open++
    }
    const { status = 'IN_PROGRESS' } = this.execution(execution_id) ?? {}
    return [...found.values()].map((group) => ({ ...group, outcome: outcomeOf(group, status) }))
  }

  accepted(execution: ExecutionRow, submission: SubmissionRecord): void {
    if (!this.#executions.has(execution.execution_id)) this.#keep({ kind: 'execution', record: execution })
    this.#keep({ kind: 'submission', record: submission })
  }

  thread(record: ThreadRecord): void {
    const held = this.#executions.get(record.execution_id)
    if (!held) return
    // The origin and the labware of a thread do not change.
    const { submission_id, group_id, ...labware } = held.threads.get(record.thread_id) ?? record
    const origin = record.submission_id === null ? { submission_id, group_id } : {}
    const { labware_id, barcode } = labware
    const known = record.labware_id === undefined && labware_id !== undefined ? { labware_id, barcode: barcode ?? null } : {}
    this.#keep({ kind: 'thread', record: { ...record, ...origin, ...known } })
  }

  submissionEnded(execution_id: string, submission_id: string, ending: Ending): void {
    const submission = this.#executions.get(execution_id)?.submissions.get(submission_id)
    if (!submission) return
    this.#keep({ kind: 'submission', record: { ...submission, ...ending, ended_at: Math.max(ending.ended_at, submission.submitted_at) } })
  }

  executionEnded(execution_id: string, ending: ExecutionEnding): void {
    const held = this.#executions.get(execution_id)
    if (!held) return
    this.#keep({
      kind: 'execution',
      record: { ...held.execution, ...ending, ended_at: Math.max(ending.ended_at, held.execution.started_at) },
    })
    this.#forgetOldest()
  }

  /** Removes an execution. */
  remove(execution_id: string): void {
    if (this.#executions.has(execution_id)) this.#keep({ kind: 'removed', record: { execution_id } })
  }

  #keep(change: Change): void {
    this.take(change)
    this.#changed(change)
  }

  #put(held: Held | undefined, thread: ThreadRecord): void {
    if (!held) return
    held.threads.set(thread.thread_id, thread)
    this.#labware.add(thread)
  }

  #submit(submission: SubmissionRecord): void {
    const held = this.#executions.get(submission.execution_id)
    if (!held) return
    held.submissions.set(submission.submission_id, submission)
    this.#executionOf.set(submission.submission_id, submission.execution_id)
  }

  #refuse(submission_id: string): void {
    this.#withdrawn.add(submission_id)
    const [oldest] = this.#withdrawn
    if (this.#withdrawn.size > mostWithdrawn) this.#withdrawn.delete(oldest!)
  }

  #forget(execution_id: string): void {
    const held = this.#executions.get(execution_id)
    for (const submission_id of held?.submissions.keys() ?? []) this.#executionOf.delete(submission_id)
    this.#labware.remove(execution_id, held?.threads.values() ?? [])
    this.#executions.delete(execution_id)
  }

  #forgetOldest(): void {
    const all = [...this.#executions.values()].filter(({ execution }) => execution.ended_at !== null)
    // Runs in simulated time, which leave nothing to show later, go before others; the newest of them stay as long as any run.
    const pure = new Set(all.filter(({ execution }) => execution.run_mode === 'PURE_SIM').slice(0, -mostPure))
    const ended = [...pure, ...all.filter((held) => !pure.has(held))]
    let threads = ended.reduce((sum, held) => sum + held.threads.size, 0)
    for (const [i, held] of ended.entries()) {
      const left = ended.length - i
      if (left <= mostEnded && (threads <= mostThreads || left === 1)) return
      threads -= held.threads.size
      this.remove(held.execution.execution_id)
    }
  }
}

/** Makes the record of a new submission. */
export function submissionRow({
  submission_id,
  execution_id,
  request,
  submitted_at,
}: Pick<Submission, 'submission_id' | 'execution_id' | 'request' | 'submitted_at'>): SubmissionRecord {
  const { workflow, run_mode, batch_mode, groups, variables, operator_id, project, tags, notes } = request
  const chosen = request.submission_id !== undefined && { request_sha256: requestHash(request) }
  const group_ids = groups.map(({ group_id }) => group_id)
  const asked = { workflow_name: workflow, run_mode, batch_mode, group_ids, variables, operator_id }
  const described = { ...(project !== undefined && { project }), ...(tags && { tags }), ...(notes !== undefined && { notes }) }
  return {
    submission_id,
    execution_id,
    ...asked,
    ...described,
    submitted_at,
    status: 'IN_PROGRESS',
    reason: null,
    ended_at: null,
    ...chosen,
  }
}

/** Returns the outcome of a group; without threads it is that of the execution. */
function outcomeOf({ open, ended }: Pick<GroupOutcome, 'open' | 'ended'>, execution: GroupEnd): GroupEnd {
  if (open > 0) return 'IN_PROGRESS'
  if (ended.FAILED) return 'FAILED'
  if (ended.ABORTED || ended.STOPPED) return 'ABORTED'
  return ended.COMPLETED ? 'COMPLETED' : execution
}
