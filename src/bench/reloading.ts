// Rereads the configuration file while the service runs. Applies all changes that need no restart, or none, and lists the others.

import { type Certificate, readTls } from '../config/tls.ts'
import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import type { DeviceExchange } from './device_exchange.ts'
import { type DeviceChanges, deviceChanges, differences, type ReloadedDevice, reloadedDevices } from './differences.ts'

export type Source = {
  /** The file. */
  path: string
  /** Reads the configuration as at the start, with the overrides of the command line and the environment. Rejects with `config`. */
  read(): Promise<Config>
}

/** `config_file` is null if the configuration comes from no file. */
type Changes = { config_file: string | null; at_once: string[]; needs_restart: string[] }

type ReloadingOptions = {
  config: Config
  source: Source | undefined
  /** The certificate that the service was started with; undefined without TLS. */
  certificate: Certificate | undefined
  /** Begins to exchange the devices. Throws `conflict` if one of them is in use, and then has changed nothing. */
  exchange(config: Config, changes: DeviceChanges): DeviceExchange
  /** Called with the settings in force from now on, and the changed devices. Must not throw. */
  taken(config: Config, certificate: Certificate | undefined, devices: readonly ReloadedDevice[]): void
}

/** The settings, besides the devices, that a reload applies. All others are read once, when something is opened. */
const atOnce: ReadonlySet<string> = new Set(['hosts', 'cors.origins', 'cameras'])
const newCertificate = 'listen.tls: the certificate'

type Planned = { config: Config; certificate: Certificate | undefined; devices: DeviceChanges }

export class Reloading {
  readonly #options: ReloadingOptions
  readonly #queue = new SerialQueue(8)
  #config: Config
  #certificate: Certificate | undefined

  constructor(options: ReloadingOptions) {
    this.#options = options
    this.#config = options.config
    this.#certificate = options.certificate
  }

  /** The path of the configuration file; undefined without one. */
  get path(): string | undefined {
    return this.#options.source?.path
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#config
  }

  /** The certificate that is served; undefined without TLS. */
  get certificate(): Certificate | undefined {
    return this.#certificate
  }

  /** SHA-256 of the certificate that is served; undefined without TLS. */
  get fingerprint(): string | undefined {
    return this.#certificate?.fingerprint
  }

  /** Returns how the file differs from the configuration in force. Rejects with `invalid` if the file is invalid. */
  async changes(): Promise<Changes> {
    const { at_once, needs_restart, config_file } = await this.#plan()
    return { config_file, at_once, needs_restart }
  }

  /**
   * Applies the changes that need no restart. `prepare` resolves with a function that applies the rest, given the ids of the changed devices. Rejects
   * with `invalid` for an invalid file, with `conflict` if a device is in use, or as `prepare` and its result do, and then has changed nothing.
   */
  take<Done>(prepare: () => Promise<(devices: ReadonlySet<string>) => Done>): Promise<Changes & { done: Done }> {
    return this.#queue.run(async () => {
      const { config, certificate, devices, ...changes } = await this.#plan()
      const takeOver = await prepare()
      // From here to `complete` in one turn, so that every request sees either the old or the new devices.
      const exchange = this.#options.exchange(config, devices)
      const done = attempted(() => takeOver(exchange.devices), exchange.undo)
      const reloaded = reloadedDevices(this.#config, config)
      this.#config = config
      this.#certificate = certificate
      const completed = exchange.complete()
      if (changes.at_once.length) this.#options.taken(config, certificate, reloaded)
      await completed
      return { ...changes, done }
    })
  }

  async #plan(): Promise<Changes & Planned> {
    const { source } = this.#options
    const running = { config: this.#config, certificate: this.#certificate }
    if (!source) return { ...running, devices: { opened: [], gone: [] }, config_file: null, at_once: [], needs_restart: [] }
    const { file, certificate } = await read(source)
    const all = differences(running.config, file)
    const isTls = certificate !== undefined && running.certificate !== undefined
    const can = (place: string) =>
      atOnce.has(place) ||
      place.startsWith('limits.') ||
      /^(notify|queue|plugins)(\.|$)/.test(place) ||
      place.startsWith('devices: ') ||
      (isTls && place.startsWith('listen.tls.'))
    return {
      config_file: source.path,
      at_once: [...all.filter(can), ...(isTls && !isSame(certificate, running.certificate!) ? [newCertificate] : [])],
      needs_restart: all.filter((place) => !can(place)),
      config: {
        ...running.config,
        hosts: file.hosts,
        cors: file.cors,
        limits: file.limits,
        queue: file.queue,
        notify: file.notify,
        cameras: file.cameras,
        plugins: file.plugins,
        devices: file.devices,
        listen: isTls ? { ...running.config.listen, tls: file.listen.tls } : running.config.listen,
      },
      certificate: isTls ? certificate : running.certificate,
      devices: deviceChanges(running.config, file),
    }
  }
}

/** Reads the file and its certificate, which is checked even if it only applies after a restart. */
async function read(source: Source): Promise<{ file: Config; certificate: Certificate | undefined }> {
  try {
    const file = await source.read()
    return { file, certificate: file.listen.tls ? await readTls(file.listen.tls) : undefined }
  } catch (error) {
    if (error instanceof LabError && error.code === 'config') throw new LabError('invalid', error.message, { cause: error })
    throw error
  }
}

/** Returns the result of `act`. If `act` throws, calls `undo` and throws the error again. */
function attempted<Result>(act: () => Result, undo: () => void): Result {
  try {
    return act()
  } catch (error) {
    undo()
    throw error
  }
}

function isSame(one: Certificate, other: Certificate): boolean {
  return one.cert === other.cert && one.key === other.key
}
