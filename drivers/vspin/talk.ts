// The conversation of one operation with a VSpin. It ends when the operation is aborted, or a module reports a communication error.

import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { type Inputs, inputsOf, isNoEcho, type Question, type Servo, servoOf, status } from './nmc.ts'
import { ioStatus, servoStatus } from './words.ts'

/** The time limit of an answer. The instrument answers within milliseconds, but the computer may be busy. */
const reply_ms = 1000

type Parts = { exchange: Exchange<Buffer, Question>; line: Line; clock: Clock; signal: AbortSignal }

export class Talk extends WithMount<Parts> {
  readonly clock = this.at.clock
  readonly line = this.at.line

  /** Sends a command. Resolves with its answer. */
  async order(question: Question): Promise<Buffer> {
    this.at.signal.throwIfAborted()
    return heard(await this.at.exchange.command(question, { deadline_ms: reply_ms }))
  }

  async orders(questions: readonly Question[]): Promise<void> {
    for (const question of questions) await this.order(question)
  }

  /** Sends a command that has no answer. */
  async tell(question: Question): Promise<void> {
    this.at.signal.throwIfAborted()
    await this.at.exchange.tell(question)
  }

  /** Asks a question that may stay unanswered. */
  async probe(question: Question, deadline_ms: number): Promise<Buffer | undefined> {
    this.at.signal.throwIfAborted()
    return this.at.exchange.probe(question, { deadline_ms, accepts: isNoEcho(question) })
  }

  async servo(): Promise<Servo> {
    return servoOf(await this.#query(servoStatus))
  }

  async inputs(): Promise<Inputs> {
    return inputsOf(await this.#query(ioStatus))
  }

  /** The number of frames and bytes that answered no question. */
  get dropped(): number {
    return this.at.exchange.dropped
  }

  /** Waits between two frames. */
  pause(ms: number): Promise<void> {
    return sleep(this.line.pacing ?? this.line.clock, ms, this.at.signal)
  }

  /** Asks a module that may be deaf or absent. Resolves with its answer, or with undefined after `ms` of the instrument's time. */
  async probeSilent(question: Question, ms: number): Promise<Buffer | undefined> {
    this.at.signal.throwIfAborted()
    return this.at.exchange.probe(question, { deadline_ms: ms, isLikelySilent: true, accepts: isNoEcho(question) })
  }

  /** Asks, at least once, until the answer is as wanted. Rejects with the error of `late` after `limit_ms`. */
  async until<T>(ask: () => Promise<T>, wanted: (seen: T) => boolean, limit_ms: number, late: (seen: T) => LabError): Promise<T> {
    const end = this.clock.now() + limit_ms
    for (;;) {
      const seen = await ask()
      if (wanted(seen)) return seen
      if (this.clock.now() >= end) throw late(seen)
    }
  }

  async #query(question: Question): Promise<Buffer> {
    this.at.signal.throwIfAborted()
    return heard(await this.at.exchange.query(question, { deadline_ms: reply_ms }))
  }
}

function heard(frame: Buffer): Buffer {
  if ((frame.readUInt8(0) & status.checksumError) === 0) return frame
  throw new LabError('device_failed', 'it heard something else than was said; see to the cable, then initialize')
}
