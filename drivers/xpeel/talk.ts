// The conversation with an XPeel: questions, motions that end with their own `*ready`, and unsolicited messages.

import { connectionLost } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { deferred } from '../../src/kit/deferred.ts'
import { unlessAborted } from '../operation_runner.ts'
import { reports } from '../reported.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import {
  askStatus,
  askVersion,
  beginsUnasked,
  encode,
  errorsOf,
  isAck,
  isNotice,
  isRestart,
  isVersion,
  nextAnswer,
  readyCodes,
} from './protocol.ts'

const short_ms = 2000

/** The limit of a motion that was begun at its panel or by power-on. */
const unasked_s = 60

/** A motion under way. */
type Motion = { acknowledged: boolean; ended: Promise<number[]>; end(codes: number[]): void; fail(error: LabError): void }

type Parts = { line: Line; clock: Clock }

export class Talk extends WithMount<Parts> {
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextAnswer,
    encode,
    gap_ms: 50,
    resync: { question: askStatus, recognises: isReady },
    unsolicited: (answer) => this.#notice(answer),
  })
  /** The motion that was requested over this line. */
  #motion: Motion | undefined
  /** An unsolicited motion, begun at the panel or by power-on. It ends with a `*ready` too. */
  #unasked: Motion | undefined
  #restarted = false

  /** `clock` is the instrument's time. */
  constructor(at: Parts) {
    super(at)
    at.line.onLost((reason) => {
      this.#motion?.fail(connectionLost(reason, at.line.advice))
      this.#unasked?.end([])
    })
  }

  /** Asks for the codes of the last motion. */
  async codes(): Promise<number[]> {
    this.#mustBeTheSame()
    return this.#askCodes()
  }

  async #askCodes(): Promise<number[]> {
    return readyCodes(await this.#exchange.query(askStatus, { deadline_ms: short_ms, accepts: isReady }))!
  }

  /** Asks for the version. Any line may be one, so the codes are asked for first, which no other instrument has. */
  async version(): Promise<string> {
    if (!this.#unasked && !this.#motion) await this.#askCodes()
    return this.#exchange.query(askVersion, { deadline_ms: short_ms, accepts: isVersion })
  }

  /** Throws `device_failed` with the errors of the last motion, if there were any. Asks nothing during a motion. */
  async mustBeWell(): Promise<void> {
    if (!this.#unasked && !this.#motion) throwErrors(await this.codes())
    this.#mustBeTheSame()
  }

  /** Sends a motion command, and waits until its end. */
  async move(command: string, within_s: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#mustBeTheSame()
    if (this.#unasked) throw new LabError('interlock', 'somebody works at its panel; wait until it has finished')
    const motion = this.#begin(within_s)
    this.#motion = motion
    // A refusal may come without an acknowledgement; a `*ready` without a code belongs to another motion.
    const accepts = (line: string) => isAck(line) || errorsOf(readyCodes(line) ?? []).length > 0
    try {
      const answer = await this.#exchange.command(command, { deadline_ms: short_ms, accepts })
      const refusal = readyCodes(answer)
      if (refusal) motion.end(refusal)
      throwErrors(await unlessAborted(motion.ended, signal))
    } catch (error) {
      this.#forgetUnlessAcknowledged(motion)
      throw error
    }
  }

  /** Resolves when no reported motion is under way. */
  async still(): Promise<void> {
    await this.#unasked?.ended.catch(() => undefined)
    await this.#motion?.ended
  }

  /** Writes at once, ahead of all waiting commands. */
  interrupt(command: string): void {
    this.#exchange.interrupt(command)
  }

  /** Ignores restarts before now. */
  forgetRestart(): void {
    this.#restarted = false
  }

  #begin(within_s: number): Motion {
    const { promise: ended, resolve: end, reject: fail } = deferred<number[]>()
    const motion: Motion = { acknowledged: false, ended, end, fail }
    const cancel = this.at.clock.after(within_s * 1000, () => {
      fail(new LabError('no_reply', `it has not said within ${within_s} s that it is done; see what it does, then initialize`))
    })
    const done = () => {
      cancel()
      if (this.#motion === motion) this.#motion = undefined
      if (this.#unasked === motion) this.#unasked = undefined
    }
    ended.then(done, done)
    return motion
  }

  /** Forgets the motion of an aborted command, unless the peeler acknowledges it soon and so has begun it. */
  #forgetUnlessAcknowledged(motion: Motion): void {
    this.at.line.clock.after(short_ms, () => {
      if (!motion.acknowledged) motion.end([])
    })
  }

  /** Receives a line that answers no question. Returns whether it was expected. */
  #notice(line: string): boolean {
    if (isRestart(line)) this.#noticeRestart()
    if (beginsUnasked(line) && !this.#motion?.acknowledged) this.#unasked ??= this.#begin(unasked_s)
    if (beginsUnasked(line) || isNotice(line)) return true
    if (isAck(line) && this.#motion) this.#motion.acknowledged = true
    const codes = readyCodes(line)
    const ending = this.#unasked ?? (this.#motion?.acknowledged ? this.#motion : undefined)
    if (codes) ending?.end(codes)
    return codes !== undefined && ending !== undefined
  }

  #noticeRestart(): void {
    this.#restarted = true
    this.#motion?.fail(restarted())
    this.#motion = undefined
  }

  #mustBeTheSame(): void {
    if (this.#restarted) throw restarted()
  }
}

function restarted(): LabError {
  return new LabError('device_failed', 'it restarted by itself; see that its power supply is sound, then initialize')
}

function isReady(line: string): boolean {
  return readyCodes(line) !== undefined
}

function throwErrors(codes: number[]): void {
  const errors = errorsOf(codes)
  if (errors.length) throw reports(errorTable, errors)
}
