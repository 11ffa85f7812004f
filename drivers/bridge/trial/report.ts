// The results of a trial, one for each check.

import type { TriedProgram } from './program.ts'

/** `note`: it works, and its writer should know something. */
export type Outcome = 'pass' | 'note' | 'fail' | 'not_tried'

export type Result = {
  check: string
  outcome: Outcome
  /** A sentence about the outcome, which also says what to do after a failure. */
  what: string
  /** The text on standard error during a check that failed. */
  stderr?: string
}

/** Thrown by a check that cannot be made. */
export class NotTried extends Error {}

/** Thrown by a check that found something which works and should be known. */
export class Note extends Error {}

export class Report {
  readonly results: Result[] = []
  readonly #program: TriedProgram
  readonly #signal: AbortSignal
  readonly #show: (result: Result) => void

  constructor(program: TriedProgram, signal: AbortSignal, show: (result: Result) => void) {
    this.#program = program
    this.#signal = signal
    this.#show = show
  }

  get hasFailed(): boolean {
    return this.results.some(({ outcome }) => outcome === 'fail')
  }

  /**
   * Makes a check, and keeps what it returns. `advice` is what the writer of the program does after a failure. Returns whether it did not fail. Rejects when
   * the trial is interrupted.
   */
  async tried(check: string, body: () => Promise<string>, advice: string): Promise<boolean> {
    if (!this.#program.isLeaving) this.#signal.throwIfAborted()
    this.#program.words = ''
    try {
      this.#keep({ check, outcome: 'pass', what: await body() })
    } catch (error) {
      if (!this.#program.isLeaving) this.#signal.throwIfAborted()
      if (error instanceof NotTried || error instanceof Note) {
        this.#keep({ check, outcome: error instanceof Note ? 'note' : 'not_tried', what: error.message })
        return true
      }
      this.#program.isSuspect = true
      const stderr = this.#program.words.trimEnd()
      this.#keep({ check, outcome: 'fail', what: `${this.#program.sentenceOf(error)}; ${advice}`, ...(stderr && { stderr }) })
      return false
    }
    return true
  }

  notTried(check: string, why: string): void {
    this.#keep({ check, outcome: 'not_tried', what: why })
  }

  #keep(result: Result): void {
    this.results.push(result)
    this.#show(result)
  }
}
