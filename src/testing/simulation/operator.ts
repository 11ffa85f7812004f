// For tests: an operator who interferes with a run in every possible way, and then helps it to its end.

import { LabError } from '../../errors.ts'
import type { Execution } from '../../workflow/runs/execution.ts'
import { ahead } from '../../workflow/runs/step_names.ts'
import type { Runtime } from '../../workflow/runtime.ts'
import { decisions, decisionsAt, type PauseSite } from '../../workflow/threads/recovery.ts'
import type { LabwareThread } from '../../workflow/threads/thread.ts'
import { type Ledger, putRight } from './bench.ts'
import type { Dice, Scene } from './scene.ts'
import type { Service } from './service.ts'
import type { Watch } from './watch.ts'

const mostSubmissions = 3

type OperatorOptions = { scene: Scene; dice: Dice; service: Service; watch: Watch }

export class RestlessOperator {
  /** Whether the operator now aborts held threads, instead of trying decisions. */
  isWeary = false
  readonly #scene: Scene
  readonly #dice: Dice
  readonly #service: Service
  readonly #watch: Watch

  #submitted = 0

  constructor({ scene, dice, service, watch }: OperatorOptions) {
    this.#scene = scene
    this.#dice = dice
    this.#service = service
    this.#watch = watch
  }

  get #runtime(): Runtime {
    return this.#service.runtime
  }

  open(): Execution[] {
    return this.#runtime.runs.all().filter(({ isOver }) => !isOver)
  }

  async submit(): Promise<void> {
    const { groups, batch_mode, mode } = this.#scene
    const ids = groups.map((group_id) => ({ group_id: `${group_id}_${this.#dice.below(1e6)}`, members: this.#members() }))
    const runtime = this.#runtime
    try {
      // Of several submissions every second one is urgent. No dice are used, so that seeds stay what they were.
      const priority = (this.#submitted++ % 2) * 9
      const asked = { workflow: 'work', run_mode: mode, groups: ids, batch_mode, variables: {}, operator_id: null, priority }
      // A service that dies meanwhile never answers.
      await Promise.race([runtime.submit(asked), this.#service.death])
      if (runtime === this.#runtime) for (const execution of runtime.runs.all()) this.#service.knows(execution)
    } catch (error) {
      this.#mayRefuse(error)
    }
  }

  /** Chooses the labware of some threads. */
  #members(): Record<string, { barcode: string }> {
    if (!this.#dice.oneIn(3)) return {}
    const { threads } = this.#scene.workflow as { threads: object }
    return Object.fromEntries(this.#dice.some(Object.keys(threads)).map((name) => [name, { barcode: `${name}-${this.#dice.below(3)}` }]))
  }

  /** Whether a submission may share the open run. Each run in PURE_SIM has its own clock, so there a submission must join the open run. */
  #isShared(): boolean {
    const { mode, batch_mode, groups } = this.#scene
    if (this.#runtime.runs.all().flatMap(({ submissions }) => submissions).length > mostSubmissions) return false
    return mode === 'LIVE' || (batch_mode === 'JOIN_EXISTING' && groups.length > 0 && this.open().length > 0)
  }

  interfere(): void {
    const dice = this.#dice
    const execution = this.open()[dice.below(this.open().length || 1)]
    const thread = execution?.live()[dice.below(execution.live().length || 1)]
    if (!execution || !thread) return
    const verbs = [
      () => thread.control.pause('manual'),
      () => this.#letGo(() => thread.control.resume()),
      () => dice.oneIn(3) && thread.control.stop(),
      () => this.#recover(thread),
      () => this.#recover(thread),
      () => this.#recoverWrongly(thread),
      () => execution.pause('manual'),
      () => this.#resume(execution),
      () => this.#resume(execution),
      () => dice.oneIn(3) && execution.stop(dice.oneIn(2)),
      () => dice.oneIn(20) && execution.abort('somebody wanted it so'),
      () => this.#emit(execution),
      () => dice.oneIn(5) && execution.close(),
      () => dice.oneIn(3) && this.#isShared() && void this.submit(),
      () => this.#byHand(thread),
      () => this.#byHandWrongly(thread),
      () => this.#confirm(),
      () => this.#skip(execution),
      () => this.#insert(execution),
      () => this.#insert(execution),
      () => this.#spawn(execution),
      () => this.#relocate(),
      () => this.#relocate(),
      () => this.#decideLate(),
      () => this.#decideLate(),
    ]
    this.#try(dice.pick(verbs))
  }

  /** Does everything that a run may need from a person. */
  help(execution: Execution): void {
    this.#try(() => this.#resume(execution))
    this.#clearAway(execution)
    for (const thread of execution.live()) {
      if (thread.control.pausedAt) this.#try(() => this.#recover(thread))
      else if (thread.status.current === 'PAUSED' && !thread.following) this.#try(() => thread.control.resume())
      this.#try(() => this.#byHand(thread))
    }
    this.#try(() => this.#decideLate())
    for (const { step_id, move } of this.#runtime.operator.steps())
      if (move === null) this.#try(() => this.#runtime.operator.confirm(step_id))
    if (execution.live().some(({ control: { waiting } }) => waiting?.kind === 'event'))
      for (const event of this.#scene.events) execution.events.emitCustom(event, { value: 'yes', data: {} }, null)
  }

  /** Calls `verb`; after a restart, first looks where everything is. */
  #letGo(verb: () => unknown): void {
    if (this.#watch.standing.size > 0) {
      const wrong = putRight(this.#runtime, this.#dice)
      void this.#runtime.standing.persisted()
      for (const what of wrong) this.#watch.fault(`an operator cannot put it right: ${what}`)
      this.#watch.standing.clear()
    }
    verb()
  }

  #resume(execution: Execution): void {
    this.#letGo(() => execution.resume())
  }

  /** Takes away labware that ended threads left standing or in a gripper. */
  #clearAway({ environment }: Execution): void {
    for (const { labware, environment: where, thread } of this.#runtime.labware()) {
      if (thread || where !== environment) continue
      this.#try(() => this.#runtime.relocate(labware.labware_id, { position: null }))
      void this.#runtime.standing.persisted()
      ;(environment.equipment as Ledger).truth.put(labware.labware_id, undefined)
    }
  }

  #emit(execution: Execution): void {
    const { events } = this.#scene
    execution.events.emitCustom(this.#dice.pick(events), { value: this.#dice.pick(['yes', 'no', null]), data: {} }, null)
  }

  #recover(thread: LabwareThread): void {
    const site: PauseSite | null =
      thread.control.pausedAt ?? (thread.state.interrupted && thread.status.current === 'PAUSED' ? 'RESTART' : null)
    if (!site) return
    const honoured = decisions.filter((decision) => decisionsAt(site).includes(decision))
    const decision = this.isWeary ? 'ABORT_THREAD' : this.#dice.pick(honoured)
    this.#letGo(() => thread.control.recover(decision))
  }

  /** Checks that a refused request says what is possible, and changes nothing. */
  #recoverWrongly(thread: LabwareThread): void {
    const site = thread.control.pausedAt
    if (thread.following || (thread.state.interrupted && !site)) return
    const wrong = decisions.filter((decision) => !site || !decisionsAt(site).includes(decision))
    if (wrong.length === 0) return
    const decision = this.#dice.pick(wrong)
    this.#mustRefuse(
      `${decision} at ${site}`,
      'conflict',
      () => thread.control.recover(decision),
      (message) =>
        site ? decisionsAt(site).every((honoured) => message.includes(honoured)) || /no error holds|has decided/.test(message) : true,
    )
    if (thread.control.pausedAt !== site)
      this.#watch.fault(`${decision} was refused, and it stands at ${thread.control.pausedAt}, not at ${site}`)
  }

  /** Checks that `verb` throws this code, and that no event but an incident is published. */
  #mustRefuse(what: string, code: LabError['code'], verb: () => unknown, isSaid: (message: string) => boolean = () => true): void {
    const before = this.#eventsTold()
    try {
      verb()
      this.#watch.fault(`${what} is not refused`)
    } catch (error) {
      if (!(error instanceof LabError)) throw error
      if (error.code !== code || !isSaid(error.message)) this.#watch.fault(`${what} is refused with ${error.code}: ${error.message}`)
    }
    if (this.#eventsTold() !== before) this.#watch.fault(`${what} is refused, and changes something`)
  }

  #eventsTold(): number {
    return this.#service.told.length - this.#service.incidents.length
  }

  #byHand(thread: LabwareThread): void {
    const { operator } = this.#runtime
    const status = thread.status.current
    if (this.#dice.oneIn(2)) this.#byHandWrongly(thread)
    if (status === 'AWAITING_MANUAL_PLACE') operator.done(thread, 'place', this.#dice.pick([null, thread.labware.barcode]))
    if (status === 'AWAITING_MANUAL_REMOVE') operator.done(thread, 'remove', null)
  }

  #byHandWrongly(thread: LabwareThread): void {
    const { operator } = this.#runtime
    const status = thread.status.current
    const { barcode } = thread.labware
    if (status !== 'AWAITING_MANUAL_PLACE') this.#mustRefuse(`to place at ${status}`, 'conflict', () => operator.done(thread, 'place', 'X'))
    else if (barcode !== null)
      this.#mustRefuse(
        'a wrong barcode',
        'conflict',
        () => operator.done(thread, 'place', 'X'),
        // Somebody may have said in this turn that it is placed.
        (message) => message.includes(barcode) || message.includes('does not wait for that'),
      )
    if (status !== 'AWAITING_MANUAL_REMOVE')
      this.#mustRefuse(`to remove at ${status}`, 'conflict', () => operator.done(thread, 'remove', null))
    if (thread.status.current !== status) this.#watch.fault(`a refusal by hand made ${status} ${thread.status.current}`)
  }

  /** Checks that exactly one of two confirmations is taken. */
  #confirm(): void {
    const { operator } = this.#runtime
    const steps = operator.steps().filter(({ move }) => move === null)
    if (steps.length === 0) return
    const { step_id } = this.#dice.pick(steps)
    operator.confirm(step_id)
    this.#mustRefuse('a second confirmation', 'not_found', () => operator.confirm(step_id))
    if (operator.steps().some((step) => step.step_id === step_id)) this.#watch.fault(`${step_id} is confirmed, and still listed`)
  }

  #skip(execution: Execution): void {
    const names = execution.live().flatMap((thread) => ahead(thread).map(({ name }) => name))
    if (names.length > 0) execution.skip(this.#shortened(this.#dice.pick(names)))
  }

  /** Returns the name, or sometimes only its last word, which may be ambiguous. */
  #shortened(name: string): string {
    return this.#dice.oneIn(3) ? name.split('/').at(-1)! : name
  }

  #insert(execution: Execution): void {
    const dice = this.#dice
    const all = execution.live().flatMap((thread) => ahead(thread))
    if (all.length === 0) return
    const { name, action } = dice.pick(all)
    const item = action || dice.oneIn(2) ? this.#action() : this.#step(execution)
    const anchor = this.#shortened(name)
    execution.inserts.put({ ...(dice.oneIn(2) ? { before: anchor } : { after: anchor }), item })
    this.#watch.wasPut(execution.execution_id)
  }

  #action(): object {
    const dice = this.#dice
    const { devices } = this.#scene.topology as { devices: object }
    const work = { do: 'work', on: dice.pick(Object.keys(devices)), seconds: dice.below(100) }
    return { action: dice.pick<object>([work, work, { emit: dice.pick(this.#scene.events), value: 'yes' }, { instruct: 'And that' }]) }
  }

  #step({ workflow }: Execution): object {
    const dice = this.#dice
    const { positions } = this.#scene.topology as { positions: object }
    const rests = Object.keys(positions).filter((name) => /^(rest|pad)_/.test(name))
    const event = dice.pick(this.#scene.events)
    const methods = [...workflow.methods.keys()]
    return dice.pick<object>([
      { method: dice.pick(methods) },
      { method: dice.pick(methods) },
      { park: [dice.pick(rests)] },
      { wait_for: event, timeout: 30 },
      { branch: event, timeout: 30, cases: { yes: [this.#action()] }, else: [] },
    ])
  }

  #spawn(execution: Execution): void {
    if (execution.threads.size > 15) return
    const { threads, topology } = execution.workflow
    const start = this.#dice.oneIn(2) ? this.#dice.pick([...topology.graph.positions.keys()]) : undefined
    execution.spawnNow(this.#dice.pick([...threads.keys()]), start)
  }

  /** Carries labware elsewhere and says so; carries it back if that is refused. */
  #relocate(): void {
    const dice = this.#dice
    const pieces = this.#runtime.labware()
    if (pieces.length === 0) return
    const { labware, environment, thread } = dice.pick(pieces)
    const { truth } = environment.equipment as Ledger
    truth.follow(environment.scheduler)
    const position = dice.oneIn(6) ? null : dice.pick([...environment.scheduler.graph.positions.keys()])
    const there = position === null ? undefined : truth.at(position)
    if (there && there !== labware.labware_id)
      // The position is really occupied, whatever the service thinks.
      return
    const before = environment.scheduler.whereIs(labware.labware_id)
    try {
      this.#runtime.relocate(labware.labware_id, { position })
    } catch (error) {
      if (environment.scheduler.whereIs(labware.labware_id) !== before)
        this.#watch.fault(`it is refused that ${labware.labware_id} is at ${position}, and it is`)
      throw error
    }
    const now = environment.scheduler.whereIs(labware.labware_id)
    truth.put(labware.labware_id, now)
    void this.#runtime.standing.persisted()
    if (thread && now !== position) this.#watch.fault(`${labware.labware_id} was put at ${position}, and is known at ${now}`)
  }

  /** Decides about late device calls, sometimes a second time. */
  #decideLate(): void {
    const late = this.#service.incidents.filter(({ category }) => category === 'RECOVERABLE_TIMEOUT')
    if (late.length === 0) return
    const { incident_id } = this.#dice.pick(late.slice(-3))
    const runtime = this.#runtime
    this.#dice.pick([
      () => runtime.decideLateCall(incident_id, { extend: 1 + this.#dice.below(3000) }),
      () => runtime.decideLateCall(incident_id, 'abort'),
      () => runtime.decideLateCall(incident_id, 'complete'),
    ])()
  }

  #try(verb: () => unknown): void {
    try {
      verb()
    } catch (error) {
      this.#mayRefuse(error)
    }
  }

  #mayRefuse(error: unknown): void {
    if (error instanceof LabError && ['conflict', 'invalid', 'not_found'].includes(error.code)) return
    this.#watch.fault(`a verb: ${error instanceof Error ? error.stack : error}`)
  }
}
