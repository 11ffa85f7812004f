// The workflow runtime: the topology that is loaded, the executions on it, and what is asked of them.

import { LabError, messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import type { Sink } from '../events/sinks.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import { flatId } from '../kit/flat_id.ts'
import { Admission, type AdmissionOptions, unbounded } from './admission.ts'
import { type DryRun, dryRun } from './dry_run.ts'
import { KnownRuns } from './known_runs.ts'
import type { Bench } from './plans/bench.ts'
import { compileWorkflow } from './plans/compile.ts'
import type { Library } from './plans/library.ts'
import type { Workflow } from './plans/plan.ts'
import { refusalFor } from './plans/refusal.ts'
import type { Topology } from './plans/topology.ts'
import { type RecordStore, Records, type SubmissionRecord } from './records/records.ts'
import { ExecutionTrackingSink } from './records/tracking_sink.ts'
import { restore } from './recovery/restore.ts'
import type { Lost } from './recovery/stranded_labware.ts'
import { type RunEnvironmentOptions, RunEnvironments } from './run_environments.ts'
import { Execution, type RunContext } from './runs/execution.ts'
import { Operator } from './runs/operator.ts'
import { barcodesMustBeFree, checkSubmission, openRunFor, readMustBeFree, startsMustBeFree } from './runs/submission_check.ts'
import { type Standing, StandingLabwareStore } from './standing_labware.ts'
import type { RunStates } from './state/entry.ts'
import type { RunMode } from './state/modes.ts'
import type { Checkpoint } from './state/run.ts'
import type { SubmissionRequest } from './state/submission_request.ts'
import { submittedBefore } from './submission_ids.ts'
import type { OperatorVerdict } from './threads/action/late_calls.ts'
import type { TaskAnswer } from './threads/move/carry_task.ts'
import type { LabwareThread } from './threads/thread.ts'
import { leftOn, type PlacedLabware, placedLabware, relocate } from './whereabouts.ts'

export type RuntimeOptions = Omit<RunEnvironmentOptions, 'newId'> & {
  hub: Pick<Hub, 'emit' | 'incident' | 'registerSink' | 'unregisterSink' | 'getEventsSince' | 'getEventsForExecution' | 'remove'>
  /** Unix time, s. */
  now(): number
  warn(message: string): void
  /** The devices and points there are. */
  bench: Bench
  library: Library
  /** The place where its sink keeps the record of each run; in memory alone by default. */
  records?: Records
  /** A sink of somebody else, which gets the same events. */
  recordService?: RecordStore
  /** Writes the state of executions of this mode, so that they can be taken up again; undefined where they cannot. */
  keep?(mode: RunMode): RunStates | undefined
  /** Resolves when the records are on the card. Rejects with `storage`. */
  recorded?(): Promise<unknown>
  /** Repeats work that writes until the card has taken it. */
  untilStored?(work: () => Promise<unknown>): Promise<unknown>
  /** Stores the labware that stands while no run is open. Rejects with `storage`. */
  storeStanding?(standing: Standing): Promise<unknown>
  /** Called with labware that somebody has to look for. */
  lost?(lost: Lost): void
  /** How much may run at once; no limit by default. */
  admission?: AdmissionOptions
  /** The system, as bound handlers see it. */
  system?: unknown
  newId?(): string
}

export class Runtime {
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
  readonly #idle = new Map<string, () => void>()
  #isClosing = false

  constructor(options: RuntimeOptions) {
    this.#options = options
    this.library = options.library
    this.#admission = new Admission(options.admission ?? unbounded, () => this.runs.open())
    this.environments = new RunEnvironments({ ...options, newId: () => this.#newId() }, () => this.runs.open())
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

  registerSink(sink: Sink): void {
    this.#options.hub.registerSink(sink)
  }

  unregisterSink(sink: Sink): void {
    this.#options.hub.unregisterSink(sink)
  }

  /** Every event of that time and later (Unix time, s), with all that was emitted before the call. */
  getEventsSince(timestamp?: number): Promise<RuntimeEvent[]> {
    return this.#options.hub.getEventsSince(timestamp)
  }

  getEventsForExecution(execution_id: string): Promise<RuntimeEvent[]> {
    return this.#options.hub.getEventsForExecution(execution_id)
  }

  /** Throws `not_found`; `conflict` while another is loaded, or runs are open on it, unless `force`, which aborts them. */
  load(name: string, { force = false }: { force?: boolean } = {}): Topology {
    const topology = found(this.library.topologies, name, 'topology')
    const loaded = this.environments.topology
    if (loaded && !force) throw new LabError('conflict', `topology ${loaded.name} is loaded; unload it first, or load ${name} with force`)
    this.unload({ force })
    this.environments.load(topology)
    if (this.environments.live) this.standing.opened(this.environments.live)
    return topology
  }

  /** Throws `conflict` while runs are open on it, unless `force`, which aborts them. The labware in LIVE is remembered. */
  unload({ force = false }: { force?: boolean } = {}): void {
    const open = this.runs.open().filter(({ environment }) => environment.mode !== 'PURE_SIM')
    if (open.length > 0 && !force) {
      const many = open.length === 1 ? 'a run is' : `${open.length} runs are`
      throw new LabError('conflict', `${many} open on topology ${open[0]!.workflow.topology.name}; stop that first, or unload with force`)
    }
    const { live } = this.environments
    if (live) this.standing.remember(leftOn(live, this.labware()))
    for (const execution of open) execution.abort('the topology was unloaded')
    this.environments.unload()
    this.standing.unloaded()
    if (live) this.standing.closed(live)
  }

  /** Throws `not_found`. */
  workflow(name: string): Workflow {
    return found(this.library.workflows, name, 'workflow')
  }

  /**
   * The labware that the thread waits for stands at its start; `barcode` is what was read of it. Throws `conflict` when nobody waits for that, it
   * is another labware than was asked for, or an open run has labware with that barcode.
   */
  placed(thread: LabwareThread, barcode: string | null): void {
    if (barcode !== null && thread.labware.barcode === null)
      readMustBeFree(barcode, thread.state.starts_at, this.runs.openIn(thread.environment))
    this.operator.done(thread, 'place', barcode)
  }

  /**
   * Begins a run, or puts more groups into one that is open. What is wrong is said before anything happens: `not_found` for
   * a workflow that is not there, `invalid` for what can never be, `conflict` for what cannot be now, `overloaded` for one too many. What
   * was submitted before under the id that the caller chose is answered again; `conflict` where that was something else.
   */
  async submit(asked: SubmissionRequest): Promise<Pick<SubmissionRecord, 'submission_id' | 'execution_id' | 'status'>> {
    // The caller may change what it has handed over.
    const request = structuredClone(asked)
    const before = submittedBefore(this.records, request)
    if (before) return this.#again(before)
    const workflow = this.workflow(request.workflow)
    const joined = openRunFor(workflow, request, this.runs.open())
    checkSubmission(workflow, request, { bench: this.#options.bench, others: joined?.submissions })
    if (this.#isClosing) throw new LabError('stopping', `the service stops; submit ${workflow.name} once it runs again`)
    const environment = await this.environments.of(workflow, request.run_mode)
    if (request.run_mode === 'LIVE') startsMustBeFree(workflow, request, environment)
    // The same may have been submitted meanwhile.
    const meanwhile = submittedBefore(this.records, request)
    if (meanwhile) return this.#again(meanwhile)
    const open = openRunFor(workflow, request, this.runs.open())
    barcodesMustBeFree(workflow, request, this.runs.openIn(environment), open)
    this.#admission.mustHaveRoom(workflow, request, open)
    const isJoinable = request.batch_mode === 'JOIN_EXISTING'
    const execution = open ?? this.#know(new Execution(workflow, environment, { isJoinable, around: this.#around }))
    const submission = execution.add({
      submission_id: request.submission_id ?? this.#newId(),
      request,
      submitted_at: execution.now(),
      status: 'PENDING',
    })
    execution.start(submission)
    await this.#persisted(execution)
    return { submission_id: submission.submission_id, execution_id: execution.execution_id, status: 'IN_PROGRESS' }
  }

  /** Waits until the earlier submission outlasts the service, and returns it. */
  async #again(before: SubmissionRecord): Promise<SubmissionRecord> {
    await this.runs.get(before.execution_id)?.state.persisted()
    return before
  }

  /** A caller that was answered finds the submission after a restart. Rejects with `storage`; a run of that one submission is given up then. */
  async #persisted(execution: Execution): Promise<void> {
    try {
      await execution.state.persisted()
    } catch (error) {
      if (execution.submissions.length === 1) execution.abort(messageOf(error))
      throw error
    }
  }

  /**
   * Takes up what was kept when the service ended: it stands paused, and nothing moves before somebody resumes it. Its topology
   * must be loaded. Throws `conflict` or `not_found` when that cannot be.
   */
  async restore(saved: Checkpoint): Promise<Execution> {
    const { run_mode, is_joinable } = saved.execution
    const workflow = this.#workflowOf(saved)
    const environment = await this.environments.of(workflow, run_mode)
    const execution = new Execution(workflow, environment, { isJoinable: is_joinable, around: this.#around, saved: saved.execution })
    for (const state of saved.submissions) execution.add(state)
    this.standing.openedFor(execution)
    try {
      restore(execution, saved)
    } catch (error) {
      execution.seats.stop()
      throw error
    }
    return this.#know(execution)
  }

  /**
   * Returns the workflow as it was when the run began, if it holds no code; otherwise the present one, which must be the same. Throws
   * `not_found`, `conflict`, `invalid`.
   */
  #workflowOf({ execution: { workflow: name, hash, topology: on }, document }: Checkpoint): Workflow {
    const known = this.library.workflows.get(name)
    if (known?.hash === hash || document === null) return this.workflow(name)
    const { topology: loaded } = this.environments
    const topology = loaded?.name === on ? loaded : found(this.library.topologies, on, 'topology')
    return compileWorkflow(document, topology, `workflow ${name}, as it was when the run began`, 'json')
  }

  /** Every labware there is: what runs that are open move, and what stands around in LIVE and DEVICE_SIM. */
  labware(): PlacedLabware[] {
    const open = this.runs.open()
    const environments = new Set([...this.environments.shared(), ...open.map(({ environment }) => environment)])
    return placedLabware(
      environments,
      open.flatMap((execution) => execution.live()),
    )
  }

  /** Takes an operator's word for where a labware is; null: off the bench. Throws `not_found`; `conflict` where it cannot be. */
  relocate(labware_id: string, { position }: { position: string | null }): void {
    const piece = this.labware().find(({ labware }) => labware.labware_id === labware_id)
    if (!piece) throw new LabError('not_found', `there is no labware ${labware_id}`)
    relocate(piece, position)
  }

  /**
   * Takes a person's answer to a step. Resolves when its effect is on the card. Rejects with `not_found` for a step that does not wait, `conflict` and
   * `invalid` for an answer that cannot be, and with `storage`.
   */
  async answerStep(step_id: string, answer: TaskAnswer): Promise<void> {
    const thread = this.runs.thread(this.operator.threadOf(step_id))
    if (thread && answer.barcode !== undefined && thread.labware.barcode === null)
      readMustBeFree(answer.barcode, thread.state.seat, this.runs.openIn(thread.environment))
    this.operator.answer(step_id, answer)
    // The other answers have their effect at once.
    if (answer.answer === 'done' || answer.answer === 'cannot') await thread?.carrying?.catch(() => undefined)
    await thread?.execution.state.persisted()
  }

  /**
   * Takes an operator's word about a device call that takes too long, by the id of its incident: it may take so many seconds longer, is cut off
   * and has failed, or is cut off and has done its work. Returns what call it is. Throws `not_found`, `conflict`.
   */
  decideLateCall(incident_id: string, verdict: OperatorVerdict): string {
    const execution = this.runs.all().find(({ lateCalls }) => lateCalls.has(incident_id))
    if (!execution) throw new LabError('not_found', `no device call that takes too long belongs to incident ${incident_id}`)
    return execution.lateCalls.decide(incident_id, verdict)
  }

  /**
   * Reports what would become of a submission, without touching anything; LIVE positions that are taken are taken in it too. Rejects as
   * `submit` does.
   */
  async simulate(request: SubmissionRequest): Promise<DryRun> {
    const workflow = this.workflow(request.workflow)
    checkSubmission(workflow, { ...request, run_mode: 'PURE_SIM' }, { bench: this.#options.bench })
    const conditions = await this.environments.conditions(workflow.topology, request.run_mode)
    const outcome = await this.#admission.dryRun(workflow, request, (began) =>
      dryRun({ workflow, request, began, ...this.environments.rehearsal(workflow.topology, request.run_mode, conditions) }),
    )
    return { ...outcome, refusal: refusalFor(workflow, request.run_mode, this.#options.bench) ?? null }
  }

  /** Takes an execution that has ended out of memory, and its events out of the log. Throws `conflict` while it is open. */
  async remove(execution_id: string): Promise<void> {
    const execution = this.runs.get(execution_id)
    if (execution && !execution.isOver) throw new LabError('conflict', `execution ${execution_id} is open; stop it before it is removed`)
    await this.#options.hub.remove(execution_id)
    this.runs.forget(execution_id)
    this.records.remove(execution_id)
  }

  /** Resolves when an execution has ended. */
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

  /** Ends all that is open; what is kept stands down, as far as there is patience for it, and is taken up at the next start. */
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

  /** Ends that events change the records. */
  stopTracking(): void {
    this.unregisterSink(this.#tracking)
  }

  /** The state of all runs stays as it is now. */
  async #leave(patience: Promise<unknown>): Promise<void> {
    await Promise.race([this.standing.resting, patience])
    await this.standing.leave(() => {
      for (const execution of this.runs.all()) if (execution.state.isWritten) execution.leave()
    })
  }

  #newId(): string {
    return (this.#options.newId ?? flatId)()
  }

  /** Adds a run, and has its state written where that is kept. */
  #know(execution: Execution): Execution {
    this.runs.add(execution)
    const states = this.#options.keep?.(execution.environment.mode)
    if (!states) return execution
    this.standing.began(execution, states)
    execution.state.writeTo(states, execution.execution_id)
    return execution
  }

  #untilStored(work: () => Promise<unknown>): Promise<unknown> {
    return (this.#options.untilStored ?? ((once) => once()))(work)
  }

  /** The state of a run that has ended goes once its end is in the records and in the log. */
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
  throw new LabError('not_found', `there is no ${kind} ${JSON.stringify(name)}${didYouMeanAmong(name, [...items.keys()])}`)
}
