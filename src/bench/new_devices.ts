// Adds devices to the configuration file of the running service, and asks instruments who they are before that.

import { type Told, toldBy } from '../care/identity.ts'
import { portOf } from '../config/devices.ts'
import type { ConfigFile } from '../config/file.ts'
import { type Config, checkConfig, folderOf, parseConfig } from '../config.ts'
import { LabError, messageOf } from '../errors.ts'
import { readText } from '../kit/files.ts'
import { mayReplace, replaceFile } from '../kit/replace_file.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import type { Reloading } from './reloading.ts'

type Entry = ConfigFile['devices'][number]
/** A device as the configuration file has it. Members that are undefined are left out. */
export type NewDevice = Pick<Entry, 'device_id' | 'driver'> & {
  [Member in 'name' | 'transport' | 'settings' | 'identity']?: Entry[Member] | undefined
}
/** The instrument to ask. */
type Asked = Pick<NewDevice, 'driver' | 'transport' | 'settings'>
/** `old_copy` is the path of the file as it was. `why_not`: the reason why the service goes on without the device. */
type Added = { config_file: string; old_copy: string; why_not: string | undefined }

const mostWaiting = 8

export class NewDevices {
  readonly #reloading: Reloading
  readonly #queue = new SerialQueue(mostWaiting)

  constructor(reloading: Reloading) {
    this.#reloading = reloading
  }

  /** Whether the service may write its configuration file. */
  async mayWrite(): Promise<boolean> {
    const { path } = this.#reloading
    return path !== undefined && mayReplace(path)
  }

  /**
   * Asks an instrument who it is, with questions of that driver only, one instrument after the other. Rejects with `invalid` for settings that do not fit, and with
   * `conflict` for the port of a configured device.
   */
  identify(asked: Asked): Promise<Told> {
    return this.#queue.run(async () => {
      await this.#mustBeFree(asked)
      const [device] = (await this.#checked({ device_id: 'new', ...asked })).devices
      if (device?.kind === 'unloaded') throw new LabError('invalid', `the driver ${asked.driver} cannot be used: ${device.why}`)
      if (device?.kind !== 'driven') throw new LabError('invalid', `an instrument of the driver ${asked.driver} cannot be asked who it is`)
      const { transport } = device
      if (transport.kind === 'pins' || transport.kind === 'simulated')
        throw new LabError('invalid', 'only an instrument at a port can be asked')
      return toldBy({ ...device, transport })
    })
  }

  /**
   * Writes the device into the configuration file, once the file with the device is valid as a whole, and has `reload` take the device up. Rejects with `forbidden`,
   * `exists`, `conflict`, `invalid` or `storage`, and has changed nothing then.
   */
  add(device: NewDevice, reload: () => Promise<unknown>): Promise<Added> {
    return this.#queue.run(async () => {
      const path = await this.#writablePath()
      if (this.#reloading.config.devices.some(({ device_id }) => device_id === device.device_id))
        throw new LabError('exists', `the bench has a device ${device.device_id} already; give the new one another id`)
      await this.#mustBeFree(device)
      await this.#mustBeInForce()
      // Loads the parser that keeps comments only when it is needed.
      const { withDevice } = await import('../config/new_device.ts')
      const before = await readText(path)
      const text = withDevice(before, device)
      const { devices } = await parseConfig(text, path).catch(asInvalid)
      for (const its of devices)
        if (its.kind === 'unloaded' && its.device_id === device.device_id)
          throw new LabError('invalid', `the driver ${its.driver} cannot be used: ${its.why}`)
      const old_copy = await replaceFile(path, text, { before })
      return { config_file: path, old_copy, why_not: await reload().then(() => undefined, messageOf) }
    })
  }

  async #writablePath(): Promise<string> {
    const { path } = this.#reloading
    if (path === undefined) throw new LabError('conflict', 'this service has no configuration file, so no device can be added to it')
    if (await mayReplace(path)) return path
    throw new LabError('forbidden', `the service may not write ${path}; add the device there, then POST /api/system/reload`)
  }

  /** Rejects with `conflict` for the port of a configured device: to open the port would disturb that device. */
  async #mustBeFree({ transport, driver }: Asked): Promise<void> {
    const folder = folderOf(this.#reloading.path)
    const port = await portOf(transport, driver, folder)
    if (port === undefined) return
    for (const { device_id, ...other } of this.#reloading.config.devices) {
      if (other.kind === 'driven' && (await portOf(other.transport, other.driver, folder)) === port)
        throw new LabError('conflict', `${device_id} is on that port; choose the port of the new device`)
    }
  }

  #checked(device: NewDevice): Promise<Config> {
    return checkConfig({ format: 1, devices: [device] }, 'the device', folderOf(this.#reloading.path)).catch(asInvalid)
  }

  /** Rejects with `conflict` if the file has other changes, which a reload would take over with the device. */
  async #mustBeInForce(): Promise<void> {
    const { at_once } = await this.#reloading.changes()
    if (at_once.length === 0) return
    const some = at_once.slice(0, 3).join(', ')
    throw new LabError('conflict', `the configuration file has changes that are not in force (${some}); first POST /api/system/reload`)
  }
}

/** The mistake is the caller's, who named the device. */
function asInvalid(error: unknown): never {
  if (error instanceof LabError && error.code === 'config') throw new LabError('invalid', error.message, { cause: error })
  throw error
}
