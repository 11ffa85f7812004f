// Requests that a bound of the service turned away: counted for `/metrics`, and logged once a minute at most.

import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

/** The bounds that are counted: those of `limits` in the configuration by their names there, and those that are fixed. */
export const bounds = [
  'subscribers',
  'connections',
  'connections_per_address',
  'requests_per_connection',
  'requests_mib',
  'handshake_s',
  'answer_s',
  'answers_mib',
  'untaken_per_key',
  'long_requests_per_key',
  'pairings_per_address',
  'open_simulations',
  'open_runs',
  'open_threads',
  'pages_per_address',
  'bodies_mib',
  'large_event_reads',
  'large_run_reads',
  'large_dry_runs',
  'wrong_keys',
] as const
export type Bound = (typeof bounds)[number]

const silence_ms = 60_000

export class Refusals {
  readonly #log: Log
  readonly #clock: Clock
  readonly #counts = new Map<Bound, number>()
  readonly #logged = new Map<Bound, { at: number; count: number }>()

  constructor({ log, clock }: { log: Log; clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /** How often each bound refused something since the service began; every bound is there. */
  get counts(): { bound: Bound; times: number }[] {
    return bounds.map((bound) => ({ bound, times: this.#counts.get(bound) ?? 0 }))
  }

  /** Counts one refusal. `message` says what was refused, why, and what to do; the log gets it once a minute, with how many there were. */
  count(bound: Bound, message: string): void {
    const count = (this.#counts.get(bound) ?? 0) + 1
    this.#counts.set(bound, count)
    const logged = this.#logged.get(bound)
    const now = this.#clock.now()
    if (logged && now - logged.at < silence_ms) return
    const more = count - (logged?.count ?? 0) - 1
    this.#logged.set(bound, { at: now, count })
    this.#log.warn(more > 0 ? `${message} (${more} more like it before)` : message)
  }
}
