// Whether the bench is fit for a run of the queue now, and if not, why: an entry begins only where nothing is stopped and nothing is in its way.

import { LabError, messageOf } from '../errors.ts'
import { Admission, type AdmissionOptions } from '../workflow/admission.ts'
import type { Bench } from '../workflow/plans/bench.ts'
import type { Workflow } from '../workflow/plans/plan.ts'
import { usedBy } from '../workflow/runs/devices_of_run.ts'
import { inTheWayOf } from '../workflow/runs/in_the_way.ts'
import { barcodesMustBeFree, checkSubmission, openRunFor, startsMustBeFree } from '../workflow/runs/submission_check.ts'
import type { Runtime } from '../workflow/runtime.ts'
import type { SubmissionRequest } from '../workflow/state/submission_request.ts'
import type { RunEnvironment } from '../workflow/threads/run_environment.ts'
import type { QueueEntry, Requires } from './entry.ts'

/** The devices of the bench, as the queue looks at them. */
export type QueueDevices = {
  /** Throws `not_found` for a device that is not configured. */
  mustBeKnown(device_id: string): void
  /** Returns why a run must not begin that uses the device: it is stopped, has a fault, owes a halt, or is reserved; undefined if none holds. */
  trouble(device_id: string): string | undefined
  /** Returns why the device is not ready; undefined if it is. */
  notReady(device_id: string): string | undefined
}

export type FitnessOptions = {
  runtime: Runtime
  bench: Bench
  devices: QueueDevices
  limits: AdmissionOptions['limits']
  /** Returns why nothing may move; undefined if it may. */
  isUnsafe(): string | undefined
}

export class Fitness {
  readonly #options: FitnessOptions
  readonly #admission: Admission
  readonly #devicesOf = new WeakMap<Workflow, ReadonlySet<string>>()

  constructor(options: FitnessOptions) {
    this.#options = options
    // Submitting counts the refusals; a look of the queue is none.
    this.#admission = new Admission({ limits: options.limits, refused: () => {} }, () => options.runtime.runs.open())
  }

  /** Returns why the run cannot begin now, as a sentence; undefined if it can. */
  whyNot({ submission, requires }: Pick<QueueEntry, 'submission' | 'requires'>): string | undefined {
    const unsafe = this.#options.isUnsafe()
    if (unsafe !== undefined) return unsafe
    try {
      return this.#whyNotRequired(requires) ?? this.#whyNotOnBench(submission)
    } catch (error) {
      if (error instanceof LabError) return messageOf(error)
      throw error
    }
  }

  /** Checks a submission as `submit` does. Throws `not_found`, `invalid`. */
  check(submission: SubmissionRequest, requires: Requires): void {
    checkSubmission(this.#options.runtime.workflow(submission.workflow), submission, { bench: this.#options.bench })
    for (const device_id of requires.devices) this.#options.devices.mustBeKnown(device_id)
  }

  /** Whether a run of the submission uses the device on the bench. */
  uses({ workflow: name, run_mode }: SubmissionRequest, device_id: string): boolean {
    if (run_mode !== 'LIVE') return false
    const workflow = this.#options.runtime.library.workflows.get(name)
    return workflow !== undefined && this.#devices(workflow).has(device_id)
  }

  #devices(workflow: Workflow): ReadonlySet<string> {
    const known = this.#devicesOf.get(workflow) ?? usedBy({ workflow, live: () => [] })
    this.#devicesOf.set(workflow, known)
    return known
  }

  #whyNotRequired({ devices, labware }: Requires): string | undefined {
    for (const device_id of devices) {
      const notReady = this.#options.devices.notReady(device_id)
      if (notReady !== undefined) return notReady
    }
    if (labware.length === 0) return undefined
    const { environments } = this.#options.runtime
    const placed = this.#options.runtime.labware().filter(({ environment }) => environment === environments.live)
    const there = new Set(
      placed.flatMap(({ labware: { labware_id, barcode } }) => {
        const position = environments.live?.scheduler.whereIs(labware_id)
        return position === undefined ? [] : [position, barcode]
      }),
    )
    const missing = labware.find((one) => !there.has(one))
    if (missing === undefined) return undefined
    const isPosition = environments.live?.scheduler.graph.positions.has(missing)
    return isPosition
      ? `${missing} is empty; put the labware there`
      : `the labware with the barcode ${missing} is not on the bench; put it there`
  }

  #whyNotOnBench(request: SubmissionRequest): string | undefined {
    const { runtime, bench, devices } = this.#options
    const workflow = runtime.workflow(request.workflow)
    const { run_mode } = request
    const joined = openRunFor(workflow, request, runtime.runs.open())
    checkSubmission(workflow, request, { bench, others: joined?.submissions })
    runtime.environments.mustBePossible(workflow, run_mode)
    if (run_mode === 'LIVE') {
      for (const device_id of this.#devices(workflow)) {
        const trouble = devices.trouble(device_id)
        if (trouble !== undefined) return trouble
      }
    }
    const environment = this.#environmentOf(request)
    if (environment) this.#mustBeFree(workflow, request, environment)
    this.#admission.mustHaveRoom(workflow, request, joined)
    return undefined
  }

  /** The places that are there already; those of a simulation are made, empty, when it begins. */
  #environmentOf({ run_mode }: SubmissionRequest): RunEnvironment | undefined {
    return this.#options.runtime.environments.shared().find(({ mode }) => mode === run_mode)
  }

  #mustBeFree(workflow: Workflow, request: SubmissionRequest, environment: RunEnvironment): void {
    const { runs } = this.#options.runtime
    if (environment.mode === 'LIVE') startsMustBeFree(workflow, request, environment)
    barcodesMustBeFree(workflow, request, runs.openIn(environment), openRunFor(workflow, request, runs.open()))
    const [first] = inTheWayOf({ workflow, environment, submissions: [{ request }] })
    if (first) throw new LabError('conflict', first.message)
  }
}
