// Checks a computer for problems of a bench, each with its remedy. Changes nothing, moves nothing.

import { createRequire } from 'node:module'
import { probePins } from '../../../drivers/transports/hardware.ts'
import { HostFiles, roomOn, syncTime } from '../../kit/host_files.ts'
import { type Installation, installation } from '../../kit/installation.ts'
import { boxes } from './boxes.ts'
import { bridges } from './bridges.ts'
import { cameras } from './cameras.ts'
import { drivers } from './drivers.ts'
import { type Finding, tried } from './finding.ts'
import { fleet } from './fleet.ts'
import { instruments } from './instruments.ts'
import { board, clock, node, power, temperature } from './machine.ts'
import { modules, whyItDoesNotLoad } from './modules.ts'
import { mqtt } from './mqtt.ts'
import { avahi, certificate, network } from './network.ts'
import { notify } from './notify.ts'
import { type Patient, type ServiceView, serviceUser, type Who } from './patient.ts'
import { gpio, i2c } from './pins.ts'
import { plugins } from './plugins.ts'
import { ports } from './ports.ts'
import { queue } from './queue.ts'
import { configuration, isTakenUp, service } from './service.ts'
import { eventLog, keys, storage } from './storage.ts'

export type Examined = {
  config_path: string | undefined
  data_dir: string
  service: ServiceView
  /** A folder with the file system of another computer. */
  root?: string | undefined
  /** Whether to identify the instruments if no service does. */
  ask?: boolean | undefined
  /** The user whose rights count, for tests. */
  as?: Who | undefined
  modules?: readonly string[]
  room?: Patient['room']
  sync?: Patient['sync']
}

/** The checks, in the order in which they run and are shown. */
const checks: Record<string, (patient: Patient) => Promise<Finding | Finding[]>> = {
  node,
  board,
  service,
  config: isTakenUp,
  storage,
  events: eventLog,
  keys,
  clock,
  power,
  temperature,
  serial: ports,
  boxes,
  bridges,
  drivers,
  gpio,
  i2c,
  modules,
  network,
  tls: certificate,
  avahi,
  notify,
  cameras,
  fleet,
  plugins,
  mqtt,
  queue,
  instruments,
}

export async function examine({
  config_path,
  data_dir,
  service,
  root = '',
  ask = false,
  as,
  modules,
  room,
  sync,
}: Examined): Promise<Finding[]> {
  const files = new HostFiles(root)
  const { findings, config } = await configuration(config_path, service)
  const patient: Patient = {
    files,
    data_dir,
    config,
    config_path,
    service,
    as: as ?? (await serviceUser(files, data_dir)),
    is_this: files.root === '',
    may_ask: ask,
    installation: await installationOn(files),
    modules: modules ?? foldersOfPackages(files.root),
    room: room ?? roomOn,
    sync: sync ?? syncTime,
    pins: async () => probePins(files.root ? { root: files.root, trouble: await whyItDoesNotLoad('onoff', patient) } : undefined),
  }
  const found: Finding[] = []
  // The checks run one after the other, because the computer may be small, and a port can be opened only once at a time.
  for (const [check, look] of Object.entries(checks)) {
    if (check === 'config') found.push(...findings)
    found.push(...(await tried(check, () => look(patient))))
  }
  return found
}

/** Returns the packaged installation of that computer, else the running one. */
async function installationOn(files: HostFiles): Promise<Installation> {
  const isThere = files.root !== '' && (await files.has('/usr/lib/benchd/package.json'))
  return installation(isThere ? files.at('/usr/lib/benchd') : undefined)
}

/** Returns the folders in which Node looks for packages. */
function foldersOfPackages(root: string): readonly string[] {
  return root ? [`${root}/usr/lib/benchd/node_modules`] : (createRequire(import.meta.url).resolve.paths('serialport') ?? [])
}
