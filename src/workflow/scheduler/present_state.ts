// The present state of the bench, as a plan begins with it: what each thread is doing, and where its labware goes or may wait.

import { type Claimant, Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { PositionState } from './request.ts'

export class PresentState {
  readonly #occupancy: Occupancy

  constructor(occupancy: Occupancy) {
    this.#occupancy = occupancy
  }

  /** When the action of a thread began at a device, in ms; undefined if it has not. */
  beganAt(thread_id: string, device: string): number | undefined {
    const { holder, grant } = this.#occupancy.device(device)
    return holder?.thread_id === thread_id ? grant?.began : undefined
  }

  isHeld(thread_id: string): boolean {
    return this.#of(thread_id)?.isHeld ?? false
  }

  /** Returns the device or position to which the labware of a thread is on its way, or may set out; undefined without one. */
  goalOf(thread_id: string): string | undefined {
    const claimant = this.#of(thread_id)
    const goal = claimant?.parking ?? claimant?.goal
    if (!goal) return undefined
    return goal instanceof Zone ? goal.positions[0]!.name : goal.name
  }

  /** Returns when the next action of a thread must begin, in ms; null without a deadline. */
  deadlineOf(thread_id: string): number | null {
    return this.#of(thread_id)?.deadline ?? null
  }

  /** Lists the positions where labware that starts at `home` may wait between its stops. */
  buffersOf(home: string): string[] {
    const own = this.#occupancy.homeAt(home)
    const parking = this.#occupancy.parking.filter((zone) => zone !== own && !zone.isHandOver)
    return [...(own ? [own] : []), ...parking].map(({ positions }) => positions[0]!.name)
  }

  #of(thread_id: string): Claimant | undefined {
    return this.#occupancy.claimants.get(thread_id)
  }
}

/** Returns the state of a position, which is one of the zone. */
export function stateOf(position: string, { positions, placement, reservedFor, device }: Zone): PositionState {
  return {
    position,
    device: device?.name ?? null,
    labware_id: placement && (placement.position === position || positions.length === 1) ? placement.labware_id : null,
    reserved_for: reservedFor?.thread_id ?? null,
  }
}
