// The only file that knows DBOS: each journey is a workflow of it, and each phase a step whose outcome DBOS keeps in PostgreSQL. A step that was
// interrupted is taken again, so the phases themselves make sure that nothing happens twice. DBOS is a whole of the process: there is one `Journeys`.

import { DBOS } from '@dbos-inc/dbos-sdk'
import { LabError, messageOf } from '../../errors.ts'
import type { Log } from '../../kit/log.ts'
import { carryOut } from './decisions.ts'
import { looks, problem, Restored, type Surroundings, type Trip, type Waiting } from './phases.ts'
import { now, type Phase, type Run, type State } from './state.ts'
import type { JourneyRow, Store } from './store.ts'

/** DBOS goes on only with workflows of the same version, so this never changes while a phase still means what it meant. */
const version = 'journeys-1'
/** Without a limit DBOS would give a journey up after so many starts of the coordinator. */
const mostRecoveries = 1e9
/** Each bench is looked at so often, also when it told of nothing. */
const look_ms = 5000
const firstAgain_ms = 500
const longestAgain_ms = 10_000
/** A bench that has not answered for so long is something for a person. */
const patience_s = 3600

type Options = { store: Store; its: Surroundings; log: Log; watch(run: Run, call: () => void): () => void }

/** The workflow is registered once in a process, before there is a `Journeys`. */
let present: Journeys | undefined

const travel = DBOS.registerWorkflow(
  async (trip: Omit<Trip, 'state'>, first: State): Promise<State['outcome']> => {
    let state = first
    while (state.phase !== 'over') {
      const before = state
      state = await DBOS.runStep(() => present!.next({ ...trip, state: before }), { name: before.phase })
    }
    return state.outcome
  },
  { name: 'journey', maxRecoveryAttempts: mostRecoveries },
)

export class Journeys {
  readonly #options: Options
  /** By journey, the thing that it waits for. */
  readonly #waiting = new Map<string, Waiting>()
  readonly #wakers = new Map<string, { phase: Phase; wake: Wake }>()

  /** Goes on with all journeys that have not ended. */
  static async open(database: string, options: Options): Promise<Journeys> {
    const journeys = new Journeys(options)
    present = journeys
    const { log } = options
    const quiet = {
      info() {},
      debug() {},
      warn: (entry: unknown) => log.warn(`journeys: ${entry}`),
      error: (entry: unknown) => log.error(`journeys: ${entry}`),
    }
    DBOS.setConfig({
      ...{
        name: 'benchd-lab',
        systemDatabaseUrl: database,
        systemDatabaseSchemaName: 'benchd_lab_dbos',
        systemDatabasePool: options.store.pool,
      },
      ...{ applicationVersion: version, executorID: 'coordinator', enableOTLP: false, logger: quiet },
    })
    await DBOS.launch()
    // A journey that was kept, and whose workflow did not begin before the coordinator died.
    for (const row of await options.store.open()) await journeys.begin(row)
    return journeys
  }

  private constructor(options: Options) {
    this.#options = options
  }

  /** Begins a journey that is kept, or does nothing where it has begun. */
  async begin({ journey_id, labware, state }: Pick<JourneyRow, 'journey_id' | 'labware' | 'state'>): Promise<void> {
    if (await DBOS.getWorkflowStatus(journey_id)) return
    await DBOS.startWorkflow(travel, { workflowID: journey_id })({ journey_id, labware }, state)
  }

  waiting(journey_id: string): Waiting | undefined {
    return this.#waiting.get(journey_id)
  }

  /** Has a journey look again at once: somebody has done or decided something. */
  wake(journey_id: string): void {
    this.#wakers.get(journey_id)?.wake.tell()
  }

  /** Looks, and acts, until the journey comes to its next phase. Never rejects: a failure is something that the journey waits for. */
  async next(trip: Trip): Promise<State> {
    const { journey_id, state } = trip
    const wake = new Wake()
    const runs = [state.run, state.release].filter((run) => run !== null)
    const ends = runs.map((run) => this.#options.watch(run, () => wake.tell()))
    this.#wakers.set(journey_id, { phase: state.phase, wake })
    try {
      for (let again_ms = firstAgain_ms, began = now(); ; ) {
        wake.clear()
        const found = await this.#look(trip).catch((error) => this.#failed(trip, error, began))
        if ('phase' in found && (await this.#kept(trip, found))) return found
        if (!('phase' in found)) this.#waiting.set(journey_id, found)
        const hasFailed = 'phase' in found || 'failed' in found
        again_ms = hasFailed ? Math.min(2 * again_ms, longestAgain_ms) : firstAgain_ms
        await wake.wait(hasFailed ? again_ms : look_ms)
      }
    } finally {
      for (const end of ends) end()
      this.#wakers.delete(journey_id)
    }
  }

  /** Whether the database has the state. */
  async #kept({ journey_id, state }: Trip, found: State): Promise<boolean> {
    try {
      await this.#options.store.keep(journey_id, statusOf(found), found, found.phase === 'over' ? now() : null)
    } catch (error) {
      this.#options.log.warn(`journeys: the database does not take a step: ${messageOf(error)}`)
      return false
    }
    this.#waiting.delete(journey_id)
    // Others may have waited for what this journey had.
    if (found.phase === 'over' || state.phase === 'bring')
      for (const { phase, wake } of [...this.#wakers.values()]) if (phase === 'queued' || phase === 'claim') wake.tell()
    return true
  }

  async #look(trip: Trip): Promise<State | Waiting> {
    const { store, its } = this.#options
    const decision = (await store.find(trip.journey_id))?.decision
    if (decision && decision.number > trip.state.decided) return carryOut(trip, its, decision)
    const { phase } = trip.state
    if (phase === 'over') return trip.state
    if (phase === 'person') return { waiting: trip.state.problem?.what ?? '', needs_person: true }
    return looks[phase](trip, its)
  }

  #failed({ state }: Trip, error: unknown, began: number): State | (Waiting & { failed: true }) {
    if (error instanceof Restored && state.phase !== 'person') return problem(state, error.message)
    if (!(error instanceof LabError)) this.#options.log.error('journeys: a step failed because of a fault of our own', error)
    const isLong = now() - began > patience_s
    return { waiting: `${messageOf(error)}; asked again and again`, needs_person: isLong || !(error instanceof LabError), failed: true }
  }
}

/** Wakes somebody who waits; also if told before the waiting began. */
class Wake {
  #isTold = false
  #wake = () => {}

  tell(): void {
    this.#isTold = true
    this.#wake()
  }

  clear(): void {
    this.#isTold = false
  }

  /** Resolves when it was told since `clear`, or after the time. */
  wait(ms: number): Promise<void> {
    if (this.#isTold) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function statusOf({ phase, outcome }: State): JourneyRow['status'] {
  if (phase === 'over') return outcome === 'done' ? 'done' : 'ended'
  return phase === 'queued' ? 'queued' : 'open'
}
