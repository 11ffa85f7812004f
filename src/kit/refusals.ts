// Counts requests that a limit refused, for `/metrics`, and logs them once a minute at most.

import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

/** The counted limits: those of `limits` in the configuration by their names, and fixed ones. */
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
  'files_mib',
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

  /** The number of refusals by each limit since the service began, including zeros. */
  get counts(): { bound: Bound; times: number }[] {
    return bounds.map((bound) => ({ bound, times: this.#counts.get(bound) ?? 0 }))
  }

  /** Counts a refusal. `message` says what was refused, why, and the next step; it is logged once a minute, with the number of refusals. */
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
