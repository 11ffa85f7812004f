// For tests: people who carry in a random scene. They answer late, never, wrongly, elsewhere, twice, that they cannot, and are stopped; where the
// labware really is, they know.

import { LabError } from '../../errors.ts'
import type { RuntimeEvent } from '../../events/event.ts'
import type { TaskAnswer } from '../../workflow/threads/move/carry_task.ts'
import { type Shown, tasksOf } from '../people.ts'
import type { Ledger } from './bench.ts'
import type { Dice, ScenePeople } from './scene.ts'
import type { Service } from './service.ts'
import type { Watch } from './watch.ts'

type PeopleOptions = { people: ScenePeople; dice: Dice; service: Service; watch: Watch }

export class SimulatedPeople {
  /** How often each of these happened. */
  readonly counts: Record<string, number> = {}
  readonly #people: ScenePeople
  readonly #dice: Dice
  readonly #service: Service
  readonly #watch: Watch

  constructor({ people, dice, service, watch }: PeopleOptions) {
    this.#people = people
    this.#dice = dice
    this.#service = service
    this.#watch = watch
  }

  /** Looks at a task that is shown, now and then until it is answered. */
  see({ entity_type, context }: RuntimeEvent): void {
    if (entity_type !== 'OPERATOR' || Object.keys(this.#people).length === 0) return
    const step_id = String(context.step_id)
    // The task is on the list in the next turn.
    setImmediate(() => {
      this.#mustStand(step_id)
      this.#later(step_id)
    })
  }

  #later(step_id: string): void {
    const { runtime, clock } = this.#service
    const isLate = this.#dice.oneIn(12)
    const late_s = isLate ? 4000 : 1 + this.#dice.below(60)
    if (isLate) this.#count('late')
    clock.after(1000 * late_s, () => {
      if (this.#service.isDead || runtime !== this.#service.runtime) return
      const task = this.#find(step_id)
      if (!task) return
      this.#act(task)
      if (this.#find(step_id)) this.#later(step_id)
    })
  }

  #find(step_id: string): Shown | undefined {
    return tasksOf(this.#service.runtime).find((task) => task.step_id === step_id)
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  /** Answers all tasks as asked. */
  help(): void {
    for (const task of tasksOf(this.#service.runtime)) this.#does(task)
  }

  /** Goes on after the death of the service as people do: nobody hears of it. */
  outlive(tasks: readonly Shown[]): void {
    for (const task of tasks) if (this.#dice.oneIn(2)) this.#leavesAnywhere(task)
  }

  /** Checks that no arm that reaches an open task moves. */
  mustBeApart(transporter: string): void {
    for (const task of tasksOf(this.#service.runtime))
      if (this.#isReached(task, transporter)) this.#watch.fault(`${transporter} moves within reach of ${task.step_id}: ${task.instruction}`)
    this.#count('motions')
  }

  /** Checks that no arm moves that reaches a task which is shown. */
  #mustStand(step_id: string): void {
    const task = this.#find(step_id)
    const truth = task && this.#ledger(task)?.truth
    if (!task || !truth) return
    this.#count(task.move.is_again ? 'shown again' : 'shown')
    for (const transporter of this.#service.transporters)
      if (truth.isMoving(transporter) && this.#isReached(task, transporter))
        this.#watch.fault(`${step_id} is shown while ${transporter} moves`)
  }

  #isReached({ move }: Shown, transporter: string): boolean {
    if (this.#people[transporter] || this.#people[move.transporter]!.shared_space) return false
    return [move.from, move.to].some((position) => this.#service.reaches(transporter, position))
  }

  #ledger({ execution_id }: Shown): Ledger | undefined {
    return this.#service.runtime.runs.get(execution_id)?.environment.equipment as Ledger | undefined
  }

  #act(task: Shown): void {
    this.#dice.pick([
      () => this.#does(task),
      () => this.#does(task),
      () => this.#does(task),
      () => this.#takes(task),
      () => this.#takes(task),
      () => this.#putsElsewhere(task),
      () => this.#putsElsewhere(task),
      () => this.#isWrong(task),
      () => this.#cannot(task),
      () => this.#isStopped(task),
      () => {},
    ])()
  }

  /** Returns where the labware of a task is, and checks that it is where the service says that it may be. */
  #look(task: Shown) {
    const { move, thread_id, execution_id } = task
    const { labware_id, from, to, transporter } = move
    const { truth } = this.#ledger(task)!
    const { scheduler } = this.#service.runtime.runs.get(execution_id)!.environment
    truth.follow(scheduler)
    const where = truth.whereIs(labware_id)
    const thread = this.#service.runtime.runs.thread(thread_id)
    const isUnsure = thread?.state.move?.has_failed_pick || move.is_again || move.is_taken
    const place = where && ('position' in where ? where.position : where.gripper)
    if (place !== from && place !== transporter && !(isUnsure && place === to) && !move.is_again)
      this.#watch.fault(`${task.instruction}: it is at ${place}`)
    const there = truth.at(to)
    if (there && there !== labware_id) this.#watch.fault(`${task.instruction}: ${there} stands at ${to}`)
    return { truth, place, barcode: this.#barcode(task) }
  }

  #barcode({ move }: Shown): { barcode?: string } {
    if (move.barcode !== null) return move.ask_barcode || this.#dice.oneIn(3) ? { barcode: move.barcode } : {}
    return move.ask_barcode ? { barcode: `read of ${move.labware_id}` } : {}
  }

  /** Answers, and returns whether that was taken. A task whose answer is refused stays. */
  #answer({ step_id }: Shown, answer: TaskAnswer): boolean {
    try {
      this.#service.runtime.operator.answer(step_id, answer)
    } catch (error) {
      if (!(error instanceof LabError) || !['conflict', 'invalid', 'not_found'].includes(error.code))
        this.#watch.fault(`an answer: ${error instanceof Error ? error.stack : error}`)
      if (!this.#find(step_id)) this.#watch.fault(`${step_id}: ${answer.answer} is refused, and the task is gone`)
      return false
    }
    this.#count(answer.answer)
    if (answer.answer !== 'taken') this.#mustBeAnswered(step_id)
    return true
  }

  /** Nobody answers twice. */
  #mustBeAnswered(step_id: string): void {
    if (this.#find(step_id)) this.#watch.fault(`${step_id} was answered, and is still listed`)
    try {
      this.#service.runtime.operator.answer(step_id, { answer: 'done' })
      this.#watch.fault(`${step_id} is answered twice`)
    } catch (error) {
      if (!(error instanceof LabError) || error.code !== 'not_found') this.#watch.fault(`${step_id} answered twice: ${error}`)
    }
  }

  #does(task: Shown): void {
    const { truth, barcode } = this.#look(task)
    const { labware_id, to } = task.move
    if (this.#answer(task, { answer: 'done', ...barcode })) truth.put(labware_id, to)
    // Another labware may have come to stand where a task leads that was shown before a restart.
    else if (!task.move.is_again) this.#watch.fault(`${task.instruction}: done is refused`)
    else this.#says(task)
  }

  /** Says where the labware is. */
  #says(task: Shown): void {
    const { place, truth } = this.#look(task)
    const { labware_id, from, to, transporter } = task.move
    const at = place === undefined || place === transporter ? from : place
    const answer = at === from ? 'cannot' : at === to ? 'done' : 'elsewhere'
    if (this.#answer(task, { answer, ...(answer === 'elsewhere' && { position: at }), ...this.#barcode(task) })) truth.put(labware_id, at)
  }

  #takes(task: Shown): void {
    const { move } = task
    const { truth, place, barcode } = this.#look(task)
    const isFull = truth.gripped(move.transporter) !== undefined
    if (move.is_taken || move.is_again || isFull || place !== move.from) return
    if (this.#answer(task, { answer: 'taken', ...barcode })) truth.grip(move.transporter, move.labware_id)
  }

  #putsElsewhere(task: Shown): void {
    const { truth, barcode } = this.#look(task)
    const { labware_id, from, to } = task.move
    const position = this.#dice.pick(this.#service.positions)
    const there = truth.at(position)
    const isTaken = this.#answer(task, { answer: 'elsewhere', position, ...barcode })
    if (isTaken && there && there !== labware_id)
      this.#watch.fault(`${position} has ${there}, and it is taken that ${labware_id} stands there`)
    if (isTaken) truth.put(labware_id, position)
    if (isTaken && position !== from && position !== to) this.#count('really elsewhere')
  }

  #isWrong(task: Shown): void {
    const { move } = task
    const wrong: TaskAnswer[] = [
      { answer: 'elsewhere', position: 'no such place', ...this.#barcode(task) },
      { answer: 'elsewhere' },
      { answer: 'done', position: move.from },
      ...(move.barcode === null ? [] : [{ answer: 'done', barcode: 'X' } as const]),
      ...(move.is_taken || move.is_again ? [{ answer: 'taken' } as const] : []),
    ]
    if (this.#answer(task, this.#dice.pick(wrong))) this.#watch.fault(`${task.instruction}: a wrong answer is taken`)
    this.#count('wrong')
  }

  #cannot(task: Shown): void {
    const { truth, place } = this.#look(task)
    const { move } = task
    // Labware that stands at the target already was carried.
    if (place === move.to || (move.is_again && place !== move.from)) this.#says(task)
    else if (this.#answer(task, { answer: 'cannot', reason: 'it is stuck' }) && !move.is_taken) truth.put(move.labware_id, move.from)
  }

  #isStopped(task: Shown): void {
    if (task.move.is_again || !this.#dice.oneIn(3)) return
    this.#leavesAnywhere(task)
    void this.#service.persons.get(task.move.transporter)!.halt()
    this.#count('stopped')
  }

  /** Leaves the labware at any place where it may be in the midst of a task. */
  #leavesAnywhere(task: Shown): void {
    const { truth } = this.#look(task)
    const { labware_id, from, to, transporter } = task.move
    const place = this.#dice.pick([from, transporter, to])
    if (place !== transporter) truth.put(labware_id, place)
    else if (truth.gripped(transporter) === undefined) truth.grip(transporter, labware_id)
  }
}
