// Simulated devices that have all that the record of a run keeps of real ones: an identity, readings, and teachpoints. They cost nothing themselves.

import type { Noted, ReadingListener } from '../../../src/devices/readings.ts'
import type { Clock } from '../../../src/kit/clock.ts'
import type { Teachpoint } from '../../../src/teachpoints/teachpoint.ts'
import type { DeviceIdentity, Equipment } from '../../../src/workflow/equipment/equipment.ts'
import { PureEquipment } from '../../../src/workflow/equipment/pure_equipment.ts'
import { movesOf } from '../../../src/workflow/plans/timing.ts'
import type { Topology } from '../../../src/workflow/plans/topology.ts'

const coords = { x: 120, y: 320, z: 40, yaw: 0, pitch: 0, roll: 0 }

export class MeasuredDevices extends PureEquipment {
  readonly #taught = new Map<string, Teachpoint[]>()
  readonly readings: NonNullable<Equipment['readings']>

  constructor({ document }: Topology, clock: Clock) {
    super({ clock, transporters: movesOf(document) })
    const noted = (): Noted => ({ moment: clock.now(), reading: { at: 0, temperature: 37.02, target: 37 } })
    const listeners = new Set<ReadingListener>()
    this.readings = {
      newestOf: noted,
      listen(call) {
        listeners.add(call)
        return () => listeners.delete(call)
      },
      want(device_id) {
        for (const call of listeners) call(device_id, noted())
      },
    }
  }

  identityOf(device_id: string): DeviceIdentity {
    const units: DeviceIdentity['units'] = device_id.startsWith('arm') ? {} : { temperature: '°C' }
    return { type: 'shaker', driver: 'bioshake', is_simulated: true, model: 'Q1', serial: device_id, firmware: '1.2', units }
  }

  teachpointsTo(device_id: string, name: string): Teachpoint[] {
    const taught = this.#taught.get(name) ?? [{ device_id, name, coord_type: 'cartesian' as const, coords }]
    this.#taught.set(name, taught)
    return taught
  }
}
