// Adds a device to the text of the configuration file, whose comments and format stay.

import { parseJsonWithComments } from '../kit/json.ts'
import { withValue } from '../kit/json_edit.ts'

/** Lists the devices of the file as far as it can be read: other mistakes are reported once it is changed. Throws `invalid` for text that is not JSON. */
export function devicesIn(text: string, origin: string): { device_id?: unknown }[] {
  return listIn(text, origin) ?? []
}

/** Returns the text with the device as the last one. */
export function withDevice(text: string, device: object): string {
  const devices = listIn(text, 'the configuration')
  return devices ? withValue(text, ['devices', devices.length], device) : withValue(text, ['devices'], [device])
}

function listIn(text: string, origin: string): object[] | undefined {
  const { devices } = (parseJsonWithComments(text, origin) as { devices?: unknown } | null) ?? {}
  return Array.isArray(devices) ? devices : undefined
}
