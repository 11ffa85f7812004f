// The effects of a reload on the open rooms.

import type { Config } from '../config.ts'
import type { DeviceReloadContext } from '../events/contexts.ts'
import { byService } from '../keys/audit.ts'
import type { Bench } from './bench.ts'
import type { ReloadedDevice } from './differences.ts'

/** Applies the settings that a reload changes at once, and informs the rooms that use them. */
export function takeOver(
  config: Config,
  devices: readonly ReloadedDevice[],
  { hub, registry, audit, notifier, plugins }: Pick<Bench, 'hub' | 'registry' | 'audit' | 'notifier' | 'plugins'>,
): void {
  hub.streams.allow(config.limits.subscribers)
  notifier.reload(config.notify)
  plugins.reload()
  for (const { device_id, name, limits: bounds } of config.devices) registry.find(device_id).adapt({ name, bounds })
  for (const { device_id, status, changed: settings } of devices) {
    hub.emit(`DEVICE.${device_id}.${status}`, { device_name: device_id, changed: settings } satisfies DeviceReloadContext)
    const details = settings.length ? `: ${settings.join(', ')}` : ''
    const text = `A reload of the configuration ${status.toLowerCase()} the device ${device_id}${details}`
    audit.note({ ...byService, what: `device ${device_id} ${status.toLowerCase()} by a reload${details}`, details: { text, device_id } })
  }
}
