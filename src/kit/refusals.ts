// What the bounds of the service turned away: counted for `/metrics`, and told in the log once a minute at most.

import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

/** Each bound of the service, with what `/metrics` says of it. */
export const bounds = {
  connections: 'Connections closed because all places were taken: those that asked nothing, the oldest first',
  connections_per_address: 'Connections closed because their address held too many that asked nothing',
  requests_per_connection: 'Connections closed because they sent more requests at once than a connection may',
  handshake: 'Connections closed because their TLS handshake took too long',
  answer: 'Connections closed because their client did not take the answer',
  subscribers: 'Streams refused because there were too many',
  reads_per_key: 'Streams, waits and event reads refused because one key had too many, or all keys together',
  event_reads: 'Reads of many events refused because too many were under way',
  bodies: 'Requests refused because the bodies of all requests under way were too large together',
  open_simulations: 'PURE_SIM submissions and dry runs refused because too many were open',
  open_runs: 'LIVE and DEVICE_SIM submissions refused because too many runs were open',
  open_threads: 'Submissions and dry runs refused because the open ones had too many labware threads',
  pairings: 'Requests for a key refused, or dropped for one of another address, because too many waited',
  wrong_keys: 'Requests with a wrong key refused because their address had tried too many',
} as const
export type Bound = keyof typeof bounds

const silence_ms = 60_000

export class Refusals {
  readonly #log: Log
  readonly #clock: Clock
  readonly #counts = new Map<Bound, number>()
  readonly #told = new Map<Bound, { at: number; count: number }>()

  constructor({ log, clock }: { log: Log; clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /** How often each bound refused something since the service began; every bound is there. */
  get counts(): { bound: Bound; times: number }[] {
    return (Object.keys(bounds) as Bound[]).map((bound) => ({ bound, times: this.#counts.get(bound) ?? 0 }))
  }

  /** Counts one refusal. `message` says what was refused, why, and what to do; the log gets it once a minute, with how many there were. */
  count(bound: Bound, message: string): void {
    const count = (this.#counts.get(bound) ?? 0) + 1
    this.#counts.set(bound, count)
    const told = this.#told.get(bound)
    const now = this.#clock.now()
    if (told && now - told.at < silence_ms) return
    const more = count - (told?.count ?? 0) - 1
    this.#told.set(bound, { at: now, count })
    this.#log.warn(more > 0 ? `${message} (${more} more like it before)` : message)
  }
}
