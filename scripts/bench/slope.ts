// How fast something grows, told from samples of which some are far off.

export type Point = readonly [x: number, y: number]

/** Of more, so many are looked at: each is held against each. */
const mostPoints = 1000

/** The median of the slopes between any two of the points (Theil and Sen): of ten, two may be anywhere. NaN of fewer than two. */
export function slope(all: readonly Point[]): number {
  const each = Math.ceil(all.length / mostPoints)
  const points = all.filter((_, i) => i % each === 0)
  const slopes = points.flatMap(([x, y], i) => points.slice(i + 1).flatMap(([later, its]) => (later === x ? [] : (its - y) / (later - x))))
  const sorted = Float64Array.from(slopes).sort()
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle]! : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}
