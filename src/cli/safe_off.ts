// `benchd safe-off`: switches off what was left on when the service ended, in whatever way. For the unit's `ExecStopPost=`.

import type { Attached, RealTransport } from '../../drivers/attach.ts'
import type { BridgeConfig } from '../../drivers/bridge/attach.ts'
import type { DeviceConfig } from '../config/devices.ts'
import type { Config } from '../config.ts'
import { LabError, messageOf } from '../errors.ts'
import { sleep, systemClock } from '../kit/clock.ts'
import { exists } from '../kit/folder.ts'
import { isServed } from '../kit/folder_lock.ts'
import { command } from './command.ts'
import { offline } from './offline.ts'
import { bridgeSockets, configPath, dataDir, systemData } from './places.ts'
import { print } from './table.ts'

/** Instruments that go home first stand within this time. The driver of one that does not answer at all gives up sooner. */
const standing_ms = 10_000
/** A program that stands behind a device is started first, which takes as long as its libraries take to load. */
const starting_ms = 15_000

type Program = Extract<BridgeConfig, { driver: 'bridge' }>
type Driven = Extract<DeviceConfig, { kind: 'driven' }> | Extract<DeviceConfig, { driver: 'bridge' }>
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
    // Also where root calls it by hand: the program of a bridge is not started with root's rights.
    const sockets = process.env.BENCHD_BRIDGES ?? (folder === systemData && exists(bridgeSockets) ? bridgeSockets : undefined)
    const attach: Attach = (device) =>
      device.driver === 'bridge'
        ? attachedBridge(device, inMemory(undefined), sockets)
        : attached(device.driven_by, { ...device, clock: systemClock, hardware })
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

/** Both would write the journal, and talk on one line. */
async function refuseBesideService(folder: string): Promise<void> {
  if (!(await isServed(folder))) return
  throw new LabError('in_use', `a benchd runs on the data folder ${folder}; stop the devices there, or end that service first`)
}

async function switchOff(device_id: string, { devices }: Config, attach: Attach): Promise<Outcome> {
  const device = devices.find((one) => one.device_id === device_id)
  if (device === undefined || device.kind === 'external' || device.driver === 'simulated') {
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

/** How long it may not hear yet, after it was opened. */
function deafMs(device: Driven): number {
  if (device.kind === 'bridge') return starting_ms
  return 'deaf_s' in device.driven_by ? (device.driven_by.deaf_s ?? 0) * 1000 : 0
}

async function halt(its: Driven, attach: Attach): Promise<void> {
  const attachment = its.kind === 'bridge' ? haltable(its, attach) : onWire(its, attach)
  if (!attachment) return
  const { device, link } = attachment
  await link.open()
  try {
    await device.halt()
  } finally {
    await link.close()
  }
}

function haltable(its: Program, attach: Attach): Attached {
  if (its.settings.halt === 'none') throw new LabError('device_failed', 'no stop ends what it does')
  return attach(its)
}

/** Nothing where it is simulated. */
function onWire({ transport, ...its }: Extract<Driven, { kind: 'driven' }>, attach: Attach): Attached | undefined {
  return transport.kind === 'simulated' ? undefined : attach({ transport, ...its })
}
