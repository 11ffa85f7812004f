// The coordinator's connection to the broker: made when it is needed and again after it has ended. It tells the addresses of the benches.

import { LabError } from '../../errors.ts'
import { type Clock, sleep, systemClock } from '../../kit/clock.ts'
import { Presence } from '../presence.ts'
import { connectTo, type Link, type Place } from '../wire.ts'
import type { Address } from './benches.ts'
import { type Lab, pathIn } from './lab_file.ts'

const again_ms = 1000

export class Broker {
  readonly #place: Place
  readonly #clock: Clock
  readonly #presence: Presence
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #link: Link | undefined
  /** Why there is no connection. */
  #failure: unknown

  constructor(place: Omit<Place, 'name'>, clock = systemClock) {
    this.#place = { ...place, name: 'coordinator' }
    this.#clock = clock
    this.#presence = new Presence({ clock })
    this.#running = this.#run()
  }

  /** Resolves with the connection. Rejects with `disconnected`, and a sentence. */
  async link(): Promise<Link> {
    if (this.#link) return this.#link
    throw this.#failure ?? new Error('the broker was not reached yet')
  }

  benches(): ReturnType<Presence['benches']> {
    return this.#presence.benches()
  }

  /** The address that a bench told, whoever long ago; undefined where it never did. */
  address(name: string): Address | undefined {
    return this.#presence.benches().find((bench) => bench.name === name)
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
      await sleep(this.#clock, again_ms * (0.5 + Math.random()), this.#closing.signal).catch(() => undefined)
    }
  }
}

/** How long a broker may take to tell the addresses of the benches, in steps of a tenth of a second. */
const mostLooks = 50

/**
 * The broker that the lab file names, once it told the addresses of its benches; a bench without one is away. Throws `config` where the file
 * names benches by their names in the lab, and no broker.
 */
export async function openLabBroker(lab: Lab): Promise<Broker | undefined> {
  const named = Object.entries(lab.benches).flatMap(([bench, where]) => (typeof where === 'string' ? [{ bench, name: where }] : []))
  if (!lab.broker) {
    const [first] = named
    if (!first) return undefined
    const what = `without a "broker" nobody knows the address of ${first.name}; write {"url": …}`
    throw new LabError('config', `${lab.origin}: benches.${first.bench}: ${what}`)
  }
  const { servers, credentials, ca } = lab.broker
  const broker = new Broker({
    servers,
    ...(credentials !== undefined && { credentials: pathIn(lab, credentials) }),
    ...(ca !== undefined && { ca: pathIn(lab, ca) }),
  })
  for (let looks = 0; looks < mostLooks && !named.every(({ name }) => broker.address(name)); looks++) await sleep(systemClock, 100)
  return broker
}

/** Closes the broker, and throws the error. */
export async function closed(broker: Broker | undefined, error: unknown): Promise<never> {
  await broker?.close()
  throw error
}
