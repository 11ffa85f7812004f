// What one operation says to a VSpin: nothing more once it is not wanted any longer, and nothing to a module that did not hear well.

import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { type Inputs, inputsOf, type Question, type Servo, servoOf, status } from './nmc.ts'
import { ioStatus, servoStatus } from './words.ts'

/** Answers come at once; a USB adapter keeps them for up to 16 ms. */
/** The instrument answers within milliseconds; a busy computer may take its time to hear of it. */
const reply_ms = 1000

export class Talk {
  readonly #exchange: Exchange<Buffer, Question>
  readonly #signal: AbortSignal
  readonly line: Line
  readonly clock: Clock

  constructor(at: { exchange: Exchange<Buffer, Question>; line: Line; clock: Clock; signal: AbortSignal }) {
    this.#exchange = at.exchange
    this.#signal = at.signal
    this.line = at.line
    this.clock = at.clock
  }

  /** Has it do something; resolves with its answer. */
  async order(question: Question): Promise<Buffer> {
    this.#signal.throwIfAborted()
    return heard(await this.#exchange.command(question, { deadline_ms: reply_ms }))
  }

  async orders(questions: readonly Question[]): Promise<void> {
    for (const question of questions) await this.order(question)
  }

  /** Says what is not answered. */
  async tell(question: Question): Promise<void> {
    this.#signal.throwIfAborted()
    await this.#exchange.tell(question)
  }

  /** Asks what may go without an answer. */
  async probe(question: Question, deadline_ms: number): Promise<Buffer | undefined> {
    this.#signal.throwIfAborted()
    return this.#exchange.probe(question, { deadline_ms })
  }

  async servo(): Promise<Servo> {
    return servoOf(await this.#query(servoStatus))
  }

  async inputs(): Promise<Inputs> {
    return inputsOf(await this.#query(ioStatus))
  }

  /** Of the wire's time. */
  pause(ms: number): Promise<void> {
    return sleep(this.line.clock, ms, this.#signal)
  }

  /** Asks until it is as wanted, at least once; rejects with what `late` answers after `limit_ms`. */
  async until<T>(ask: () => Promise<T>, wanted: (seen: T) => boolean, limit_ms: number, late: (seen: T) => LabError): Promise<T> {
    const end = this.clock.now() + limit_ms
    for (;;) {
      const seen = await ask()
      if (wanted(seen)) return seen
      if (this.clock.now() >= end) throw late(seen)
    }
  }

  async #query(question: Question): Promise<Buffer> {
    this.#signal.throwIfAborted()
    return heard(await this.#exchange.query(question, { deadline_ms: reply_ms }))
  }
}

function heard(frame: Buffer): Buffer {
  if ((frame.readUInt8(0) & status.checksumError) === 0) return frame
  throw new LabError('device_failed', 'it heard something else than was said; see to the cable, then initialize')
}
