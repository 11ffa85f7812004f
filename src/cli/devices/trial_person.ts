// The person at a trial: asked at the terminal, and able to end it at any moment by Ctrl-C.

import { createInterface, type Interface } from 'node:readline/promises'
import { asTyped } from '../../kit/as_typed.ts'
import { forTerminal } from '../table.ts'

/** The person has ended the trial. */
export class TrialEnded extends Error {}

/** `note` are words that are neither yes nor no. */
export type Answer = { is: 'yes' | 'no' | 'skip' } | { is: 'note'; note: string }

export class Person {
  readonly #lines: Interface = createInterface({ input: process.stdin, output: process.stderr })
  /** Aborted when the person ends the trial. */
  readonly #gone = new AbortController()

  constructor() {
    // A terminal that is closed is a person who is gone.
    for (const ending of ['SIGINT', 'close'] as const) this.#lines.on(ending, () => this.#leave())
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.#leave())
  }

  get gone(): AbortSignal {
    return this.#gone.signal
  }

  say(text: string): void {
    process.stderr.write(`${forTerminal(asTyped(text))}\n`)
  }

  /** Asks a question. Rejects with `TrialEnded` when the person ends the trial. */
  async ask(question: string): Promise<Answer> {
    const answer = (await this.#asked(`${question} [y]es, [n]o, [s]kip, or a sentence: `)).trim()
    if (/^(y|yes)$/i.test(answer)) return { is: 'yes' }
    if (/^(n|no)$/i.test(answer)) return { is: 'no' }
    return /^(s|skip|)$/i.test(answer) ? { is: 'skip' } : { is: 'note', note: answer.slice(0, 500) }
  }

  /** Waits for Enter. Returns whether the person skips. */
  async enter(instruction: string): Promise<boolean> {
    const answer = await this.#asked(`${instruction}, then press Enter (s to skip): `)
    return /^s(kip)?$/i.test(answer.trim())
  }

  close(): void {
    this.#lines.removeAllListeners('close')
    this.#lines.close()
  }

  async #asked(question: string): Promise<string> {
    if (this.#gone.signal.aborted) throw new TrialEnded()
    try {
      return await this.#lines.question(forTerminal(asTyped(question)), { signal: this.#gone.signal })
    } catch {
      throw new TrialEnded()
    }
  }

  #leave(): void {
    this.#gone.abort(new TrialEnded())
  }
}
