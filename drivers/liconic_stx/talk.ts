// The conversation with the controller of an STX. It answers nothing but E1 until the communication is opened, so E1 later on shows that it has restarted.

import { LabError } from '../../src/errors.ts'
import { refused } from '../reported.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { errorTable, notOpen, refusal } from './errors.ts'
import {
  type Flag,
  isOpened,
  isTaken,
  type Memory,
  open,
  parseFlag,
  parseMemory,
  readFlag,
  readMemory,
  refusalOf,
  starts,
  writeMemory,
} from './protocol.ts'

const reply_ms = 1000
/** The controller wants a pause of more than 200 ms before each word. */
const gap_ms = 220

export class Talk {
  readonly #exchange: Exchange<string, string>
  #isOpen = false
  #restarted = false

  constructor(line: Line) {
    const answers = (parse: (line: string) => unknown) => (line: string) => parse(line) !== undefined || refusalOf(line) !== undefined
    this.#exchange = new Exchange<string, string>(line, {
      framer: nextLine,
      encode: (words) => Buffer.from(`${words}\r`, 'latin1'),
      gap_ms,
      // Neither opens the communication, so that a restart still shows afterwards. Their answers differ in form.
      resync: {
        question: readMemory('level'),
        recognises: answers(parseMemory),
        deadline_ms: reply_ms,
        second: { question: readFlag('error'), recognises: answers(parseFlag), deadline_ms: reply_ms },
      },
    })
  }

  /** Opens the communication, which changes nothing else. */
  async open(): Promise<void> {
    await this.#exchange.query(open, { deadline_ms: reply_ms, accepts: isOpened })
    this.#isOpen = true
  }

  /** Forgets that the controller has restarted, and that the communication is open. */
  forget(): void {
    this.#isOpen = false
    this.#restarted = false
  }

  /** Throws `device_failed` if the controller has restarted since the last `forget`. */
  mustBeTheSame(): void {
    if (this.#restarted) throw restarted()
  }

  async flag(flag: Flag): Promise<boolean> {
    return this.#ask(readFlag(flag), parseFlag)
  }

  async memory(memory: Memory): Promise<number> {
    return this.#ask(readMemory(memory), parseMemory)
  }

  /** Asks for a data memory that not every model has; null where there is none. */
  async memoryIfAny(memory: Memory): Promise<number | null> {
    return this.#ask(readMemory(memory), (line) => (refusalOf(line) === 0 ? null : parseMemory(line)))
  }

  async #ask<T>(question: string, parse: (line: string) => T | undefined): Promise<T> {
    if (!this.#isOpen) await this.open()
    const accepts = (line: string) => parse(line) !== undefined || refusalOf(line) !== undefined
    const line = await this.#exchange.query(question, { deadline_ms: reply_ms, accepts })
    const found = parse(line)
    if (found === undefined) throw this.#refused(question, line)
    return found
  }

  /** Sets a flag, which begins something. */
  start(what: keyof typeof starts, signal: AbortSignal): Promise<void> {
    return this.#order(`ST ${starts[what]}`, signal)
  }

  write(memory: Memory, value: number, signal: AbortSignal): Promise<void> {
    return this.#order(writeMemory(memory, value), signal)
  }

  stopShaker(signal?: AbortSignal): Promise<void> {
    return this.#order(stopShaker, signal)
  }

  async #order(words: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    const accepts = (line: string) => isTaken(line) || refusalOf(line) !== undefined
    const line = await this.#exchange.command(words, { deadline_ms: reply_ms, accepts })
    if (!isTaken(line)) throw this.#refused(words, line)
  }

  #refused(words: string, line: string): LabError {
    const code = refusalOf(line)!
    if (code !== notOpen) return refused(errorTable, words, [code + refusal])
    this.#isOpen = false
    this.#restarted = true
    return restarted()
  }

  /** Writes at once, ahead of all questions: the stop of the shaker, or a question. */
  interrupt(hasShaker: boolean): void {
    this.#exchange.interrupt(hasShaker ? stopShaker : readFlag('ready'))
  }
}

const stopShaker = `RS ${starts.shake}`

function restarted(): LabError {
  return new LabError(
    'device_failed',
    'its controller takes no words any more (E1), so it has restarted, or the line is disturbed; see its power supply, its cable and where its plates are, then initialize',
  )
}
