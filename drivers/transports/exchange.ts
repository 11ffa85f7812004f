// Questions and answers on one line: one question at a time, and never the answer to another question.

import { connectionLost } from '../../src/devices/failure.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { afterTurns, patient } from '../../src/kit/patient.ts'
import { SerialQueue } from '../../src/kit/serial_queue.ts'
import type { Line } from './line.ts'

/** The result of a framer at the beginning of the buffer: a frame, or only bytes to skip. */
export type Found<Frame> = { used: number; frame?: Frame }
/** Finds the next frame; undefined while it is incomplete. Gets the open question, which may determine the length. */
type Framer<Frame, Question> = (buffer: Buffer, question: Question | undefined) => Found<Frame> | undefined

type Finding<Frame, Question> = { question?: Question; recognises(frame: Frame): boolean; deadline_ms?: number }

export type ExchangeOptions<Frame, Question> = {
  framer: Framer<Frame, Question>
  /** Encodes a question for the wire. */
  encode(question: Question): Uint8Array
  /** The silence before a write since the last byte in either direction, so that a duplicated reply has ended. */
  gap_ms: number
  /**
   * A harmless question for the resynchronization, and the test whether a frame can only be its answer.
   * Without a question nothing is written, and `recognises` tests for a frame that the instrument sends by itself.
   */
  resync: Finding<Frame, Question> & {
    /**
     * Another question with an answer of another form. An instrument that is permanently late by one answer then answers the first
     * question, and the resynchronization fails.
     */
    second?: Finding<Frame, Question>
  }
  /** Receives a frame that answers no question. Returns whether it was expected. */
  unsolicited?(frame: Frame): boolean
}

/** The expected answer to a question, and its time limit. */
type Expected<Frame> = {
  deadline_ms: number
  /** Whether the deadline runs in the instrument's time, because often nobody answers. */
  isLikelySilent?: boolean
  /** Whether a frame can be the answer. Other frames are dropped and counted. */
  accepts?(frame: Frame): boolean
}

type Outstanding<Frame, Question> = {
  question: Question | undefined
  accepts(frame: Frame): boolean
  take(frame: Frame): boolean
  fail(error: LabError): void
}

/** The end of a sentence about an instrument with unexpected answers, with the next step. */
export const unlikeDriver = 'not as this driver expects; see that the baud rate of its port and the driver are right'
/** The end of the same sentence about an instrument on the network. */
export const unlikeOnNetwork = 'not as this driver expects; see that its address and the driver are right'

/** The sentence for an instrument whose bytes never form an answer. */
export const strange = `it speaks, but ${unlikeDriver}`

/** The most buffered bytes; an instrument that sends more without the end of a frame has a fault. */
const mostBuffered = 4096
const mostWaiting = 64
const quiet_ms = 60
const resyncTries = 3

export class Exchange<Frame, Question> {
  readonly #line: Line
  readonly #options: ExchangeOptions<Frame, Question>
  readonly #queue = new SerialQueue(mostWaiting)
  readonly #pacing: Clock
  readonly #silence: Clock
  readonly #deadlines: Clock
  #buffer = Buffer.alloc(0)
  #outstanding: Outstanding<Frame, Question> | undefined
  #lastWrite = Number.NEGATIVE_INFINITY
  #lastByte = Number.NEGATIVE_INFINITY
  #outOfStep = false
  /** The first unanswered question since the last resynchronization, whose answer may still come. */
  #unanswered: Outstanding<Frame, Question> | undefined
  /** The number of `resync` questions whose answers may still come. */
  #owed = 0
  /** Aborted with each interruption and loss, so that earlier questions are not asked any more. */
  #turn = new AbortController()
  /** The number of frames and bytes that answered no question. */
  dropped = 0

  constructor(line: Line, options: ExchangeOptions<Frame, Question>) {
    this.#line = line
    this.#options = options
    this.#pacing = line.pacing ?? line.clock
    this.#silence = silenceOf(line)
    this.#deadlines = patient(line.clock)
    line.onBytes((bytes) => this.#receive(bytes))
    line.onLost((reason) => this.#abandon(connectionLost(reason, line.advice)))
  }

  /** Asks once, for commands that move or heat. */
  command(question: Question, expected: Expected<Frame>): Promise<Frame> {
    return this.#inTurn((turn) => this.#ask(turn, question, expected))
  }

  /** Asks, and once more after a time-out, for questions without an effect. */
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

  /** Asks an instrument that may still be deaf, without a resynchronization. Resolves with undefined without an answer. */
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

  /** Writes a command that has no answer. */
  tell(question: Question): Promise<void> {
    return this.#inTurn(async (turn) => {
      await this.#gap(turn)
      turn.throwIfAborted()
      this.#write(question)
    })
  }

  /** Writes at once, ahead of all questions. Questions that wait for an answer reject with `stopped`. */
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
   * Interrupts as `interrupt` does. Resolves with the acknowledgement: the first accepted frame for which `isLast` holds.
   * The exchange skips one frame that may be the late answer to an earlier question before `isLast` sees it.
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

  get #strange(): string {
    return this.#line.isNetwork ? `it speaks, but ${unlikeOnNetwork}` : strange
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

  /** Does one exchange; without a question it only listens. */
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
        const why = isSilent ? 'see that it is switched on and connected' : this.#strange
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

  /** Resynchronizes after a time-out: waits for silence, then asks a question whose answer is unmistakable. */
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

  /** Requires a resynchronization before the next question. */
  #loseStep(): void {
    this.#outOfStep = true
    if (this.#outstanding?.question !== undefined) this.#unanswered ??= this.#outstanding
  }

  /**
   * Skips late answers: the recognized one may belong to an earlier attempt, and the answers to the later ones are still to
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
    // An unsolicited message is no answer, but a caller without a question may wait for it.
    if (expected && this.#outstanding?.question !== undefined) return
    if (!this.#outstanding?.take(frame) && !expected) this.dropped++
  }

  #overflow(): void {
    this.dropped += this.#buffer.length
    this.#buffer = Buffer.alloc(0)
    this.#outOfStep = true
    this.#outstanding?.fail(
      new LabError(
        'device_failed',
        `it sent more than 4 KiB without an end of frame; see that the ${this.#line.isNetwork ? 'address' : 'baud rate'} is right`,
      ),
    )
  }
}

/**
 * Returns the clock by which silence is measured. A simulated line may be faster than the timers, so they wait for
 * a few more turns of the event loop after the instrument's time, so that an answer under way arrives first on a slow computer.
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
