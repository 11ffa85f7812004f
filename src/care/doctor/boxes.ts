// Devices on the network, most behind serial boxes such as ser2net: the required settings of each box, and the warning that anybody on the network can connect.

import { isOnPins, serialOf } from '../../../drivers/driver.ts'
import { boxWords } from '../../../drivers/transports/tcp_line.ts'
import { type Finding, finder } from './finding.ts'
import { type Patient, realDevices } from './patient.ts'

const { warn } = finder('boxes')

/** Does not ask the boxes; the check of the instruments does. */
export async function boxes(patient: Patient): Promise<Finding[]> {
  return realDevices(patient).flatMap(({ device_id, transport, driven_by, settings }) => {
    if (transport.kind !== 'tcp' || isOnPins(driven_by)) return []
    const what = driven_by.serial ? 'box' : 'instrument'
    const open = `${device_id}: its line to ${transport.host}:${transport.port} is unencrypted and has no key: who reaches the ${what} can move the instrument`
    const serial = serialOf(driven_by, settings)
    const words = serial ? `; ${boxWords(transport, serial)}` : ''
    const fix = `keep the ${what} in a network of its own, or let this computer alone through to it${words}`
    return isThisComputer(transport.host) ? [] : [warn(open, fix)]
  })
}

/** Whether a box is on this computer, and so not on the network. */
export function isThisComputer(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}
