// The conversation with an Opentrons module: questions, commands, and the errors that it reports by itself.

import { LabError } from '../src/errors.ts'
import type { ReportedErrors } from './opentrons_lines.ts'
import { type ErrorTable, refused, reports } from './reported.ts'
import { Exchange, type Found } from './transports/exchange.ts'
import type { Line } from './transports/line.ts'

/** The protocol of one module. */
export type Dialect = {
  framer(buffer: Buffer): Found<string> | undefined
  encode(code: string): Uint8Array
  /** Whether a frame without an error answers a code. */
  answers(frame: string, code: string): boolean
  /** Returns the errors in a frame, if it reports any. */
  errorsIn(frame: string): ReportedErrors | undefined
  /** Whether a frame is a remark that answers nothing and needs no attention. */
  isRemark?(frame: string): boolean
  errors: ErrorTable
  /** Errors that mean that nothing was done because of the present state. */
  refusals: ReadonlySet<number>
  /** Errors that mean that nothing was done because of the value. */
  badValues: ReadonlySet<number>
}

export const reply_ms = 2000

export class ModuleTalk {
  readonly #dialect: Dialect
  readonly #exchange: Exchange<string, string>
  /** Errors that the module reported without a question since it was initialized. */
  readonly #reported = new Set<number>()

  /** `onWrite` sees each code when it is written. */
  constructor(line: Line, dialect: Dialect, onWrite: (code: string) => void = () => {}) {
    this.#dialect = dialect
    this.#exchange = new Exchange<string, string>(line, {
      framer: dialect.framer,
      encode(code) {
        onWrite(code)
        return dialect.encode(code)
      },
      gap_ms: 20,
      resync: { question: 'M115', recognises: (frame) => dialect.answers(frame, 'M115') },
      unsolicited: (frame) => this.#notice(frame),
    })
  }

  /** Takes note of an unsolicited error. One that may answer the open question is left to the caller of the exchange. */
  #notice(frame: string): boolean {
    if (this.#dialect.isRemark?.(frame)) return true
    const { refusals, badValues, errorsIn } = this.#dialect
    const errors = errorsIn(frame)
    if (!errors) return false
    for (const number of errors.numbers) if (!refusals.has(number) && !badValues.has(number)) this.#reported.add(number)
    return errors.isUnasked
  }

  /** Asks a question without an effect. Throws the error that the module reports in its place. */
  async ask(code: string, deadline_ms = reply_ms): Promise<string> {
    return this.withoutError(code, await this.answerTo(code, deadline_ms))
  }

  /** Asks a question without an effect, and returns its answer, also if that is an error. */
  answerTo(code: string, deadline_ms = reply_ms): Promise<string> {
    return this.#exchange.query(code, { deadline_ms, accepts: this.#isAnswer(code) })
  }

  /** Gives a command, once. Throws before it if the module has reported an error. */
  async order(code: string, signal: AbortSignal, deadline_ms = reply_ms): Promise<void> {
    signal.throwIfAborted()
    this.mustHaveNoErrors()
    await this.orderAnyway(code, deadline_ms)
  }

  /** Gives a command that ends something, once. */
  async orderAnyway(code: string, deadline_ms = reply_ms): Promise<void> {
    this.withoutError(code, await this.attempt(code, deadline_ms))
  }

  /** Gives a command that ends something, once, and returns its answer, also if that is an error. */
  attempt(code: string, deadline_ms = reply_ms): Promise<string> {
    return this.#exchange.command(code, { deadline_ms, accepts: this.#isAnswer(code) })
  }

  /** Writes a code at once, ahead of everything. */
  interrupt(code: string): void {
    this.#exchange.interrupt(code)
  }

  /** Throws `device_failed` for the errors that the module has reported by itself. */
  mustHaveNoErrors(): void {
    if (this.#reported.size) throw reports(this.#dialect.errors, [...this.#reported])
  }

  forgetErrors(): void {
    this.#reported.clear()
  }

  #isAnswer(code: string): (frame: string) => boolean {
    const { answers, errorsIn } = this.#dialect
    return (frame) => errorsIn(frame)?.isUnasked === false || answers(frame, code)
  }

  /** Returns the frame. Throws the error that it reports, if it does: an `ERR` line ends in ` OK` too, so errors come first. */
  withoutError(code: string, frame: string): string {
    const { errorsIn, errors, refusals, badValues } = this.#dialect
    const { numbers } = errorsIn(frame) ?? { numbers: [] }
    if (numbers.length === 0) return frame
    const isAll = (set: ReadonlySet<number>) => numbers.every((number) => set.has(number))
    throw refused(errors, code, numbers, isAll(refusals) ? 'interlock' : isAll(badValues) ? 'invalid' : 'device_failed')
  }
}

/** Throws `device_failed` for an answer without the expected values. */
export function nonsense(code: string, frame: string): never {
  throw new LabError('device_failed', `it answered ${code} with ${JSON.stringify(frame)}; see that its firmware is the right one`)
}
