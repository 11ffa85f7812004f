// Talking with an XPeel: questions, motions that end with a `*ready` of their own, and what it says unasked.

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

/** How long what is done at its panel, or when it is switched on, may take. */
const unasked_s = 60

/** Something that goes on there, whoever waits for it here. */
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
  /** The motion that was asked for over this line. */
  #motion: Motion | undefined
  /** A motion that was not: begun at the panel, or by the peeler when it was switched on. It ends with a `*ready` too. */
  #unasked: Motion | undefined
  #restarted = false

  /** `clock` is the instrument's. */
  constructor(at: Parts) {
    super(at)
    at.line.onLost((reason) => {
      this.#motion?.fail(connectionLost(reason, at.line.advice))
      this.#unasked?.end([])
    })
  }

  /** The codes of its last motion. */
  async codes(): Promise<number[]> {
    this.#mustBeTheSame()
    return this.#askCodes()
  }

  async #askCodes(): Promise<number[]> {
    return readyCodes(await this.#exchange.query(askStatus, { deadline_ms: short_ms, accepts: isReady }))!
  }

  /** Any line may be a version, so the codes are asked for first: no other instrument tells those. */
  async version(): Promise<string> {
    if (!this.#unasked && !this.#motion) await this.#askCodes()
    return this.#exchange.query(askVersion, { deadline_ms: short_ms, accepts: isVersion })
  }

  /** Throws `device_failed`, with the errors in words, when its last motion ended with any. While it moves it is not asked. */
  async mustBeWell(): Promise<void> {
    if (!this.#unasked && !this.#motion) throwErrors(await this.codes())
    this.#mustBeTheSame()
  }

  /** Moves it, and waits until it says that it is done. */
  async move(command: string, within_s: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#mustBeTheSame()
    if (this.#unasked) throw new LabError('interlock', 'somebody works at its panel; wait until it has finished')
    const motion = this.#begin(within_s)
    this.#motion = motion
    // A refusal may come without an acknowledgement; a `*ready` without a code is of something else.
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

  /** Resolves when nothing moves any more, as far as it says. */
  async still(): Promise<void> {
    await this.#unasked?.ended.catch(() => undefined)
    await this.#motion?.ended
  }

  /** Writes at once, ahead of everything. */
  interrupt(command: string): void {
    this.#exchange.interrupt(command)
  }

  /** From here on a restart before now does not matter. */
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

  /** A command that was cut short may have begun its motion: then the peeler acknowledges it soon. */
  #forgetUnlessAcknowledged(motion: Motion): void {
    this.at.line.clock.after(short_ms, () => {
      if (!motion.acknowledged) motion.end([])
    })
  }

  /** Takes what answers no question; true when it was expected. */
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
