// Questions and answers on one line: one question at a time, and never an answer to another one's question.

import { connectionLost } from '../../src/devices/failure.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { afterTurns, patient } from '../../src/kit/patient.ts'
import { SerialQueue } from '../../src/kit/serial_queue.ts'
import type { Line } from './line.ts'

/** A finding of a framer at the beginning of the buffer: a frame, or nothing but bytes to be skipped. */
export type Found<Frame> = { used: number; frame?: Frame }
/** Looks for the next frame; undefined while there is not enough. Knows what is being asked, where that decides the length. */
type Framer<Frame, Question> = (buffer: Buffer, question: Question | undefined) => Found<Frame> | undefined

type Finding<Frame, Question> = { question?: Question; recognises(frame: Frame): boolean; deadline_ms?: number }

export type Options<Frame, Question> = {
  framer: Framer<Frame, Question>
  /** The question as it goes onto the wire. */
  encode(question: Question): Uint8Array
  /** Silence before a write, since the last byte either way: a reply that comes twice is over by then. */
  gap_ms: number
  /**
   * A harmless question and whether a frame can only be the answer to that; asked when the line has to be found again.
   * Without a question nothing is written: then `recognises` knows a frame that the instrument sends by itself.
   */
  resync: Finding<Frame, Question> & {
    /**
     * Another question, whose answer looks otherwise. An instrument that is late by one answer for good gives the answer to the first
     * question then, and the line is not found.
     */
    second?: Finding<Frame, Question>
  }
  /** Takes a frame that answers nothing; true when it was expected. */
  unsolicited?(frame: Frame): boolean
}

/** The answer that a question expects, and how long it is waited for. */
type Expected<Frame> = {
  deadline_ms: number
  /** The deadline counts as a pause between frames does, because often nobody answers. */
  isLikelySilent?: boolean
  /** Whether a frame can be the answer. What cannot be is dropped and counted. */
  accepts?(frame: Frame): boolean
}

type Outstanding<Frame, Question> = {
  question: Question | undefined
  accepts(frame: Frame): boolean
  take(frame: Frame): boolean
  fail(error: LabError): void
}

/** Ends a sentence about an instrument that answers otherwise than its driver expects, and says what to look at. */
export const unlikeDriver = 'not as this driver expects; see that the baud rate of its port is right, and that the driver is'

/** The words for an instrument whose bytes arrive and never make an answer. */
export const strange = `it speaks, but ${unlikeDriver}`

/** The size of a serial line's buffer, in bytes; an instrument that sends more without an end of frame is not well. */
const mostBuffered = 4096
const mostWaiting = 64
const quiet_ms = 60
const resyncTries = 3

export class Exchange<Frame, Question> {
  readonly #line: Line
  readonly #options: Options<Frame, Question>
  readonly #queue = new SerialQueue(mostWaiting)
  readonly #pacing: Clock
  readonly #silence: Clock
  readonly #deadlines: Clock
  #buffer = Buffer.alloc(0)
  #outstanding: Outstanding<Frame, Question> | undefined
  #lastWrite = Number.NEGATIVE_INFINITY
  #lastByte = Number.NEGATIVE_INFINITY
  #outOfStep = false
  /** The first question since the line was found that was not answered: its answer may still come. */
  #unanswered: Outstanding<Frame, Question> | undefined
  /** Questions of `resync` whose answers may still come. */
  #owed = 0
  /** Aborted with each interruption and loss: what was asked before is not asked any more. */
  #turn = new AbortController()
  /** Frames and bytes that answered nothing. */
  dropped = 0

  constructor(line: Line, options: Options<Frame, Question>) {
    this.#line = line
    this.#options = options
    this.#pacing = line.pacing ?? line.clock
    this.#silence = silenceOf(line)
    this.#deadlines = patient(line.clock)
    line.onBytes((bytes) => this.#receive(bytes))
    line.onLost((reason) => this.#abandon(connectionLost(reason, line.advice)))
  }

  /** Asks once: for whatever moves or heats. */
  command(question: Question, expected: Expected<Frame>): Promise<Frame> {
    return this.#inTurn((turn) => this.#ask(turn, question, expected))
  }

  /** Asks, and once more after a time-out: for what changes nothing. */
  query(question: Question, expected: Expected<Frame>): Promise<Frame> {
    return this.#inTurn(async (turn) => {
      try {
        return await this.#ask(turn, question, expected)
      } catch (error) {
        if (!isNoReply(error)) throw error
        return this.#ask(turn, question, expected)
      }
    })
  }

  /** Asks what need not be answered, because it may be deaf yet, and does not look for the line first. Undefined when it was not. */
  probe(question: Question, expected: Expected<Frame>): Promise<Frame | undefined> {
    return this.#inTurn(async (turn) => {
      await this.#quiet(turn)
      await this.#gap(turn)
      try {
        return await this.#exchange(turn, question, expected)
      } catch (error) {
        if (!isNoReply(error)) throw error
        return undefined
      }
    })
  }

  /** Writes what the instrument does not answer. */
  tell(question: Question): Promise<void> {
    return this.#inTurn(async (turn) => {
      await this.#gap(turn)
      turn.throwIfAborted()
      this.#write(question)
    })
  }

  /** Writes at once, ahead of everything. Questions that wait for an answer reject with `stopped`. */
  interrupt(question: Question): void {
    try {
      this.#write(question)
    } catch (error) {
      throw new LabError('stop_not_sent', `the stop could not be sent: ${messageOf(error)}`, { cause: error })
    } finally {
      this.#abandon(new LabError('stopped', 'interrupted by a stop'))
    }
  }

  /**
   * Interrupts as `interrupt` does; resolves with the frame that acknowledges the question: the first that it accepts for which `isLast` holds.
   * A frame that may be the answer to a question from before, which was cut off or came too late, is passed over once, before `isLast` sees it.
   * Rejects with `no_reply` after the deadline.
   */
  interruptFor(
    question: Question,
    { deadline_ms, accepts = () => true, isLast = () => true }: Expected<Frame> & { isLast?(frame: Frame): boolean },
  ): Promise<Frame> {
    this.interrupt(question)
    const acknowledges = (frame: Frame) => {
      if (!accepts(frame)) return false
      const isLate = this.#unanswered?.accepts(frame) ?? false
      if (isLate) this.#unanswered = undefined
      return !isLate && isLast(frame)
    }
    return this.#inTurn((turn) => this.#exchange(turn, undefined, { deadline_ms, accepts: acknowledges }))
  }

  async #inTurn<T>(work: (turn: AbortSignal) => Promise<T>): Promise<T> {
    const turn = this.#turn.signal
    return this.#queue.run(async () => {
      turn.throwIfAborted()
      return work(turn)
    })
  }

  async #ask(turn: AbortSignal, question: Question, expected: Expected<Frame>): Promise<Frame> {
    if (this.#outOfStep) await this.#resync(turn)
    await this.#gap(turn)
    return this.#exchange(turn, question, expected)
  }

  /** Without a question it only listens. */
  #exchange(turn: AbortSignal, question: Question | undefined, expected: Expected<Frame>): Promise<Frame> {
    const { deadline_ms, accepts = () => true, isLikelySilent = false } = expected
    return new Promise((resolve, reject) => {
      turn.throwIfAborted()
      const dropped = this.dropped
      const end = () => {
        cancel()
        this.#outstanding = undefined
      }
      const cancel = (isLikelySilent ? this.#silence : this.#deadlines).after(deadline_ms, () => {
        this.#loseStep()
        end()
        const isSilent = this.dropped === dropped && this.#buffer.length === 0
        const why = isSilent ? 'see that it is switched on and connected' : strange
        reject(new LabError('no_reply', `no reply within ${deadline_ms / 1000} s; ${why}`))
      })
      this.#outstanding = {
        question,
        accepts,
        take: (frame) => {
          if (!accepts(frame)) return false
          end()
          resolve(frame)
          return true
        },
        fail: (error) => {
          end()
          reject(error)
        },
      }
      if (question === undefined) return
      this.#buffer = Buffer.alloc(0)
      try {
        this.#write(question)
      } catch (error) {
        end()
        reject(error)
      }
    })
  }

  /** After a time-out a late answer may still come: let the line fall quiet, then ask what can only be answered in one way. */
  async #resync(turn: AbortSignal): Promise<void> {
    const { question, recognises, deadline_ms = 500, second } = this.#options.resync
    const expected = { deadline_ms, accepts: recognises }
    for (let tries = 1; ; tries++) {
      await this.#quiet(turn)
      await this.#gap(turn)
      if (question !== undefined) this.#owed++
      try {
        await this.#exchange(turn, question, expected)
        break
      } catch (error) {
        if (!isNoReply(error) || tries === resyncTries) throw error
      }
    }
    await this.#drain(turn, { ...expected, deadline_ms: deadline_ms + 2 * quiet_ms })
    await this.#quiet(turn)
    if (second) {
      await this.#gap(turn)
      await this.#exchange(turn, second.question, { deadline_ms: second.deadline_ms ?? deadline_ms, accepts: second.recognises })
    }
    turn.throwIfAborted()
    this.#outOfStep = false
    this.#unanswered = undefined
  }

  /** From now on the line has to be found before the next question. */
  #loseStep(): void {
    this.#outOfStep = true
    if (this.#outstanding?.question !== undefined) this.#unanswered ??= this.#outstanding
  }

  /**
   * Passes over late answers: the recognised one may have answered an earlier try, and then the answers to the later ones are still to
   * come.
   */
  async #drain(turn: AbortSignal, expected: Expected<Frame>): Promise<void> {
    while (--this.#owed > 0) {
      try {
        await this.#exchange(turn, undefined, expected)
      } catch (error) {
        if (!isNoReply(error)) throw error
        break
      }
    }
    this.#owed = 0
  }

  async #quiet(turn: AbortSignal): Promise<void> {
    const clock = this.#silence
    const end = clock.now() + 10 * quiet_ms
    while (clock.now() - this.#lastByte < quiet_ms && clock.now() < end) await sleep(clock, quiet_ms, turn)
  }

  async #gap(turn: AbortSignal): Promise<void> {
    const left = Math.max(this.#lastWrite, this.#lastByte) + this.#options.gap_ms - this.#pacing.now()
    if (left > 0) await sleep(this.#pacing, left, turn)
  }

  #write(question: Question): void {
    this.#lastWrite = this.#pacing.now()
    this.#line.write(this.#options.encode(question))
  }

  #abandon(error: LabError): void {
    this.#turn.abort(error)
    this.#turn = new AbortController()
    this.#loseStep()
    this.#buffer = Buffer.alloc(0)
    this.#outstanding?.fail(error)
  }

  #receive(bytes: Uint8Array): void {
    this.#lastByte = this.#pacing.now()
    this.#buffer = Buffer.concat([this.#buffer, bytes])
    for (let found = this.#next(); found; found = this.#next()) {
      this.#buffer = this.#buffer.subarray(found.used)
      if (found.frame === undefined) this.dropped += found.used
      else this.#hand(found.frame)
    }
    if (this.#buffer.length > mostBuffered) this.#overflow()
  }

  #next(): Found<Frame> | undefined {
    return this.#buffer.length ? this.#options.framer(this.#buffer, this.#outstanding?.question) : undefined
  }

  #hand(frame: Frame): void {
    const expected = this.#options.unsolicited?.(frame) ?? false
    // A message that comes unasked is no answer, but a caller that asked nothing may wait for it.
    if (expected && this.#outstanding?.question !== undefined) return
    if (!this.#outstanding?.take(frame) && !expected) this.dropped++
  }

  #overflow(): void {
    this.dropped += this.#buffer.length
    this.#buffer = Buffer.alloc(0)
    this.#outOfStep = true
    this.#outstanding?.fail(
      new LabError('device_failed', 'it sent more than 4 KiB without an end of frame; see that the baud rate is right'),
    )
  }
}

/**
 * Returns the clock by which silence is measured. A simulated line may be faster than the timers: after the time of the instrument they turn
 * a few times more, so that an answer that is under way arrives first, however slow the computer is.
 */
function silenceOf({ clock, pacing = clock }: Line): Clock {
  if (pacing === clock) return patient(clock)
  return {
    now: () => pacing.now(),
    after(ms, call) {
      let cancel = pacing.after(ms, () => {
        cancel = afterTurns(clock, call)
      })
      return () => cancel()
    },
  }
}

export function isNoReply(error: unknown): boolean {
  return error instanceof LabError && error.code === 'no_reply'
}
