// A move by a person: the task that is shown, the answers to it, and the reminder. A task is withdrawn by a stop of the person.

import type { Person } from '../../../devices/device.ts'
import { worded } from '../../../devices/failure.ts'
import { LabError, messageOf } from '../../../errors.ts'
import { inSeconds } from '../../../kit/seconds.ts'
import type { Hop } from '../../plans/graph.ts'
import { scannerOf } from '../../plans/scanners.ts'
import type { Use } from '../../scheduler/shared_space.ts'
import type { MoveState } from '../../state/move.ts'
import type { Mover } from '../lid_carrier.ts'
import { timer } from '../run_environment.ts'
import { putByHand, putElsewhere } from './by_hand.ts'
import type { ShownTask, TaskAnswer } from './carry_task.ts'
import type { MoveRun } from './move.ts'

/** Thrown through a move after its labware was put elsewhere: the thread goes on from there, unless it must not, for a reason. */
export class PutElsewhere {
  readonly reason: LabError | undefined

  constructor(reason: LabError | undefined) {
    this.reason = reason
  }
}

export class PersonTask {
  readonly #thread: Mover
  readonly #move: MoveRun
  readonly #person: Person
  readonly #step_id: string
  #shown: ShownTask | undefined
  /** The last answer. */
  #answer: TaskAnswer | undefined
  #wake: (() => void) | undefined
  #fail: ((error: unknown) => void) | undefined
  /** The reason for which the task was withdrawn. */
  #withdrawn: LabError | undefined
  #isDone = false
  /** The reason for which the thread must not go on by itself after its labware was put elsewhere. */
  #mustNotGoOn: LabError | undefined
  #close = () => {}
  #cancelReminder = () => {}

  /** The move has the id of the task from here on: the card knows it before the task is shown. */
  constructor(thread: Mover, move: MoveRun, person: Person) {
    this.#thread = thread
    this.#move = move
    this.#person = person
    this.#step_id = thread.execution.operator.newId(thread.execution)
    // The person may put the labware down before any answer.
    move.set({ step_id: this.#step_id, is_placing: true })
  }

  /** Whether the person has put the labware down. */
  get isDone(): boolean {
    return this.#isDone
  }

  /** Resolves when the person has taken the labware, or has put it down already. */
  async pick(): Promise<void> {
    this.#isDone = await this.#answered(false)
  }

  /** Resolves when the person has put the labware down. */
  async place(): Promise<void> {
    while (!this.#isDone) this.#isDone = await this.#answered(true)
  }

  /** Takes the task off the list. */
  close(): void {
    this.#close()
    this.#cancelReminder()
    this.#shown?.withdraw()
  }

  /** Resolves with false when the labware is taken, and with true when it is put down. */
  async #answered(isTaken: boolean): Promise<boolean> {
    const { control } = this.#thread
    const { transporter } = this.#move.hop
    this.#shown ??= this.#show(isTaken)
    const instruction = this.#instruction(isTaken)
    this.#cancelReminder = remindLater(this.#thread, this.#person, { step_id: this.#step_id, instruction })
    await control.wait<void>(
      { kind: 'operator', what: `${transporter}: ${instruction}`, interruptedBy: 'abort', countsAsHeld: false },
      (resolve, reject) => {
        this.#wake = resolve
        this.#fail = reject
        if (this.#withdrawn) reject(this.#withdrawn)
        else if (this.#answer !== undefined) resolve()
        return () => {}
      },
    )
    this.#wake = undefined
    const { answer, reason } = this.#answer ?? {}
    if (answer === 'elsewhere') throw new PutElsewhere(this.#mustNotGoOn)
    if (answer === 'cannot') {
      const { held_by } = this.#thread.labware
      // The person has said where the labware stands, unless it is in the gripper of an arm.
      if (held_by === null) this.#move.set({ is_placing: false, has_failed_pick: false })
      else if (held_by === transporter) this.#move.set({ is_placing: false })
      const why = reason ? `: ${reason}` : ''
      throw new LabError('interlock', `${transporter} cannot do that${why}; see to it, then decide`)
    }
    return answer === 'done'
  }

  #show(isTaken: boolean): ShownTask {
    const { execution, environment, labware, control } = this.#thread
    const { hop } = this.#move
    const { confirm } = this.#person.settings
    const ask_barcode = asksBarcode(this.#thread, this.#move.state, this.#person)
    mustBeAsked(this.#thread, hop)
    const shown = execution.operator.ask(this.#thread, {
      instruction: this.#instruction(isTaken),
      step_id: this.#step_id,
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
    // An answer that came later would be lost.
    const cutOff = () => shown.withdraw()
    control.signal.addEventListener('abort', cutOff)
    const forget = this.#person.undertake((error) => {
      this.#withdrawn = worded(hop.transporter, error)
      this.#cancelReminder()
      shown.withdraw()
      this.#fail?.(this.#withdrawn)
    })
    this.#close = () => {
      forget()
      control.signal.removeEventListener('abort', cutOff)
    }
    return shown
  }

  #instruction(isTaken: boolean): string {
    const { name, barcode } = this.#thread.labware
    const { from, to } = this.#move.hop
    const lid =
      this.#thread.labware.kind === 'lid' && this.#thread.labware.held_by === null && from !== to
        ? wordsOfLid(this.#thread, this.#move.hop)
        : null
    if (lid !== null && !isTaken && !this.#move.state.has_failed_pick) return lid
    const what = barcode === null ? name : `${name} (barcode ${barcode})`
    if (isTaken) return `Put ${what} down at ${to}`
    const { held_by } = this.#thread.labware
    if (held_by !== null) {
      const out = `Take ${what} out of the gripper of ${held_by}, and put it down at ${to}`
      return from === to ? out : `${out}; it may stand at ${from} or ${to} already`
    }
    const isUnsure = this.#move.state.has_failed_pick
    return `Take ${what} from ${from} to ${to}${isUnsure ? '; it may be there already' : ''}`
  }

  /** Takes an answer. Throws `conflict`, `invalid` and `not_found`, and the task stays as it is. */
  #take(given: TaskAnswer): void {
    const thread = this.#thread
    const answer = asMeant(given, this.#move.hop)
    const isFirst = answer.answer === 'taken'
    if (isFirst && thread.labware.held_by === this.#move.hop.transporter)
      throw new LabError('conflict', `${thread.labware.name} is taken already`)
    checkBarcode(thread, answer, asksBarcode(thread, this.#move.state, this.#person))
    // Labware that was put back where it stood is in nobody's hands.
    if (given.answer === 'elsewhere' && answer.answer !== 'done') this.#mustNotGoOn = putElsewhere(thread, given.position!)
    noteBarcode(thread, answer)
    this.#cancelReminder()
    if (isFirst) {
      const { held_by } = thread.labware
      // The next answer may come in the same turn.
      thread.setLabware({ held_by: this.#move.hop.transporter })
      // The person has taken the labware out of the gripper of an arm.
      if (held_by !== null) thread.environment.scheduler.transporters.giveBack(held_by, thread.thread_id)
      this.#shown!.update({ is_taken: true })
    } else {
      this.#answer = answer
      this.#shown!.withdraw()
    }
    this.#wake?.()
  }
}

/** Says how a lid is moved: from the plate on which it is, or on to that. */
function wordsOfLid({ labware, environment }: Mover, { from, to }: Hop): string {
  const { scheduler } = environment
  const { labware_id, name } = labware
  const plate = environment.labware.get(scheduler.lids.plateOf(labware_id)?.labware_id ?? '')
  const called = plate === undefined ? 'its plate' : plate.barcode === null ? plate.name : `${plate.name} (barcode ${plate.barcode})`
  return labware.on === undefined
    ? `Put ${name}, which lies at ${from}, on ${called} at ${to}`
    : `Take ${name} off ${called}, which stands at ${from}, and put it on ${to}`
}

/** Reminds of a task that nobody answers, and counts its thread as held from then on. The returned function cancels that. */
function remindLater(thread: Mover, { settings: { reminder_s } }: Person, { step_id, instruction }: Reminded): () => void {
  const { execution, environment, thread_id } = thread
  return timer(environment.clock, reminder_s, () => {
    environment.scheduler.cancelReservations(thread_id)
    environment.scheduler.setHeld(thread_id, true)
    const answer = `answer the task (POST /api/operator/steps/${step_id}/confirm)`
    const message = `nobody has answered for ${inSeconds(reminder_s)}: ${instruction}; ${answer}`
    execution.events.incident('OTHER', message, thread, { severity: 'WARNING', detail: { step_id } })
  })
}

type Reminded = { step_id: string; instruction: string }

/**
 * Returns how a move uses the space. A person who shares it with the arms keeps none out but the arm whose move the person makes: its gripper may have the
 * labware. Null for a use that keeps none out, and is kept out by none.
 */
export function useOf(thread_id: string, move: MoveState, person: Person | undefined): Use | null {
  const { from, to, transporter, instead_of } = move
  const use = { thread_id, transporter, hands: person ? [from, to] : null }
  if (!person?.settings.shared_space) return use
  return instead_of === null ? null : { ...use, only: instead_of }
}

/** Throws `interlock` if the person was stopped, or leased, while the devices were opened: then the person is not asked. */
function mustBeAsked({ environment }: Mover, { transporter }: Hop): void {
  try {
    environment.equipment.mustBeUsable?.(transporter)
  } catch (error) {
    throw new LabError('interlock', messageOf(error), { cause: error })
  }
}

/** Holds the devices at these positions for the run, as far as nobody else has them. The returned function releases them. */
function holdDevices({ environment, execution }: Mover, positions: readonly string[]): () => void {
  const { scheduler, equipment } = environment
  const devices = new Set(positions.flatMap((position) => scheduler.graph.positions.get(position)?.device ?? []))
  const releases = [...devices].flatMap((device) => {
    try {
      return equipment.hold?.(device, execution.execution_id) ?? []
    } catch {
      return []
    }
  })
  return () => {
    for (const release of releases) release()
  }
}

/**
 * Shows the task of a move again that the end of the service cut off. The answer says where the labware is, as an operator otherwise would. Until then
 * the person may have their hands there.
 */
export function showAgain(thread: Mover, move: MoveState, person: Person): void {
  const { execution, labware, thread_id } = thread
  const { space } = thread.environment
  const { from, to, transporter, step_id } = move
  const { confirm } = person.settings
  const ask_barcode = asksBarcode(thread, move, person)
  const { labware_id, name, barcode } = labware
  const use = useOf(thread_id, move, person)
  // Nothing moves before a run is resumed.
  if (use) space.stay(use)
  const release = holdDevices(thread, [from, to])
  thread.set({ asked: { ...move } })
  const instruction = `Shown again after a restart: take ${name} from ${from} to ${to}, if it is not there already`
  const cancelReminder = remindLater(thread, person, { step_id: step_id!, instruction })
  execution.operator.ask(thread, {
    instruction,
    task: {
      ...{ from, to, transporter, labware_id, labware: name, barcode, confirm, ask_barcode },
      ...{ is_taken: false, is_again: true, usual_s: null },
    },
    step_id: step_id!,
    closed() {
      cancelReminder()
      if (use) space.leave(use)
      release()
    },
    answered(given) {
      const answer = asMeant(given, move)
      if (answer.answer === 'taken')
        throw new LabError('conflict', `the service restarted during this task; answer when ${name} is put down, or say where it is`)
      checkBarcode(thread, answer, ask_barcode)
      const { held_by } = labware
      if (answer.answer === 'cannot' && held_by !== null && held_by !== transporter)
        throw new LabError('conflict', `${name} may be held by ${held_by}: take it out, and say where it stands (elsewhere)`)
      if (answer.answer === 'elsewhere') putElsewhere(thread, answer.position!)
      else putByHand(thread, answer.answer === 'done' ? to : from)
      noteBarcode(thread, answer)
    },
  })
}

/**
 * Returns what an answer means: labware that is elsewhere, and in fact at the target or where it stood, is done or was not carried. Throws `invalid` for
 * members that belong to another answer.
 */
function asMeant(given: TaskAnswer, { from, to }: Pick<Hop, 'from' | 'to'>): TaskAnswer {
  const { answer, position, reason } = given
  if (reason !== undefined && answer !== 'cannot') throw new LabError('invalid', `${answer} takes no reason; only cannot does`)
  if (answer !== 'elsewhere') {
    if (position !== undefined)
      throw new LabError('invalid', `${answer} takes no position; say elsewhere where the labware stands at ${position}`)
    return given
  }
  if (position === undefined) throw new LabError('invalid', 'position is missing; say where the labware stands now')
  if (position === to) return { ...given, answer: 'done' }
  return position === from ? { ...given, answer: 'cannot', reason: `it still stands at ${from}` } : given
}

/** Whether a person has to read the barcode: as set, and in place of an arm that would have scanned it. */
function asksBarcode({ execution }: Mover, { instead_of }: MoveState, { settings }: Person): boolean {
  return settings.ask_barcode || (instead_of !== null && scannerOf(execution.workflow.topology, instead_of) !== undefined)
}

/** Throws `conflict` for a barcode that is missing, or that of other labware. */
function checkBarcode(thread: Mover, { answer, barcode: read }: TaskAnswer, isAsked: boolean): void {
  const { labware, execution } = thread
  const { name, barcode: wanted } = labware
  if (read === undefined) {
    if (!isAsked || answer === 'cannot') return
    throw new LabError('conflict', `read the barcode of ${name}, and give it as "barcode"`)
  }
  if (wanted === null || wanted === read) return
  const what = `${read} was read, and ${name} has the barcode ${wanted}`
  execution.events.incident('BARCODE_MISMATCH', what, thread, { severity: 'WARNING', detail: { wanted, read } })
  throw new LabError('conflict', `${what}; put the other labware back, and take ${name}`)
}

/** Notes the barcode of labware that had none. */
function noteBarcode(thread: Mover, { barcode }: TaskAnswer): void {
  if (barcode !== undefined && thread.labware.barcode === null) thread.setLabware({ barcode })
}
