// Stands in for a device whose driver could not be loaded: it is in every list with the reason, and nothing can be done with it.

import type { AnyProfile, Device, Link } from '../src/devices/device.ts'
import { LabError } from '../src/errors.ts'
import type { Attached } from './attach.ts'

/** Makes the device and its link, which never opens. `driver` is the name of the driver. */
export function unloaded(driver: string, why: string): Attached & { profile: AnyProfile } {
  const unusable = `its driver ${driver} could not be used: ${why}; mend the driver, then reload the configuration`
  const refuse = async (): Promise<never> => {
    throw new LabError('interlock', unusable)
  }
  const link: Attached['link'] = {
    state: 'closed' as Link['state'],
    open: refuse,
    async close() {},
    onLost() {},
    onWire() {},
    advice: unusable,
  }
  const device: Device = {
    initialize: refuse,
    identify: refuse,
    check: refuse,
    async halt() {
      throw new LabError('stop_not_sent', `its driver ${driver} could not be used, so that no stop reaches it; use its red button`)
    },
    isNeverAsked: true,
    unfit: unusable,
  }
  return { device, link, profile: { model: 'unknown', limits: {}, features: {} } }
}
