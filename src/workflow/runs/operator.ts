// The requests of a run to people: instructions to confirm, labware to bring, and labware to take away.

import { LabError } from '../../errors.ts'
import type { Publisher } from '../threads/carrier.ts'
import type { AskedTask, CarryTask, ShownTask, TaskAnswer } from '../threads/move/carry_task.ts'
import type { Confirmation, LabwareThread } from '../threads/thread.ts'

/** `move` is null for a step that is no task to carry labware. */
type ManualStep = {
  step_id: string
  execution_id: string
  thread_id: string
  instruction: string
  since: number
  move: CarryTask | null
}

type ByHand = 'place' | 'remove'
type Pending = ManualStep & { isConfirmed: boolean; answered(answer: TaskAnswer): void; closed?(): void }

export class Operator {
  /** Oldest first. */
  readonly #steps = new Map<string, Pending>()
  /** Threads that wait for labware to be brought or taken away. */
  readonly #hands = new Map<string, { what: ByHand; tell(barcode: string | null): void }>()
  readonly #now: () => number

  /** `now` is Unix time, s. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Lists the steps that wait for a confirmation, oldest first. */
  steps(): ManualStep[] {
    return [...this.#steps.values()]
      .filter(({ isConfirmed }) => !isConfirmed)
      .map(({ step_id, execution_id, thread_id, instruction, since, move }) => ({
        ...{ step_id, execution_id, thread_id, instruction, since },
        move: move && { ...move },
      }))
  }

  /** Asks a person to confirm a step. PURE_SIM confirms it at once, because no person is there. */
  instruct(run: Publisher, instruction: string, thread_id: string): Confirmation {
    let confirmed = () => {}
    const step_id = this.newId(run)
    const isConfirmed = run.environment.mode === 'PURE_SIM'
    const step = this.#add(run, { instruction, thread_id, move: null, isConfirmed, step_id }, ({ answer }) => {
      if (answer !== 'done') throw new LabError('conflict', `a manual step is confirmed when it is done; it takes no ${answer}`)
      // A subscriber of the event may answer before the step is returned.
      this.#steps.get(step_id)!.isConfirmed = true
      confirmed()
    })
    return {
      wait(call) {
        if (step.isConfirmed) call()
        else confirmed = call
        return () => {
          confirmed = () => {}
        }
      },
      withdraw: () => {
        this.#steps.delete(step.step_id)
      },
    }
  }

  /** Shows a person the task to carry the labware of a thread. */
  ask(
    { execution, thread_id }: Pick<LabwareThread, 'execution' | 'thread_id'>,
    { instruction, task, step_id, answered, closed = () => {} }: AskedTask,
  ): ShownTask {
    const move = { ...task }
    const step = this.#add(execution, { instruction, thread_id, move, isConfirmed: false, step_id, closed }, answered)
    return {
      update: (members) => void Object.assign(move, members),
      withdraw: () => this.#takeOff(step),
    }
  }

  /** Takes the task of a thread off the list, if there is one. */
  forget(thread_id: string): void {
    for (const step of this.#steps.values()) if (step.move !== null && step.thread_id === thread_id) this.#takeOff(step)
  }

  #takeOff(step: Pending): void {
    if (this.#steps.get(step.step_id) !== step) return
    this.#steps.delete(step.step_id)
    step.closed?.()
  }

  /**
   * Takes the answer to a step. Throws `not_found` for a step that does not wait, or has been confirmed; `conflict` and `invalid` for an answer that
   * cannot be: then the step still waits.
   */
  answer(step_id: string, answer: TaskAnswer): void {
    this.#waiting(step_id).answered(answer)
  }

  /** Returns the id of the thread whose step waits. Throws `not_found` as `answer` does. */
  threadOf(step_id: string): string {
    return this.#waiting(step_id).thread_id
  }

  /** Words an answer to a step that waits, for the record. Throws `not_found` as `answer` does. */
  answerIn(step_id: string, { answer, ...params }: TaskAnswer): { decision: string; text: string; params: object } {
    const { instruction } = this.#waiting(step_id)
    const { position, reason } = params
    const all = {
      done: ['confirm', `Confirmed: ${instruction}`],
      taken: ['taken', `Took the labware: ${instruction}`],
      elsewhere: ['put_elsewhere', `Put the labware at ${position} instead: ${instruction}`],
      cannot: ['cannot', `Said that this cannot be done${reason ? ` (${reason})` : ''}: ${instruction}`],
    } as const
    const [decision, text] = all[answer]
    return { decision, text, params }
  }

  #waiting(step_id: string): Pending {
    const step = this.#steps.get(step_id)
    if (!step || step.isConfirmed)
      throw new LabError('not_found', `no step ${step_id} waits for a confirmation: it was confirmed, or it timed out`)
    return step
  }

  /** Confirms that a step is done. Throws as `answer` does. */
  confirm(step_id: string): void {
    this.answer(step_id, { answer: 'done' })
  }

  #add(
    run: Publisher,
    asked: Pick<Pending, 'instruction' | 'thread_id' | 'move' | 'isConfirmed' | 'closed'> & { step_id?: string },
    answered: Pending['answered'],
  ): Pending {
    const { step_id = this.newId(run), ...rest } = asked
    const { thread_id, instruction } = rest
    const step = { ...rest, step_id, execution_id: run.execution_id, since: this.#now(), answered }
    this.#steps.set(step_id, step)
    run.events.emit('OPERATOR', '', 'INSTRUCTION', { ...run.events.context(), thread_id, instruction, step_id })
    return step
  }

  /** Waits in AWAITING_MANUAL_PLACE until a person has brought the labware. */
  async placed(thread: LabwareThread): Promise<void> {
    thread.become('AWAITING_MANUAL_PLACE')
    const barcode = await this.#byHand(thread, 'place', `an operator to put ${thread.labware.name} at ${thread.state.starts_at}`)
    if (barcode !== null) thread.setLabware({ barcode })
  }

  /** Waits in AWAITING_MANUAL_REMOVE until a person has taken the labware away. */
  async removed(thread: LabwareThread): Promise<void> {
    thread.become('AWAITING_MANUAL_REMOVE')
    await this.#byHand(thread, 'remove', `an operator to take ${thread.labware.name} away`)
  }

  /**
   * Notes that a person has put the labware at its start, or taken it away from its end. Throws `conflict` if the thread does not wait for that, or if
   * the labware is a different one; the thread then waits on.
   */
  done(thread: LabwareThread, what: ByHand, barcode: string | null): void {
    const { thread_id, name, status } = thread
    const waiting = this.#hands.get(thread_id)
    if (waiting?.what !== what) throw new LabError('conflict', `thread ${name} does not wait for that: it is ${status.current}`)
    if (what === 'place') mustBeTheOne(thread, barcode)
    this.#hands.delete(thread_id)
    waiting.tell(barcode)
  }

  /** Waits for a person. A pause does not end the wait, because the person may already be carrying the labware. */
  #byHand(thread: LabwareThread, what: ByHand, words: string): Promise<string | null> {
    return thread.control.wait<string | null>({ kind: 'operator', what: words, interruptedBy: 'stop' }, (tell) => {
      this.#hands.set(thread.thread_id, { what, tell })
      return () => this.#hands.delete(thread.thread_id)
    })
  }

  /** Returns `manual_step-` and four hex digits that no pending step has. */
  newId({ environment }: Publisher): string {
    for (;;) {
      const step_id = `manual_step-${environment.newId().replaceAll('-', '').slice(-4)}`
      if (!this.#steps.has(step_id)) return step_id
    }
  }
}

/** Throws `conflict` if the submission names a barcode and another one, or none, was read. */
function mustBeTheOne(thread: LabwareThread, read: string | null): void {
  const { labware, state, execution, name } = thread
  const { starts_at: position } = state
  const wanted = labware.barcode
  if (wanted === null || wanted === read) return
  if (read === null) {
    const what = `${name} wants the ${labware.name} with the barcode ${wanted}`
    throw new LabError('conflict', `${what}; read the barcode at ${position}, and say what was read as "barcode"`)
  }
  const what = `${name} wants the ${labware.name} with the barcode ${wanted}, and ${read} was read at ${position}`
  execution.events.incident('BARCODE_MISMATCH', what, thread, { severity: 'WARNING', detail: { wanted, read, position } })
  throw new LabError('conflict', `${what}; put the right one there`)
}
