// Builds every room once, in order: the whole service with its skin off.

import { type Attached, attached, simulated } from '../drivers/attach.ts'
import type { Hardware } from '../drivers/transports/board.ts'
import { thisComputer } from '../drivers/transports/hardware.ts'
import { portWarning } from '../drivers/transports/port_path.ts'
import { Simulation } from '../drivers/transports/simulation.ts'
import { stopInput } from '../drivers/transports/stop_input.ts'
import type { Config, DeviceConfig } from './config.ts'
import type { Configured } from './devices/instrument.ts'
import { Latches } from './devices/latches.ts'
import { Ledger } from './devices/ledger.ts'
import { Registry } from './devices/registry.ts'
import { RunJournal } from './devices/run_journal.ts'
import { WireLog } from './devices/wire_log.ts'
import type { Hub } from './events/hub.ts'
import { Load } from './events/load.ts'
import { openEvents } from './events/open.ts'
import { Keys } from './keys/keys.ts'
import { type Clock, scaled, systemClock } from './kit/clock.ts'
import type { Report } from './kit/json_file.ts'
import type { Log } from './kit/log.ts'
import { packageVersion } from './kit/package_version.ts'
import { Teachpoints } from './teachpoints/store.ts'

export const healthStates = ['ok', 'degraded', 'starting', 'stopping'] as const
export type Health = { status: (typeof healthStates)[number]; version: string; uptime_s: number; reasons: string[] }

export type Lab = {
  config: Config
  log: Log
  version: string
  clock: Clock
  hub: Hub
  ledger: Ledger
  registry: Registry
  teachpoints: Teachpoints
  keys: Keys
  /** The hands that break simulated devices, by device. */
  simulations: ReadonlyMap<string, Simulation>
  /** A flow of events to try clients with. */
  load: Load
  health(): Health
  /** Refuses new work, ends what runs, and resolves when all is on the card. */
  close(): Promise<void>
}

/** Opens the lab on a data folder that is ours alone. Sends nothing but queries to the devices. */
export async function openLab(
  config: Config,
  { data_dir, log, clock = systemClock }: { data_dir: string; log: Log; clock?: Clock },
): Promise<Lab> {
  const version = packageVersion()
  const began = clock.now()
  let stopping = false
  const hub = await openEvents({ folder: data_dir, config, clock, log })
  const report: Report = ({ message }) => {
    log.error(message)
    hub.incident('STORAGE', message)
  }
  const load = new Load(hub, clock)
  const ledger = new Ledger()
  const latches = await Latches.open(data_dir, report)
  const journal = await RunJournal.open(data_dir, report)
  const teachpoints = await Teachpoints.open({ folder: data_dir, report })
  const keys = await Keys.open({ folder: data_dir, report })
  const simulations = new Map<string, Simulation>()
  const hardware = thisComputer()
  const devices = config.devices.map((device) => configured(device, config.time_scale, { clock, log, simulations, hardware }))
  const registry = new Registry(devices, { clock, hub, ledger, latches, journal, log })
  registry.start()
  const pressed = () => {
    log.warn('the stop input is active: every device is stopped')
    registry.haltAll().catch((error) => log.error('the stop input', error))
  }
  const failed = (reason: string) => hub.incident('DEVICE_LINK', `the stop input cannot be read: ${reason}`)
  const input = config.stop_input && stopInput(config.stop_input, hardware, clock, { pressed, failed })

  return {
    config,
    log,
    version,
    clock,
    hub,
    ledger,
    registry,
    teachpoints,
    keys,
    simulations,
    load,
    health() {
      const reasons = [...hub.troubles(), ...(input?.trouble ? ['stop_input'] : [])]
      const status = stopping ? 'stopping' : reasons.length ? 'degraded' : 'ok'
      return { status, version, uptime_s: Math.floor((clock.now() - began) / 1000), reasons }
    },
    async close() {
      stopping = true
      load.stop()
      hub.streams.close()
      await input?.close()
      await registry.close()
      await latches.settled()
      await journal.close()
      for (const simulation of simulations.values()) simulation.powerOff()
      await keys.close()
      await hub.close()
    },
  }
}

type Parts = { clock: Clock; log: Log; simulations: Map<string, Simulation>; hardware: Hardware }

function configured(device: DeviceConfig, time_scale: number, { clock, log, simulations, hardware }: Parts): Configured {
  const { device_id, name, driver, limits: bounds, identity, on_restart } = device
  const common = { device_id, name, driver, bounds, identity, on_restart }
  if (device.kind === 'external') return { ...common, type: 'transporter', simulated: false, time_scale: 1 }
  const { driven_by, settings, transport } = device
  const { type } = driven_by
  const driven = ({ device, link }: Attached) => ({ device, link, profile: driven_by.profile(settings), wire: wireLogOf(link) })
  if (transport.kind !== 'simulated') {
    if (transport.kind === 'serial') void portWarning(transport.path).then((warning) => warning && log.warn(`${device_id}: ${warning}`))
    const real = attached(driven_by, { transport, settings, clock, hardware })
    return { ...common, type, simulated: false, time_scale: 1, driven: driven(real) }
  }
  const simulation = simulated(driven_by, { settings, clock: scaled(clock, time_scale), wire: clock })
  simulations.set(device_id, new Simulation(simulation.breakable, clock))
  return { ...common, type, simulated: true, time_scale, driven: driven(simulation) }
}

function wireLogOf(link: Attached['link']): WireLog {
  const wire = new WireLog()
  link.onWire((direction, bytes) => wire.note(direction, bytes))
  return wire
}
