// The only file that knows DBOS: each journey is a workflow of it, and each phase a step whose outcome DBOS keeps in PostgreSQL. A step that was
// interrupted is taken again, so the phases themselves make sure that nothing happens twice. DBOS is a whole of the process: there is one `Journeys`.

import { DBOS } from '@dbos-inc/dbos-sdk'
import { LabError, messageOf } from '../errors.ts'
import type { Log } from '../kit/log.ts'
import { cut } from './benches.ts'
import { look } from './decisions.ts'
import { type JourneyContext, problem, Restored, type Trip, type Waiting } from './phases.ts'
import { type BenchRun, type JourneyState, now, type Phase } from './state.ts'
import type { JourneyRow, Store } from './store.ts'
import { tryToWithdraw } from './withdrawing.ts'

/** DBOS goes on only with workflows of the same version, so this never changes while a phase still means what it meant. */
const version = 'journeys-1'
/** Without a limit DBOS would give a journey up after so many starts of the coordinator. */
const mostRecoveries = 1e9
/** Each bench is looked at so often, also when it reported nothing. */
const look_ms = 5000
const firstAgain_ms = 100
const longestAgain_ms = 10_000
/** A bench that has not answered for so long is something for a person. */
const patience_s = 3600

/** The time between two sweeps, each for journeys that nobody carries out, runs that are to be withdrawn, and old journeys. */
const sweep_ms = 10_000
/** A journey that is not under way in so many sweeps one after the other is reported. */
const mostMissed = 6
/** The time that requests have to end when the coordinator does. */
const rest_ms = 3000

type Options = {
  store: Store
  context: JourneyContext
  log: Log
  /** The number of journeys that are kept after their end. */
  keep: number
  watch(run: BenchRun, call: () => void): () => void
  /** Has the broker forget labware that nobody has any more. */
  forget(labware: string): Promise<void>
}

/** The words of DBOS for a workflow that goes on. */
const active: ReadonlySet<string> = new Set(['PENDING', 'ENQUEUED', 'DELAYED'])

/** The workflow is registered once in a process, before there is a `Journeys`. */
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
  readonly #options: Options
  /** Keyed by journey, the thing that it waits for, and the number of the state in which it does. */
  readonly #waiting = new Map<string, Waiting & { number: number; given_up?: boolean }>()
  readonly #wakers = new Map<string, { phase: Phase; wake: Wake }>()
  /** Keyed by journey, in how many sweeps it was not under way. */
  readonly #missed = new Map<string, number>()
  readonly #looking = new Set<Promise<unknown>>()
  #isClosing = false
  #sweeping: NodeJS.Timeout | undefined

  /** Goes on with all journeys that have not ended. */
  static async open(database: string, options: Options): Promise<Journeys> {
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
    // A journey that was kept, and whose workflow did not begin before the coordinator died.
    for (const row of await options.store.open()) await journeys.begin(row)
    await journeys.#sweep()
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

  /** Whether DBOS carries the journey out no longer, so that it stands until somebody decides. */
  isGivenUp({ journey_id, state }: Pick<JourneyRow, 'journey_id' | 'state'>): boolean {
    return this.waiting(journey_id, state)?.given_up === true
  }

  /** Takes a journey that was given up from where it stands: its state is kept here, and not only by DBOS. */
  async takeUp(row: JourneyRow): Promise<void> {
    await DBOS.deleteWorkflow(row.journey_id)
    this.#waiting.delete(row.journey_id)
    this.#missed.delete(row.journey_id)
    await this.begin((await this.#options.store.find(row.journey_id)) ?? row)
  }

  /** Resolves when what was begun at the benches has ended, or after a while; nothing new begins. */
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

  /** The thing that a journey waits for in that state; undefined where it has come to another one. */
  waiting(journey_id: string, { number }: Pick<JourneyState, 'number'>): (Waiting & { given_up?: boolean }) | undefined {
    const waiting = this.#waiting.get(journey_id)
    return waiting?.number === number ? waiting : undefined
  }

  /** Has a journey look again at once: somebody has done or decided something. */
  wake(journey_id: string): void {
    this.#wakers.get(journey_id)?.wake.tell()
  }

  /** Looks, and acts, until the journey comes to its next phase. Never rejects: a failure is something that the journey waits for. */
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
        // The step is taken again at the next start; DBOS does not hear of it.
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

  /** Looks after what is left over; what fails is tried again in the next round. */
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

  /** Tells of a journey that nobody carries out: DBOS has given it up, or never went on with it. */
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

  /** Forgets the oldest journeys that have ended, where there are more than are kept. */
  async #prune(): Promise<void> {
    const { store, keep, forget } = this.#options
    const old = await store.oldest(keep)
    if (old.length === 0) return
    const ids = old.map(({ journey_id }) => journey_id)
    for (const labware of await store.unheld(ids)) await forget(labware)
    await DBOS.deleteWorkflows(ids)
    await store.remove(ids)
  }

  /** Whether the database has the state. */
  async #kept({ journey_id, state }: Trip, found: JourneyState): Promise<boolean> {
    try {
      await this.#options.store.keep(journey_id, statusOf(found), found, found.phase === 'over' ? now() : null)
    } catch (error) {
      if (!this.#isClosing) this.#options.log.warn(`journeys: the database does not take a step: ${messageOf(error)}`)
      return false
    }
    this.#waiting.delete(journey_id)
    // Others may have waited for what this journey had.
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

/** Wakes somebody who waits; also if called before the waiting began. */
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

  /** Resolves when it was called since `clear`, or after the time. */
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
