// Contacts that must be closed while an operation runs. Opening counts at once, closing only after 50 ms without a change. A contact is active
// while it is closed, so that a cut wire reads as open.

import { LabError, messageOf } from '../src/errors.ts'
import { sleep } from '../src/kit/clock.ts'
import type { Board } from './transports/board.ts'
import { type Pin, readAgain } from './transports/pin.ts'

const quiet_ms = 50
/** The interval at which contacts are also read, since an edge may be lost. */
const poll_ms = 100

export class Interlocks {
  readonly #board: Board
  readonly #contacts: { words: string; pin: Pin }[]
  readonly #broken: (error: LabError) => void
  #release = () => {}
  #armed = false

  /** `words` names by pin the opening part, such as `its lid`; pins that the board lacks are ignored. `broken` must switch off. */
  constructor(board: Board, words: Readonly<Record<string, string>>, broken: (error: LabError) => void) {
    this.#board = board
    this.#broken = broken
    const there = Object.entries(words).filter(([name]) => board.has(name))
    this.#contacts = there.map(([name, words]) => ({ words, pin: board.pin(name) }))
  }

  /** Throws `interlock` unless all are closed for 50 ms. From then on an opening calls `broken`, once. */
  async arm(signal: AbortSignal): Promise<void> {
    this.disarm()
    let opened: string | undefined
    const open = (words: string, error?: unknown) => {
      opened ??= words
      if (!this.#armed) return
      this.disarm()
      this.#broken(brokenBy(words, error))
    }
    this.#release = this.#watch(open)
    try {
      opened ??= await this.#opened()
      if (!opened) await sleep(this.#board.clock, quiet_ms, signal)
      opened ??= await this.#opened()
      if (opened) throw new LabError('interlock', `${opened} is open; close it first`)
      this.#armed = true
    } catch (error) {
      this.disarm()
      throw error
    }
  }

  get armed(): boolean {
    return this.#armed
  }

  disarm(): void {
    this.#armed = false
    this.#release()
    this.#release = () => {}
  }

  /** Returns the open part in words, if there is one. */
  async #opened(): Promise<string | undefined> {
    for (const { words, pin } of this.#contacts) if (!(await pin.read())) return words
    return undefined
  }

  #watch(open: (words: string, error?: unknown) => void): () => void {
    const ends = this.#contacts.flatMap(({ words, pin }) => [
      pin.onEdge((closed) => {
        if (!closed) open(words)
      }),
      readAgain(
        { clock: this.#board.clock, ms: poll_ms },
        () => pin.read(),
        (closed, error) => {
          if (!closed) open(words, error)
        },
      ),
    ])
    return () => {
      for (const end of ends) end()
    }
  }
}

function brokenBy(words: string, error: unknown): LabError {
  if (!error) return new LabError('device_failed', `${words} was opened while it ran; it was switched off, close it, then initialize`)
  const sentence = `whether ${words} is closed cannot be seen any more (${messageOf(error)}); it was switched off`
  return new LabError('device_failed', sentence, { cause: error })
}
