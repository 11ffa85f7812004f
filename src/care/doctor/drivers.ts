// The drivers of the lab's own that the configuration names: whether they are loaded, and who may change them.

import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

const { ok, warn, fail, skip } = finder('drivers')

export async function drivers({ config }: Patient): Promise<Finding[]> {
  const found = (config?.devices ?? []).flatMap((device): Finding[] => {
    const { device_id, driver } = device
    if (device.kind === 'unloaded')
      return [fail(`${device_id}: its driver ${driver} cannot be used: ${device.why}`, 'mend the driver, then: benchd config reload')]
    if (device.kind !== 'driven') return []
    if (device.unused)
      return [warn(`${device_id}: the driver in ${device.unused} is not used, because benchd has a driver ${driver}`, 'rename that folder')]
    if (!device.outside) return []
    return [
      ok(`${device_id}: its driver ${driver} is one of your own, ${device.outside.path}; its code runs with all rights of the service`),
    ]
  })
  return found.length > 0 ? found : [skip('every device has a driver that ships with benchd, or none')]
}
