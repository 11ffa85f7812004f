// Access to devices: arms reach into a device, and the device works, but never both at once. It is a readers-writer lock for each device:
// arms are the readers, the work of the device is the writer.

import { SmallSet } from '../../kit/small_set.ts'
import type { Claimant, DeviceSites, ObstacleVisitor } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Obstacle } from './request.ts'

/** A claimant that waits for access. */
type Waiting = {
  readonly claimant: Claimant
  readonly devices: readonly DeviceSites[]
  /** Whether the device is to work (true), or an arm is to reach in (false). */
  readonly isWork: boolean
  /** Whether labware that is about to leave the device or to arrive there goes first. */
  readonly yields: boolean
  readonly granted: () => void
}

export type AccessHandle = { withdraw(): void; explain(): Obstacle[] }

export class DeviceAccess {
  readonly #occupancy: Occupancy
  readonly #isHeldUp: (claimant: Claimant) => boolean
  readonly #settle: () => void
  readonly #waiting = new SmallSet<Waiting>()

  /** `isHeldUp`: whether the labware of a claimant with a granted route cannot move now. `settle` makes the grants that follow from a change. */
  constructor(occupancy: Occupancy, { isHeldUp, settle }: { isHeldUp: (claimant: Claimant) => boolean; settle: () => void }) {
    this.#occupancy = occupancy
    this.#isHeldUp = isHeldUp
    this.#settle = settle
  }

  /** Lets the thread's arm reach into the devices of these positions, until `reachedIn` or the next call. Returns false, and changes nothing, while one of them works. */
  reachIn(thread_id: string, positions: readonly string[]): boolean {
    return this.#reachIn(this.#occupancy.claimant(thread_id), this.#devicesAt(positions))
  }

  #reachIn(claimant: Claimant, devices: readonly DeviceSites[]): boolean {
    if (devices.some(({ works }) => works > 0)) return false
    for (const device of claimant.reaches) if (!devices.includes(device)) device.arms.delete(claimant)
    for (const device of devices) device.arms.add(claimant)
    claimant.reaches = devices
    return true
  }

  /** Ends the reach of the thread's arm into devices. */
  reachedIn(thread_id: string): void {
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (claimant) this.#reachedIn(claimant)
  }

  #reachedIn(claimant: Claimant): void {
    if (claimant.reaches.length === 0) return
    for (const device of claimant.reaches) device.arms.delete(claimant)
    claimant.reaches = []
    if (this.#waiting.size > 0) this.#settle()
  }

  /** Transfers the thread's reach into devices to another claimant, because the arm may still be inside. */
  transferReach(thread_id: string, to_id: string): void {
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (!claimant || claimant.reaches.length === 0) return
    const left = this.#occupancy.claimant(to_id)
    left.isHeld = true
    this.#reachIn(left, claimant.reaches)
  }

  /** Calls `granted` when no device of these positions works, which may be before this returns. */
  awaitRest(thread_id: string, positions: readonly string[], granted: () => void): AccessHandle {
    const claimant = this.#occupancy.claimant(thread_id)
    return this.#wait({ claimant, devices: this.#devicesAt(positions), isWork: false, yields: false, granted })
  }

  #devicesAt(positions: readonly string[]): readonly DeviceSites[] {
    const devices = positions.flatMap((position) => this.#occupancy.zone(position).device ?? [])
    return [...new Set(devices)]
  }

  /**
   * Calls `granted` when no arm reaches into the device, which may be before this returns. From then on no arm reaches in until `endWork`. With `yields`,
   * labware that is about to leave the device or to arrive there goes first.
   */
  work(thread_id: string, device: string, { yields, granted }: { yields: boolean; granted: () => void }): AccessHandle {
    const claimant = this.#occupancy.claimant(thread_id)
    return this.#wait({ claimant, devices: [this.#occupancy.device(device)], isWork: true, yields, granted })
  }

  #wait(waiting: Waiting): AccessHandle {
    if (this.#isOpen(waiting)) this.#grant(waiting)
    else {
      this.#waiting.add(waiting)
      this.#occupancy.version++
      if (waiting.yields) for (const device of waiting.devices) device.worksToCome++
    }
    return {
      withdraw: () => {
        if (this.#takeOut(waiting)) this.#settle()
      },
      explain: () => this.#explain(waiting),
    }
  }

  #takeOut(waiting: Waiting): boolean {
    const before = this.#waiting.size
    this.#waiting.delete(waiting)
    if (this.#waiting.size === before) return false
    this.#occupancy.version++
    if (waiting.yields) for (const device of waiting.devices) device.worksToCome--
    for (const device of waiting.devices) this.#open(device)
    return true
  }

  /** Ends a call of the device. */
  endWork(device: string): void {
    const sites = this.#occupancy.device(device)
    sites.works--
    this.#open(sites)
    this.#settle()
  }

  /** Marks the device's zones, because routes that begin or end there may be granted now. */
  #open(device: DeviceSites): void {
    this.#occupancy.version++
    if (!device.isShut) for (const zone of device.zones) this.#occupancy.opened.add(zone)
  }

  /** Grants the first waiting access that is possible. Returns whether there was one. */
  next(): boolean {
    for (const waiting of this.#waiting) {
      if (!this.#isOpen(waiting)) continue
      this.#takeOut(waiting)
      this.#grant(waiting)
      return true
    }
    return false
  }

  #grant(waiting: Waiting): void {
    if (waiting.isWork) for (const device of waiting.devices) device.works++
    this.#occupancy.version++
    waiting.granted()
  }

  #isOpen(waiting: Waiting): boolean {
    let isOpen = true
    this.#obstacles(waiting, () => {
      isOpen = false
    })
    return isOpen
  }

  /** Whether an arm of the claimant waits for a device that is at work. */
  isKeptOut(claimant: Claimant): boolean {
    if (this.#waiting.size === 0) return false
    for (const waiting of this.#waiting) if (waiting.claimant === claimant && !waiting.isWork) return true
    return false
  }

  /** Forgets a claimant that has ended. Its device calls end by themselves. */
  forget(claimant: Claimant): void {
    this.#reachedIn(claimant)
    for (const waiting of [...this.#waiting]) if (waiting.claimant === claimant) this.#takeOut(waiting)
  }

  /** Calls `visit` with each claimant that this one waits for. */
  #obstacles({ claimant, devices, isWork, yields }: Waiting, visit: ObstacleVisitor): void {
    for (const device of devices) {
      if (isWork) for (const other of device.arms) if (other !== claimant) visit('reached_into', other, null)
      if (!isWork && device.works > 0) visit('at_work', device.holder, null)
      if (!yields) continue
      for (const other of goers(device))
        if (other !== claimant && !device.arms.has(other) && !this.#isHeldUp(other)) visit('reached_into', other, null)
    }
  }

  #explain(waiting: Waiting): Obstacle[] {
    const obstacles: Obstacle[] = []
    const wanted = waiting.devices.map(({ name }) => name).join(' and ')
    this.#obstacles(waiting, (reason, by) => {
      obstacles.push({ wanted, reason, thread_id: by?.thread_id ?? null, labware_id: null })
    })
    return obstacles
  }
}

/** Lists the claimants whose labware has a granted route out of the device, or into it. */
function* goers({ zones }: DeviceSites): Generator<Claimant> {
  for (const zone of zones) {
    const { placement, reservedFor } = zone
    if (placement?.routeGrant && placement.claimant) yield placement.claimant
    for (const { state, target } of reservedFor?.routeGrants ?? []) if (state === 'granted' && target === zone) yield reservedFor!
  }
}
