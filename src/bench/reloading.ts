// The configuration file, read again while the service runs: what can change without a restart is taken over, all or nothing of it,
// and the rest is named.

import { type Certificate, readTls } from '../config/tls.ts'
import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import type { DeviceExchange } from './device_exchange.ts'
import { type DeviceChanges, deviceChanges, differences, type ReloadedDevice, reloadedDevices } from './differences.ts'

export type Source = {
  /** The file. */
  path: string
  /**
   * Reads the configuration as at the start, with the values of the command line and the environment in its place. Rejects with `config`.
   */
  read(): Promise<Config>
}

/** `config_file` is null where the configuration is from none. */
type Changes = { config_file: string | null; at_once: string[]; needs_restart: string[] }

type ReloadingOptions = {
  config: Config
  source: Source | undefined
  /** The certificate that the service was started with; undefined without TLS. */
  certificate: Certificate | undefined
  /** Begins to exchange the devices. Throws `conflict` where one of them is in use; nothing has changed then. */
  exchange(config: Config, changes: DeviceChanges): DeviceExchange
  /** Is called with what is in force from now on, and with the devices that differ. Must not throw. */
  taken(config: Config, certificate: Certificate | undefined, devices: readonly ReloadedDevice[]): void
}

/** Everything else is read where things are opened, once. */
const atOnce: ReadonlySet<string> = new Set(['hosts', 'cors.origins'])
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

  /** How the file differs from what is in force. Rejects with `invalid` where it is not right. */
  async changes(): Promise<Changes> {
    const { at_once, needs_restart, config_file } = await this.#plan()
    return { config_file, at_once, needs_restart }
  }

  /**
   * Takes over what it can. `prepare` resolves with what takes over the rest, given the devices that are not as they were. Rejects with
   * `invalid` for a file that is not right, with `conflict` where a device is in use, or as `prepare` and its result do; nothing has
   * changed then.
   */
  take<Done>(prepare: () => Promise<(devices: ReadonlySet<string>) => Done>): Promise<Changes & { done: Done }> {
    return this.#queue.run(async () => {
      const { config, certificate, devices, ...changes } = await this.#plan()
      const takeOver = await prepare()
      // From here to `complete` in one turn: every request sees the devices of before, or those of afterwards.
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
      /^notify(\.|$)/.test(place) ||
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
        notify: file.notify,
        devices: file.devices,
        listen: isTls ? { ...running.config.listen, tls: file.listen.tls } : running.config.listen,
      },
      certificate: isTls ? certificate : running.certificate,
      devices: deviceChanges(running.config, file),
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

/** Returns what `act` returns. An error that `act` throws is thrown on after `undo` was called. */
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
