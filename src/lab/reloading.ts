// The configuration file, read again while the service runs: what can change without a restart is taken over, all or nothing of it,
// and the rest is named.

import { type Certificate, type Config, readTls } from '../config.ts'
import { LabError } from '../errors.ts'
import { Lane } from '../kit/lane.ts'
import { differences } from './differences.ts'

export type Source = {
  /** The file. */
  path: string
  /** As at the start, with what the command line and the environment say in its place. Rejects with `config`. */
  read(): Promise<Config>
}

/** `config_file` is null where the configuration is from none. */
export type Changes = { config_file: string | null; at_once: string[]; needs_restart: string[] }

type Options = {
  config: Config
  source: Source | undefined
  /** What the service was started with; undefined without TLS. */
  certificate: Certificate | undefined
  /** Told of what is in force from now on. Must not throw. */
  taken(config: Config, certificate: Certificate | undefined): void
}

/** Everything else is read where things are opened, once. */
const atOnce: ReadonlySet<string> = new Set(['hosts', 'cors.origins'])
const atOnceOfDevice = /^devices: (?<device_id>[\w-]+)\.(name|limits)(\.|$)/
const newCertificate = 'listen.tls: the certificate'

export class Reloading {
  readonly #options: Options
  readonly #lane = new Lane(8)
  #config: Config
  #certificate: Certificate | undefined

  constructor(options: Options) {
    this.#options = options
    this.#config = options.config
    this.#certificate = options.certificate
  }

  /** What is in force. */
  get config(): Config {
    return this.#config
  }

  /** SHA-256 of the certificate that is served; undefined without TLS. */
  get fingerprint(): string | undefined {
    return this.#certificate?.fingerprint
  }

  /** How the file differs from what is in force. Rejects with `invalid` where it is not right. */
  async changes(): Promise<Changes> {
    const { at_once, needs_restart, config_file } = await this.#plan()
    return { config_file, at_once, needs_restart }
  }

  /**
   * Takes over what it can, after `first` has done its part. Rejects with `invalid` for a file that is not right, or as `first`
   * does; nothing has changed then.
   */
  take<Done>(first: () => Promise<Done>): Promise<Changes & { done: Done }> {
    return this.#lane.run(async () => {
      const { config, certificate, ...changes } = await this.#plan()
      const done = await first()
      this.#config = config
      this.#certificate = certificate
      if (changes.at_once.length) this.#options.taken(config, certificate)
      return { ...changes, done }
    })
  }

  async #plan(): Promise<Changes & { config: Config; certificate: Certificate | undefined }> {
    const { source } = this.#options
    const running = { config: this.#config, certificate: this.#certificate }
    if (!source) return { ...running, config_file: null, at_once: [], needs_restart: [] }
    const { file, certificate } = await read(source)
    const all = differences(running.config, file)
    const isTls = certificate !== undefined && running.certificate !== undefined
    const tuned = onlyTuned(all)
    const can = (place: string) =>
      atOnce.has(place) ||
      place.startsWith('limits.') ||
      (isTls && place.startsWith('listen.tls.')) ||
      tuned.has(atOnceOfDevice.exec(place)?.groups?.device_id ?? '')
    return {
      config_file: source.path,
      at_once: [...all.filter(can), ...(isTls && !isSame(certificate, running.certificate!) ? [newCertificate] : [])],
      needs_restart: all.filter((place) => !can(place)),
      config: {
        ...running.config,
        hosts: file.hosts,
        cors: file.cors,
        limits: file.limits,
        devices: running.config.devices.map((device) => {
          const next = tuned.has(device.device_id) && file.devices.find(({ device_id }) => device_id === device.device_id)
          return next ? { ...device, name: next.name, limits: next.limits } : device
        }),
        listen: isTls ? { ...running.config.listen, tls: file.listen.tls } : running.config.listen,
      },
      certificate: isTls ? certificate : running.certificate,
    }
  }
}

/** With its certificate, which is looked at also where it is taken over at a restart alone. */
async function read(source: Source): Promise<{ file: Config; certificate: Certificate | undefined }> {
  try {
    const file = await source.read()
    return { file, certificate: file.listen.tls ? await readTls(file.listen.tls) : undefined }
  } catch (error) {
    if (error instanceof LabError && error.code === 'config') throw new LabError('invalid', error.message, { cause: error })
    throw error
  }
}

/** Devices of which nothing differs but what people call them and within which limits they are asked: those hold for the model they are. */
function onlyTuned(places: readonly string[]): ReadonlySet<string> {
  const of = (place: string) => /^devices: ([\w-]+)\./.exec(place)?.[1]
  const others = new Set(places.filter((place) => !atOnceOfDevice.test(place)).map(of))
  return new Set(places.map(of).filter((device_id) => device_id !== undefined && !others.has(device_id)) as string[])
}

function isSame(one: Certificate, other: Certificate): boolean {
  return one.cert === other.cert && one.key === other.key
}
