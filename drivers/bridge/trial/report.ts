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

export function seconds(s: number): string {
  if (s < 0.1) return `${Math.ceil(s * 1000)} ms`
  return s < 10 ? `${s.toFixed(2)} s` : `${Math.round(s)} s`
}

/** Advice for the writer of the program, by the check that failed. */
export const advice = {
  describe: 'answer describe with the same description each time, before the instrument is asked anything',
  check_first: 'the bench asks check from the start: let it return until initialize has opened the port',
  check: 'let check ask the instrument one question, and answer within 5 s',
  initialize: 'let initialize open the port and find home, also when it was open before',
  operation: 'see the method of that name; for other values: --with OPERATION.PARAM=VALUE; to leave it out: --skip OPERATION',
  reading: 'return a finite number, or a pair of it and its target, within 5 s',
  unknown: 'raise Invalid, or answer with the reason "invalid"',
  raises: 'answer every exception as an error, and read on',
  halt: 'halt has to return within halt_s while the operation runs, and to end what the operation waits for; initialize has to work after that',
  restart: 'let halt open the port by itself: a new program gets halt before anything else',
  beside: 'answer beside the operation: hold a lock for one question to the instrument, never for the operation',
  end: 'let end return the seconds that are left, and the operation return in an orderly way after that',
  where: 'answer where with state and gripper',
  cable: 'pull it while nothing runs and during an operation: check has to notice, and halt and initialize have to work when it is back',
  output: 'write messages alone to standard output, and everything else to standard error',
}
