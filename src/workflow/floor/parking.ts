// Where labware that is in the way can be put for a while, and which may be put there.

import type { Asks } from './asks.ts'
import type { Ground, Spot, Walker } from './ground.ts'
import { isFree } from './safety.ts'
import type { Wait } from './wait.ts'

/** More than this is going round in circles. */
const parksOfOne = 3

export class Parking {
  readonly #ground: Ground
  readonly #asks: Asks
  /** The parking places that can be reached from a seat, the nearest first. */
  readonly #padsFrom = new Map<string, readonly Spot[]>()

  constructor(ground: Ground, asks: Asks) {
    this.#ground = ground
    this.#asks = asks
  }

  /** Nobody reaches into a device that another thread holds: it may be at work. */
  canPark(wait: Wait): boolean {
    const holder = wait.walker.piece?.spot.device?.holder
    if (holder && holder !== wait.walker) return false
    return wait.canPark && wait.parked < parksOfOne + this.#ground.parking.length
  }

  /** Sends its labware to the nearest place that is free; answers whether there is one. */
  park(wait: Wait): boolean {
    const pad = this.nearestPad(wait.walker)
    if (pad) this.#asks.park(wait, pad)
    return pad !== undefined
  }

  /** Where labware is handed over it would be in the way: only if no other is free, and there is a way round. */
  nearestPad({ piece }: Walker): Spot | undefined {
    if (!piece) return undefined
    return this.padsNear(piece.seat).find((pad) => isFree(pad) && !(pad.isHandOver && this.#isNeeded(pad)))
  }

  /** Free or not. */
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

/** Further away than any seat. */
const handOver = 1e6

function padsFrom(from: string, { graph, parking }: Ground): readonly Spot[] {
  const reached = parking.flatMap((pad) => {
    const hops = graph.hops(from, pad.seats[0]!.name)
    return hops === undefined ? [] : [{ pad, far: hops + (pad.isHandOver ? handOver : 0) }]
  })
  return reached.sort((a, b) => a.far - b.far).map(({ pad }) => pad)
}
