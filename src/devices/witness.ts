// A device as a witness of the last move before this start of the service: its answer proves nothing if somebody may have been at it since.

import { LabError } from '../errors.ts'
import type { Condition } from './condition.ts'
import type { CurrentOperation } from './current_operation.ts'
import type { Device, Gripper, PlateWhereabouts } from './device.ts'
import { worded } from './failure.ts'
import type { CarriedLabware } from './way.ts'

type Known = {
  device_id: string
  device: Device | undefined
  condition: Pick<Condition, 'isConnected' | 'isTouched' | 'latch'>
  operation: Pick<CurrentOperation, 'run'>
}

/**
 * Each question resolves with null if the device cannot tell, cannot be asked, or was initialized or stopped since, so that a person may have taken the
 * labware. Rejects with `interlock` while the device moves.
 */
export class Witness {
  readonly #known: Known

  constructor(known: Known) {
    this.#known = known
  }

  /** Asks whether the gripper of an arm holds something, such as this labware. */
  gripper(labware: CarriedLabware): Promise<Gripper | null> {
    return this.#ask((device) => device.gripper?.(labware))
  }

  /** Asks a storage where a plate is. */
  whereIsPlate(): Promise<PlateWhereabouts | null> {
    return this.#ask((device) => device.whereIsPlate?.())
  }

  async #ask<Answer>(ask: (device: Device) => Promise<Answer | null> | undefined): Promise<Answer | null> {
    const { device_id, device, condition, operation } = this.#known
    if (!device || !condition.isConnected || condition.isTouched || condition.latch.fault || operation.run) return null
    try {
      const seen = (await ask(device)) ?? null
      return condition.isTouched ? null : seen
    } catch (error) {
      if (error instanceof LabError && error.code === 'interlock') throw worded(device_id, error)
      return null
    }
  }
}
