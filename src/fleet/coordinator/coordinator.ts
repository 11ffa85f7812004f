// The coordinator of a lab: plans journeys over its benches, carries them out, and knows who has which labware.

import { randomUUID } from 'node:crypto'
import { LabError, messageOf } from '../../errors.ts'
import { didYouMeanAmong } from '../../kit/did_you_mean.ts'
import type { Log } from '../../kit/log.ts'
import { SerialQueue } from '../../kit/serial_queue.ts'
import { type Bench, openBenches, Refused, stop_ms } from './benches.ts'
import { type Broker, openLabBroker } from './broker.ts'
import { Custody } from './custody.ts'
import { mustBePossible, possible, type Verb } from './decisions.ts'
import { dryRun, type JourneyDryRun } from './dry_run.ts'
import { Journeys } from './journeys.ts'
import type { Lab } from './lab_file.ts'
import type { Task, Trip, Waiting } from './phases.ts'
import { giveWorkflows, type Plan, planAll } from './plan.ts'
import { begun, phases, type State } from './state.ts'
import { type CustodyRow, type JourneyRow, Store } from './store.ts'

export type ShownJourney = {
  journey_id: string
  name: string
  labware: string
  status: JourneyRow['status']
  phase: State['phase']
  /** From 1. */
  leg: number
  legs: { bench: string; workflow: string; execution_id: string | null }[]
  /** A sentence; null for a journey that has ended. */
  waiting: string | null
  needs_person: boolean
  decisions: Verb[]
  outcome: State['outcome']
  begun_at: number
  ended_at: number | null
  since: number
  bars: State['bars']
}

export type ShownTask = Pick<Task, 'kind' | 'bench' | 'position'> & {
  task_id: string
  journey_id: string
  labware: string
  what: string
  since: number
}

const mostWaiting = 1000

export class Coordinator {
  readonly lab: Lab
  readonly store: Store
  readonly #benches: ReadonlyMap<string, Bench>
  readonly #broker: Broker | undefined
  readonly #taking = new SerialQueue(mostWaiting)
  #journeys!: Journeys

  /** Rejects with `config` for a lab file that the benches cannot carry out, `in_use` for a second coordinator, `disconnected` without PostgreSQL. */
  static async open(lab: Lab, log: Log): Promise<Coordinator> {
    const opened: (() => unknown)[] = []
    try {
      const broker = await openLabBroker(lab)
      opened.push(() => broker?.close())
      const benches = await openBenches(lab, (name) => broker?.address(name))
      opened.push(() => closeAll(benches))
      const { away } = await planAll(lab, benches)
      for (const sentence of away) log.warn(`${sentence}; its part of the lab file is checked when a journey begins there`)
      const store = await Store.open(lab.database)
      opened.push(() => store.close())
      const coordinator = new Coordinator(lab, { store, benches, broker })
      for (const bench of benches.values()) bench.follow()
      coordinator.#journeys = await Journeys.open(lab.database, {
        ...{ store, log, its: coordinator.#surroundings() },
        watch: (run, call) => coordinator.#bench(run.bench).watch(run.execution_id ?? '', call),
      })
      return coordinator
    } catch (error) {
      for (const close of opened.reverse()) await Promise.resolve(close()).catch(() => undefined)
      throw error
    }
  }

  private constructor(
    lab: Lab,
    { store, benches, broker }: { store: Store; benches: ReadonlyMap<string, Bench>; broker: Broker | undefined },
  ) {
    this.lab = lab
    this.store = store
    this.#benches = benches
    this.#broker = broker
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
      await giveWorkflows(plan, this.#benches)
      await this.store.add({ journey_id, name, labware, state: begun(plan.legs), begun_at: Date.now() / 1000 })
    } else await this.store.add({ ...known, name, labware })
    const row = (await this.store.find(journey_id))!
    await this.#journeys.begin(row)
    return this.#shown(row)
  }

  async list(limit: number): Promise<ShownJourney[]> {
    return (await this.store.newest(limit)).map((row) => this.#shown(row))
  }

  /** By its id, the beginning of it, or its labware. Throws `not_found`, and `conflict` where several fit. */
  async journey(named: string): Promise<ShownJourney> {
    return this.#shown(await this.#row(named))
  }

  /** Says what the journey waits for, and what its bench says about the run. */
  async why(named: string): Promise<{ journey_id: string; because: string[] }> {
    const row = await this.#row(named)
    const { phase, run, release, problem } = row.state
    const waiting = this.#journeys.waiting(row.journey_id)
    const because = [waiting?.waiting ?? problem?.what ?? `${row.labware} ${phases[phase]}`]
    const asked = ['release', 'ready', 'take', 'back'].includes(phase) ? release : run
    if (asked?.execution_id && phase !== 'over') {
      const bench = this.#bench(asked.bench)
      const said = await bench
        .ask<{ blockers?: { message: string; remedy: string }[] }>('GET', `/api/executions/${asked.execution_id}/blockers`)
        .catch((error) => ({ blockers: [{ message: messageOf(error), remedy: '' }] }))
      for (const { message, remedy } of said.blockers ?? []) because.push(`${asked.bench}: ${message}${remedy ? `. ${remedy}` : ''}`)
    }
    const decisions = possible(row.state)
    if (waiting?.needs_person && decisions.includes('retry'))
      because.push(`decide: benchd lab decide ${row.journey_id.slice(0, 8)} ${decisions.join('|')}`)
    return { journey_id: row.journey_id, because }
  }

  /** Rejects with `conflict` for a decision that is not possible where the journey stands. */
  async decide(named: string, decision: { verb: Verb; position?: string | undefined; by: string }): Promise<ShownJourney> {
    const row = await this.#row(named)
    mustBePossible(row.state, decision)
    await this.store.decide(row.journey_id, decision)
    this.#journeys.wake(row.journey_id)
    return this.#shown((await this.store.find(row.journey_id))!)
  }

  /** Lists what people and carriers are to do, the oldest journey first. */
  async tasks(): Promise<ShownTask[]> {
    return (await this.store.open()).flatMap((row) => {
      const waiting = this.#journeys.waiting(row.journey_id)
      return waiting?.task ? [shownTask(row, waiting as Waiting & { task: Task })] : []
    })
  }

  /** Tells the bench that a task is done. Rejects with the sentence of the bench: the barcode is another, or nobody waits for that any more. */
  async confirm(task_id: string, barcode: string | undefined): Promise<string> {
    const tasks = await this.tasks()
    const found = tasks.filter((one) => one.task_id.startsWith(task_id))
    if (found.length !== 1)
      throw new LabError(
        'not_found',
        `there is no task ${task_id}; it was confirmed, or its time is over${didYouMeanAmong(
          task_id,
          tasks.map((one) => one.task_id),
        )}`,
      )
    const { journey_id, kind, bench, position, labware } = found[0]!
    const task = this.#journeys.waiting(journey_id)?.task
    if (!task) throw new LabError('not_found', `the task ${task_id} was confirmed just now`)
    const isPlacing = kind === 'place' || kind === 'bring'
    await this.#bench(bench).ask('POST', `/api/threads/${task.thread_id}/${isPlacing ? 'placed' : 'removed'}`, isPlacing ? { barcode } : {})
    this.#journeys.wake(journey_id)
    return isPlacing ? `${labware} stands at ${position} of ${bench}` : `${labware} is taken from ${position} of ${bench}`
  }

  custody(): Promise<CustodyRow[]> {
    return this.store.holders()
  }

  /** The benches of the lab file, as they answer now; each fails alone. */
  benches(): Promise<{ bench: string; url: string | null; status: string; failure: string | null }[]> {
    return Promise.all(
      [...this.#benches.values()].map(async (bench) => {
        const its = { bench: bench.name, url: bench.url ?? null }
        try {
          const { status } = await bench.ask<{ status: string }>('GET', '/health', undefined, stop_ms)
          return { ...its, status, failure: null }
        } catch (error) {
          return { ...its, status: 'silent', failure: messageOf(error) }
        }
      }),
    )
  }

  /** Asks all benches at once to stop their devices. It is no safety function: a bench that the network does not reach goes on. */
  async stopAll(): Promise<{ bench: string; success: boolean; message: string }[]> {
    return Promise.all(
      [...this.#benches.values()].map(async (bench) => {
        try {
          return { bench: bench.name, ...(await bench.ask<{ success: boolean; message: string }>('POST', '/api/stop', {}, stop_ms)) }
        } catch (error) {
          const message = error instanceof Refused ? error.message : `${messageOf(error)}: use its red button`
          return { bench: bench.name, success: false, message }
        }
      }),
    )
  }

  /** Tries a journey out on the clock alone. Rejects with `not_found`, `config`, `disconnected`. */
  async simulate(name: string): Promise<JourneyDryRun> {
    this.#mustHave(name)
    return dryRun(name, await this.#planOf(name), (bench) => this.#bench(bench))
  }

  /** Lets go of the benches and of the broker. Journeys go on when a coordinator begins again. */
  async close(): Promise<void> {
    closeAll(this.#benches)
    await this.#broker?.close()
    this.store.close()
  }

  #mustHave(name: string): void {
    const names = [...this.lab.legs.keys()]
    if (!names.includes(name)) throw new LabError('not_found', `the lab file has no journey ${name}${didYouMeanAmong(name, names)}`)
  }

  /** The file is held against the benches anew: they may have changed since. */
  async #planOf(name: string): Promise<Plan> {
    const legs = this.lab.legs.get(name)!
    const { plans, away } = await planAll({ ...this.lab, legs: new Map([[name, legs]]) }, this.#benches)
    const plan = plans.get(name)
    if (!plan) throw new LabError('disconnected', `${away.join('; ')}; the journey was not begun`)
    return plan
  }

  async #row(named: string): Promise<JourneyRow> {
    const whole = await this.store.find(named)
    if (whole) return whole
    const rows = (await this.store.newest(1000)).filter(({ journey_id, labware }) => journey_id.startsWith(named) || labware === named)
    const open = rows.filter(({ ended_at }) => ended_at === null)
    const [one, another] = open.length ? open : rows
    if (!one) throw new LabError('not_found', `there is no journey ${named}; see: benchd lab journeys`)
    if (another && one.labware !== named)
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
    const { phase, leg, legs, problem, outcome, since, bars, run } = state
    const { waiting = problem?.what, needs_person = problem !== null } = this.#journeys.waiting(journey_id) ?? {}
    return {
      ...{ journey_id, name, labware, status, phase, leg: leg + 1 },
      legs: legs.map(({ bench, workflow }, i) => ({ bench, workflow, execution_id: i === leg ? (run?.execution_id ?? null) : null })),
      waiting: phase === 'over' ? null : (waiting ?? `${labware} ${phases[phase]}`),
      needs_person: phase !== 'over' && needs_person,
      ...{ decisions: possible(state), outcome, begun_at, ended_at, since, bars },
    }
  }

  #bench(name: string): Bench {
    const bench = this.#benches.get(name)
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
      custody: new Custody(this.store, this.#broker),
      admit: (trip: Trip) => this.#taking.run(() => this.#admit(trip)),
      claim: (trip: Trip, spots: readonly string[]) =>
        this.#taking.run(async () => {
          // Who has waited longer goes first.
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
    // The next one in the queue is to know that this one is on its way, before this one has done its first step.
    await this.store.keep(journey_id, 'open', state, null)
    return undefined
  }
}

function closeAll(benches: ReadonlyMap<string, Bench>): void {
  for (const bench of benches.values()) bench.close()
}

const taskWords: Readonly<Record<Task['kind'], (task: Task, labware: string) => string>> = {
  place: ({ bench, position }, labware) => `Put ${labware} at ${position} of ${bench}.`,
  take: ({ bench, position }, labware) => `Take ${labware} from ${position} of ${bench}.`,
  bring: ({ bench, position }, labware) => `Bring ${labware} to ${position} of ${bench}.`,
  take_away: ({ bench, position }, labware) => `Take ${labware} away from ${position} of ${bench}.`,
}

function shownTask({ journey_id, labware, state }: JourneyRow, { task }: { task: Task }): ShownTask {
  const { kind, bench, position } = task
  const task_id = `${journey_id.slice(0, 8)}-${state.number}`
  return { task_id, journey_id, labware, kind, bench, position, what: taskWords[kind](task, labware), since: state.since }
}
