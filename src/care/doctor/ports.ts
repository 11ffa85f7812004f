// The configured serial ports: whether each exists, has a lasting name, is free, and may be opened by the service.

import { isNumbered, namedPorts, whyNotOpen } from '../../../drivers/transports/port_path.ts'
import { isTwin, type SerialPort, serialPorts } from '../../../drivers/transports/ports.ts'
import type { DeviceState } from '../../devices/records.ts'
import { tryToOpen } from '../../kit/host_files.ts'
import { type Finding, finder } from './finding.ts'
import { groupName, isTriedAs, mayUse, onSerialPort, type Patient, rightsInWords } from './patient.ts'

const { ok, warn, fail, skip } = finder('serial')

export async function ports(patient: Patient): Promise<Finding[]> {
  const { files } = patient
  const there = await serialPorts({ dev: files.at('/dev'), sys: files.at('/sys/class/tty') })
  const wired = onSerialPort(patient)
  const found = await Promise.all(wired.map(({ device_id, path }) => port(patient, device_id, path, there)))
  const none = skip(`no device of the configuration is on a serial port; this computer has ${there.length}`)
  return [...(wired.length ? found.flat() : [none]), ...alike(there, files.root)]
}

/** Finds the first fault of a port, and a name that does not last. */
async function port(patient: Patient, device_id: string, path: string, there: readonly SerialPort[]): Promise<Finding[]> {
  const { files, as } = patient
  const status = await files.status(path)
  if (!status)
    return [
      fail(
        `${device_id}: there is no ${path}; ${inWords(there, files.root)}`,
        'see its cable and power, then: benchd ports --identify; benchd devices set ID --port PATH',
      ),
    ]
  if (files.root === '' && status.kind !== 'device') return [fail(`${device_id}: ${path} is no device`, 'see: benchd ports')]
  const held = await heldByService(patient, device_id, path)
  const names = await naming(patient, device_id, path)
  if (held) return [held, ...names]
  if (!mayUse(status, as)) {
    const group = await groupName(files, status.gid)
    const opens = (status.mode & 0o060) === 0o060
    const fix = opens
      ? `sudo adduser ${as.name} ${group}, then start the service again`
      : 'put the udev rule of the package in place (80-benchd.rules), or give it GROUP="dialout", MODE="0660" in one of your own'
    return [fail(`${device_id}: the user ${as.name} may not open ${path} (${await rightsInWords(files, status)})`, fix), ...names]
  }
  const holders = await whoHolds(patient, path)
  if (holders.length) {
    const fix = `end it first: sudo kill ${holders.map(({ pid }) => pid).join(' ')}`
    return [fail(`${device_id}: ${holders.map(({ name, pid }) => `${name} (process ${pid})`).join(', ')} has ${path} open`, fix), ...names]
  }
  if (patient.service.is === 'closed')
    return [skip(`${device_id}: ${path} is there; it is not opened beside a service that cannot be asked`), ...names]
  if (!isTriedAs(as)) return [ok(`${device_id}: ${path} is there, and ${as.name} may open it`), ...names]
  return [await opening(patient, device_id, path), ...names]
}

/** Opens the port, which raises the modem lines as a start of the service does, and sends no byte. */
async function opening({ files }: Patient, device_id: string, path: string): Promise<Finding> {
  try {
    await tryToOpen(files.at(path))
    return ok(`${device_id}: ${path} can be opened, and is free`)
  } catch (error) {
    const { message } = await whyNotOpen(path, error, files.at('/dev/serial/by-id'))
    return fail(`${device_id}: ${message}`, 'see: benchd ports')
  }
}

/** Reports a port that the running service has open by the service's state, without opening it. */
async function heldByService({ service, files }: Patient, device_id: string, path: string): Promise<Finding | undefined> {
  if (service.is !== 'answering') return undefined
  const { ports: known } = await service.get<{ ports: { path: string; device_id: string | null }[] }>('/api/system/ports')
  const real = await files.behind(path)
  const owner = known.find((one) => one.path === real)?.device_id ?? (await isOf(service, device_id))
  if (owner === null) return undefined
  const { state } = await service.get<{ state: DeviceState }>(`/api/devices/${owner}`)
  const words = `${device_id}: the service has ${path}${owner === device_id ? '' : ` for ${owner}`}, and says ${state}`
  if (state !== 'disconnected') return ok(words)
  return warn(words, 'see that the instrument is switched on, and what the log says of it: journalctl -u benchd -e')
}

/** Asks the service about a port. Its list has only adapters, and no pseudo-terminals. */
async function isOf(service: Extract<Patient['service'], { is: 'answering' }>, device_id: string): Promise<string | null> {
  return service.get(`/api/devices/${device_id}`).then(
    () => device_id,
    () => null,
  )
}

async function naming({ files }: Patient, device_id: string, path: string): Promise<Finding[]> {
  if (!isNumbered(path)) return []
  const lasting = (await namedPorts(files.at('/dev/serial/by-id'))).find(({ device }) => device === files.at(path))
  const name = lasting?.path.slice(files.root.length) ?? '/dev/serial/by-path/...'
  return [warn(`${device_id}: ${path} can be another instrument after a restart`, `benchd devices set ${device_id} --port ${name}`)]
}

/** Lists the visible programs that have the port open. A pseudo-terminal is always open in the program at its other end. */
export async function whoHolds({ files }: Patient, path: string): Promise<{ pid: string; name: string }[]> {
  const real = await files.behind(path)
  if (real.startsWith('/dev/pts/')) return []
  const pids = (await files.names('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
  const holding = await Promise.all(pids.map(async (pid) => ((await has(files, pid, real)) ? [pid] : [])))
  return Promise.all(holding.flat().map(async (pid) => ({ pid, name: (await files.text(`/proc/${pid}/comm`)) ?? 'a program' })))
}

async function has(files: Patient['files'], pid: string, real: string): Promise<boolean> {
  for (const fd of await files.names(`/proc/${pid}/fd`)) {
    if ((await files.link(`/proc/${pid}/fd/${fd}`)) === real) return true
  }
  return false
}

function inWords(there: readonly SerialPort[], root: string): string {
  const names = there.map(({ path, by_id }) => (by_id ?? path).slice(root.length))
  return names.length ? `there are ${names.join(', ')}` : 'no serial port is there at all'
}

/** Finds adapters with the same identity, which share one name in by-id; it leads to the one that was plugged in last. */
function alike(there: readonly SerialPort[], root: string): Finding[] {
  const twins = there.filter(
    (one) => one.vendor_id !== null && one.by_id === null && there.some((other) => other.by_id !== null && isTwin(one, other)),
  )
  return twins.map((one) => {
    const named = there.find((other) => other.by_id !== null && isTwin(one, other))
    const words = `${one.path.slice(root.length)} and ${named?.path.slice(root.length)} say the same of themselves, and share the name ${named?.by_id?.slice(root.length)}`
    return warn(
      words,
      `name both by their sockets, e.g. ${(one.by_path ?? '/dev/serial/by-path/...').slice(one.by_path ? root.length : 0)}`,
    )
  })
}
