// Whether a shop can be finished at all, in whatever time: a search over all states of the deck.

import type { Shop } from './shops.ts'

/** `ownPads`: whether a plate may wait at its own pad once it has left that. Then each shop can be finished, one plate after the other. */
export function canFinish(shop: Shop, { ownPads }: { ownPads: boolean }): boolean {
  const { plates, units, parks } = shop
  const seen = new Set<string>()
  /** The progress of a plate: 2k is outside of devices before step k, 2k + 1 is at the device of step k. */
  const progress = plates.map(() => 0)
  const free = [...units]
  let freeParks = ownPads ? plates.length : parks
  const deviceOf = (p: number) => plates[p]![progress[p]! >> 1]!.device
  const isHome = (p: number) => progress[p] === 2 * plates[p]!.length
  const isParked = (p: number) => progress[p]! > 0 && progress[p]! % 2 === 0 && !isHome(p)
  const leave = (p: number, sign: 1 | -1) => {
    if (progress[p]! % 2 === 1) free[deviceOf(p)]! += sign
    else if (isParked(p)) freeParks += sign
  }
  /** Moves a plate, goes on from there, and moves it back. */
  const tried = (p: number, to: number): boolean => {
    const from = progress[p]!
    leave(p, 1)
    progress[p] = to
    leave(p, -1)
    const finishes = search()
    leave(p, 1)
    progress[p] = from
    leave(p, -1)
    return finishes
  }
  const search = (): boolean => {
    if (plates.every((_, p) => isHome(p))) return true
    const key = progress.join()
    if (seen.has(key)) return false
    seen.add(key)
    return plates.some((steps, p) => {
      if (isHome(p)) return false
      const next = (progress[p]! + 1) >> 1
      if (next === steps.length) return tried(p, 2 * next)
      if (free[steps[next]!.device]! > 0 && tried(p, 2 * next + 1)) return true
      return progress[p]! % 2 === 1 && freeParks > 0 && tried(p, 2 * next)
    })
  }
  return search()
}
