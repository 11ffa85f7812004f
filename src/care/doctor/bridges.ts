// The programs of bridges: the rights with which they run, and the network over which they are reached.

import type { DeviceConfig } from '../../config/devices.ts'
import type { DeviceInfo } from '../../devices/records.ts'
import { isThisComputer } from './boxes.ts'
import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'
import { isUnitsFolder } from './service.ts'

const { ok, warn, fail } = finder('bridges')

type Bridge = Extract<DeviceConfig, { driver: 'bridge' }>

export async function bridges(patient: Patient): Promise<Finding[]> {
  const devices = (patient.config?.devices ?? []).filter((device): device is Bridge => device.driver === 'bridge')
  const isUnits = await isUnitsFolder(patient)
  const found = await Promise.all(
    devices.map(async ({ device_id, transport }) => {
      if ('command' in transport) {
        const rights = isUnits ? await underSystemd(patient, device_id) : asChild(device_id)
        return [...(await missing(patient, device_id, transport.command)), rights]
      }
      return 'host' in transport && !isThisComputer(transport.host) ? overNetwork(device_id, transport) : []
    }),
  )
  return [...found.flat(), ...(await unfit(patient, devices))]
}

/** Finds the devices that no LIVE run may use, such as one whose halt nobody has accepted. */
async function unfit({ service }: Patient, devices: readonly Bridge[]): Promise<Finding[]> {
  if (service.is !== 'answering') return []
  const found = await Promise.all(
    devices.map(async ({ device_id }) => {
      const { unfit } = await service.get<Pick<DeviceInfo, 'unfit'>>(`/api/devices/${device_id}`).catch(() => ({ unfit: null }))
      const [why = '', ...todo] = unfit?.split('; ') ?? []
      return unfit ? [warn(`${device_id}: no LIVE run may use it: ${why}`, todo.join('; '))] : []
    }),
  )
  return found.flat()
}

/** Finds a missing program or Python file of a command. Other arguments may be secrets, and are not shown. */
async function missing({ files }: Patient, device_id: string, command: readonly string[]): Promise<Finding[]> {
  const paths = command.filter((word, i) => word.startsWith('/') && (i === 0 || word.endsWith('.py')))
  const there = await Promise.all(paths.map((path) => files.has(path)))
  return paths
    .filter((_, i) => !there[i])
    .map((path) =>
      fail(`${device_id}: its command names ${path}, which is not there`, 'put it there, or mend "command" in the configuration'),
    )
}

async function underSystemd({ files }: Patient, device_id: string): Promise<Finding> {
  if (await files.has(`/run/benchd-bridges/${device_id}.sock`)) return ok(`${device_id}: systemd runs its program as a user of its own`)
  const unheard = `${device_id}: systemd does not listen for its program, so that the service cannot have it started`
  return fail(unheard, `sudo systemctl enable --now benchd-bridge@${device_id}.socket`)
}

function asChild(device_id: string): Finding {
  const open = `${device_id}: its program runs as a child process of the service, may do whatever the service may, and may use all memory`
  return warn(open, 'let it run nothing that you do not trust; benchd of the package has systemd run it as a user of its own')
}

function overNetwork(device_id: string, { host, port }: { host: string; port: number }): Finding {
  const open = `${device_id}: its line to ${host}:${port} is unencrypted and has no key: who reaches it can move the instrument`
  return warn(open, `keep ${host} in a network of its own, or let this computer alone through to it`)
}
