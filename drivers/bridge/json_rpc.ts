// JSON-RPC 2.0, one message a line, with many questions at once. A violation of the protocol ends the connection.

import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { deepest, isDeeper } from '../../src/kit/json.ts'
import { patient } from '../../src/kit/patient.ts'
import { textOfUtf8 } from '../../src/kit/utf8.ts'
import type { BridgeLine } from '../transports/line.ts'

/** Bytes of a line, without its end; more while a description is awaited, which may have a thousand operations. */
const longestLine = 1024 * 1024
const longestDescription = 6 * longestLine
/** Bytes of a question, which has to fit into the kernel's buffer for a program that does not read just now. */
const longestQuestion = 64 * 1024
/** The most notifications within a second; more end the connection. Answers are bounded by their questions. */
const mostAtOnce = 1000

type Message = { id?: unknown; method?: unknown; params?: unknown; result?: unknown; error?: unknown }
type Pending = {
  method: string
  resolve(result: unknown): void
  reject(error: unknown): void
  deadline_s: number
  /** The deadline on the clock of the line. A time in which this process was suspended counts as half of it at most. */
  due: number
}

/** The error of a program: `{code, message, data: {reason, hint}}`. */
export type Refusal = { message: string; reason: string | undefined; hint: string | undefined }

type Parts = {
  line: BridgeLine
  /** Receives a notification. */
  notified(method: string, params: unknown): void
  /** Makes the error of questions that were open when the line was lost. */
  lost(reason: string): LabError
  /** Makes the error of a question from the program's error. */
  refused(refusal: Refusal): LabError
}

export class JsonRpc {
  readonly #line: BridgeLine
  readonly #clock: Clock
  readonly #notified: Parts['notified']
  readonly #refused: Parts['refused']
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  /** The timer for the deadlines of all questions, because a timer for each would double the cost of a reading. */
  #alarm: { question: Pending; cancel(): void } | undefined
  /** Whether the program has sent anything since its line was opened. Before, it may still be loading its libraries. */
  isAwake = false
  #pieces: Uint8Array[] = []
  #size = 0
  /** The messages of the present second. */
  #count = { since: Number.NEGATIVE_INFINITY, messages: 0 }

  constructor({ line, notified, lost, refused }: Parts) {
    this.#line = line
    this.#clock = line.clock
    this.#notified = notified
    this.#refused = refused
    line.onBytes((bytes) => this.#receive(bytes))
    line.onLost((reason) => this.#abandon(lost(reason)))
    line.onClosed(() => this.#cancelAlarm())
  }

  /**
   * Asks, and resolves with the result. Rejects with the error of `refused` if the program answers with an error, and with that of `lost` if the
   * line is lost.
   * A program without an answer after `deadline_s` is given up, with its line. Throws `disconnected` if the line is not open. `params` may be
   * JSON text, which a caller that often asks the same makes once.
   */
  request(method: string, params: object | string | undefined, deadline_s = Number.POSITIVE_INFINITY): Promise<unknown> {
    const id = ++this.#lastId
    const asked = params === undefined ? '' : `,"params":${typeof params === 'string' ? params : JSON.stringify(params)}`
    const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}"${asked}}\n`
    if (text.length > longestQuestion)
      throw new LabError('invalid', `its parameters are longer than ${longestQuestion / 1024} KiB together`)
    this.#line.write(Buffer.from(text))
    const due = this.#clock.now() + deadline_s * 1000
    return new Promise((resolve, reject) => {
      const question = { method, resolve, reject, deadline_s, due }
      this.#pending.set(id, question)
      if (due < (this.#alarm?.question.due ?? Number.POSITIVE_INFINITY)) this.#setAlarm(question)
    })
  }

  /** Sets the timer for a question. After an earlier question it waits a tenth of the deadline at least, since this process may have been suspended. */
  #setAlarm(question: Pending): void {
    this.#cancelAlarm()
    const wait = Math.max(question.due - this.#clock.now(), question.deadline_s * 100)
    this.#alarm = { question, cancel: patient(this.#clock).after(wait, () => this.#ring(question)) }
  }

  #cancelAlarm(): void {
    this.#alarm?.cancel()
    this.#alarm = undefined
  }

  /** Gives the program up if its answer is overdue; else waits for the next deadline. */
  #ring(rung: Pending): void {
    this.#alarm = undefined
    const first = [...this.#pending.values()].reduce<Pending | undefined>(
      (one, other) => (one && one.due <= other.due ? one : other),
      undefined,
    )
    if (!first || first.due === Number.POSITIVE_INFINITY) return
    if (first !== rung) this.#setAlarm(first)
    else void this.#line.giveUp(`it has not answered ${first.method} within ${first.deadline_s} s`)
  }

  #receive(received: Uint8Array): void {
    this.isAwake = true
    const bytes = Buffer.isBuffer(received) ? received : Buffer.from(received)
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      const isTaken = this.#size === 0 ? this.#take(bytes, start, end) : this.#takePieces(bytes.subarray(start, end))
      if (!isTaken) return
      start = end + 1
    }
    if (start === bytes.length) return
    this.#add(start === 0 ? bytes : bytes.subarray(start))
    if (this.#size > longestLine && this.#size > this.#longest) this.#line.giveUp(this.#tooLong)
  }

  /** The bytes that a line may have now. */
  get #longest(): number {
    return [...this.#pending.values()].some(({ method }) => method === 'describe') ? longestDescription : longestLine
  }

  get #tooLong(): string {
    return `it wrote a line of more than ${this.#longest / longestLine} MiB`
  }

  #takePieces(last: Uint8Array): boolean {
    const line = Buffer.concat([...this.#pieces, last])
    this.#forgetPieces()
    return this.#take(line, 0, line.length)
  }

  #add(piece: Uint8Array): void {
    this.#pieces.push(Uint8Array.from(piece))
    this.#size += piece.length
  }

  #forgetPieces(): void {
    if (this.#size === 0) return
    this.#pieces = []
    this.#size = 0
  }

  /** Handles a line. Returns whether to continue with the next. */
  #take(bytes: Buffer, start: number, end: number): boolean {
    const wrong = this.#wrongWith(bytes, start, end)
    if (wrong !== undefined) this.#line.giveUp(wrong)
    return wrong === undefined
  }

  #isFlood(): boolean {
    const now = this.#clock.now()
    if (now - this.#count.since >= 1000) this.#count = { since: now, messages: 0 }
    return ++this.#count.messages > mostAtOnce
  }

  /** Passes a message on. Returns its violation of the protocol, if there is one. */
  #wrongWith(bytes: Buffer, start: number, end: number): string | undefined {
    if (end - start > longestLine && end - start > this.#longest) return this.#tooLong
    const message = messageIn(bytes, start, end)
    if (!message) {
      const beginning = bytes.toString('utf8', start, Math.min(end, start + 80))
      return `it wrote a line that is no message of JSON-RPC: ${JSON.stringify(beginning)}`
    }
    if (isDeeper(message, deepest)) return `it wrote a message that is nested deeper than ${deepest} levels`
    const { id, method, params } = message
    if (typeof method === 'string') {
      if (id !== undefined) return `it asked ${method.slice(0, 40)}, and a bridge only answers`
      if (this.#isFlood()) return `it wrote more than ${mostAtOnce} messages within a second`
      this.#notified(method, params)
      return undefined
    }
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined
    if (!pending) return `it answered a question that nobody asked, or answered it twice: id ${JSON.stringify(id)?.slice(0, 40)}`
    this.#pending.delete(id as number)
    if (message.error === undefined) pending.resolve(message.result)
    else pending.reject(this.#refused(refusalIn(message.error)))
    return undefined
  }

  #abandon(error: LabError): void {
    this.isAwake = false
    this.#cancelAlarm()
    this.#forgetPieces()
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of pending) reject(error)
  }
}

function messageIn(bytes: Buffer, start: number, end: number): Message | undefined {
  try {
    const message: unknown = JSON.parse(textOfUtf8(bytes, start, end))
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? message : undefined
  } catch {
    return undefined
  }
}

function refusalIn(error: unknown): Refusal {
  const { message, data } = Object(error) as { message?: unknown; data?: unknown }
  const { reason, hint } = Object(data) as { reason?: unknown; hint?: unknown }
  return { message: wordsOf(message) ?? 'it failed and did not say why', reason: wordsOf(reason), hint: wordsOf(hint) }
}

function wordsOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 300) : undefined
}
