// Compares each instrument with the configured identity of its device, to find swapped cables before anything moves.

import type { LineTransport } from '../../../drivers/attach.ts'
import type { Identity } from '../../devices/device.ts'
import type { DeviceInfo } from '../../devices/records.ts'
import { messageOf } from '../../errors.ts'
import { askWhoItIs, differences, identityInWords } from '../identity.ts'
import { type Finding, finder } from './finding.ts'
import { type Driven, type Patient, realDevices } from './patient.ts'
import { whoHolds } from './ports.ts'

const { ok, warn, fail, skip } = finder('instruments')

export async function instruments(patient: Patient): Promise<Finding[]> {
  const devices = realDevices(patient)
  if (!devices.length) return [skip('no device of the configuration is a real one with a driver')]
  if (patient.service.is === 'closed')
    return [skip('the service that runs cannot be asked, and they are not asked beside it', 'sudo benchd doctor')]
  if (patient.service.is === 'absent' && !(patient.may_ask && patient.is_this)) {
    return [skip('not asked who they are: no service runs', 'benchd doctor --ask asks them, by their ports; nothing moves')]
  }
  // Ports are opened one after the other: adapters of one hub may share their power.
  const found: Finding[] = []
  const silent: Silent[] = []
  for (const device of devices) {
    const one = await instrument(patient, device, devices)
    if ('finding' in one) found.push(one)
    else silent.push(one)
  }
  for (const one of silent) found.push(await otherwise(patient, one, silent))
  return found
}

/** A device that did not answer, with the error. */
type Silent = { device: Driven; message: string }

/** Asks a silent device with the drivers of the other silent ones, because swapped cables of different instruments silence both. */
async function otherwise({ service }: Patient, { device, message }: Silent, silent: readonly Silent[]): Promise<Finding> {
  const { device_id, transport } = device
  const strangers = silent.filter((one) => one.device.driver !== device.driver)
  const words = `${device_id}: ${message}`
  const fix = strangers.length
    ? `see that it is switched on and connected, and not in the socket of ${strangers.map((one) => one.device.device_id).join(' or ')}`
    : 'see that it is switched on and connected'
  if (!isOnLine(transport) || service.is !== 'absent') return warn(words, fix)
  for (const { device: other } of strangers) {
    const says = await askWhoItIs({ driven_by: other.driven_by, settings: other.settings, transport }).catch(() => null)
    if (says === null) continue
    return fail(
      `${device_id}: silent, but asked as ${other.device_id} what is there says it is ${identityInWords(says)}`,
      `that is ${other.device_id}: its cable is in the socket of ${device_id}; put the cables right, or name the ports anew`,
    )
  }
  return warn(words, fix)
}

async function instrument(patient: Patient, device: Driven, all: readonly Driven[]): Promise<Finding | Silent> {
  const { device_id } = device
  try {
    const [holder] =
      device.transport.kind === 'serial' && patient.service.is === 'absent' ? await whoHolds(patient, device.transport.path) : []
    if (holder) return skip(`${device_id}: not asked, for ${holder.name} (process ${holder.pid}) speaks to it`)
    const says = await whoIsThere(patient, device)
    return says === null ? skip(`${device_id}: it does not say who it is, or not before it is initialized`) : judged(device, says, all)
  } catch (error) {
    return { device, message: messageOf(error) }
  }
}

async function whoIsThere({ service }: Patient, device: Driven): Promise<Identity | null> {
  if (service.is === 'answering') return (await service.get<DeviceInfo>(`/api/devices/${device.device_id}`)).identity
  const { transport } = device
  // A device on pins has no identity, and opening pins would drive them.
  return isOnLine(transport) ? askWhoItIs({ ...device, transport }) : null
}

function isOnLine(transport: Driven['transport']): transport is LineTransport {
  return transport.kind === 'serial' || transport.kind === 'tcp'
}

function judged({ device_id, identity: taught }: Driven, says: Identity, all: readonly Driven[]): Finding {
  const words = `${device_id}: says it is ${identityInWords(says)}`
  if (!Object.keys(taught).length) return ok(`${words}; it was taught nothing (benchd devices set ${device_id} --ask)`)
  const wrong = differences(says, taught)
  if (!wrong.length) return ok(`${words}, as it was taught`)
  const other = all.find((one) => one.device_id !== device_id && isTaught(one) && !differences(says, one.identity).length)
  const fix = other
    ? `that is ${other.device_id}: its cable is in the socket of ${device_id}; put the cables right, or name the ports anew`
    : `put the right one there; if it was replaced: benchd devices set ${device_id} --ask`
  return fail(`${words}: ${wrong.join(', ')}`, fix)
}

function isTaught({ identity }: Driven): boolean {
  return identity.serial_number !== undefined || identity.model !== undefined
}
