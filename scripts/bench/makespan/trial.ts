// Runs a shop dry in the service, and checks the chart.

import { testRuntime } from '../../../src/testing/workflow.ts'
import { PureEquipment } from '../../../src/workflow/equipment/pure_equipment.ts'
import { movesOf } from '../../../src/workflow/plans/timing.ts'
import type { RuntimeOptions } from '../../../src/workflow/runtime_options.ts'
import type { FindSchedule } from '../../../src/workflow/schedule/problem.ts'
import { findBeside } from '../../../src/workflow/search_worker.ts'
import type { SubmissionRequest } from '../../../src/workflow/state/submission_request.ts'
import { faultsIn } from './chart.ts'
import { asVaried, groupsOf, platesOf, type Shop, topologyOf, withoutWindows, workflowOf } from './shops.ts'

export type Trial = {
  readonly completes: boolean
  readonly makespan_s: number
  /** The faults of the chart but missed windows; of a run that does not complete there is none to check. */
  readonly faults: readonly string[]
  readonly missedWindows: number
  /** The first thing that went wrong. */
  readonly conflict: string | null
  readonly plates: readonly string[]
  /** The plates in the order in which their last hop ends. */
  readonly finished: readonly string[]
}

export type How = {
  /** Further members of the submission, such as whether to plan. */
  request?: Readonly<Record<string, unknown>>
  /** Whether the work takes the varied seconds. The service expects the others. */
  isVaried?: boolean
  /** Finds the plans; by default a thread beside this one. */
  search?: FindSchedule
}

export async function trial(shop: Shop, { request = {}, isVaried = false, search = findBeside }: How = {}): Promise<Trial> {
  const seconds = new Map(shop.plates.flatMap((steps, p) => steps.map(({ varied_s }, i) => [`p${p + 1}_s${i + 1}`, varied_s])))
  const simulate: RuntimeOptions['simulate'] = ({ document }, clock, { durations } = {}) =>
    new VariedEquipment({ clock, transporters: movesOf(document, durations) }, isVaried ? seconds : new Map())
  const { runtime } = testRuntime([topologyOf(shop), workflowOf(shop)], { simulate, search })
  const usual = { run_mode: 'PURE_SIM', batch_mode: 'STANDALONE', variables: {}, operator_id: null } as const
  const asked = { ...usual, workflow: shop.name, groups: groupsOf(shop), ...request } as SubmissionRequest
  const { verdict, makespan_s, gantt, conflict } = await runtime.dryRuns.simulate(asked)
  const completes = verdict === 'completes'
  const happened = isVaried ? asVaried(shop) : shop
  const faults = completes ? faultsIn(withoutWindows(happened), gantt) : []
  const missedWindows = completes ? faultsIn(happened, gantt).length - faults.length : 0
  const last = (plate: string) => Math.max(...gantt.filter(({ thread_name }) => thread_name === plate).map(({ to_s }) => to_s))
  return {
    completes,
    makespan_s,
    faults,
    missedWindows,
    conflict,
    plates: platesOf(shop),
    finished: platesOf(shop).sort((a, b) => last(a) - last(b)),
  }
}

/** Equipment whose work takes other seconds than the workflow says. */
class VariedEquipment extends PureEquipment {
  readonly #seconds: ReadonlyMap<string, number>

  constructor(options: ConstructorParameters<typeof PureEquipment>[0], seconds: ReadonlyMap<string, number>) {
    super(options)
    this.#seconds = seconds
  }

  override perform(...[device_id, operation, params, how]: Parameters<PureEquipment['perform']>): Promise<unknown> {
    const seconds = this.#seconds.get(String(params['step']))
    return super.perform(device_id, operation, params, seconds === undefined ? how : { ...how, seconds })
  }
}
