// The coordinator of a lab: plans journeys over its benches, carries them out, and knows who has which labware.

import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import type { Log } from '../kit/log.ts'
import { Id } from '../kit/name.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import { Blockers } from './answers.ts'
import { notOrdered, type RemoteBench } from './benches.ts'
import { addressesTold } from './broker.ts'
import { Custody } from './custody.ts'
import { mustBePossible, possible, type Verb } from './decisions.ts'
import { dryRun, type JourneyDryRun } from './dry_run.ts'
import { Journeys } from './journeys.ts'
import type { LabBenches } from './lab_benches.ts'
import type { Lab } from './lab_file.ts'
import type { Task, Trip } from './phases.ts'
import { giveWorkflows, type Plan, planAll } from './plan.ts'
import { type BenchRun, begun, type JourneyState, phases } from './state.ts'
import { type CustodyRow, type JourneyRow, Store } from './store.ts'
import { tryToWithdraw } from './withdrawing.ts'

export type ShownJourney = {
  journey_id: string
  name: string
  labware: string
  status: JourneyRow['status']
  /** Counts the states of the journey; a decision may name the one that it is about. */
  step: number
  phase: JourneyState['phase']
  /** From 1. */
  leg: number
  legs: { bench: string; workflow: string; execution_id: string | null }[]
  /** A sentence; null for a journey that has ended. */
  waiting: string | null
  needs_person: boolean
  decisions: Verb[]
  outcome: JourneyState['outcome']
  begun_at: number
  ended_at: number | null
  since: number
  bars: JourneyState['bars']
}

export type ShownTask = Pick<Task, 'kind' | 'bench' | 'position'> & {
  task_id: string
  journey_id: string
  labware: string
  what: string
  since: number
}

const mostWaiting = 1000
/** The most journeys that a message lists for an ambiguous name. */
const mostNamed = 100

export class Coordinator {
  readonly lab: Lab
  readonly store: Store
  readonly #benches: LabBenches
  readonly #custody: Custody
  readonly #taking = new SerialQueue(mostWaiting)
  #journeys!: Journeys

  /** Rejects with `config` for a lab file that the benches cannot carry out, `in_use` for a second coordinator, `disconnected` without PostgreSQL. */
  static async open(benches: LabBenches, log: Log): Promise<Coordinator> {
    const { lab, broker, all } = benches
    await addressesTold(lab, broker)
    const { away } = await planAll(lab, all)
    for (const sentence of away) log.warn(`${sentence}; its part of the lab file is checked when a journey begins there`)
    const store = await Store.open(lab.database)
    const coordinator = new Coordinator(benches, store)
    try {
      coordinator.#journeys = await Journeys.open(lab.database, {
        ...{ store, log, context: coordinator.#surroundings(), keep: lab.keep_journeys },
        watch: (run, call) => coordinator.#bench(run.bench).watch(run.execution_id ?? notOrdered, call),
        forget: (labware) => coordinator.#custody.forget(labware),
      })
      return coordinator
    } catch (error) {
      store.close()
      throw error
    }
  }

  private constructor(benches: LabBenches, store: Store) {
    this.lab = benches.lab
    this.store = store
    this.#benches = benches
    this.#custody = new Custody(store, benches.broker)
  }

  /** Begins a journey with this labware. The same journey with the same id begins once. Rejects with `not_found`, `conflict`, `config`, `disconnected`. */
  async start({
    name,
    labware,
    journey_id = randomUUID(),
  }: {
    name: string
    labware: string
    journey_id?: string | undefined
  }): Promise<ShownJourney> {
    this.#mustHave(name)
    const known = await this.store.find(journey_id)
    if (!known) {
      const plan = await this.#planOf(name)
      await giveWorkflows(plan, this.#benches.all)
      await this.store.add({ journey_id, name, labware, state: begun(plan.legs), begun_at: Date.now() / 1000 })
    } else await this.store.add({ ...known, name, labware })
    const row = (await this.store.find(journey_id))!
    await this.#journeys.begin(row)
    return this.#shown(row)
  }

  async list(limit: number): Promise<ShownJourney[]> {
    return (await this.store.newest(limit)).map((row) => this.#shown(row))
  }

  /** Finds a journey by its id, the beginning of it, or its labware. Throws `not_found`, and `conflict` where several fit. */
  async journey(named: string): Promise<ShownJourney> {
    return this.#shown(await this.#row(named))
  }

  /** Says what the journey waits for, and what its bench says about the run. */
  async why(named: string): Promise<{ journey_id: string; because: string[] }> {
    const row = await this.#row(named)
    const { phase, run, release, problem } = row.state
    const waiting = this.#journeys.waiting(row.journey_id, row.state)
    const because = [waiting?.waiting ?? problem?.what ?? `${row.labware} ${phases[phase]}`]
    if (row.state.overtaken !== undefined) because.push(row.state.overtaken)
    const asked = ['release', 'ready', 'take', 'back'].includes(phase) ? release : run
    if (asked?.execution_id && phase !== 'over') {
      const bench = this.#bench(asked.bench)
      const said = await bench
        .get(`/api/executions/${asked.execution_id}/blockers`, Blockers)
        .catch((error) => ({ blockers: [{ message: messageOf(error), remedy: '' }] }))
      for (const { message, remedy } of said.blockers) because.push(`${asked.bench}: ${message}${remedy ? `; ${remedy}` : ''}`)
    }
    const decisions = this.#decisions(row)
    if (waiting?.needs_person && decisions.includes('retry'))
      because.push(`decide (${decisions.join(', ')}): POST /api/lab/journeys/${row.journey_id}/decide`)
    return { journey_id: row.journey_id, because }
  }

  /** Rejects with `conflict` for a decision that is not possible where the journey stands, or that is about an earlier `step`. */
  async decide(
    named: string,
    { step, ...decision }: { verb: Verb; step?: number | undefined; position?: string | undefined; by: string },
  ): Promise<ShownJourney> {
    const row = await this.#row(named)
    const { number } = row.state
    const isOvertaken = step !== undefined && step !== number
    if (!isOvertaken) mustBePossible(this.#decisions(row), decision)
    const isGivenUp = this.#journeys.isGivenUp(row)
    if (isGivenUp && !isOvertaken && decision.verb === 'retry') {
      await this.#journeys.takeUp(row)
      return this.#shown(row)
    }
    if (isOvertaken || !(await this.store.decide(row.journey_id, { ...decision, step: number })))
      throw new LabError('conflict', `the journey of ${row.labware} has gone on since; look at it again, then decide`)
    if (isGivenUp) await this.#journeys.takeUp(row)
    else this.#journeys.wake(row.journey_id)
    return this.#shown((await this.store.find(row.journey_id))!)
  }

  /** Lists what people and carriers are to do, the oldest journey first. */
  async tasks(): Promise<ShownTask[]> {
    return (await this.#openTasks()).map(({ shown }) => shown)
  }

  async #openTasks(): Promise<{ task: Task; shown: ShownTask }[]> {
    return (await this.store.open()).flatMap((row) => {
      const task = this.#journeys.waiting(row.journey_id, row.state)?.task
      // A person has decided about the journey since, so the task is void.
      const isDecided = row.decision !== null && row.decision.number > row.state.decided
      return task && !isDecided ? [{ task, shown: shownTask(row, task) }] : []
    })
  }

  /** Tells the bench that a task is done. Rejects with the sentence of the bench if the barcode differs, or the bench no longer waits for the task. */
  async confirm(task_id: string, barcode: string | undefined): Promise<string> {
    const open = await this.#openTasks()
    const found = open.filter(({ shown }) => isNamed(shown, task_id))
    const ids = found.map(({ shown }) => shown.task_id)
    if (ids.length > 1) throw new LabError('conflict', `${task_id} fits several tasks: ${ids.slice(0, 10).join(', ')}`)
    if (!found[0])
      throw new LabError(
        'not_found',
        `there is no task ${task_id}; it was confirmed, or its time is over; /api/lab/tasks shows the open ones`,
      )
    const { journey_id, kind, bench, position, labware } = found[0].shown
    const { task } = found[0]
    const isPlacing = kind === 'place' || kind === 'bring'
    await this.#bench(bench).ask('POST', `/api/threads/${task.thread_id}/${isPlacing ? 'placed' : 'removed'}`, isPlacing ? { barcode } : {})
    this.#journeys.wake(journey_id)
    return isPlacing ? `${labware} stands at ${position} of ${bench}` : `${labware} is taken from ${position} of ${bench}`
  }

  custody(): Promise<CustodyRow[]> {
    return this.store.holders()
  }

  /** The oldest first; none for labware that no journey has had. */
  async custodyOf(labware: string): Promise<CustodyRow[]> {
    return v.is(Id, labware) ? this.store.custodyOf(labware) : []
  }

  /** Simulates a journey on the clock alone. Rejects with `not_found`, `config`, `disconnected`. */
  async simulate(name: string): Promise<JourneyDryRun> {
    this.#mustHave(name)
    return dryRun(name, await this.#planOf(name), (bench) => this.#bench(bench))
  }

  /** Ends the steps that are under way, then closes the database. Journeys continue when a coordinator starts again. */
  async close(): Promise<void> {
    await this.#journeys.close()
    this.store.close()
  }

  #mustHave(name: string): void {
    const names = [...this.lab.legs.keys()]
    if (!names.includes(name)) throw new LabError('not_found', `the lab file has no journey ${name}${didYouMeanAmong(name, names)}`)
  }

  /** Plans a journey anew, because the benches may have changed since the start. */
  async #planOf(name: string): Promise<Plan> {
    const legs = this.lab.legs.get(name)!
    const { plans, away } = await planAll({ ...this.lab, legs: new Map([[name, legs]]) }, this.#benches.all)
    const plan = plans.get(name)
    if (!plan) throw new LabError('disconnected', `${away.join('; ')}; the journey was not begun`)
    return plan
  }

  async #row(named: string): Promise<JourneyRow> {
    const isName = v.is(Id, named)
    const whole = isName ? await this.store.find(named) : undefined
    if (whole) return whole
    const rows = isName ? await this.store.named(named, mostNamed) : []
    const open = rows.filter(({ ended_at }) => ended_at === null)
    const fitting = open.length ? open : rows
    // Labware has had several journeys one after the other; the newest is meant.
    const [one, another] = fitting.every(({ labware }) => labware === named) ? fitting.slice(0, 1) : fitting
    if (!one) throw new LabError('not_found', `there is no journey ${named}; /api/lab/journeys shows what there is`)
    if (another)
      throw new LabError(
        'conflict',
        `${named} fits several journeys: ${rows
          .slice(0, 10)
          .map(({ journey_id }) => journey_id.slice(0, 8))
          .join(', ')}`,
      )
    return one
  }

  #shown({ journey_id, name, labware, status, state, begun_at, ended_at }: JourneyRow): ShownJourney {
    const { number, phase, leg, legs, problem, outcome, since, bars, run } = state
    const { waiting = problem?.what, needs_person = problem !== null } = this.#journeys.waiting(journey_id, state) ?? {}
    return {
      ...{ journey_id, name, labware, status, step: number, phase, leg: leg + 1 },
      legs: legs.map(({ bench, workflow }, i) => ({ bench, workflow, execution_id: i === leg ? (run?.execution_id ?? null) : null })),
      waiting: phase === 'over' ? null : (waiting ?? `${labware} ${phases[phase]}`),
      needs_person: phase !== 'over' && needs_person,
      ...{ decisions: this.#decisions({ journey_id, state }), outcome, begun_at, ended_at, since, bars },
    }
  }

  /** The decisions that are possible now. `retry` is one for a journey that DBOS has given up. */
  #decisions(row: Pick<JourneyRow, 'journey_id' | 'state'>): Verb[] {
    const usual = possible(row.state)
    return this.#journeys.isGivenUp(row) && !usual.includes('retry') ? ['retry', ...usual] : usual
  }

  #bench(name: string): RemoteBench {
    const bench = this.#benches.all.get(name)
    if (!bench)
      throw new LabError(
        'config',
        `the lab file has no bench ${name} any more, and a journey is on it; put it back, and start the coordinator again`,
      )
    return bench
  }

  #surroundings() {
    const wanting = new Map<string, readonly string[]>()
    return {
      bench: (name: string) => this.#bench(name),
      custody: this.#custody,
      admit: (trip: Trip) => this.#taking.run(() => this.#admit(trip)),
      claim: (trip: Trip, spots: readonly string[]) =>
        this.#taking.run(async () => {
          // The journey that has waited longest goes first.
          const isBefore = [...wanting].find(([id, wanted]) => id !== trip.journey_id && wanted.some((spot) => spots.includes(spot)))
          const isFirst = !wanting.has(trip.journey_id) && isBefore
          const other = isFirst ? isBefore[0] : await this.store.claim(trip.journey_id, spots)
          if (other === undefined) {
            wanting.delete(trip.journey_id)
            return undefined
          }
          wanting.set(trip.journey_id, spots)
          return `journey ${other.slice(0, 8)} hands over at ${spots.join(' or ')} first`
        }),
      release: (trip: Trip) => {
        wanting.delete(trip.journey_id)
        return this.store.release(trip.journey_id)
      },
      withdraw: async ({ journey_id }: Trip, run: BenchRun) => {
        if (!(await tryToWithdraw(() => this.#bench(run.bench), run))) await this.store.owe(journey_id, run)
      },
    }
  }

  /**
   * Admits a journey when each of its benches has a position more than journeys on it, so that every labware on its way finds a place to rest, and
   * no benches wait for each other. The oldest goes first.
   */
  async #admit({ journey_id, state }: Trip): Promise<string | undefined> {
    const first = await this.store.firstQueued()
    if (first !== undefined && first !== journey_id) return `journey ${first.slice(0, 8)} begins first`
    const rows = await this.store.open()
    const open = rows.filter(({ status, journey_id: id }) => status === 'open' && id !== journey_id)
    for (const { bench, room } of state.legs) {
      const there = open.filter(({ state }) => state.legs.some((leg) => leg.bench === bench)).length
      if (room !== null && there >= room) return `${bench} has room for ${room} labware between its legs, and ${there} journeys are on it`
    }
    // The next journey in the queue must see that this one has begun, before its first step is done.
    await this.store.keep(journey_id, 'open', state, null)
    return undefined
  }
}

const taskWords: Readonly<Record<Task['kind'], (task: Task, labware: string) => string>> = {
  place: ({ bench, position }, labware) => `Put ${labware} at ${position} of ${bench}.`,
  take: ({ bench, position }, labware) => `Take ${labware} from ${position} of ${bench}.`,
  bring: ({ bench, position }, labware) => `Bring ${labware} to ${position} of ${bench}.`,
  take_away: ({ bench, position }, labware) => `Take ${labware} away from ${position} of ${bench}.`,
}

/** Whether `named` is the id of the task, whole or with the journey's id shortened. The number of the state must match. */
function isNamed({ journey_id, task_id }: ShownTask, named: string): boolean {
  const at = named.lastIndexOf('-')
  return task_id === named || (at >= 4 && journey_id.startsWith(named.slice(0, at)) && task_id === journey_id + named.slice(at))
}

function shownTask({ journey_id, labware, state }: JourneyRow, task: Task): ShownTask {
  const { kind, bench, position } = task
  const task_id = `${journey_id}-${state.number}`
  return { task_id, journey_id, labware, kind, bench, position, what: taskWords[kind](task, labware), since: state.since }
}
