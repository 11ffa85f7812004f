// A simulated door, its lock and the lock of the buckets, which move by air when their valves switch.

import type { Clock } from '../../src/kit/clock.ts'
import { WithMount } from '../with_mount.ts'
import { freeBucket, lockBucket, openDoor, unlockDoor } from './words.ts'

const door_ms = 1500
const doorLock_ms = 300
const bucketLock_ms = 400

/** A cylinder with two ends and a travel time. */
class Cylinder extends WithMount<{ clock: Clock; out: boolean; travel_ms: number; arrived(): void }> {
  #cancel: (() => void) | undefined
  #goal = this.at.out
  out = this.at.out

  get moving(): boolean {
    return this.#cancel !== undefined
  }

  push(out: boolean): void {
    if (out === this.#goal) return
    this.stop()
    this.#goal = out
    this.#cancel = this.at.clock.after(this.at.travel_ms, () => {
      this.#cancel = undefined
      this.out = out
      this.at.arrived()
    })
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }
}

/** A door that is closed and locked at first, with the buckets free. */
export class Door extends WithMount<Clock> {
  readonly #door = this.#cylinder(false, door_ms)
  readonly #lock = this.#cylinder(true, doorLock_ms)
  readonly #bucketLock = this.#cylinder(false, bucketLock_ms)
  #low = 0
  #high = 0
  /** Simulated fault: the door's switches always report open. */
  switchesOpen = false

  #cylinder(out: boolean, travel_ms: number): Cylinder {
    return new Cylinder({ clock: this.at, out, travel_ms, arrived: () => this.#push() })
  }

  get state(): 'open' | 'closed' | 'moving' {
    if (this.#door.moving) return 'moving'
    return this.#door.out ? 'open' : 'closed'
  }

  get locked(): boolean {
    return this.#lock.out && !this.#lock.moving
  }

  get bucketLocked(): boolean {
    return this.#bucketLock.out
  }

  /** Sets the valves: the bits of the pins that are outputs. */
  drive(low: number, high: number): void {
    this.#low = low
    this.#high = high
    this.#push()
  }

  /** Returns the levels of the switches: the two bytes of inputs. */
  inputs(): [number, number] {
    const low = (this.#door.moving ? 0x80 : 0) | (this.#lock.moving ? 0x08 : 0) | (this.#bucketLock.moving ? 0x30 : 0)
    const open = this.switchesOpen || this.state !== 'closed'
    const high = 0x08 | (this.bucketLocked ? 0x01 : 0) | (open ? 0x02 : 0) | (this.switchesOpen || !this.locked ? 0x04 : 0)
    return [low, high]
  }

  powerOff(): void {
    this.#door.stop()
    this.#lock.stop()
    this.#bucketLock.stop()
  }

  /** Moves the cylinders. The lock extends only into a closed door, and the door opens only with a retracted lock. */
  #push(): void {
    const wantsOpen = (this.#high & openDoor) !== 0
    const wantsUnlocked = (this.#high & unlockDoor) !== 0 || wantsOpen
    this.#bucketLock.push((this.#high & lockBucket) !== 0 && (this.#low & freeBucket) === 0)
    if (!this.#lock.out && !this.#lock.moving) this.#door.push(wantsOpen)
    if (wantsUnlocked) this.#lock.push(false)
    else if (this.state === 'closed') this.#lock.push(true)
  }
}
