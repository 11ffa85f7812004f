// `benchd safe-off`: switches off devices that were left on when the service ended. For the unit's `ExecStopPost=`.

import type { Attached, RealTransport } from '../../drivers/attach.ts'
import type { BridgeConfig } from '../../drivers/bridge/attach.ts'
import type { DeviceConfig } from '../config/devices.ts'
import type { Config } from '../config.ts'
import { LabError, messageOf } from '../errors.ts'
import { sleep, systemClock } from '../kit/clock.ts'
import { exists } from '../kit/folder.ts'
import { isServed } from '../kit/folder_lock.ts'
import { command } from './command.ts'
import { exitCodes } from './exit.ts'
import { offline } from './offline.ts'
import { bridgeSockets, configPath, dataDir, systemData } from './places.ts'
import { print, tell } from './table.ts'

/** The time for instruments that go home first. The driver of a silent one gives up sooner. */
const standing_ms = 10_000
/** The additional time for the program of a bridge to load its libraries. */
const starting_ms = 15_000

type Program = Extract<BridgeConfig, { driver: 'bridge' }> & { kind: 'bridge' }
type Driven = Extract<DeviceConfig, { kind: 'driven' }> | Program
type OnTransport = Extract<DeviceConfig, { kind: 'driven' }> & { transport: RealTransport }
type Attach = (device: OnTransport | Program) => Attached
type Outcome = { device_id: string; success: boolean; message: string }

const safeOff = command({
  name: 'safe-off',
  summary: 'Halt every device that was still on when the service ended',
  options: {
    config: { type: 'string', value: 'FILE', help: 'Configuration; default /etc/benchd/config.json' },
    'data-dir': { type: 'string', value: 'DIR', help: 'Folder of the state' },
  },
  async run({ options }) {
    const [{ readConfig }, { attached }, { attachedBridge }, { inMemory }, { thisComputer }] = await Promise.all([
      import('../config.ts'),
      import('../../drivers/attach.ts'),
      import('../../drivers/bridge/attach.ts'),
      import('../devices/descriptions.ts'),
      import('../../drivers/transports/hardware.ts'),
    ])
    const folder = dataDir(options['data-dir'])
    await refuseBesideService(folder)
    const config = await readConfig(configPath(options.config))
    const hardware = thisComputer()
    // Also for a manual call by root, so that the program of a bridge does not run with root's rights.
    const sockets = process.env.BENCHD_BRIDGES ?? (folder === systemData && exists(bridgeSockets) ? bridgeSockets : undefined)
    const attach: Attach = (device) =>
      device.kind === 'bridge'
        ? attachedBridge(device, inMemory(undefined), sockets)
        : attached(device.driven_by, { ...device, clock: systemClock, hardware, guard: device.outside && { slow() {}, failed() {} } })
    await outliveDrivers()
    const leftOn = await offline(folder, 'left on', undefined)
    const outcomes = await Promise.all(leftOn.map((device_id) => switchOff(device_id, config, attach)))
    const off = outcomes.filter(({ success }) => success).map(({ device_id }) => device_id)
    if (off.length) await offline(folder, 'switched off', { devices: off })
    if (options.json) print(JSON.stringify({ devices: outcomes }))
    else for (const { message } of outcomes) print(message)
    return outcomes.every(({ success }) => success) ? 0 : 1
  },
})

export const commands = [safeOff]

/** Keeps a driver of the lab's own that throws where nobody waits for it from ending this process: the other devices must be switched off. */
async function outliveDrivers(): Promise<void> {
  const [{ ownerBlamed }, { driverBlamed }] = await Promise.all([import('../kit/blame.ts'), import('../../drivers/outside.ts')])
  process.on('uncaughtException', (error) => {
    const owner = ownerBlamed(error)
    owner?.fault(error)
    if (owner || driverBlamed(error) !== undefined) return
    tell(error instanceof Error && error.stack ? error.stack : messageOf(error))
    process.exit(exitCodes.failed[0])
  })
}

/** Throws if a service runs, because both would write the journal and use the same line. */
async function refuseBesideService(folder: string): Promise<void> {
  if (!(await isServed(folder))) return
  throw new LabError('in_use', `a benchd runs on the data folder ${folder}; stop the devices there, or end that service first`)
}

async function switchOff(device_id: string, { devices }: Config, attach: Attach): Promise<Outcome> {
  const device = devices.find((one) => one.device_id === device_id)
  if (device?.kind === 'unloaded') {
    const { mayStillBeOn } = await import('../devices/halting.ts')
    return { device_id, success: false, message: mayStillBeOn(device_id, `its driver ${device.driver} was not loaded: ${device.why}`) }
  }
  if (device === undefined || device.kind === 'external' || device.kind === 'person' || isSimulated(device)) {
    return { device_id, success: false, message: `${device_id} was left on, but is not in the configuration: use its red button` }
  }
  const done = new AbortController()
  const late = sleep(systemClock, standing_ms + deafMs(device), done.signal).then(() => Promise.reject(new Error('no acknowledgement')))
  try {
    await Promise.race([halt(device, attach), late])
    return { device_id, success: true, message: `${device_id} was left on; it is off` }
  } catch (error) {
    const { mayStillBeOn } = await import('../devices/halting.ts')
    return { device_id, success: false, message: mayStillBeOn(device_id, messageOf(error)) }
  } finally {
    late.catch(() => undefined)
    done.abort()
  }
}

function isSimulated(device: Extract<DeviceConfig, { kind: 'driven' | 'bridge' }>): device is Exclude<typeof device, Driven> {
  return device.kind === 'bridge' && device.driver === 'simulated'
}

/** Returns the time for which a device is deaf after its port was opened. */
function deafMs(device: Driven): number {
  if (device.kind === 'bridge') return starting_ms
  return 'deaf_s' in device.driven_by ? (device.driven_by.deaf_s ?? 0) * 1000 : 0
}

async function halt(its: Driven, attach: Attach): Promise<void> {
  const attachment = its.kind === 'bridge' ? haltable(its, attach) : onWire(its, attach)
  if (!attachment) return
  const { device, link } = attachment
  const { promised } = await import('../devices/halting.ts')
  await link.open()
  try {
    await promised(() => device.halt())
  } finally {
    await link.close()
  }
}

function haltable(its: Program, attach: Attach): Attached {
  if (its.settings.halt === 'none') throw new LabError('device_failed', 'no stop ends what it does')
  return attach(its)
}

/** Attaches a device; undefined for a simulated one. */
function onWire({ transport, ...its }: Extract<Driven, { kind: 'driven' }>, attach: Attach): Attached | undefined {
  return transport.kind === 'simulated' ? undefined : attach({ transport, ...its })
}
