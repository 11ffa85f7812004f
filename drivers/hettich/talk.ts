// The conversation with a Hettich centrifuge: values that are read, and settings that it acknowledges or refuses with a reason.

import { LabError } from '../../src/errors.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { codes, encode, framer, inWords, type Question, type Reply, secondGeneration, wasSwitchedOn } from './protocol.ts'

const reply_ms = 1000

type Parts = { line: Line; address: string }

export class Talk extends WithMount<Parts> {
  readonly #exchange = new Exchange<Reply, Question>(this.at.line, {
    framer: framer(this.at.address),
    encode: (question) => encode(question, this.at.address),
    gap_ms: 50,
    resync: {
      question: { code: codes.generation },
      recognises: (reply) => 'code' in reply && reply.code === codes.generation && reply.value === secondGeneration,
    },
  })
  #isInitialized = false
  /** Whether it was switched on since it was initialized. */
  #hasRestarted = false

  /** Reads a parameter. Rejects with `device_failed` if the centrifuge does not tell it. */
  async ask(code: string): Promise<number> {
    const accepts = (reply: Reply) => ('code' in reply ? reply.code === code : !reply.acknowledged)
    const reply = await this.#exchange.query({ code }, { deadline_ms: reply_ms, accepts })
    if ('code' in reply) return reply.value
    throw new LabError('device_failed', `it does not tell its parameter ${code}; see that its type and this driver fit`)
  }

  /** Sets a parameter. Rejects with `device_failed`, with the reason of the centrifuge, if it refuses. */
  async set(question: Question, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const accepts = (reply: Reply) => 'acknowledged' in reply
    const reply = await this.#exchange.command(question, { deadline_ms: reply_ms, accepts })
    if (!('acknowledged' in reply) || reply.acknowledged) return
    const faults = await this.#readFaults()
    this.mustBeTheSame()
    throw new LabError('device_failed', `it refuses ${question.code}: ${inWords(faults)}; see its display, then initialize`)
  }

  /** Sets a parameter ahead of everything else, and waits for nothing. */
  interrupt(question: Question): void {
    this.#exchange.interrupt(question)
  }

  /** Sets a parameter again, whatever the centrifuge answers. */
  async insist(question: Question): Promise<void> {
    await this.#exchange.command(question, { deadline_ms: reply_ms, accepts: (reply) => 'acknowledged' in reply })
  }

  /** Reads the fault register, which clears it. Rejects with `device_failed` if the centrifuge was switched on since it was initialized. */
  async mustRunOn(): Promise<void> {
    await this.#readFaults()
    this.mustBeTheSame()
  }

  mustBeTheSame(): void {
    if (this.#hasRestarted)
      throw new LabError(
        'device_failed',
        'it was switched on since it was initialized; see that its power supply is sound, then initialize',
      )
  }

  /** Takes the centrifuge as it is from now on. */
  async beginAnew(): Promise<void> {
    await this.ask(codes.faults)
    this.#isInitialized = true
    this.#hasRestarted = false
  }

  async #readFaults(): Promise<number> {
    const faults = await this.ask(codes.faults)
    if (this.#isInitialized && wasSwitchedOn(faults)) this.#hasRestarted = true
    return faults
  }
}
