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
  /** Whether it is work of the device, or an arm that is to reach in. */
  readonly isWork: boolean
  /** Whether labware that is about to leave the device, or to arrive there, goes first. */
  readonly yields: boolean
  readonly granted: () => void
}

export type AccessHandle = { withdraw(): void; explain(): Obstacle[] }

export class DeviceAccess {
  readonly #occupancy: Occupancy
  readonly #isHeldUp: (claimant: Claimant) => boolean
  readonly #settle: () => void
  readonly #waiting = new SmallSet<Waiting>()

  /** `isHeldUp` says whether labware of a claimant that has a route will not move by itself. `settle` grants what follows from a change. */
  constructor(occupancy: Occupancy, { isHeldUp, settle }: { isHeldUp: (claimant: Claimant) => boolean; settle: () => void }) {
    this.#occupancy = occupancy
    this.#isHeldUp = isHeldUp
    this.#settle = settle
  }

  /**
   * Lets an arm reach into the devices of these positions for the thread, until `reachedIn` or a call with others. Returns false, and
   * changes nothing, while one of them is at work.
   */
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

  /** Says that no arm reaches into a device for the thread any more. */
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

  /** Leaves the devices into which an arm reached for a thread to another claimant: something of it may still be in there. */
  transferReach(thread_id: string, to_id: string): void {
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (!claimant || claimant.reaches.length === 0) return
    const left = this.#occupancy.claimant(to_id)
    left.isHeld = true
    this.#reachIn(left, claimant.reaches)
  }

  /** Calls `granted` once no device of these positions is at work, which may be before this returns. */
  awaitRest(thread_id: string, positions: readonly string[], granted: () => void): AccessHandle {
    const claimant = this.#occupancy.claimant(thread_id)
    return this.#wait({ claimant, devices: this.#devicesAt(positions), isWork: false, yields: false, granted })
  }

  #devicesAt(positions: readonly string[]): readonly DeviceSites[] {
    const devices = positions.flatMap((position) => this.#occupancy.zone(position).device ?? [])
    return [...new Set(devices)]
  }

  /**
   * Begins a call of a device, and calls `granted`, once no arm reaches in, which may be before this returns: until `endWork` none does.
   * With `yields`, labware that is about to leave the device, or to arrive there, goes first.
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

  /** Says that a call of the device has ended. */
  endWork(device: string): void {
    const sites = this.#occupancy.device(device)
    sites.works--
    this.#open(sites)
    this.#settle()
  }

  /** Routes that begin or end there may be granted now. */
  #open(device: DeviceSites): void {
    this.#occupancy.version++
    if (!device.isShut) for (const zone of device.zones) this.#occupancy.opened.add(zone)
  }

  /** Grants the first that can be granted. Returns whether there was one. */
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

  /** Forgets a claimant that has ended. Its calls end by themselves. */
  forget(claimant: Claimant): void {
    this.#reachedIn(claimant)
    for (const waiting of [...this.#waiting]) if (waiting.claimant === claimant) this.#takeOut(waiting)
  }

  /** Calls `visit` with each claimant for which this one waits. */
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

/** The claimants whose labware has a granted route out of the device, or into it. */
function* goers({ zones }: DeviceSites): Generator<Claimant> {
  for (const zone of zones) {
    const { placement, reservedFor } = zone
    if (placement?.routeGrant && placement.claimant) yield placement.claimant
    for (const { state, target } of reservedFor?.routeGrants ?? []) if (state === 'granted' && target === zone) yield reservedFor!
  }
}
