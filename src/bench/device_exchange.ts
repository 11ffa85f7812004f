// The devices of the running service, exchanged for those of a new configuration.

import type { Simulation } from '../../drivers/transports/simulation.ts'
import type { DeviceConfig } from '../config/devices.ts'
import type { Config } from '../config.ts'
import type { Configured } from '../devices/configured.ts'
import type { Registry } from '../devices/registry.ts'
import { LabError } from '../errors.ts'
import type { DeviceChanges } from './differences.ts'

/** An exchange that has begun. `complete` or `undo` is called in the same turn. */
export type DeviceExchange = {
  /** The devices that are not as they were. */
  devices: ReadonlySet<string>
  undo(): void
  /** Opens the new devices, and resolves when the old ones are halted and closed. */
  complete(): Promise<void>
}

type Parts = {
  registry: Registry
  simulations: Map<string, Simulation>
  /** Says, as a clause, what an open run has to do with a device; undefined when no run uses it. */
  usedBy(device_id: string): string | undefined
  /** Makes a device without opening it; `simulations` is given the simulation, where it is simulated. */
  make(device: DeviceConfig, simulations: Map<string, Simulation>): Configured
}

/** Puts the devices of `config` in place of those of before. Throws `conflict`, naming who uses one of them; nothing has changed then. */
export function exchangeDevices({ devices }: Pick<Config, 'devices'>, { opened, gone }: DeviceChanges, parts: Parts): DeviceExchange {
  const { registry, simulations, usedBy, make } = parts
  const known = new Set(registry.all().map(({ device_id }) => device_id))
  const touched = [...gone, ...opened.map(({ device_id }) => device_id)]
  const replaced = touched.filter((device_id) => known.has(device_id))
  for (const device_id of replaced) mustBeUnused(registry, device_id, usedBy)
  // Nobody would reach the instrument that was there: what comes in its place is no instrument, or none at all.
  const unreached = opened.filter(
    (device) =>
      device.kind === 'external' || (device.kind === 'driven' ? device.transport.kind === 'simulated' : device.driver === 'simulated'),
  )
  for (const device_id of [...gone, ...unreached.map(({ device_id }) => device_id)]) {
    if (known.has(device_id)) registry.find(device_id).condition.mustBeOff()
  }
  const made = new Map<string, Simulation>()
  const fresh = opened.map((device) => make(device, made))
  const order = devices.map(({ device_id }) => device_id)
  const { undo, complete } = registry.exchange(fresh, order)
  return {
    devices: new Set(touched),
    undo,
    async complete() {
      const old = replaced.flatMap((device_id) => simulations.get(device_id) ?? [])
      for (const device_id of replaced) simulations.delete(device_id)
      for (const [device_id, simulation] of made) simulations.set(device_id, simulation)
      await complete()
      for (const simulation of old) simulation.powerOff()
    },
  }
}

function mustBeUnused(registry: Registry, device_id: string, usedBy: Parts['usedBy']): void {
  const run = usedBy(device_id)
  if (run) throw new LabError('conflict', `${device_id} is used by ${run}; stop the run or wait until it has ended, then reload`)
  registry.find(device_id).mustBeFree()
}
