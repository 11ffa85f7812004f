// For tests: a service that dies at any moment and restarts with what was on its disk: the log, the records, and the state of its runs.

import { Person } from '../../../drivers/person/person.ts'
import { messageOf } from '../../errors.ts'
import { type Context, type RuntimeEvent, runtimeEvent } from '../../events/event.ts'
import type { IncidentCategory, NewIncident } from '../../events/incidents.ts'
import type { Sink } from '../../events/sinks.ts'
import type { Change, StateSource } from '../../events/states.ts'
import type { Clock } from '../../kit/clock.ts'
import { VirtualTime } from '../../kit/virtual_time.ts'
import { PureEquipment } from '../../workflow/equipment/pure_equipment.ts'
import { compileLibrary, type Library } from '../../workflow/plans/library.ts'
import { movesOf } from '../../workflow/plans/timing.ts'
import type { Topology } from '../../workflow/plans/topology.ts'
import type { TopologyInput } from '../../workflow/plans/topology_schema.ts'
import { Records } from '../../workflow/records/records.ts'
import { recordAnew } from '../../workflow/records/tracking_sink.ts'
import { abortOrphanedRuns } from '../../workflow/recovery/orphaned_runs.ts'
import type { Execution } from '../../workflow/runs/execution.ts'
import { Runtime } from '../../workflow/runtime.ts'
import type { RuntimeOptions } from '../../workflow/runtime_options.ts'
import type { FindSchedule } from '../../workflow/schedule/problem.ts'
import { findSchedule } from '../../workflow/schedule/search.ts'
import type { Scheduler } from '../../workflow/scheduler/scheduler.ts'
import { benchId, type Standing } from '../../workflow/standing_labware.ts'
import type { RunStates } from '../../workflow/state/entry.ts'
import { checkpointOf } from '../../workflow/state/run.ts'
import { type Shown, tasksOf } from '../people.ts'
import { drivenBench, emptyBench } from '../workflow.ts'
import { Ledger, Truth } from './bench.ts'
import type { Dice, Scene } from './scene.ts'

type Incident = { incident_id: string; category: IncidentCategory; message: string; thread_id: string | null }

type ServiceOptions = {
  scene: Scene
  dice: Dice
  onTold(event: RuntimeEvent): void
  /** Called after the service has died, with the events that reached the disk. */
  onLost(told: readonly RuntimeEvent[]): void
  fault(what: string): void
  /** Is called when a transporter begins to move. */
  onMotion(transporter_id: string): void
  /** Is called with the tasks that people have at the death of the service. */
  onOutlived(tasks: readonly Shown[]): void
}

export class Service {
  readonly told: RuntimeEvent[] = []
  readonly incidents: Incident[] = []
  readonly records = new Records()
  /** Keyed by the transporters that are people. */
  persons: ReadonlyMap<string, Person> = new Map()
  clock = new VirtualTime()
  runtime: Runtime
  isDead = false
  /** The number of plans that were made. */
  plans = 0
  /** Resolves when the service dies. */
  death: Promise<void> = Promise.resolve()
  /** The number of transactions after which it dies. */
  diesIn = Number.POSITIVE_INFINITY
  /** The number of events after which it dies, in the middle of the code that emits the last one. */
  diesAfter = Number.POSITIVE_INFINITY
  readonly #options: ServiceOptions
  readonly #library: Library
  readonly #card: Card
  readonly #sinks: Sink[] = []
  #ledgers: Ledger[] = []
  readonly #truthOf = new Map<string, Truth>()
  readonly #liveTruth = new Truth()
  /** The labware at rest, as last stored. */
  #atRest: Standing = { topology: null, labware: [] }
  #time = 0
  #ids = 0

  /** Throws for invalid documents. */
  constructor(options: ServiceOptions) {
    this.#options = options
    this.#card = new Card(this)
    const { topology, workflow } = options.scene
    const sources = [topology, workflow].map((input, i) => ({ origin: `document ${i}`, form: 'typescript' as const, input }))
    this.#library = compileLibrary(sources, emptyBench)
    const [fault] = this.#library.faults
    if (fault) throw new Error(fault.reason)
    this.runtime = this.#begin()
  }

  /** Kills the service at once. */
  die(): void {
    this.isDead = true
    this.diesIn = Number.POSITIVE_INFINITY
    this.diesAfter = Number.POSITIVE_INFINITY
    this.#tellDeath()
  }

  /** Restarts the service, and restores the open runs. Returns their ids. */
  async beginAnew(): Promise<string[]> {
    const { dice, fault, onLost } = this.#options
    this.#ledgers = []
    this.#card.die(dice)
    onLost(this.told)
    for (const truth of [this.#liveTruth, ...this.#truthOf.values()]) truth.settle(dice)
    this.#options.onOutlived(tasksOf(this.runtime))
    this.isDead = false
    this.runtime = this.#begin()
    for (const [execution_id, keys] of this.#card.runs) {
      if (execution_id === benchId) continue
      // A run that has ended is not restored, although its state may still exist.
      const isOver = this.told.some((event) => event.execution_id === execution_id && event.entity_type === 'EXECUTION')
      const saved = isOver ? undefined : checkpointOf(keys)
      if (isOver) continue
      if (!saved) fault(`what was kept of ${execution_id} is no whole execution`)
      try {
        this.#nextTruth = this.#truthOf.get(execution_id)
        if (saved) {
          const execution = await this.runtime.restore(saved)
          recordAnew(execution, this.records)
          this.knows(execution)
        }
      } catch (error) {
        fault(`${execution_id} cannot be taken up: ${messageOf(error)}`)
      }
      if (this.isDead) return []
    }
    this.runtime.standing.takenUp()
    const isOpen = (execution_id: string) => this.runtime.runs.get(execution_id) !== undefined
    const told = this.told
    await abortOrphanedRuns(this.records, {
      isTakenUp: isOpen,
      events: async function* (execution_id) {
        for (const event of [...told]) if (event.execution_id === execution_id) yield event
      },
      oldest: async () => told[0]?.timestamp,
      emit: (...event) => this.#emit(...event),
    })
    return this.runtime.runs.all().map(({ execution_id }) => execution_id)
  }

  get #floor(): Topology {
    return this.#library.topologies.get('floor')!
  }

  get positions(): readonly string[] {
    return [...this.#floor.graph.positions.keys()]
  }

  get transporters(): readonly string[] {
    return Object.keys(this.#floor.document.transporters)
  }

  reaches(transporter: string, position: string): boolean {
    return this.#floor.document.transporters[transporter]!.positions.includes(this.#floor.graph.positions.get(position)!.entry)
  }

  /** Whether the bench records where its labware is. */
  knows({ execution_id, environment }: Execution): void {
    const ledger = environment.equipment as Ledger
    ledger.scheduler = environment.scheduler
    this.#truthOf.set(execution_id, ledger.truth)
  }

  /** The number of leased devices. */
  get held(): number {
    return this.#ledgers.reduce((sum, { held }) => sum + held, 0)
  }

  #nextTruth: Truth | undefined

  #begin(): Runtime {
    const { scene } = this.#options
    this.#sinks.length = 0
    this.death = new Promise((resolve) => {
      this.#tellDeath = resolve
    })
    this.clock = new VirtualTime()
    const { clock } = this
    const isLive = scene.mode === 'LIVE'
    // Calls from a dead service have no effect.
    let isMine = true
    const isDead = () => !isMine || this.isDead
    this.#buryLast()
    this.#buryLast = () => {
      isMine = false
    }
    const persons = Object.entries(scene.people).map(([name, settings]) => [name, new Person({ settings, clock })] as const)
    this.persons = new Map(persons)
    const ledger = (clock: Clock, truth: Truth) => this.#ledger(clock, truth, isDead)
    const runtime = new Runtime({
      hub: this.#hub(isDead),
      clock,
      now: () => this.#time / 1e6,
      warn: () => {},
      bench: isLive ? drivenBench(scene.topology as TopologyInput) : emptyBench,
      library: this.#library,
      newId: () => `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, '0')}`,
      records: this.records,
      simulate: (_, clock) => ledger(clock, this.#nextTruth ?? new Truth()),
      ...(scene.isPlanned && { search: this.#search }),
      ...(isLive && { live: ledger(clock, this.#liveTruth) }),
      ...(scene.restarts > 0 && scene.isKept && { keep: () => this.#card.states(isDead) }),
      storeStanding: async (standing) => {
        if (!isDead()) this.#atRest = structuredClone(standing)
      },
    })
    this.#nextTruth = undefined
    const atRest = this.#atRest.labware.map((one) => [`LIVE ${one.labware_id}`, one] as const)
    runtime.standing.recall(this.#card.runs.get(benchId) ?? new Map(atRest))
    if (isLive) runtime.load('floor')
    if (this.#card.runs.size > 0) runtime.standing.writeTo(this.#card.states(isDead))
    return runtime
  }

  /** A search with little effort, which takes a turn. */
  readonly #search: FindSchedule = async (problem) => {
    await turn()
    const schedule = findSchedule(problem, { states: 1000 })
    if (schedule) this.plans++
    return schedule
  }

  #buryLast = () => {}
  #tellDeath = () => {}

  #ledger(clock: Clock, truth: Truth, isDead: () => boolean): Ledger {
    const { scene, fault, onMotion } = this.#options
    const { persons } = this
    const transporters = movesOf(this.#library.topologies.get('floor')!.document)
    const equipment = new PureEquipment({ clock, transporters, faults: scene.faults })
    const ledger = new Ledger({ equipment, truth, clock, slow: scene.slow, persons, isDead, fault, onMotion })
    this.#ledgers.push(ledger)
    return ledger
  }

  #hub(isDead: () => boolean): RuntimeOptions['hub'] {
    const emit = (event_name: string, context: Context, execution_id?: string) => {
      if (isDead()) return runtimeEvent(event_name, 'nobody', 0, context)
      return this.#emit(event_name, context, execution_id)
    }
    return {
      emit,
      incident: (
        category: IncidentCategory,
        message: string,
        { thread_id = null, severity = 'ERROR', recovery_action = 'NONE', execution_id = null }: Partial<NewIncident> = {},
      ) => {
        const incident_id = `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, '0')}`
        const context = { incident_id, category, severity, message, recovery_action, execution_id, thread_id }
        if (!isDead()) this.incidents.push({ incident_id, category, message, thread_id })
        emit(`INCIDENT.${incident_id}.${category}`, context, execution_id ?? 'system')
        return { ...context, detail: {}, timestamp: this.#time / 1e6, acknowledged: null }
      },
      registerSink: (sink: Sink) => this.#sinks.push(sink),
      unregisterSink: () => {},
    } as unknown as RuntimeOptions['hub']
  }

  #emit(event_name: string, context: Context, execution_id = 'system'): RuntimeEvent {
    const event = runtimeEvent(event_name, execution_id, ++this.#time / 1e6, context)
    this.told.push(event)
    for (const sink of this.#sinks) sink.onEvent(event)
    this.#options.onTold(event)
    if (--this.diesAfter <= 0) this.die()
    return event
  }

  get isLive(): boolean {
    return this.#options.scene.mode === 'LIVE'
  }

  /** Returns the values of each open run as they are now. */
  present(): Values {
    const open = this.runtime.runs.all().filter(({ isOver }) => !isOver)
    for (const { threads, environment } of open)
      for (const { thread_id, name, labware, state } of threads.values())
        if (state.seat !== seatOf(environment.scheduler, { thread_id, labware_id: labware.labware_id }))
          this.#options.fault(`the state of ${name} has its labware at ${state.seat}`)
    const runs = open.flatMap(({ execution_id, state }): [string, Map<string, string>][] =>
      state.isWritten ? [[execution_id, state.present()]] : [],
    )
    return new Map([...runs, [benchId, this.runtime.standing.present()]])
  }

  /** Checks a written transaction against the values when it was taken. A difference means that a value changed without a mark. */
  wrote(written: Values, present: Values): void {
    for (const [execution_id, values] of present) {
      const known = written.get(execution_id)
      if (!known) continue
      const keys = new Set([...values.keys(), ...known.keys()])
      const wrong = [...keys].filter((key) => values.get(key) !== known.get(key))
      if (wrong.length > 0) this.#options.fault(`what is written of ${execution_id} is not what there was of ${wrong}`)
    }
    if (--this.diesIn <= 0) this.die()
  }
}

/** The JSON of each value of each run. */
type Values = ReadonlyMap<string, ReadonlyMap<string, string>>

/** The content of the disk at the end of a turn: the text of each key of each run, and the length of the log. */
type Transaction = { runs: Values; told: number }

/** The disk with the state of all runs. The last transactions may be lost. */
class Card {
  readonly #service: Service
  #sources = new Map<string, StateSource>()
  /** The values of each run, after all its changes. */
  #patched = new Map<string, Map<string, string>>()
  /** Runs without a transaction since they were added. */
  readonly #fresh = new Set<string>()
  /** The last transaction, written or being written; `#next` is the one after it. */
  #last = Promise.resolve()
  #next: Promise<void> | undefined
  /** The last transaction that is certainly on the disk, and those after it. */
  #transactions: Transaction[] = [{ runs: new Map(), told: 0 }]

  constructor(service: Service) {
    this.#service = service
  }

  /** Returns the values as they were read. */
  get runs(): Map<string, Map<string, unknown>> {
    const parsed = (texts: ReadonlyMap<string, string>) => new Map([...texts].map(([key, text]) => [key, JSON.parse(text)]))
    return new Map([...this.#patched].map(([id, texts]) => [id, parsed(texts)]))
  }

  /** Returns the writer for one service. It has no effect once `isDead` returns true. */
  states(isDead: () => boolean): RunStates {
    const persist = () => this.#persist(isDead)
    return {
      add: (execution_id, source) => {
        if (isDead()) return
        this.#sources.set(execution_id, source)
        this.#fresh.add(execution_id)
        void persist()
      },
      changed: () => void persist(),
      persist: async () => {
        await persist()
        this.#transactions.splice(0, this.#transactions.length - 1)
      },
      leave: () => {},
      drop: (execution_id) => {
        if (isDead()) return
        this.#sources.delete(execution_id)
        this.#patched.delete(execution_id)
      },
    }
  }

  /** Resolves when a transaction that begins after this turn is written. Transactions are written one after the other. Never resolves for a dead service. */
  #persist(isDead: () => boolean): Promise<void> {
    const write = async () => {
      await turn()
      if (isDead()) return never
      this.#next = undefined
      await this.#write(isDead)
      if (isDead()) await never
    }
    if (isDead()) return never
    this.#next ??= this.#last.then(write)
    this.#last = this.#next
    return this.#next
  }

  /** Goes back to one of the transactions that may be the last on the disk, and cuts the log to match. */
  die(dice: Dice): void {
    const { told } = this.#service
    const last = this.#transactions[this.#transactions.length - 1 - (dice.oneIn(2) ? 0 : dice.below(this.#transactions.length))]!
    this.#sources = new Map()
    this.#fresh.clear()
    this.#next = undefined
    this.#last = Promise.resolve()
    this.#patched = new Map([...last.runs].map(([id, values]) => [id, new Map(values)]))
    const cut = told.findIndex(({ execution_id }, i) => i >= last.told && last.runs.has(execution_id))
    if (cut !== -1) told.length = cut
    this.#transactions = [{ ...last, told: told.length }]
  }

  /** Writes the changes of this turn as the real service does: one value now, the others in the next turn, while threads go on. */
  async #write(isDead: () => boolean): Promise<void> {
    const { told } = this.#service
    const [toldBefore, present] = [told.length, this.#service.present()]
    const taken = [...this.#sources].map(([id, source]) => ({ id, changes: source.changes()[Symbol.iterator]() }))
    for (const { id } of taken) if (this.#fresh.delete(id)) this.#patched.set(id, new Map())
    for (const { id, changes } of taken) this.#note(id, changes.next())
    // Not with virtual time that jumps by itself, which would run ahead meanwhile.
    if (this.#service.isLive) await turn()
    if (isDead()) return
    for (const { id, changes } of taken) for (let next = changes.next(); !next.done; next = changes.next()) this.#note(id, next)
    const runs = new Map([...this.#patched].map(([id, values]) => [id, new Map(values)]))
    this.#transactions.push({ runs, told: toldBefore })
    this.#service.wrote(runs, present)
  }

  /** Notes a change; a run that has ended meanwhile has no values. */
  #note(id: string, { value, done }: IteratorResult<Change>): void {
    if (done) return
    const [key, text] = value
    if (text === null) this.#patched.get(id)?.delete(key)
    else this.#patched.get(id)?.set(key, text)
  }
}

/** Returns where the labware of a thread stands, if the thread moves it. */
function seatOf(scheduler: Scheduler, { thread_id, labware_id }: { thread_id: string; labware_id: string }): string | null {
  return scheduler.whose(labware_id) === thread_id ? (scheduler.whereIs(labware_id) ?? null) : null
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const never = new Promise<void>(() => {})
