// The messages between the service and the process of a plug-in: a line of JSON each.

import type { RuntimeEvent } from '../events/event.ts'
import type { PluginAnswer } from './author.ts'

/** The arguments with which a plug-in is started. */
export type PluginStart = {
  name: string
  system_id: string
  /** The file of its module. */
  path: string
  /** A folder of its own for files. */
  folder: string
  settings: Readonly<Record<string, unknown>>
}

/** To the process of a plug-in. `n` numbers what it acknowledges. */
export type ToPlugin =
  | ({ type: 'start' } & PluginStart)
  | { type: 'events'; n: number; dropped: number; events: readonly RuntimeEvent[] }
  | ({ type: 'answer'; id: number } & PluginAnswer)
  | { type: 'stop' }

/** From the process of a plug-in. */
export type FromPlugin =
  /** The program runs, and nothing of the plug-in is loaded yet. */
  | { type: 'ready' }
  | { type: 'started'; name: string }
  /** The plug-in cannot be loaded or started. */
  | { type: 'refused'; message: string }
  /** The plug-in threw outside of every call. */
  | { type: 'crashed'; message: string }
  /** How many sinks are registered now. */
  | { type: 'sinks'; count: number }
  | { type: 'done'; n: number }
  | { type: 'call'; id: number; method: string; path: string; body?: unknown }
  | { type: 'log' | 'warn'; message: string }
  | { type: 'broken'; sink: string; message: string; error_type: string }

/** Splits text into lines. Throws for a line that is too long. */
export class LineReader {
  readonly #onLine: (line: string) => void
  readonly #longest: number
  #held = ''

  constructor(onLine: (line: string) => void, longest: number) {
    this.#onLine = onLine
    this.#longest = longest
  }

  add(text: string): void {
    const lines = text.split('\n')
    lines[0] = this.#held + lines[0]
    this.#held = lines.pop()!
    if (this.#held.length > this.#longest) throw new Error(`it sent a line of more than ${this.#longest} characters`)
    for (const line of lines) this.#onLine(line)
  }
}
