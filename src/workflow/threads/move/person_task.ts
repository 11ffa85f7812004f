// A move by a person: the task that is shown, the answers to it, and the reminder. A task is withdrawn by a stop of the person.

import type { Person } from '../../../devices/device.ts'
import { worded } from '../../../devices/failure.ts'
import { LabError } from '../../../errors.ts'
import type { Hop } from '../../plans/graph.ts'
import type { MoveState } from '../../state/move.ts'
import { timer } from '../run_environment.ts'
import type { LabwareThread } from '../thread.ts'
import { putByHand } from './by_hand.ts'
import type { MoveRun } from './move.ts'

/** `elsewhere` has the position where the labware stands now; `cannot` leaves it where it stood. */
export type TaskAnswer = {
  answer: 'taken' | 'done' | 'elsewhere' | 'cannot'
  position?: string | undefined
  barcode?: string | undefined
  reason?: string | undefined
}

/** The move of a task. `is_again`: it was shown before the service restarted. */
export type CarryTask = Hop & {
  labware_id: string
  labware: string
  barcode: string | null
  confirm: 'once' | 'twice'
  ask_barcode: boolean
  is_taken: boolean
  is_again: boolean
  /** How long the person usually takes; null if unknown. */
  usual_s: number | null
}

/** A task to show. `answered` throws for an answer that is not taken: then the task stays. */
export type AskedTask = { instruction: string; task: CarryTask; step_id?: string; answered(answer: TaskAnswer): void }

/** A task on the list of what waits for people. */
export type ShownTask = { readonly step_id: string; update(members: Partial<CarryTask>): void; withdraw(): void }

/** Thrown through a move after its labware was put elsewhere: the thread goes on from there. */
export class PutElsewhere {}

export class PersonTask {
  readonly #thread: LabwareThread
  readonly #move: MoveRun
  readonly #person: Person
  #shown: ShownTask | undefined
  #answer: TaskAnswer | undefined
  #wake: (() => void) | undefined
  #fail: ((error: unknown) => void) | undefined
  /** Why the task was withdrawn. */
  #withdrawn: LabError | undefined
  #isDone = false
  #close = () => {}

  constructor(thread: LabwareThread, move: MoveRun, person: Person) {
    this.#thread = thread
    this.#move = move
    this.#person = person
  }

  /** Resolves when the person has taken the labware, or has put it down already. */
  async pick(): Promise<void> {
    const { answer } = await this.#answered(false)
    this.#isDone = answer === 'done'
  }

  /** Resolves when the person has put the labware down. */
  async place(): Promise<void> {
    while (!this.#isDone) this.#isDone = (await this.#answered(true)).answer === 'done'
  }

  /** Takes the task off the list. */
  close(): void {
    this.#close()
    this.#shown?.withdraw()
  }

  async #answered(isTaken: boolean): Promise<TaskAnswer> {
    const { control } = this.#thread
    const { transporter } = this.#move.hop
    if (!this.#shown) this.#show(isTaken)
    await control.wait<void>(
      { kind: 'operator', what: `${transporter}: ${this.#instruction()}`, interruptedBy: 'abort', countsAsHeld: false },
      (resolve, reject) => {
        this.#wake = resolve
        this.#fail = reject
        if (this.#withdrawn) reject(this.#withdrawn)
        else if (this.#answer) resolve()
        return () => {}
      },
    )
    const answer = this.#answer!
    this.#answer = undefined
    this.#wake = undefined
    if (answer.answer === 'elsewhere') throw new PutElsewhere()
    if (answer.answer === 'cannot') {
      this.#move.set({ is_placing: false })
      const why = answer.reason ? `: ${answer.reason}` : ''
      throw new LabError('interlock', `${transporter} cannot do that${why}; see to it, then decide`)
    }
    return answer
  }

  #show(isTaken: boolean): void {
    const { execution, environment, labware } = this.#thread
    const { hop } = this.#move
    const { settings } = this.#person
    const { confirm, ask_barcode } = settings
    // Where one answer is enough, the person may put the labware down before it.
    if (confirm === 'once' && !isTaken) this.#move.set({ is_placing: true })
    this.#shown = execution.operator.ask(this.#thread, {
      instruction: this.#instruction(isTaken),
      task: {
        ...hop,
        ...{ labware_id: labware.labware_id, labware: labware.name, barcode: labware.barcode, confirm, ask_barcode },
        ...{
          is_taken: isTaken,
          is_again: false,
          usual_s: environment.durations?.between(hop) ?? environment.durations?.hop(hop.transporter) ?? null,
        },
      },
      answered: (answer) => this.#take(answer),
    })
    this.#move.set({ step_id: this.#shown.step_id })
    const forget = this.#person.undertake((error) => {
      this.#withdrawn = worded(hop.transporter, error)
      this.#fail?.(this.#withdrawn)
    })
    const cancel = timer(environment.clock, settings.reminder_s, () => this.#remind())
    this.#close = () => {
      forget()
      cancel()
    }
  }

  #instruction(isTaken = this.#thread.labware.held_by === this.#move.hop.transporter): string {
    const { name, barcode } = this.#thread.labware
    const { from, to } = this.#move.hop
    const what = barcode === null ? name : `${name} (barcode ${barcode})`
    if (isTaken) return `Put ${what} down at ${to}`
    const { held_by } = this.#thread.labware
    if (held_by !== null)
      return `Take ${what} out of the gripper of ${held_by}, and put it down at ${to}; it may stand at ${from} or ${to} already`
    const { state, replaced } = this.#move
    if (!state.has_failed_pick) return `Take ${what} from ${from} to ${to}`
    return replaced === null
      ? `Take ${what} from ${from} to ${to}; it may be there already`
      : `Take ${what} from ${from}, or out of the gripper of ${replaced}, to ${to}`
  }

  /** Takes an answer. Throws `conflict`, `invalid` and `not_found`, and the task stays as it is. */
  #take(given: TaskAnswer): void {
    if (this.#answer) throw new LabError('conflict', 'the task was answered a moment ago; look at the list again')
    const answer = asMeant(given, this.#move.hop)
    const isFirst = answer.answer === 'taken'
    if (isFirst && this.#thread.labware.held_by === this.#move.hop.transporter)
      throw new LabError('conflict', `${this.#thread.labware.name} is taken already`)
    checkBarcode(this.#thread, answer, this.#person.settings.ask_barcode)
    if (answer.answer === 'elsewhere') putByHand(this.#thread, answer.position!)
    this.#answer = answer
    if (isFirst) this.#shown!.update({ is_taken: true })
    else this.#shown!.withdraw()
    this.#wake?.()
  }

  #remind(): void {
    const { execution, environment, thread_id } = this.#thread
    environment.scheduler.cancelReservations(thread_id)
    environment.scheduler.setHeld(thread_id, true)
    const since = `${Math.round(this.#person.settings.reminder_s)} s`
    const message = `nobody has answered for ${since}: ${this.#instruction()}; answer the task (POST /api/operator/steps/${this.#shown!.step_id}/confirm)`
    execution.events.incident('OTHER', message, this.#thread, { severity: 'WARNING', detail: { step_id: this.#shown!.step_id } })
  }
}

/**
 * Shows the task of a move again that the end of the service cut off. The answer says where the labware is, as an operator otherwise would.
 */
export function showAgain(thread: LabwareThread, move: MoveState, person: Person): void {
  const { execution, labware } = thread
  const { from, to, transporter, step_id } = move
  const { confirm, ask_barcode } = person.settings
  const { labware_id, name, barcode } = labware
  execution.operator.ask(thread, {
    instruction: `Shown again after a restart: take ${name} from ${from} to ${to}, if it is not there already`,
    task: {
      from,
      to,
      transporter,
      labware_id,
      labware: name,
      barcode,
      confirm,
      ask_barcode,
      is_taken: false,
      is_again: true,
      usual_s: null,
    },
    ...(step_id !== null && { step_id }),
    answered(given) {
      const answer = asMeant(given, move)
      if (answer.answer === 'taken')
        throw new LabError('conflict', `the service restarted during this task; answer when ${name} is put down, or say where it is`)
      checkBarcode(thread, answer, ask_barcode)
      const { held_by } = labware
      if (answer.answer === 'cannot' && held_by !== null && held_by !== transporter)
        throw new LabError('conflict', `${name} may be in the gripper of ${held_by}: take it out, and say where it stands (elsewhere)`)
      putByHand(thread, { done: to, cannot: from, elsewhere: answer.position! }[answer.answer])
    },
  })
}

/** Returns what an answer means: labware that is elsewhere, and in fact at the target or where it stood, is done or was not carried. Throws `invalid`. */
function asMeant(given: TaskAnswer, { from, to }: Pick<Hop, 'from' | 'to'>): TaskAnswer {
  const { answer, position } = given
  if (answer !== 'elsewhere') return given
  if (position === undefined) throw new LabError('invalid', 'position is missing; say where the labware stands now')
  if (position === to) return { ...given, answer: 'done' }
  return position === from ? { ...given, answer: 'cannot', reason: `it still stands at ${from}` } : given
}

/** Throws `conflict` for a barcode that is missing, or that of other labware. Notes the barcode of labware that had none. */
function checkBarcode(thread: LabwareThread, { answer, barcode: read }: TaskAnswer, isAsked: boolean): void {
  const { labware, execution } = thread
  const { name, barcode: wanted } = labware
  if (read === undefined) {
    if (!isAsked || answer === 'cannot') return
    throw new LabError('conflict', `read the barcode of ${name}, and give it as "barcode"`)
  }
  if (wanted !== null && wanted !== read) {
    const what = `${read} was read, and ${name} has the barcode ${wanted}`
    execution.events.incident('BARCODE_MISMATCH', what, thread, { severity: 'WARNING', detail: { wanted, read } })
    throw new LabError('conflict', `${what}; put the other labware back, and take ${name}`)
  }
  if (wanted === null) thread.setLabware({ barcode: read })
}
