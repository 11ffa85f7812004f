// The cameras of the configuration: each is asked at most once a second, however many pages look.

import { lookup as ofSystem } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import type { Camera } from '../config/cameras.ts'
import { LabError, messageOf } from '../errors.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { type Picture, pictureFrom } from './picture.ts'

type Resolve = (host: string) => Promise<{ address: string; family: number }[]>

type CamerasOptions = {
  /** Returns the cameras of the configuration in force. */
  cameras(): readonly Camera[]
  clock: Clock
  /** The clock of the time limit, since network time cannot be simulated. */
  network?: Clock
  resolve?: Resolve
}

/** The last outcome of a camera. `began_ms` is the time of the last request. */
type View = {
  url: string
  began_ms: number
  under_way: Promise<Picture> | undefined
  last: Picture | undefined
  failure: string | undefined
}

const shared_ms = 1000

export class Cameras {
  readonly #options: CamerasOptions
  readonly #closing = new AbortController()
  readonly #views = new Map<string, View>()
  /** Keyed by host: the look-ups that have not ended. */
  readonly #asked = new Map<string, ReturnType<Resolve>>()
  #lastLookup: Promise<unknown> = Promise.resolve()

  constructor(options: CamerasOptions) {
    this.#options = options
  }

  /** Lists the cameras, in the order of the configuration. `failure` says why the last request brought no picture. */
  list(): { name: string; taken_at: number | null; failure: string | null; at_incidents: boolean; at_run_ends: boolean }[] {
    return this.#options.cameras().map((camera) => {
      const { last, failure } = this.#viewOf(camera)
      const { name, at_incidents, at_run_ends } = camera
      return { name, taken_at: last?.taken_at ?? null, failure: failure ?? null, at_incidents, at_run_ends }
    })
  }

  /** Resolves with a picture that is at most a second old. Rejects with `not_found` for an unknown camera, else with `no_reply`. */
  async picture(name: string): Promise<Picture> {
    const camera = this.#options.cameras().find((one) => one.name === name)
    if (!camera) throw new LabError('not_found', `there is no camera ${name.slice(0, 64)}; GET /api/cameras lists the cameras`)
    const view = this.#viewOf(camera)
    if (view.under_way) return view.under_way
    const now = this.#options.clock.now()
    if (now - view.began_ms >= shared_ms) {
      view.began_ms = now
      view.under_way = this.#fetched(camera, view).finally(() => {
        view.under_way = undefined
      })
      return view.under_way
    }
    if (view.failure !== undefined || !view.last) throw new LabError('no_reply', `the camera ${name} ${view.failure}`)
    return view.last
  }

  /** Ends all requests. */
  close(): void {
    this.#closing.abort()
  }

  async #fetched({ name, url }: Camera, view: View): Promise<Picture> {
    const { network = systemClock } = this.#options
    try {
      view.last = await pictureFrom(url, { clock: network, closing: this.#closing.signal, lookup: this.#lookup })
      view.failure = undefined
      return view.last
    } catch (error) {
      view.failure = messageOf(error)
      throw new LabError('no_reply', `the camera ${name} ${view.failure}`, { cause: error })
    }
  }

  #viewOf({ name, url }: Camera): View {
    const known = this.#views.get(name)
    if (known?.url === url) return known
    const view = { url, began_ms: Number.NEGATIVE_INFINITY, under_way: undefined, last: undefined, failure: undefined }
    this.#views.set(name, view)
    return view
  }

  /**
   * Looks names up one after the other: a name server that does not answer holds a thread of the few that all file work shares, long after the request was
   * given up.
   */
  readonly #lookup: LookupFunction = (host, options, done) => {
    const found = this.#asked.get(host) ?? this.#ask(host)
    found.then(
      (addresses) => {
        const [first] = addresses
        if (options.all) done(null, addresses)
        else done(null, first?.address ?? '', first?.family)
      },
      (error: NodeJS.ErrnoException) => done(error, ''),
    )
  }

  #ask(host: string): ReturnType<Resolve> {
    const { resolve = (name) => ofSystem(name, { all: true }) } = this.#options
    const asked = this.#lastLookup.then(() => resolve(host)).finally(() => this.#asked.delete(host))
    this.#lastLookup = asked.catch(() => undefined)
    this.#asked.set(host, asked)
    return asked
  }
}
