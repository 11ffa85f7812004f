// The only file that knows DBOS: each journey is a workflow of it, and each phase a step whose outcome DBOS keeps in PostgreSQL. A step that was
// interrupted is repeated, so the phases themselves make sure that nothing happens twice. DBOS is global to the process: there is one `Journeys`.

import { DBOS } from '@dbos-inc/dbos-sdk'
import { LabError, messageOf } from '../errors.ts'
import type { Log } from '../kit/log.ts'
import { cut } from './benches.ts'
import { look } from './decisions.ts'
import { type JourneyContext, problem, Restored, type Trip, type Waiting } from './phases.ts'
import { type BenchRun, type JourneyState, now, type Phase } from './state.ts'
import type { JourneyRow, Store } from './store.ts'
import { tryToWithdraw } from './withdrawing.ts'

/** DBOS continues only workflows of the same version: change this only with the meaning of a phase. */
const version = 'journeys-1'
/** No limit in practice: DBOS gives a workflow up after 100 starts of the process by default. */
const mostRecoveries = 1e9
/** The interval at which a bench is asked, also without an event. */
const look_ms = 5000
const firstAgain_ms = 100
const longestAgain_ms = 10_000
/** A bench without an answer for this time is reported to a person. */
const patience_s = 3600

/** The time between two sweeps, each for journeys that nobody carries out, runs that are to be withdrawn, and old journeys. */
const sweep_ms = 10_000
/** A journey that DBOS does not carry out in this many consecutive sweeps is reported. */
const mostMissed = 6
/** The time that requests have to end when the coordinator does. */
const rest_ms = 3000

type JourneysOptions = {
  store: Store
  context: JourneyContext
  log: Log
  /** The number of journeys that are kept after their end. */
  keep: number
  watch(run: BenchRun, call: () => void): () => void
  /** Removes labware without a holder from the broker. */
  forget(labware: string): Promise<void>
}

/** The states of a DBOS workflow that has not ended. */
const active: ReadonlySet<string> = new Set(['PENDING', 'ENQUEUED', 'DELAYED'])

/** DBOS wants the workflow registered before its start, so it finds the instance here. */
let present: Journeys | undefined

const travel = DBOS.registerWorkflow(
  async (trip: Omit<Trip, 'state'>, first: JourneyState): Promise<JourneyState['outcome']> => {
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
  readonly #options: JourneysOptions
  /** Keyed by journey: what it waits for, and the number of the state in which it waits. */
  readonly #waiting = new Map<string, Waiting & { number: number; given_up?: boolean }>()
  readonly #wakers = new Map<string, { phase: Phase; wake: Wake }>()
  /** Keyed by journey: the consecutive sweeps in which DBOS did not carry it out. */
  readonly #missed = new Map<string, number>()
  readonly #looking = new Set<Promise<unknown>>()
  #isClosing = false
  #sweeping: NodeJS.Timeout | undefined

  /** Starts DBOS and continues all journeys that have not ended. */
  static async open(database: string, options: JourneysOptions): Promise<Journeys> {
    const journeys = new Journeys(options)
    present = journeys
    const { log } = options
    const quiet = {
      info() {},
      debug() {},
      warn: (entry: unknown) => journeys.#isClosing || log.warn(`journeys: ${entry}`),
      error: (entry: unknown) => journeys.#isClosing || log.error(`journeys: ${entry}`),
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
    // A journey may be stored although the coordinator died before its workflow began.
    for (const row of await options.store.open()) await journeys.begin(row)
    await journeys.#sweep()
    return journeys
  }

  private constructor(options: JourneysOptions) {
    this.#options = options
  }

  /** Begins a stored journey; does nothing if it has begun. */
  async begin({ journey_id, labware, state }: Pick<JourneyRow, 'journey_id' | 'labware' | 'state'>): Promise<void> {
    if (await DBOS.getWorkflowStatus(journey_id)) return
    await DBOS.startWorkflow(travel, { workflowID: journey_id })({ journey_id, labware }, state)
  }

  /** Whether DBOS has given the journey up, so that it stands until a person decides. */
  isGivenUp({ journey_id, state }: Pick<JourneyRow, 'journey_id' | 'state'>): boolean {
    return this.waiting(journey_id, state)?.given_up === true
  }

  /** Continues a journey that was given up from its stored state. */
  async takeUp(row: JourneyRow): Promise<void> {
    await DBOS.deleteWorkflow(row.journey_id)
    this.#waiting.delete(row.journey_id)
    this.#missed.delete(row.journey_id)
    await this.begin((await this.#options.store.find(row.journey_id)) ?? row)
  }

  /** Begins nothing new. Resolves when the requests to benches have ended, after `rest_ms` at the latest. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#sweeping)
    for (const { wake } of this.#wakers.values()) wake.tell()
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise((resolve) => {
      timer = setTimeout(resolve, rest_ms)
    })
    await Promise.race([Promise.allSettled([...this.#looking]), tooLong])
    clearTimeout(timer)
  }

  /** Returns what a journey waits for in that state; undefined if it has left the state. */
  waiting(journey_id: string, { number }: Pick<JourneyState, 'number'>): (Waiting & { given_up?: boolean }) | undefined {
    const waiting = this.#waiting.get(journey_id)
    return waiting?.number === number ? waiting : undefined
  }

  /** Makes a journey look again at once, after a person has done or decided something. */
  wake(journey_id: string): void {
    this.#wakers.get(journey_id)?.wake.tell()
  }

  /** Repeats the step of the phase until the journey comes to its next state. Never rejects: a failure is shown as what the journey waits for. */
  async next(trip: Trip): Promise<JourneyState> {
    const { journey_id, state } = trip
    if (this.#isClosing) return await new Promise<never>(() => {})
    const wake = new Wake()
    const runs = [state.run, state.release].filter((run) => run !== null)
    const ends = runs.map((run) => this.#options.watch(run, () => wake.tell()))
    this.#wakers.set(journey_id, { phase: state.phase, wake })
    try {
      for (let again_ms = firstAgain_ms, began = now(); ; ) {
        wake.clear()
        const looking = this.#look(trip).catch((error) => this.#failed(trip, error, began))
        const found = await this.#untilKept(trip, looking)
        // DBOS must not see this step end: the next start repeats it.
        if (this.#isClosing) return await new Promise<never>(() => {})
        if (found === undefined) return (await looking) as JourneyState
        if (!('phase' in found)) this.#waiting.set(journey_id, { ...found, waiting: cut(found.waiting), number: state.number })
        const isSoon = 'phase' in found || found.is_soon === true
        again_ms = isSoon ? Math.min(2 * again_ms, longestAgain_ms) : firstAgain_ms
        await wake.wait(isSoon ? again_ms : look_ms)
      }
    } finally {
      for (const end of ends) end()
      this.#wakers.delete(journey_id)
    }
  }

  /** Resolves with undefined when the database has the next state. */
  async #untilKept(trip: Trip, looking: Promise<JourneyState | Waiting>): Promise<JourneyState | Waiting | undefined> {
    const kept = looking.then(async (found) => ('phase' in found && (await this.#kept(trip, found)) ? undefined : found))
    this.#looking.add(kept)
    try {
      return await kept
    } finally {
      this.#looking.delete(kept)
    }
  }

  /** Cares for given-up journeys, owed withdrawals and old journeys. Failures are tried again in the next sweep. */
  async #sweep(): Promise<void> {
    try {
      await this.#withdrawOwed()
      const open = await this.#options.store.open()
      for (const row of open) await this.#lookAfter(row)
      for (const id of [...this.#waiting.keys()]) if (!open.some(({ journey_id }) => journey_id === id)) this.#waiting.delete(id)
      await this.#prune()
    } catch (error) {
      if (!this.#isClosing) this.#options.log.warn(`journeys: what is left over could not be looked after: ${messageOf(error)}`)
    }
    if (!this.#isClosing) this.#sweeping = setTimeout(() => void this.#sweep(), sweep_ms)
  }

  async #withdrawOwed(): Promise<void> {
    const { store, context } = this.#options
    for (const { run } of await store.owed())
      if (await tryToWithdraw(() => context.bench(run.bench), run)) await store.settle(run.submission_id)
  }

  /** Reports a journey that DBOS has given up, or did not continue. */
  async #lookAfter(row: JourneyRow): Promise<void> {
    const { journey_id, state } = row
    if (this.#isClosing || this.#wakers.has(journey_id)) return void this.#missed.delete(journey_id)
    const status = (await DBOS.getWorkflowStatus(journey_id))?.status
    if (status === undefined) return this.begin(row)
    const missed = (this.#missed.get(journey_id) ?? 0) + 1
    this.#missed.set(journey_id, missed)
    if (active.has(status) && missed < mostMissed) return
    const isTold = this.isGivenUp(row)
    const waiting = `nobody carries this journey out: DBOS has it as ${status}; retry takes it up where it stands`
    this.#waiting.set(journey_id, { waiting, needs_person: true, number: state.number, given_up: true })
    if (!isTold) this.#options.log.error(`journeys: journey ${journey_id} of ${row.labware}: ${waiting}`)
  }

  /** Removes the oldest ended journeys beyond the number that is kept. */
  async #prune(): Promise<void> {
    const { store, keep, forget } = this.#options
    const old = await store.oldest(keep)
    if (old.length === 0) return
    const ids = old.map(({ journey_id }) => journey_id)
    for (const labware of await store.unheld(ids)) await forget(labware)
    await DBOS.deleteWorkflows(ids)
    await store.remove(ids)
  }

  /** Stores the state. Returns whether the database has it. */
  async #kept({ journey_id, state }: Trip, found: JourneyState): Promise<boolean> {
    try {
      await this.#options.store.keep(journey_id, statusOf(found), found, found.phase === 'over' ? now() : null)
    } catch (error) {
      if (!this.#isClosing) this.#options.log.warn(`journeys: the database does not take a step: ${messageOf(error)}`)
      return false
    }
    this.#waiting.delete(journey_id)
    // Other journeys may wait for the positions of this one.
    if (found.phase === 'over' || state.phase === 'bring')
      for (const { phase, wake } of [...this.#wakers.values()]) if (phase === 'queued' || phase === 'claim') wake.tell()
    return true
  }

  async #look(trip: Trip): Promise<JourneyState | Waiting> {
    const { store, context } = this.#options
    if (trip.state.phase === 'over') return trip.state
    return look(trip, context, (await store.find(trip.journey_id))?.decision ?? null)
  }

  #failed({ state }: Trip, error: unknown, began: number): JourneyState | Waiting {
    if (error instanceof Restored && state.phase !== 'person') return problem(state, error.message)
    if (!(error instanceof LabError) && !this.#isClosing)
      this.#options.log.error('journeys: a step failed because of a fault of our own', error)
    const isLong = now() - began > patience_s
    return { waiting: `${messageOf(error)}; asked again and again`, needs_person: isLong || !(error instanceof LabError), is_soon: true }
  }
}

/** A signal that also ends a wait which begins after the call. */
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

  /** Resolves when `tell` was called since `clear`, or after the time. */
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

function statusOf({ phase, outcome }: JourneyState): JourneyRow['status'] {
  if (phase === 'over') return outcome === 'done' ? 'done' : 'ended'
  return phase === 'queued' ? 'queued' : 'open'
}
