// The conversation with a Cytomat: questions, which it may refuse for a moment, and commands.

import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { refused, reports } from '../reported.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable, refusal, spurious } from './errors.ts'
import { askError, askOverview, type Overview, parseOverview, parseTaken, registerOf } from './protocol.ts'

const reply_ms = 1000
/** How often a command or a question is repeated that it refused as busy or unknown, and the pause before that. */
const repetitions = { ask: 25, act: 5 }
const pause_ms = 200

/** Refusals that say that the caller asked for what is not possible, or not possible now. All others are faults. */
const invalid = new Set([0x04, 0x05])
const interlocks = new Set([0x01, 0x02, 0x11, 0x12, 0x21, 0x22, 0x31, 0x32, 0x33, 0x41, 0x42, 0x61])

type Parts = { line: Line; clock: Clock; ending: string }

export class Talk extends WithMount<Parts> {
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode: (words) => Buffer.from(`${words}${this.at.ending}`, 'latin1'),
    gap_ms: 50,
    resync: {
      question: askOverview,
      recognises: (line) => parseOverview(line) !== undefined,
      deadline_ms: reply_ms,
      // A line that is late by one answer shows in the form of the second.
      second: { question: askError, recognises: (line) => registerOf(line, 'be') !== undefined, deadline_ms: reply_ms },
    },
  })

  /** Asks until the instrument takes the question: it may refuse one for a moment although it is neither busy nor unknown. */
  async ask<T>(question: string, parse: (line: string) => T | undefined): Promise<T> {
    const accepts = (line: string) => parse(line) !== undefined || isRefusal(line)
    for (let left = repetitions.ask; ; left--) {
      const line = await this.#exchange.query(question, { deadline_ms: reply_ms, accepts })
      const found = parse(line)
      if (found !== undefined) return found
      const code = parseTaken(line)!
      if (!spurious.has(code) || left === 0) throw refused(errorTable, question, [code + refusal])
      await sleep(this.at.clock, pause_ms)
    }
  }

  overview(): Promise<Overview> {
    return this.ask(askOverview, parseOverview)
  }

  /** Throws `device_failed` with the error in words if the overview shows one. */
  async mustBeWell({ error }: Overview): Promise<void> {
    if (error) throw reports(errorTable, [await this.ask(askError, (line) => registerOf(line, 'be'))])
  }

  /**
   * Gives a command to an instrument at rest. A refusal as busy or unknown may be spurious: the command is then given again, if the instrument is still seen at
   * rest. Throws `interlock` or `invalid` for what it does not do now or never.
   */
  async act(command: string, signal: AbortSignal): Promise<void> {
    for (let left = repetitions.act; ; left--) {
      const code = await this.give(command, signal)
      if (code === null) return
      if (!spurious.has(code)) throw refusedFor(command, code)
      if ((await this.overview()).busy) throw begunAllTheSame(command)
      if (left === 0) throw refusedFor(command, code)
      await sleep(this.at.clock, pause_ms, signal)
      if ((await this.overview()).busy) throw begunAllTheSame(command)
    }
  }

  /** Gives a command once. Returns the number of the refusal; null if it was taken. */
  async give(command: string, signal?: AbortSignal): Promise<number | null> {
    signal?.throwIfAborted()
    const accepts = (line: string) => parseTaken(line) !== undefined
    return parseTaken(await this.#exchange.command(command, { deadline_ms: reply_ms, accepts }))!
  }

  /** Writes at once, ahead of all questions. */
  interrupt(words: string): void {
    this.#exchange.interrupt(words)
  }
}

function isRefusal(line: string): boolean {
  return typeof parseTaken(line) === 'number'
}

function refusedFor(command: string, code: number): LabError {
  const kind = invalid.has(code) ? 'invalid' : interlocks.has(code) ? 'interlock' : 'device_failed'
  return refused(errorTable, command, [code + refusal], kind)
}

function begunAllTheSame(command: string): LabError {
  return new LabError('device_failed', `it refused ${command} and moves all the same; see what it does, then initialize`)
}
