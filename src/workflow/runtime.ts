// The workflow runtime: the loaded topology, the runs on it, and the operations on them.

import { LabError, messageOf } from '../errors.ts'
import { InProcessEvents } from '../events/in_process.ts'
import type { Sink } from '../events/sinks.ts'
import { type Author, nobody } from '../kit/author.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import { flatId } from '../kit/flat_id.ts'
import { Admission, unbounded } from './admission.ts'
import { DryRuns } from './dry_runs.ts'
import { KnownRuns } from './known_runs.ts'
import { compileWorkflow } from './plans/compile.ts'
import type { Library } from './plans/library.ts'
import type { Workflow } from './plans/plan.ts'
import type { Topology } from './plans/topology.ts'
import { Records, type SubmissionRecord } from './records/records.ts'
import { restoreRecord } from './records/run_records.ts'
import { ExecutionTrackingSink } from './records/tracking_sink.ts'
import { restore } from './recovery/restore.ts'
import { RunEnvironments } from './run_environments.ts'
import { addDecision, lateDecisionIn } from './runs/decision.ts'
import { Execution, type RunContext } from './runs/execution.ts'
import { Operator } from './runs/operator.ts'
import { barcodesMustBeFree, checkSubmission, openRunFor, startsMustBeFree } from './runs/submission_check.ts'
import { addSubmissionRow } from './runs/submission_row.ts'
import type { RuntimeOptions } from './runtime_options.ts'
import { withSamples } from './samples.ts'
import { StandingLabwareStore } from './standing_labware.ts'
import type { Checkpoint } from './state/run.ts'
import type { SubmissionBody } from './state/submission_request.ts'
import { submittedBefore } from './submission_ids.ts'
import type { OperatorVerdict } from './threads/action/late_calls.ts'
import type { TaskAnswer } from './threads/move/carry_task.ts'
import type { LabwareThread } from './threads/thread.ts'
import { leftOn, type PlacedLabware, placedLabware, relocate } from './whereabouts.ts'

type Forced = { force?: boolean | undefined; author?: Author | undefined }

export class Runtime extends InProcessEvents {
  readonly #options: RuntimeOptions
  readonly #around: RunContext
  readonly #admission: Admission
  readonly operator: Operator
  readonly records: Records
  readonly #tracking: Sink
  library: Library
  readonly environments: RunEnvironments
  readonly standing: StandingLabwareStore
  readonly runs = new KnownRuns()
  readonly dryRuns: DryRuns
  readonly #idle = new Map<string, () => void>()
  #isClosing = false

  constructor(options: RuntimeOptions) {
    super(options.hub)
    this.#options = options
    this.library = options.library
    this.#admission = new Admission(options.admission ?? unbounded, () => this.runs.open())
    this.environments = new RunEnvironments({ ...options, newId: () => this.#newId() }, () => this.runs.open())
    this.dryRuns = new DryRuns({
      bench: options.bench,
      admission: this.#admission,
      environments: this.environments,
      workflow: (name) => this.workflow(name),
    })
    this.standing = new StandingLabwareStore({
      environments: this.environments,
      store: options.storeStanding ?? (async () => {}),
      untilStored: (work) => this.#untilStored(work),
      lost: options.lost ?? (() => {}),
    })
    this.operator = new Operator(options.now)
    this.records = options.records ?? new Records()
    const stores = options.recordService ? [this.records, options.recordService] : [this.records]
    this.#tracking = new ExecutionTrackingSink({ stores, find: (execution_id) => this.runs.get(execution_id) })
    this.registerSink(this.#tracking)
    this.#around = {
      hub: options.hub,
      operator: this.operator,
      system: options.system ?? this,
      warn: options.warn,
      now: options.now,
      clock: options.clock,
      open: () => this.runs.open(),
      ended: (execution) => this.#ended(execution),
    }
  }

  /** Loads a topology. Throws `not_found`; `conflict` while another one is loaded, unless `force`, which also aborts the open runs on it. */
  load(name: string, { force = false, author }: Forced = {}): Topology {
    const topology = found(this.library.topologies, name, 'topology')
    const loaded = this.environments.topology
    if (loaded && !force) throw new LabError('conflict', `topology ${loaded.name} is loaded; unload it first, or load ${name} with force`)
    this.unload({ force, author })
    this.environments.load(topology)
    if (this.environments.live) this.standing.opened(this.environments.live)
    return topology
  }

  /** Unloads the topology. Throws `conflict` while runs are open on it, unless `force`, which aborts them. The LIVE labware is remembered. */
  unload({ force = false, author = nobody }: Forced = {}): void {
    const open = this.runs.open().filter(({ environment }) => environment.mode !== 'PURE_SIM')
    if (open.length > 0 && !force) {
      const many = open.length === 1 ? 'a run is' : `${open.length} runs are`
      throw new LabError('conflict', `${many} open on topology ${open[0]!.workflow.topology.name}; stop that first, or unload with force`)
    }
    const { live } = this.environments
    if (live) this.standing.remember(leftOn(live, this.labware()))
    for (const execution of open) {
      addDecision(execution, { ...author, decision: 'unload', text: 'Unloaded the topology, which aborts the run' })
      execution.abort('the topology was unloaded')
    }
    this.environments.unload()
    this.standing.unloaded()
    if (live) this.standing.closed(live)
  }

  /** Returns a workflow. Throws `not_found`. */
  workflow(name: string): Workflow {
    return found(this.library.workflows, name, 'workflow')
  }

  /**
   * Notes that a person has put a thread's labware at its start; `barcode` is the one that was read. Throws `conflict` if the thread does not wait for that, if
   * the labware is a different one, or if an open run has labware with that barcode.
   */
  placed(thread: LabwareThread, barcode: string | null): void {
    if (barcode !== null && thread.labware.barcode === null) thread.execution.threadFactory.readMustBeFree(barcode, thread.state.starts_at)
    this.operator.done(thread, 'place', barcode)
  }

  /**
   * Begins a run, or adds groups to an open one. Rejects before any effect: `not_found` for an unknown workflow, `invalid` for a request that can never
   * succeed, `conflict` for one that cannot succeed now, `overloaded` above the limits. A repeated request with the same submission id returns the
   * earlier submission; a different request with that id is a `conflict`.
   */
  async submit(
    asked: SubmissionBody,
    author: Author = nobody,
  ): Promise<Pick<SubmissionRecord, 'submission_id' | 'execution_id' | 'status'>> {
    const before = submittedBefore(this.records, asked)
    if (before) return this.#again(before)
    const workflow = this.workflow(asked.workflow)
    const request = withSamples(workflow, { ...asked, operator_id: asked.operator_id ?? author.operator ?? null })
    const joined = openRunFor(workflow, request, this.runs.open())
    checkSubmission(workflow, request, { bench: this.#options.bench, others: joined?.submissions })
    if (this.#isClosing) throw new LabError('stopping', `the service stops; submit ${workflow.name} once it runs again`)
    const [environment, versions] = await this.environments.begin(workflow, request.run_mode)
    if (request.run_mode === 'LIVE') startsMustBeFree(workflow, request, environment)
    // The same request may have been submitted meanwhile.
    const meanwhile = submittedBefore(this.records, asked)
    if (meanwhile) return this.#again(meanwhile)
    const open = openRunFor(workflow, request, this.runs.open())
    barcodesMustBeFree(workflow, request, this.runs.openIn(environment), open)
    this.#admission.mustHaveRoom(workflow, request, open)
    const isJoinable = request.batch_mode === 'JOIN_EXISTING'
    const execution = open ?? this.#know(new Execution(workflow, environment, { isJoinable, around: this.#around, versions }))
    const submission = execution.add({
      submission_id: request.submission_id ?? this.#newId(),
      request,
      submitted_at: execution.now(),
      status: 'PENDING',
    })
    addSubmissionRow(execution, submission, author)
    execution.start(submission)
    await this.#persisted(execution)
    return { submission_id: submission.submission_id, execution_id: execution.execution_id, status: 'IN_PROGRESS' }
  }

  /** Returns the earlier submission, after its state is on the disk. */
  async #again(before: SubmissionRecord): Promise<SubmissionRecord> {
    await this.runs.get(before.execution_id)?.state.persisted()
    return before
  }

  /** Waits until the submission would survive a restart, before the caller is answered. If that fails, rejects with `storage` and aborts a new run. */
  async #persisted(execution: Execution): Promise<void> {
    try {
      await execution.state.persisted()
    } catch (error) {
      if (execution.submissions.length === 1) execution.abort(messageOf(error))
      throw error
    }
  }

  /**
   * Restores a run from its saved state. The run is paused, and nothing moves before a person resumes it. Its topology must be loaded. Rejects with
   * `conflict` or `not_found` if the run cannot be restored.
   */
  async restore(saved: Checkpoint): Promise<Execution> {
    const { run_mode, is_joinable } = saved.execution
    const workflow = this.#workflowOf(saved)
    const environment = await this.environments.of(workflow, run_mode)
    const execution = new Execution(workflow, environment, { isJoinable: is_joinable, around: this.#around, saved: saved.execution })
    for (const state of saved.submissions) execution.add(state)
    await restoreRecord(execution, this.#options.keep?.(run_mode)?.record?.(execution.execution_id), saved.record)
    this.standing.openedFor(execution)
    try {
      restore(execution, saved)
    } catch (error) {
      execution.labwarePositions.stop()
      throw error
    }
    return this.#know(execution)
  }

  /** Returns the workflow as it was when the run began; for a workflow with code, the present one. Throws `not_found`, `conflict`, `invalid`. */
  #workflowOf({ execution: { workflow: name, hash, topology: on }, document }: Checkpoint): Workflow {
    const known = this.library.workflows.get(name)
    if (known?.hash === hash || document === null) return this.workflow(name)
    const { topology: loaded } = this.environments
    const topology = loaded?.name === on ? loaded : found(this.library.topologies, on, 'topology')
    return compileWorkflow(document, topology, `workflow ${name}, as it was when the run began`, 'json')
  }

  /** Lists all labware: of open runs, and at rest in LIVE and DEVICE_SIM. */
  labware(): PlacedLabware[] {
    const open = this.runs.open()
    const environments = new Set([...this.environments.shared(), ...open.map(({ environment }) => environment)])
    return placedLabware(
      environments,
      open.flatMap((execution) => execution.live()),
    )
  }

  /** Sets the position of a labware as the author reports it; null for off the bench. Throws `not_found`; `conflict` if it cannot be there. */
  relocate(labware_id: string, { position }: { position: string | null }, author: Author = nobody): void {
    const piece = this.labware().find(({ labware }) => labware.labware_id === labware_id)
    if (!piece) throw new LabError('not_found', `there is no labware ${labware_id}`)
    relocate(piece, position, this.#options.now)
    const { thread, labware } = piece
    const text = position === null ? `Took ${labware.name} off the bench` : `Said that ${labware.name} stands at ${position}`
    if (thread) addDecision(thread.execution, { ...author, decision: 'say_where', text, params: { position } }, thread)
  }

  /**
   * Takes the answer to a step of a person. Resolves when its effect is on the card. Rejects with `not_found` for a step that does not wait, `conflict` and
   * `invalid` for an answer that cannot be, and with `storage`.
   */
  async answerStep(step_id: string, answer: TaskAnswer, author: Author = nobody): Promise<void> {
    const about = this.operator.answerIn(step_id, answer)
    const thread = this.runs.thread(this.operator.threadOf(step_id))
    if (thread && answer.barcode !== undefined && thread.labware.barcode === null)
      thread.execution.threadFactory.readMustBeFree(answer.barcode, thread.state.seat)
    this.operator.answer(step_id, answer)
    if (thread) addDecision(thread.execution, { ...author, ...about }, thread)
    // A task that is taken goes on until it is answered again.
    if (answer.answer !== 'taken') await thread?.carrying?.catch(() => undefined)
    await thread?.execution.state.persisted()
  }

  /**
   * Carries out an operator's decision about a late device call, by the id of its incident: give it more seconds, or cut it off as failed or as done. Returns
   * the call in words. Throws `not_found`, `conflict`.
   */
  decideLateCall(incident_id: string, verdict: OperatorVerdict, author: Author = nobody): string {
    const execution = this.runs.all().find(({ lateCalls }) => lateCalls.has(incident_id))
    if (!execution) throw new LabError('not_found', `incident ${incident_id} is not about a late device call`)
    const { what, thread_id } = execution.lateCalls.decide(incident_id, verdict)
    addDecision(execution, { ...author, incident_id, ...lateDecisionIn(what, verdict) }, execution.threads.get(thread_id))
    return what
  }

  /** Deletes a run that has ended from memory, and its events from the log. Rejects with `conflict` while the run is open. */
  async remove(execution_id: string): Promise<void> {
    const execution = this.runs.get(execution_id)
    if (execution && !execution.isOver) throw new LabError('conflict', `execution ${execution_id} is open; stop it before it is removed`)
    await this.#options.hub.remove(execution_id)
    this.runs.forget(execution_id)
    this.records.remove(execution_id)
  }

  /** Resolves when a run has ended. */
  over(execution: Execution): Promise<void> {
    if (execution.isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const before = this.#idle.get(execution.execution_id)
      this.#idle.set(execution.execution_id, () => {
        before?.()
        resolve()
      })
    })
  }

  /** Ends the runtime. Runs whose state is kept stop at the latest when `patience` resolves, and are restored at the next start; others are aborted. */
  async close(patience: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#isClosing = true
    this.#admission.close()
    await Promise.all(
      this.runs.open().map((execution) => {
        if (execution.state.isWritten) return execution.standDown(patience)
        execution.abort('the service stops')
        return this.over(execution)
      }),
    )
    await this.#leave(patience).catch((error) => this.#options.warn(messageOf(error)))
    await this.environments.close()
  }

  /** Stops updating the records from events. */
  stopTracking(): void {
    this.unregisterSink(this.#tracking)
  }

  /** Writes the state of all runs for the last time. */
  async #leave(patience: Promise<unknown>): Promise<void> {
    await Promise.race([this.standing.resting, patience])
    await this.standing.leave(() => {
      for (const execution of this.runs.all()) if (execution.state.isWritten) execution.leave()
    })
  }

  #newId(): string {
    return (this.#options.newId ?? flatId)()
  }

  /** Adds a run, and starts to write its state if its mode keeps it. */
  #know(execution: Execution): Execution {
    this.runs.add(execution)
    const states = this.#options.keep?.(execution.environment.mode)
    if (!states) return execution
    this.standing.began(execution, states)
    const { record, execution_id } = execution
    record.attachments = states.attachments
    if (!record.isKept && states.record) record.writeTo(states.record(execution_id))
    execution.state.writeTo(states, execution.execution_id)
    return execution
  }

  #untilStored(work: () => Promise<unknown>): Promise<unknown> {
    return (this.#options.untilStored ?? ((once) => once()))(work)
  }

  /** Removes the state of a run that has ended, once its end is in the records and in the log. */
  async #dropState(execution: Execution): Promise<void> {
    const { state, execution_id } = execution
    if (state.isWritten) {
      try {
        await this.#untilStored(() => Promise.all([this.#options.recorded?.(), state.persisted()]))
      } catch (error) {
        return this.#options.warn(`the state of ${execution_id} stays: ${messageOf(error)}`)
      }
    }
    state.end()
    this.standing.ended(execution)
  }

  #ended(execution: Execution): void {
    this.#idle.get(execution.execution_id)?.()
    this.#idle.delete(execution.execution_id)
    this.runs.forgetOldest()
    void this.environments.tidy()
    void this.#dropState(execution)
  }
}

function found<Item>(items: ReadonlyMap<string, Item>, name: string, kind: string): Item {
  const item = items.get(name)
  if (item) return item
  const known = didYouMeanAmong(name, [...items.keys()])
  throw new LabError(
    'not_found',
    `there is no ${kind} ${JSON.stringify(name)}${known}; a file that was added is read by POST /api/system/reload`,
  )
}
