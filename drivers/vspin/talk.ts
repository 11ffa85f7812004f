// The conversation of one operation with a VSpin. It ends when the operation is aborted, or a module did not hear well.

import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { type Inputs, inputsOf, isNoEcho, type Question, type Servo, servoOf, status } from './nmc.ts'
import { ioStatus, servoStatus } from './words.ts'

/** The instrument answers within milliseconds; a busy computer may take its time to hear of it. */
const reply_ms = 1000

type Parts = { exchange: Exchange<Buffer, Question>; line: Line; clock: Clock; signal: AbortSignal }

export class Talk extends WithMount<Parts> {
  readonly clock = this.at.clock
  readonly line = this.at.line

  /** Has it do something; resolves with its answer. */
  async order(question: Question): Promise<Buffer> {
    this.at.signal.throwIfAborted()
    return heard(await this.at.exchange.command(question, { deadline_ms: reply_ms }))
  }

  async orders(questions: readonly Question[]): Promise<void> {
    for (const question of questions) await this.order(question)
  }

  /** Says what is not answered. */
  async tell(question: Question): Promise<void> {
    this.at.signal.throwIfAborted()
    await this.at.exchange.tell(question)
  }

  /** Asks what may go without an answer. */
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

  /** Frames and bytes that answered nothing so far. */
  get dropped(): number {
    return this.at.exchange.dropped
  }

  /** Waits between two frames. */
  pause(ms: number): Promise<void> {
    return sleep(this.line.pacing ?? this.line.clock, ms, this.at.signal)
  }

  /** Asks a module that may be deaf or not there; resolves with its answer, or with undefined after `ms` of the instrument's time. */
  async probeSilent(question: Question, ms: number): Promise<Buffer | undefined> {
    this.at.signal.throwIfAborted()
    return this.at.exchange.probe(question, { deadline_ms: ms, isLikelySilent: true, accepts: isNoEcho(question) })
  }

  /** Asks until it is as wanted, at least once; rejects with what `late` returns after `limit_ms`. */
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
