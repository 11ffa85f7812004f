// The coordinator's connection to the broker: made when it is needed and again after it has ended. It tells the addresses of the benches.

import { LabError, messageOf } from '../errors.ts'
import { Presence } from '../fleet/presence.ts'
import { connectTo, type Link, type Place } from '../fleet/wire.ts'
import { sleep, systemClock } from '../kit/clock.ts'
import { type Lab, pathIn } from './lab_file.ts'

const again_ms = 1000

export class Broker {
  readonly #place: Place
  readonly #presence: Presence
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #link: Link | undefined
  /** The error of the last attempt to connect. */
  #failure: unknown

  constructor(place: Omit<Place, 'name'>) {
    this.#place = { ...place, name: 'coordinator' }
    this.#presence = new Presence({ clock: systemClock })
    this.#running = this.#run()
  }

  /** Resolves with the connection. Rejects with `disconnected`, and a sentence. */
  async link(): Promise<Link> {
    if (this.#link) return this.#link
    throw new LabError('disconnected', messageOf(this.#failure ?? 'the broker was not reached yet'))
  }

  get isConnected(): boolean {
    return this.#link !== undefined
  }

  benches(): ReturnType<Presence['benches']> {
    return this.#presence.benches()
  }

  /** The address that a bench announced last, at any time; undefined where it never did. Any client of the broker may have announced it. */
  address(name: string): string | undefined {
    return this.#presence.benches().find((bench) => bench.name === name)?.url
  }

  /** Seconds since the last announcement of a bench; null without one since the coordinator began to listen. */
  heard_s(name: string): number | null {
    return this.#presence.benches().find((bench) => bench.name === name)?.heard_s ?? null
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#link?.close()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const ended = new AbortController()
      try {
        const link = await connectTo(this.#place)
        if (this.#closing.signal.aborted) link.close()
        else this.#link = link
        void this.#presence.run(link, ended.signal)
        this.#failure = new Error(await link.closed)
      } catch (error) {
        this.#failure = error
      }
      ended.abort()
      this.#link = undefined
      await sleep(systemClock, again_ms * (0.5 + Math.random()), this.#closing.signal).catch(() => undefined)
    }
  }
}

/** How long a broker may take to tell the addresses of the benches, in steps of a tenth of a second. */
const mostLooks = 50

/** The broker that the lab file names, if it does. */
export function openLabBroker({ broker, ...lab }: Lab): Broker | undefined {
  if (!broker) return undefined
  const { servers, credentials, ca } = broker
  return new Broker({
    servers,
    ...(credentials !== undefined && { credentials: pathIn(lab, credentials) }),
    ...(ca !== undefined && { ca: pathIn(lab, ca) }),
  })
}

/** Resolves when the broker has given the addresses of the benches that the lab file names without one, or after a while: a bench without an address is away. */
export async function addressesTold(lab: Lab, broker: Broker | undefined, ended?: AbortSignal): Promise<void> {
  const unknown = Object.values(lab.benches).filter(({ url }) => url === undefined)
  const isTold = () => unknown.every(({ name = '' }) => broker?.address(name) !== undefined)
  for (let looks = 0; looks < mostLooks && !isTold() && !ended?.aborted; looks++) await sleep(systemClock, 100)
}
