// Which labware may be parked, and where: positions that take labware out of the way for a while.

import type { Asks } from './asks.ts'
import type { Ground, Spot, Walker } from './ground.ts'
import { isFree } from './safety.ts'
import type { Wait } from './wait.ts'

/** A labware that was parked more often than this goes around in circles. */
const parksOfOne = 3

export class Parking {
  readonly #ground: Ground
  readonly #asks: Asks
  /** The parking positions that can be reached from a position, the nearest first. */
  readonly #padsFrom = new Map<string, readonly Spot[]>()

  constructor(ground: Ground, asks: Asks) {
    this.#ground = ground
    this.#asks = asks
  }

  /** Whether the labware may be parked. Nobody reaches into a device that another thread holds, since it may be at work. */
  canPark(wait: Wait): boolean {
    const holder = wait.walker.piece?.spot.device?.holder
    if (holder && holder !== wait.walker) return false
    return wait.canPark && wait.parked < parksOfOne + this.#ground.parking.length
  }

  /** Sends the labware to the nearest free parking position. Returns whether there is one. */
  park(wait: Wait): boolean {
    const pad = this.nearestPad(wait.walker)
    if (pad) this.#asks.park(wait, pad)
    return pad !== undefined
  }

  /** The nearest free parking position. One where labware is handed over counts only if there is a way around it. */
  nearestPad({ piece }: Walker): Spot | undefined {
    if (!piece) return undefined
    return this.padsNear(piece.seat).find((pad) => isFree(pad) && !(pad.isHandOver && this.#isNeeded(pad)))
  }

  /** Parking positions by distance, free or not. */
  padsNear(seat: string): readonly Spot[] {
    let pads = this.#padsFrom.get(seat)
    if (!pads) {
      pads = padsFrom(seat, this.#ground)
      this.#padsFrom.set(seat, pads)
    }
    return pads
  }

  #isNeeded({ seats }: Spot): boolean {
    return !this.#ground.graph.canDoWithout(seats[0]!.name, (seat) => !isFree(this.#ground.spot(seat)))
  }
}

/** Further away than any position. */
const handOver = 1e6

function padsFrom(from: string, { graph, parking }: Ground): readonly Spot[] {
  const reached = parking.flatMap((pad) => {
    const hops = graph.hops(from, pad.seats[0]!.name)
    return hops === undefined ? [] : [{ pad, far: hops + (pad.isHandOver ? handOver : 0) }]
  })
  return reached.sort((a, b) => a.far - b.far).map(({ pad }) => pad)
}
