// A connection to a MicroSpin: quick questions, and commands that the centrifuge answers a second time when the motion has ended.

import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { deferred } from '../../src/kit/deferred.ts'
import { Exchange, isNoReply } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { failed } from './errors.ts'
import { abort, type End, encode, type Frame, finding, framer } from './protocol.ts'

const reply_ms = 2000
/** The time within which each command is acknowledged. */
const acknowledged_ms = 5000

type Motion = { command: string; id: number | undefined; ended: ReturnType<typeof deferred<End>> }

export class Talk {
  readonly #exchange: Exchange<Frame, string>
  /** The number of the command that has ended last, of which nothing more can come. */
  #ended: number | undefined
  /** The last acknowledgement. */
  #acknowledged: { echo: string; id: number } | undefined
  #motion: Motion | undefined

  constructor(line: Line) {
    this.#exchange = new Exchange<Frame, string>(line, {
      framer,
      encode,
      gap_ms: 10,
      resync: { question: finding, recognises: isEndOf(finding) },
      unsolicited: (frame) => this.#note(frame),
    })
  }

  /** Asks a question that has no effect. Rejects with `device_failed` if it is refused. */
  async ask(question: string, deadline_ms = reply_ms): Promise<readonly string[]> {
    this.#acknowledged = undefined
    return done(await this.#exchange.query(question, { deadline_ms, accepts: (frame) => this.#isAnswer(frame, question) }))
  }

  /** Gives a command that is done at once. */
  async command(command: string): Promise<readonly string[]> {
    this.#acknowledged = undefined
    return done(await this.#exchange.command(command, { deadline_ms: reply_ms, accepts: (frame) => this.#isAnswer(frame, command) }))
  }

  /** Whether a question that is answered only at rest is answered. Rejects if it is refused. */
  async isAnswered(question: string): Promise<boolean> {
    try {
      await this.ask(question)
      return true
    } catch (error) {
      if (!isNoReply(error)) throw error
      return false
    }
  }

  /**
   * Begins a motion, and resolves when the instrument has ended it well. Meanwhile it calls `look` every so often. Rejects with `no_reply` if the motion is not
   * acknowledged.
   */
  async move(command: string, { clock, going, look }: { clock: Clock; going: AbortSignal; look(): Promise<unknown> }): Promise<void> {
    const motion: Motion = { command, id: undefined, ended: deferred() }
    const awake = new AbortController()
    const wake = () => awake.abort()
    going.addEventListener('abort', wake)
    let end: End | undefined
    motion.ended.promise.then((its) => {
      end = its
      wake()
    })
    try {
      going.throwIfAborted()
      this.#motion = motion
      await this.#exchange.tell(command)
      const began = clock.now()
      while (!end) {
        await sleep(clock, look_ms, awake.signal).catch(() => undefined)
        going.throwIfAborted()
        if (end) break
        await look()
        if (motion.id === undefined && clock.now() - began > acknowledged_ms) throw unheard(command)
      }
      done(end)
    } finally {
      this.#motion = undefined
      going.removeEventListener('abort', wake)
    }
  }

  /** Writes an abort at once. Resolves with its end; rejects with `stop_not_sent` if it could not be written. */
  async halt(): Promise<End> {
    this.#motion = undefined
    this.#acknowledged = undefined
    const expected = { deadline_ms: reply_ms, accepts: (frame: Frame) => this.#isAnswer(frame, abort) }
    return (await this.#exchange.interruptFor(abort, expected)) as End
  }

  #isAnswer(frame: Frame, command: string): frame is End {
    const isIt = frame.kind === 'end' && frame.echo === command && frame.id === this.#acknowledged?.id
    if (isIt) this.#ended = frame.id
    return isIt
  }

  /** Notes acknowledgements, and the end of a motion. Returns whether the frame was expected. */
  #note(frame: Frame): boolean {
    if (frame.id === this.#ended) return false
    const { echo, id } = frame
    const motion = this.#motion?.command === echo ? this.#motion : undefined
    if (frame.kind === 'ack') {
      this.#acknowledged = { echo, id }
      if (motion) motion.id ??= id
      return true
    }
    if (motion?.id !== id) return false
    this.#ended = id
    motion.ended.resolve(frame)
    return true
  }
}

/** How often the instrument is asked during a motion. */
const look_ms = 1000

function isEndOf(command: string): (frame: Frame) => boolean {
  return (frame) => frame.kind === 'end' && frame.echo === command
}

/** Returns the data of a command that ended well. */
function done(frame: Frame): readonly string[] {
  if (frame.kind !== 'end') return []
  if (frame.outcome !== 'OK') throw failed(frame)
  return frame.lines
}

function unheard(command: string): LabError {
  return new LabError('no_reply', `it did not acknowledge ${command}; see whether it moves, then initialize`)
}
