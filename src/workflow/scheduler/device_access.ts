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

  /** Lets an arm reach in for the claimant, and only there. Returns false while one of the devices is at work. */
  reachIn(claimant: Claimant, devices: readonly DeviceSites[]): boolean {
    if (devices.some(({ works }) => works > 0)) return false
    for (const device of claimant.reaches) if (!devices.includes(device)) device.arms.delete(claimant)
    for (const device of devices) device.arms.add(claimant)
    claimant.reaches = devices
    return true
  }

  /** Says that no arm reaches in for the claimant any more. */
  reachedIn(claimant: Claimant): void {
    if (claimant.reaches.length === 0) return
    for (const device of claimant.reaches) device.arms.delete(claimant)
    claimant.reaches = []
    if (this.#waiting.size > 0) this.#settle()
  }

  /** Calls `granted` as soon as none of the devices is at work. */
  awaitRest(claimant: Claimant, devices: readonly DeviceSites[], granted: () => void): AccessHandle {
    return this.#wait({ claimant, devices, isWork: false, yields: false, granted })
  }

  /** Begins work of the device, and calls `granted`, as soon as no arm reaches in; `yields`: and none is about to. */
  work(claimant: Claimant, device: DeviceSites, yields: boolean, granted: () => void): AccessHandle {
    return this.#wait({ claimant, devices: [device], isWork: true, yields, granted })
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
  worked(device: DeviceSites): void {
    device.works--
    this.#open(device)
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
    this.reachedIn(claimant)
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
