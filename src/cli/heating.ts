// The words for devices that heat, and the command that switches their heaters off.

import type { Heating } from '../devices/records.ts'
import type { StillHeating } from '../events/contexts.ts'

/** Returns text such as `heating to 60 °C`. */
export function heatingText({ target, is_lowest }: Heating): string {
  const degrees = target === null ? '' : ` to ${target} °C`
  return `heating${degrees}${is_lowest ? ', its lowest set point: its heater cannot be switched off' : ''}`
}

/** Returns a sentence with the temperature and the command that switches the heater off. Heat without a target came from another operation than `set_temperature`. */
export function heatingAndRemedy(device_id: string, heating: Heating): string {
  if (heating.is_lowest) return heatingText(heating)
  const own = `its own operation (benchd devices caps ${device_id}), or benchd devices stop ${device_id}`
  const remedy = heating.target === null ? own : `benchd devices set-temperature ${device_id} --temperature off`
  return `${heatingText(heating)}; to switch it off: ${remedy}`
}

/** Returns a sentence for each device that still heats, with the command that ends that. */
export function stillHeating(devices: readonly StillHeating[]): string[] {
  return devices.map(({ device_id, target }) => `${device_id} is still ${heatingAndRemedy(device_id, { target, is_lowest: false })}`)
}
