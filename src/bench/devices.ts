// Makes the devices of a configuration by their drivers: on real transports, or on simulators.

import { type Attached, type AttachedAndGuarded, attached, simulated } from '../../drivers/attach.ts'
import { type AttachedBridge, attachedBridge, simulatedBridge, socketsOfSystemd } from '../../drivers/bridge/attach.ts'
import { isOnPins, serialOf } from '../../drivers/driver.ts'
import type { Guard } from '../../drivers/guarded.ts'
import { Person, personLink, profile as personProfile, typical as personTypical } from '../../drivers/person/person.ts'
import type { Hardware } from '../../drivers/transports/board.ts'
import { portWarning } from '../../drivers/transports/port_path.ts'
import { Simulation } from '../../drivers/transports/simulation.ts'
import { putPlates } from '../../drivers/transports/simulator.ts'
import { boxWords } from '../../drivers/transports/tcp_line.ts'
import { unloaded } from '../../drivers/unloaded.ts'
import type { DeviceConfig } from '../config/devices.ts'
import type { Config } from '../config.ts'
import type { Configured, Driven } from '../devices/configured.ts'
import type { Descriptions } from '../devices/descriptions.ts'
import type { Link } from '../devices/device.ts'
import type { Emitter } from '../devices/latch.ts'
import { Ledger } from '../devices/ledger.ts'
import { noStores } from '../devices/no_stores.ts'
import { Registry } from '../devices/registry.ts'
import { WireLog } from '../devices/wire_log.ts'
import { messageOf } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { type Clock, scaled } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'

type Parts = {
  clock: Clock
  log: Log
  hardware: Hardware
  /** The accepted descriptions of the programs behind devices. */
  descriptions: Descriptions
  /** Receives the control of each simulated device. */
  simulations: Map<string, Simulation>
}

/** Makes a device without opening it. */
export function configured(device: DeviceConfig, time_scale: number, parts: Parts): Configured {
  const { clock, log, simulations, descriptions } = parts
  if (device.kind === 'external') return external(device)
  if (device.kind === 'person') return person(device, clock)
  if (device.kind === 'bridge' && device.driver === 'bridge') {
    if ('command' in device.transport && socketsOfSystemd() === undefined)
      log.warn(
        `${device.device_id}: its program runs as a child process with all rights of this service; systemd would give it a user of its own`,
      )
    const real = attachedBridge(device, descriptions.of(device.device_id))
    return { ...common(device), type: device.type, simulated: false, time_scale: 1, driven: drivenBridge(real) }
  }
  if (device.kind === 'bridge') {
    const { simulation, ...made } = onSimulatedBridge(device, { time_scale, clock, descriptions })
    simulations.set(device.device_id, simulation)
    return made
  }
  if (device.kind === 'unloaded') {
    log.error(`${device.device_id} cannot be used: its driver ${device.driver} was not loaded`, device.why)
    return notLoaded(device)
  }
  const { outside, unused, driver } = device
  if (unused) log.warn(`${device.device_id}: benchd has a driver ${driver} of its own; that in ${unused} is not used, rename it`)
  if (!outside) return drivenDevice(device, time_scale, parts)
  try {
    return drivenDevice(device, time_scale, parts)
  } catch (error) {
    log.error(`${device.device_id} cannot be used: its driver ${driver} failed to open it`, error)
    return notLoaded({ ...device, kind: 'unloaded', outside, why: messageOf(error) })
  }
}

function notLoaded(device: Extract<DeviceConfig, { kind: 'unloaded' }>): Configured & { driven: Driven } {
  const { device: standIn, link, profile } = unloaded(device.driver, device.why)
  const driven = { device: standIn, link, profile, wire: new WireLog() }
  return { ...common(device), type: 'unknown', simulated: false, time_scale: 1, driven }
}

/** Names a device in the log whose driver keeps the event loop, once a minute at most. */
function guardOf({ device_id, driver, outside }: DrivenConfig, { log, clock }: Pick<Parts, 'log' | 'clock'>): Guard | undefined {
  if (!outside) return undefined
  let next = Number.NEGATIVE_INFINITY
  return {
    failed: (error) => log.error(`the driver ${driver} failed; ${device_id} cannot be used until initialized`, error),
    slow(ms) {
      if (clock.now() < next) return
      next = clock.now() + 60_000
      log.warn(
        `${device_id}: its driver ${driver} kept this service from everything else for ${Math.round(ms)} ms, and stops with it; see its code, or make it a bridge`,
      )
    },
  }
}

function drivenDevice(device: DrivenConfig, time_scale: number, parts: Parts): Configured {
  const { clock, log, simulations, hardware } = parts
  const { device_id, driven_by, settings, transport } = device
  const guard = guardOf(device, parts)
  if (transport.kind === 'simulated') {
    const { simulation, ...made } = onSimulator(device, time_scale, clock, guard)
    simulations.set(device_id, simulation)
    return made
  }
  if (transport.kind === 'serial') void portWarning(transport.path).then((warning) => warning && log.warn(`${device_id}: ${warning}`))
  if (transport.kind === 'tcp' && !isOnPins(driven_by)) {
    const serial = serialOf(driven_by, settings)
    if (serial) log.info(`${device_id}: ${boxWords(transport, serial)}`)
  }
  const real = attached(driven_by, { transport, settings, clock, hardware, guard })
  return { ...common(device), type: driven_by.type, simulated: false, time_scale: 1, driven: driven(device, real) }
}

/**
 * Makes a second bench for rehearsals: each device with a driver gets its own simulator, without latches, and no instrument receives a byte. Closing
 * the bench switches the simulators off.
 *
 * Events of its devices carry the run that holds the device. Without such a run the event is only logged, because it would look like one of the real
 * device. `hands` receives the control of each simulator.
 */
export function simulatedBench(
  { devices, time_scale }: Config,
  {
    clock,
    log,
    hub,
    hands,
    descriptions,
  }: { clock: Clock; log: Log; hub: Hub; hands?: Map<string, Simulation>; descriptions?: Pick<Descriptions, 'get'> },
): Registry {
  const ofExecutions: Emitter = {
    emit(event_name, context, execution_id) {
      if (execution_id !== undefined) hub.emit(event_name, context, execution_id)
    },
  }
  const registry = new Registry(
    devices.map((device) => rehearsing(device, { time_scale, clock, hands, descriptions })),
    { clock, log: prefixed(log, 'rehearsal'), hub: ofExecutions, ledger: new Ledger(), ...noStores },
  )
  registry.start()
  return registry
}

type Rehearsing = {
  time_scale: number
  clock: Clock
  hands: Map<string, Simulation> | undefined
  descriptions: Pick<Descriptions, 'get'> | undefined
}

function rehearsing(device: DeviceConfig, around: Rehearsing): Configured {
  const { time_scale, clock, hands } = around
  if (device.kind === 'external') return external(device)
  if (device.kind === 'person') return { ...person(device, scaled(clock, time_scale)), simulated: true, time_scale }
  if (device.kind === 'unloaded') return notLoaded(device)
  const { simulation, ...made } =
    device.kind === 'bridge'
      ? onSimulatedBridge(device, around)
      : onSimulator(device, time_scale, clock, device.outside && { slow() {}, failed() {} })
  hands?.set(device.device_id, simulation)
  const link = untilClosed(made.driven.link, () => simulation.powerOff())
  // The configuration names the real instrument.
  return { ...made, identity: {}, driven: { ...made.driven, link } }
}

function untilClosed(link: Link, closed: () => void): Link {
  return {
    get state() {
      return link.state
    },
    open: () => link.open(),
    onLost: (call) => link.onLost(call),
    ...(link.advice !== undefined && { advice: link.advice }),
    async close() {
      await link.close()
      closed()
    },
  }
}

type DrivenConfig = Extract<DeviceConfig, { kind: 'driven' }>

function external(device: DeviceConfig): Configured {
  return { ...common(device), type: 'transporter', simulated: false, time_scale: 1 }
}

/** A person, who has no simulator: a rehearsal passes the clock of a person who carries by the time alone. */
function person(device: Extract<DeviceConfig, { kind: 'person' }>, clock: Clock): Configured & { driven: Driven } {
  const driven = {
    device: new Person({ settings: device.settings, clock }),
    link: personLink(),
    profile: personProfile,
    typical: personTypical,
    wire: new WireLog(),
  }
  return { ...common(device), type: 'transporter', simulated: false, time_scale: 1, driven }
}

function onSimulator(device: DrivenConfig, time_scale: number, clock: Clock, guard?: Guard) {
  const { driven_by, settings } = device
  const made = simulated(driven_by, { settings, clock: scaled(clock, time_scale), wire: clock, guard })
  const simulation = new Simulation(made.breakable, clock)
  const playArm = (operation: string, params: Readonly<Record<string, unknown>>) => putPlates(simulation.places, operation, params)
  const its = { ...driven(device, made), playArm }
  return { ...common(device), type: driven_by.type, simulated: true, time_scale, driven: its, simulation }
}

type BridgeDevice = Extract<DeviceConfig, { kind: 'bridge' }>

function onSimulatedBridge(
  device: BridgeDevice,
  { time_scale, clock, descriptions }: Pick<Rehearsing, 'time_scale' | 'clock' | 'descriptions'>,
) {
  const described = () => descriptions?.get(device.device_id)
  const made = simulatedBridge(device, { described, clock: scaled(clock, time_scale), wire: clock })
  const simulation = new Simulation(made.breakable, clock)
  return { ...common(device), type: device.type, simulated: true, time_scale, driven: drivenBridge(made), simulation }
}

function drivenBridge({ device, link, profile }: AttachedBridge) {
  return { device, link, profile, wire: wireLogOf(link) }
}

function driven({ driven_by, settings }: DrivenConfig, { device, link, fail }: AttachedAndGuarded) {
  const { typical } = driven_by
  return { device, link, profile: driven_by.profile(settings), typical, wire: wireLogOf(link), ...(fail && { fail }) }
}

function common({ device_id, name, driver, limits: bounds, identity, on_restart }: DeviceConfig) {
  return { device_id, name, driver, bounds, identity, on_restart }
}

/** Returns a log with a prefix in each line. */
function prefixed(log: Log, who: string): Log {
  return {
    info: (message) => log.info(`${who}: ${message}`),
    warn: (message) => log.warn(`${who}: ${message}`),
    error: (message, error) => log.error(`${who}: ${message}`, error),
  }
}

function wireLogOf(link: Attached['link']): WireLog {
  const wire = new WireLog()
  link.onWire((direction, bytes) => wire.note(direction, bytes))
  return wire
}
