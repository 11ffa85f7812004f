// Exchanges the devices of the running service for those of a new configuration.

import type { Simulation } from '../../drivers/transports/simulation.ts'
import type { DeviceConfig } from '../config/devices.ts'
import type { Config } from '../config.ts'
import type { Configured } from '../devices/configured.ts'
import type { Registry } from '../devices/registry.ts'
import { LabError } from '../errors.ts'
import type { DeviceChanges } from './differences.ts'

/** An exchange that has begun. The caller calls `complete` or `undo` in the same turn. */
export type DeviceExchange = {
  /** The ids of the changed devices. */
  devices: ReadonlySet<string>
  undo(): void
  /** Opens the new devices. Resolves when the old ones are halted and closed. */
  complete(): Promise<void>
}

type Parts = {
  registry: Registry
  simulations: Map<string, Simulation>
  /** Names the open run that uses a device, as a clause; undefined if none does. */
  usedBy(device_id: string): string | undefined
  /** Makes a device without opening it. Adds the control of a simulated device to `simulations`. */
  make(device: DeviceConfig, simulations: Map<string, Simulation>): Configured
}

/** Exchanges the devices for those of `config`. Throws `conflict`, naming the user of a device, and then has changed nothing. */
export function exchangeDevices({ devices }: Pick<Config, 'devices'>, { opened, gone }: DeviceChanges, parts: Parts): DeviceExchange {
  const { registry, simulations, usedBy, make } = parts
  const known = new Set(registry.all().map(({ device_id }) => device_id))
  const touched = [...gone, ...opened.map(({ device_id }) => device_id)]
  const replaced = touched.filter((device_id) => known.has(device_id))
  for (const device_id of replaced) mustBeUnused(registry, device_id, usedBy)
  // Devices whose replacement cannot reach the old instrument: an external or a simulated one.
  const unreached = opened.filter(
    (device) =>
      device.kind === 'external' ||
      device.kind === 'unloaded' ||
      (device.kind === 'driven' ? device.transport.kind === 'simulated' : device.driver === 'simulated'),
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
