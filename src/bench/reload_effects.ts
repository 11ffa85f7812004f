// The effects of a reload on the open rooms.

import type { Config } from '../config.ts'
import type { Registry } from '../devices/registry.ts'
import type { DeviceReloadContext } from '../events/contexts.ts'
import type { Hub } from '../events/hub.ts'
import { type Audit, byService } from '../keys/audit.ts'
import type { Notifier } from '../notify/notifier.ts'
import type { ReloadedDevice } from './differences.ts'
import type { LatePlugins } from './late_plugins.ts'

type Rooms = { hub: Hub; registry: Registry; audit: Audit; notifier: Notifier; plugins: LatePlugins }

/** Applies the settings that a reload changes at once, and informs the rooms that use them. */
export function takeOver(config: Config, devices: readonly ReloadedDevice[], { hub, registry, audit, notifier, plugins }: Rooms): void {
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
